/* SPDX-License-Identifier: Apache-2.0 */
#include "floors.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_TRIES = 100,
    TURNS = 500, /* of the line per try */
    TRIP_TRIES = 100,
    TRIPS = 20, /* per try */
    PIECE = 256 << 10,
    STREAM_TRIES = 32,
    PIECES = 16, /* per try */
    COPY_TRIES = 20,
    COPY_BYTES = 32 << 20, /* per try and thread, at least one block */
    THREADS_MAX = 64,
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- a line of cache ---- */

static _Atomic uint32_t ball;

static void *return_ball(void *unused)
{
    (void)unused;
    for (uint32_t i = 0; i < LINE_TRIES * TURNS; i++) {
        while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 1)
            continue;
        atomic_store_explicit(&ball, 2 * i + 2, memory_order_release);
    }
    return NULL;
}

/* line_s returns the least time of a few tries: another program can only make it longer. */
static double line_s(void)
{
    double least = INFINITY;
    pthread_t other;
    atomic_store(&ball, 0);
    if (pthread_create(&other, NULL, return_ball, NULL) != 0)
        return 0;
    for (uint32_t t = 0, i = 0; t < LINE_TRIES; t++) {
        double begin = now_s();
        for (uint32_t end = i + TURNS; i < end; i++) {
            atomic_store_explicit(&ball, 2 * i + 1, memory_order_release);
            while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 2)
                continue;
        }
        least = fmin(least, (now_s() - begin) / TURNS);
    }
    pthread_join(other, NULL);
    return least;
}

/* ---- loopback ---- */

/* connected makes two ends of a TCP connection on loopback. */
static bool connected(int end[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    end[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    end[1] = -1;
    if (listener >= 0 && end[0] >= 0 &&
        bind(listener, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(listener, 1) == 0 &&
        getsockname(listener, (struct sockaddr *)&address, &size) == 0 &&
        connect(end[0], (struct sockaddr *)&address, sizeof address) == 0)
        end[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    close(listener);
    for (int i = 0; i < 2 && end[1] >= 0; i++)
        setsockopt(end[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return end[1] >= 0;
}

static bool pass(int fd, uint8_t *bytes, size_t size, bool sends)
{
    for (size_t at = 0; at < size;) {
        ssize_t moved = sends ? send(fd, bytes + at, size - at, MSG_NOSIGNAL)
                              : recv(fd, bytes + at, size - at, 0);
        if (moved <= 0)
            return false;
        at += (size_t)moved;
    }
    return true;
}

/* far is the other end: it returns the byte of each trip; then it reads pieces, and returns a byte
 * after each series. */
static void *far(void *argument)
{
    int fd = *(int *)argument;
    uint8_t *room = malloc(PIECE);
    bool well = room != NULL;
    for (int i = 0; i < TRIP_TRIES * TRIPS && well; i++)
        well = pass(fd, room, 1, false) && pass(fd, room, 1, true);
    for (int i = 1; i <= STREAM_TRIES * PIECES && well; i++)
        well = pass(fd, room, PIECE, false) && (i % PIECES || pass(fd, room, 1, true));
    free(room);
    shutdown(fd, SHUT_RDWR);
    return NULL;
}

/* series sends `count` pieces, and waits for a byte after each or after the last. It returns the
 * seconds, or infinity after an error. */
static double series(int fd, uint8_t *room, size_t piece, int count, bool waits)
{
    double begin = now_s();
    bool well = true;
    for (int i = 1; i <= count && well; i++)
        well = pass(fd, room, piece, true) && (!(waits || i == count) || pass(fd, room, 1, false));
    return well ? now_s() - begin : INFINITY;
}

static bool loopback(struct floors *f)
{
    int end[2];
    pthread_t other;
    uint8_t *room = calloc(1, PIECE);
    bool well = connected(end) && room && pthread_create(&other, NULL, far, &end[1]) == 0;
    double trips_s = INFINITY, stream_s = INFINITY;
    if (well) {
        for (int t = 0; t < TRIP_TRIES; t++)
            trips_s = fmin(trips_s, series(end[0], room, 1, TRIPS, true));
        for (int t = 0; t < STREAM_TRIES; t++)
            stream_s = fmin(stream_s, series(end[0], room, PIECE, PIECES, false));
        shutdown(end[0], SHUT_RDWR);
        pthread_join(other, NULL);
    }
    f->round_trip_s = trips_s / TRIPS;
    f->loopback_rate = (double)PIECE * PIECES / stream_s;
    well = well && isfinite(trips_s) && isfinite(stream_s);
    for (int i = 0; i < 2; i++)
        if (end[i] >= 0)
            close(end[i]);
    free(room);
    return well;
}

/* ---- memcpy ---- */

struct copies {
    uint8_t *from, *to;
    size_t bytes, times;
};

static void *copy(void *argument)
{
    const struct copies *c = argument;
    for (size_t i = 0; i < c->times; i++) {
        memcpy(c->to, c->from, c->bytes);
        __asm__ volatile("" ::"r"(c->to) : "memory");
    }
    return NULL;
}

/* copy_rate returns the bytes per second that a thread per processor copies together; 0: no
 * memory. */
static double copy_rate(size_t bytes)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = processors < 1             ? 1
                     : processors > THREADS_MAX ? THREADS_MAX
                                                : (size_t)processors;
    struct copies c[THREADS_MAX];
    pthread_t thread[THREADS_MAX];
    double least = INFINITY;
    size_t times = bytes < COPY_BYTES ? COPY_BYTES / bytes : 1, ready = 0;
    for (; ready < threads; ready++) {
        c[ready] = (struct copies){malloc(bytes), malloc(bytes), bytes, times};
        if (!c[ready].from || !c[ready].to)
            break;
        memset(c[ready].from, 1, bytes);
        memset(c[ready].to, 2, bytes);
    }
    for (int t = 0; t < COPY_TRIES && ready == threads; t++) {
        size_t started = 0;
        double begin = now_s();
        while (started < threads && pthread_create(&thread[started], NULL, copy, &c[started]) == 0)
            started++;
        for (size_t i = 0; i < started; i++)
            pthread_join(thread[i], NULL);
        if (started == threads)
            least = fmin(least, now_s() - begin);
    }
    for (size_t i = 0; i <= ready && i < threads; i++) {
        free(c[i].from);
        free(c[i].to);
    }
    return isinf(least) ? 0 : (double)(threads * bytes * times) / least;
}

bool floors_measure(struct floors *f)
{
    static const size_t bytes[3] = {64 << 10, 1 << 20, 16 << 20};
    *f = (struct floors){0};
    f->line_s = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? line_s() : 0;
    for (int i = 0; i < 3; i++) {
        f->copy_bytes[i] = bytes[i];
        f->copy_rate[i] = copy_rate(bytes[i]);
    }
    return loopback(f);
}

double floors_copy_rate(const struct floors *f, double bytes)
{
    int at = 0;
    while (at < 2 && bytes > 2 * (double)f->copy_bytes[at])
        at++;
    return f->copy_rate[at];
}
