/* SPDX-License-Identifier: Apache-2.0 */
/* collectives_rank: the measuring program, linked with the functions of one side. A rank executes
 * orders of the driver until the driver closes its socket.
 *
 * Every call of a sample has its own values at both ends of its vectors and checks them when it
 * returns. After the last call the rank checks all values. The checks take a few nanoseconds of the
 * measured time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "collectives.h"
#include "reach.h"

struct rank {
    int fd;
    uint32_t rank, ranks;
    double *source, *destination;
    const struct order *order;
    size_t count; /* doubles in the vector, or for each rank */
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- values ---- */

/* value returns element i of rank `from` in call c: an integer, so that sums are exact. */
static double value(const struct rank *r, uint32_t from, size_t i, uint32_t call)
{
    double moves = i == 0 || i == r->count - 1 ? call : 0;
    return (double)(from + 1) * (double)(1 + (i + r->order->seed) % 1021) + moves;
}

/* sum returns the sum of the values of ranks 0 .. last. */
static double sum(const struct rank *r, uint32_t last, size_t i, uint32_t call)
{
    double n = last + 1, moves = i == 0 || i == r->count - 1 ? call : 0;
    return n * (n + 1) / 2 * (double)(1 + (i + r->order->seed) % 1021) + n * moves;
}

static uint32_t root_of(const struct rank *r, uint32_t call)
{
    return (uint32_t)((r->order->seed + call) % r->ranks);
}

/* expected returns element i of the result of call c; in an all-to-all, of the block from `from`.
 */
static double expected(const struct rank *r, uint32_t from, size_t i, uint32_t call)
{
    switch (r->order->operation) {
    case BROADCAST: /* all elements except the ends are those of the first root */
        return i == 0 || i == r->count - 1 ? value(r, root_of(r, call), i, call)
                                           : value(r, root_of(r, 0), i, 0);
    case ALLREDUCE:
        return sum(r, r->ranks - 1, i, call);
    case SCAN:
        return sum(r, r->rank, i, call);
    default:
        return value(r, from, i, call) + (double)r->rank;
    }
}

static size_t blocks(const struct rank *r)
{
    return r->order->operation == ALLTOALL ? r->ranks : 1;
}

/* set_ends writes the values at both ends that are unique to the call. */
static void set_ends(struct rank *r, uint32_t call)
{
    if (r->order->operation == BARRIER ||
        (r->order->operation == BROADCAST && root_of(r, call) != r->rank))
        return;
    double *to = r->order->operation == BROADCAST ? r->destination : r->source;
    for (uint32_t b = 0; b < blocks(r); b++, to += r->count) {
        to[0] = value(r, r->rank, 0, call) + b;
        to[r->count - 1] = value(r, r->rank, r->count - 1, call) + b;
    }
}

static void prepare(struct rank *r)
{
    if (r->order->operation == BARRIER)
        return;
    bool broadcasts = r->order->operation == BROADCAST;
    for (uint32_t b = 0; b < blocks(r); b++)
        for (size_t i = 0; i < r->count; i++) {
            r->source[b * r->count + i] = value(r, r->rank, i, 0) + b;
            r->destination[b * r->count + i] =
                broadcasts && root_of(r, 0) == r->rank ? value(r, r->rank, i, 0) : -1;
        }
}

static bool ends_well(const struct rank *r, uint32_t call)
{
    const double *at = r->destination;
    bool well = true;
    for (uint32_t b = 0; r->order->operation != BARRIER && b < blocks(r); b++, at += r->count)
        well &= at[0] == expected(r, b, 0, call) &&
                at[r->count - 1] == expected(r, b, r->count - 1, call);
    return well;
}

static bool is_well(const struct rank *r)
{
    uint32_t last = r->order->calls - 1;
    for (uint32_t b = 0; r->order->operation != BARRIER && b < blocks(r); b++)
        for (size_t i = 0; i < r->count; i++)
            if (r->destination[b * r->count + i] != expected(r, b, i, last))
                return false;
    return true;
}

/* ---- measuring ---- */

static const char *call(struct rank *r, uint32_t c)
{
    switch (r->order->operation) {
    case BARRIER:
        return side_barrier();
    case BROADCAST:
        return side_broadcast(r->destination, r->count, root_of(r, c));
    case ALLREDUCE:
        return side_allreduce(r->source, r->destination, r->count);
    case SCAN:
        return side_scan(r->source, r->destination, r->count);
    default:
        return side_alltoall(r->source, r->destination, r->count);
    }
}

static void sample(struct rank *r, struct outcome *out)
{
    bool well = true;
    prepare(r);
    const char *failed = side_barrier();
    out->begin_ns = now_ns();
    for (uint32_t c = 0; c < r->order->calls && !failed; c++) {
        if (lets_go(r->order->operation) && c > 0)
            failed = side_barrier();
        set_ends(r, c);
        int64_t at_ns = now_ns();
        if (!failed)
            failed = call(r, c);
        out->own_ns[c] = now_ns() - at_ns;
        well &= ends_well(r, c);
    }
    out->end_ns = now_ns();
    if (!failed)
        failed = side_barrier(); /* all ranks have finished: checking disturbs no measurement */
    if (!failed && !(well && is_well(r)))
        failed = "wrong result";
    out->failed = failed != NULL;
    if (failed)
        snprintf(out->text, sizeof out->text, "%s", failed);
}

/* room returns memory for a vector, of malloc if the driver wants that. */
static double *room(void)
{
    const char *memory = getenv("COLLECTIVES_MEMORY");
    return memory && strcmp(memory, "plain") == 0 ? malloc(ROOM_BYTES) : side_alloc(ROOM_BYTES);
}

int main(void)
{
    struct rank r = {0};
    struct order order;
    const char *failed = side_open(&r.rank, &r.ranks);
    if (failed) {
        fprintf(stderr, "collectives: %s\n", failed);
        return 1;
    }
    r.source = room();
    r.destination = room();
    r.fd = reach_driver("COLLECTIVES_SOCKET");
    if (!r.source || !r.destination || r.fd < 0) {
        fprintf(stderr, "collectives: %s\n",
                r.fd < 0 ? "COLLECTIVES_SOCKET leads nowhere: this is started by its driver"
                         : "no memory");
        return 1;
    }
    memset(r.source, 0, ROOM_BYTES); /* touch all pages before the first measurement */
    memset(r.destination, 0, ROOM_BYTES);
    struct handshake handshake = {r.rank, r.ranks};
    bool well = send(r.fd, &handshake, sizeof handshake, MSG_NOSIGNAL) == sizeof handshake;
    while (well && recv(r.fd, &order, sizeof order, 0) == sizeof order) {
        struct outcome outcome = {0};
        r.order = &order;
        r.count = order.bytes / sizeof(double);
        sample(&r, &outcome);
        well = send(r.fd, &outcome, sizeof outcome, MSG_NOSIGNAL) == sizeof outcome;
    }
    close(r.fd);
    side_close();
    return well ? 0 : 1;
}
