/* SPDX-License-Identifier: Apache-2.0 */
/* actor: a rank of a job in which one rank is at fault.
 *
 *   actor SOCKET JOB RANKS RANK KIND BYTES CALLS CULPRIT FAULT MS
 *
 * All ranks make CALLS good calls of KIND (barrier, allreduce, allgather, alltoall; BYTES from each
 * rank, or for each other rank) and then one more. Rank CULPRIT does before it what FAULT says:
 *
 *   none        nothing
 *   hold        all ranks wait for a line of their standard input
 *   straggle    it computes for MS before each call, also before the good ones
 *   compute     it computes, for ever
 *   sleep       it sleeps, for ever
 *   differ      nothing, but the last call is of another kind
 *
 * Output, with times of CLOCK_MONOTONIC in ns:
 *
 *   call I TIME       before call I
 *   fault TIME        the fault begins
 *   end CODE TIME SENTENCE   of the last call, or of a join that fails */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "torus/torus.h"

struct actor {
    torus_context *context;
    torus_group *world;
    const char *kind, *fault;
    size_t bytes;
    uint32_t size;
    bool at_fault;
    int64_t compute_ns;
    unsigned char *from, *to;
};

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void compute(int64_t ns)
{
    for (int64_t begin = now(); now() - begin < ns;)
        ;
}

static int call(const struct actor *a, bool otherwise)
{
    const char *kind = a->kind;
    if (otherwise)
        kind = strcmp(kind, "barrier") == 0 ? "allreduce" : "barrier";
    if (strcmp(kind, "barrier") == 0)
        return torus_barrier(a->world);
    if (strcmp(kind, "allreduce") == 0)
        return torus_allreduce(a->world, a->from, a->to, a->bytes / sizeof(double), TORUS_DOUBLE,
                               TORUS_SUM);
    if (strcmp(kind, "allgather") == 0)
        return torus_allgather(a->world, a->from, a->to, a->bytes, TORUS_BYTE);
    return torus_alltoall(a->world, a->from, a->to, a->bytes, TORUS_BYTE);
}

static void prepare(const struct actor *a)
{
    bool all = strcmp(a->fault, "hold") == 0;
    if (strcmp(a->fault, "none") == 0 || !(a->at_fault || all))
        return;
    printf("fault %" PRId64 "\n", now());
    while (all && getchar() != '\n')
        ;
    if (strcmp(a->fault, "compute") == 0)
        compute(INT64_MAX);
    while (strcmp(a->fault, "sleep") == 0)
        pause();
}

static int act(const struct actor *a, int calls)
{
    for (int i = 0; i <= calls; i++) {
        bool last = i == calls;
        if (last)
            prepare(a);
        if (a->at_fault && strcmp(a->fault, "straggle") == 0)
            compute(a->compute_ns);
        printf("call %d %" PRId64 "\n", i, now());
        int error = call(a, last && a->at_fault && strcmp(a->fault, "differ") == 0);
        if (error != TORUS_OK)
            return error;
    }
    return TORUS_OK;
}

int main(int argc, char **argv)
{
    if (argc != 11)
        return 2;
    struct actor a = {.kind = argv[5],
                      .fault = argv[9],
                      .bytes = strtoul(argv[6], NULL, 10),
                      .size = (uint32_t)atoi(argv[3]),
                      .compute_ns = atoll(argv[10]) * 1000000};
    struct torus_open_options where = {.size = sizeof where, .socket = argv[1]};
    struct torus_join_options who = {.size = sizeof who,
                                     .name = argv[2],
                                     .ranks = a.size,
                                     .rank = atoi(argv[4]),
                                     .rank_set = true};
    a.at_fault = atoi(argv[4]) == atoi(argv[8]);
    a.from = calloc(a.size, a.bytes);
    a.to = calloc(a.size, a.bytes);
    setvbuf(stdout, NULL, _IOLBF, 0);
    int error = torus_open(&a.context, &where);
    if (error == TORUS_OK)
        error = torus_join(a.context, &who, &a.world);
    if (error == TORUS_OK)
        error = act(&a, atoi(argv[7]));
    printf("end %d %" PRId64 " %s\n", error, now(), error ? torus_last_error(a.context) : "");
    while (getchar() != EOF) /* the job is not over before the test has looked at it */
        ;
    torus_close(a.context);
    free(a.from);
    free(a.to);
    return 0;
}
