/* SPDX-License-Identifier: Apache-2.0 */
/* How long the small operations of one job take beside those of others. Each rank of
 * `torusctl emulate SHAPE -- bench_shares HOG_MIB BYTES OTHERS SECONDS` starts OTHERS + 1
 * processes, of as many jobs: one whose ranks exchange HOG_MIB MiB by all-to-alls over and over (0:
 * none), and OTHERS with allreduces of BYTES. It prints the times of the first of these. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <torus/torus.h>

enum { OTHERS_MAX = 64, TIMES_MAX = 1 << 20, WARM_UP = 20 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(torus_context *context, int error)
{
    if (!error)
        return;
    fprintf(stderr, "bench_shares: %s\n", torus_last_error(context));
    _exit(1);
}

static void *allocate(torus_context *context, size_t bytes)
{
    void *memory = torus_alloc(context, bytes);
    check(context, memory ? 0 : TORUS_ERR_NO_MEMORY);
    return memory;
}

static torus_group *join(torus_context **context, const char *name)
{
    struct torus_join_options options = {.size = sizeof options, .name = name};
    torus_group *group = NULL;
    if (torus_open(context, NULL)) {
        fprintf(stderr, "bench_shares: no daemon\n");
        _exit(1);
    }
    check(*context, torus_join(*context, &options, &group));
    return group;
}

/* hog exchanges data until it is killed, with two all-to-alls in flight. It closes the pipe when
 * the first one has completed. */
static void hog(size_t bytes, int started)
{
    enum { AHEAD = 2 };
    torus_context *context = NULL;
    torus_group *group = join(&context, "hog");
    size_t count = bytes / torus_size(group);
    void *source = allocate(context, bytes), *destination[AHEAD] = {0};
    torus_request *request[AHEAD] = {0};
    for (int i = 0; i < AHEAD; i++)
        destination[i] = allocate(context, bytes);
    memset(source, 1, bytes);
    for (unsigned k = 0;; k++) {
        if (request[k % AHEAD] && torus_wait(request[k % AHEAD], -1))
            _exit(1); /* another rank's process was killed first */
        if (k == AHEAD)
            close(started);
        if (torus_ialltoall(group, source, destination[k % AHEAD], count, TORUS_BYTE,
                            &request[k % AHEAD]))
            _exit(1);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* small reduces until rank 0 says that the time is over: in the first element. */
static void small(unsigned number, size_t bytes, double seconds)
{
    char name[32];
    torus_context *context = NULL;
    snprintf(name, sizeof name, "small%u", number);
    torus_group *group = join(&context, name);
    size_t count = bytes / sizeof(double);
    double *data = allocate(context, bytes), *sum = allocate(context, bytes);
    double *taken = malloc(TIMES_MAX * sizeof *taken), begin = now();
    unsigned calls = 0;
    if (!taken)
        _exit(1);
    do {
        double start = now();
        data[0] = start - begin > seconds || calls == TIMES_MAX - 1;
        if (torus_rank(group) > 0)
            data[0] = 0;
        check(context, torus_allreduce(group, data, sum, count, TORUS_DOUBLE, TORUS_SUM));
        taken[calls++] = 1e6 * (now() - start);
    } while (sum[0] == 0);
    if (number == 0 && torus_rank(group) == 0) {
        unsigned warm = calls > 2 * WARM_UP ? WARM_UP : 0;
        double *first = taken + warm;
        calls -= warm;
        qsort(first, calls, sizeof *first, by_size);
        printf("%u calls: median %.0f us, 99%% %.0f us, most %.0f us\n", calls, first[calls / 2],
               first[(size_t)calls * 99 / 100], first[calls - 1]);
    }
    free(taken);
    torus_close(context);
}

int main(int argc, char **argv)
{
    pid_t child[OTHERS_MAX];
    if (argc != 5)
        return fprintf(stderr, "usage: bench_shares HOG_MIB BYTES OTHERS SECONDS\n"), 2;
    size_t hog_bytes = strtoul(argv[1], NULL, 10) << 20, bytes = strtoul(argv[2], NULL, 10);
    unsigned others = (unsigned)strtoul(argv[3], NULL, 10);
    int started[2];
    char byte = 0;
    if (pipe(started))
        return 1;
    pid_t hogging = hog_bytes ? fork() : -1;
    if (hogging == 0) {
        close(started[0]);
        hog(hog_bytes, started[1]);
    }
    close(started[1]);
    if (read(started[0], &byte, 1) < 0)
        return 1;
    for (unsigned i = 0; i < others && i < OTHERS_MAX; i++)
        if ((child[i] = fork()) == 0) {
            small(i, bytes < sizeof(double) ? sizeof(double) : bytes, strtod(argv[4], NULL));
            fflush(stdout);
            _exit(0);
        }
    for (unsigned i = 0; i < others && i < OTHERS_MAX; i++)
        waitpid(child[i], NULL, 0);
    if (hogging > 0) {
        kill(hogging, SIGKILL);
        waitpid(hogging, NULL, 0);
    }
    return 0;
}
