/* SPDX-License-Identifier: Apache-2.0 */
/* redist_pairs: schedules from volumes alone. The owners are the two sides of a bipartite graph,
 * and the pairs with data are its edges. Owns: the list of pairs. Pure: no I/O, clock, or globals.
 */
#ifndef TD_COLLECTIVES_REDIST_REDIST_PAIRS_H
#define TD_COLLECTIVES_REDIST_REDIST_PAIRS_H

#include "redist_schedule.h"

struct td_pair {
    uint64_t volume;
    uint16_t p, q;
};

struct td_pairs {
    uint32_t p, q, count;
    uint32_t degree;      /* greatest number of pairs of one owner */
    uint64_t *volume;     /* [p][q], computed once because it may be expensive */
    struct td_pair *pair; /* by decreasing volume, then by p and q */
};

/* These functions return false and keep no memory if the arena is full. The caller owns the table
 * of a built schedule. */
bool td_pairs_init(struct td_pairs *pairs, struct td_arena *arena,
                   const struct td_schedule_problem *problem);
void td_pairs_free(struct td_pairs *pairs, struct td_arena *arena);
/* td_pairs_problem returns the problem of the pairs. */
struct td_schedule_problem td_pairs_problem(const struct td_pairs *pairs);
/* td_pairs_table allocates the schedule's table, in which all owners are idle. td_pairs_row_send
 * returns the row of receivers of a step, td_pairs_row_receive the row of senders. */
bool td_pairs_table(struct td_schedule *s, struct td_arena *arena, uint32_t steps);
static inline uint16_t *td_pairs_row_send(const struct td_schedule *s, uint32_t step)
{
    return s->table + (size_t)step * s->p;
}
static inline uint16_t *td_pairs_row_receive(const struct td_schedule *s, uint32_t step)
{
    return s->table + (size_t)s->steps * s->p + (size_t)step * s->q;
}

#endif
