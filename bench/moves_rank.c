/* SPDX-License-Identifier: Apache-2.0 */
/* moves_rank: a rank of either side, which executes orders of the driver. */
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "moves.h"
#include "reach.h"

static uint32_t rank;
static double *part[2];
static uint64_t elements[2];

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- layouts ---- */

static bool is_member(const struct half *h)
{
    return rank >= h->first && rank < h->first + h->parts[0] * h->parts[1];
}

static uint64_t place_of(const struct half *h, unsigned axis)
{
    uint32_t place = rank - h->first;
    return axis ? place % h->parts[1] : place / h->parts[1];
}

/* count_of returns the number of this rank's indices along an axis. */
static uint64_t count_of(const struct move *m, unsigned half, unsigned axis)
{
    const struct half *h = &m->half[half];
    uint64_t block = h->block[axis], round = block * h->parts[axis], rest = m->size[axis] % round;
    uint64_t skip = place_of(h, axis) * block, last = rest < skip ? 0 : rest - skip;
    return m->size[axis] / round * block + (last < block ? last : block);
}

/* index_of returns the index in the array of index i of this rank's. */
static uint64_t index_of(const struct half *h, unsigned axis, uint64_t i)
{
    uint64_t block = h->block[axis];
    return (i / block * h->parts[axis] + place_of(h, axis)) * block + i % block;
}

static double value_of(const struct order *o, unsigned half, uint64_t i)
{
    uint64_t width = count_of(&o->move, half, 1);
    uint64_t at = index_of(&o->move.half[half], 0, i / width) * o->move.size[1] +
                  index_of(&o->move.half[half], 1, i % width);
    return (double)(at + o->turn * 7919);
}

/* ---- orders ---- */

static const char *plan(const struct order *o)
{
    for (unsigned half = 0; half < 2; half++)
        elements[half] = is_member(&o->move.half[half])
                             ? count_of(&o->move, half, 0) * count_of(&o->move, half, 1)
                             : 0;
    return side_plan(&o->move, elements, part);
}

static const char *run(const struct order *o, struct outcome *outcome)
{
    for (uint64_t i = 0; i < elements[0]; i++)
        part[0][i] = value_of(o, 0, i);
    for (uint64_t i = 0; i < elements[1]; i++)
        part[1][i] = -1;
    const char *failed = side_barrier();
    outcome->begin_ns = now_ns();
    if (!failed)
        failed = side_run();
    outcome->end_ns = now_ns();
    for (uint64_t i = 0; i < elements[1] && !failed; i++)
        if (part[1][i] != value_of(o, 1, i)) /* small integers: exact */
            failed = "an element is wrong";
    return failed;
}

int main(void)
{
    struct handshake handshake;
    struct order order;
    const char *failed = side_open(&handshake.rank, &handshake.ranks);
    int fd = failed ? -1 : reach_driver("MOVES_SOCKET");
    if (fd < 0) {
        fprintf(stderr, "bench moves: %s\n",
                failed ? failed : "cannot connect to MOVES_SOCKET: run ./dev bench moves");
        return 1;
    }
    rank = handshake.rank;
    bool well = send(fd, &handshake, sizeof handshake, MSG_NOSIGNAL) == sizeof handshake;
    while (well && recv(fd, &order, sizeof order, 0) == sizeof order) {
        struct outcome outcome = {0};
        failed = order.kind == ORDER_PLAN ? plan(&order) : run(&order, &outcome);
        outcome.failed = failed != NULL;
        if (failed)
            snprintf(outcome.text, sizeof outcome.text, "%s", failed);
        well = send(fd, &outcome, sizeof outcome, MSG_NOSIGNAL) == sizeof outcome;
    }
    close(fd);
    side_close();
    return well ? 0 : 1;
}
