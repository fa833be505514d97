/* SPDX-License-Identifier: Apache-2.0 */
/* redist_pairs: schedules from volumes alone: the owners are the two sides of a bipartite graph,
 * whose edges are the pairs with something to move.
 * Owns: the list of pairs. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REDIST_REDIST_PAIRS_H
#define TD_COLLECTIVES_REDIST_REDIST_PAIRS_H

#include "redist_schedule.h"

struct td_pair {
    uint64_t volume;
    uint16_t p, q;
};

struct td_pairs {
    uint32_t p, q, count;
    uint32_t degree;      /* the most pairs of one owner */
    uint64_t *volume;     /* [p][q]: asking for one may take long */
    struct td_pair *pair; /* heaviest first, then by p and q */
};

/* All these return false when the arena has no memory, and then keep none. A built schedule's table
 * is the caller's. */
bool td_pairs_init(struct td_pairs *pairs, struct td_arena *arena,
                   const struct td_schedule_problem *problem);
void td_pairs_free(struct td_pairs *pairs, struct td_arena *arena);
/* td_pairs_problem is the problem as the pairs know it. */
struct td_schedule_problem td_pairs_problem(const struct td_pairs *pairs);
/* td_pairs_colour makes the COLOURING of the pairs, in `degree` steps; td_pairs_classes the
 * CLASSES; td_pairs_match the MATCHING, in `degree` steps. */
bool td_pairs_colour(const struct td_pairs *pairs, struct td_arena *arena, struct td_schedule *s);
bool td_pairs_classes(const struct td_pairs *pairs, struct td_arena *arena, struct td_schedule *s);
bool td_pairs_match(const struct td_pairs *pairs, struct td_arena *arena, struct td_schedule *s);
/* td_pairs_classes_cost tells what td_pairs_classes would make. */
bool td_pairs_classes_cost(const struct td_pairs *pairs, struct td_arena *arena,
                           struct td_schedule_cost *cost);

/* td_pairs_table gives the schedule a table in which all are idle; td_pairs_row_send is its row of
 * receivers in a step, td_pairs_row_receive its row of senders. */
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
