/* SPDX-License-Identifier: Apache-2.0 */
/* redist_schedule: in which step who sends to whom when an array moves from P owners to Q. Every
 * step is a partial permutation: nobody sends or receives twice in it. Every pair with something to
 * move meets in exactly one step.
 * Owns: the table, where the schedule is not in closed form. Borrows nothing once built.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REDIST_REDIST_SCHEDULE_H
#define TD_COLLECTIVES_REDIST_REDIST_SCHEDULE_H

#include "base/arena.h"
#include "model/layout.h"
#include "redist_circulant.h"

enum td_schedule_kind {
    TD_SCHEDULE_AUTO,        /* circulant where it applies, else the cheaper of the next two; of
                                more than TD_SCHEDULE_PAIRS_MAX pairs caterpillar */
    TD_SCHEDULE_CIRCULANT,   /* in closed form; else as AUTO */
    TD_SCHEDULE_COLOURING,   /* fewest steps: edges coloured, the heaviest first */
    TD_SCHEDULE_CLASSES,     /* equal messages within a step: each size coloured by itself */
    TD_SCHEDULE_MATCHING,    /* fewest steps: one matching after the other, to compare with */
    TD_SCHEDULE_CATERPILLAR, /* round robin in max(P, Q) steps, to compare with */
    TD_SCHEDULES
};

/* td_schedule_volume_fn returns how much owner p has for owner q; 0: nothing. */
typedef uint64_t td_schedule_volume_fn(const void *me, uint32_t p, uint32_t q);

struct td_schedule_problem {
    uint32_t p, q; /* owners before and after: products of the axes' parts */
    uint32_t dimensions;
    const struct td_schedule_axis *axis; /* NULL: boxes, offsets: `volume` says it all */
    const uint8_t *order[2]; /* axes of either grid, outermost first, as owners are numbered; NULL:
                                row-major */
    td_schedule_volume_fn *volume; /* NULL: blocks of a superblock, from the axes */
    const void *me;
    uint64_t startup; /* of a step, in units of volume: what a step costs beside its data */
};

/* td_schedule_pose fills in what two layouts say of a problem, all but volume, me and startup;
 * `axis` has TD_DIMENSIONS_MAX places and stays the caller's, as do the layouts. */
void td_schedule_pose(struct td_schedule_problem *problem, struct td_schedule_axis *axis,
                      const struct td_layout *from, const struct td_layout *to);

enum {
    TD_SCHEDULE_IDLE = UINT16_MAX,
    TD_SCHEDULE_OWNERS_MAX = UINT16_MAX - 1,
    TD_SCHEDULE_PAIRS_MAX = 1 << 16, /* up to which a table is worth the time it takes */
};
_Static_assert((int)TD_JOB_RANKS_MAX <= (int)TD_SCHEDULE_OWNERS_MAX, "a table names every rank");

struct td_schedule {
    enum td_schedule_kind kind; /* never AUTO */
    uint32_t p, q, steps;
    struct td_circulant circulant; /* of that kind */
    uint16_t *table;               /* steps rows of p receivers, then steps rows of q senders; NULL:
                                      in closed form */
};

/* td_schedule_build makes the schedule of a kind. False: no memory in the arena. */
bool td_schedule_build(struct td_schedule *s, struct td_arena *arena, enum td_schedule_kind wanted,
                       const struct td_schedule_problem *problem);
/* td_schedule_free accepts a zeroed schedule. */
void td_schedule_free(struct td_schedule *s, struct td_arena *arena);

/* td_schedule_send finds to whom `p` sends in a step, td_schedule_receive who sends to `q`; false:
 * idle. A pair that meets may yet have nothing to move (a short array, a caterpillar). */
bool td_schedule_send(const struct td_schedule *s, uint32_t p, uint32_t step, uint32_t *q);
bool td_schedule_receive(const struct td_schedule *s, uint32_t q, uint32_t step, uint32_t *p);

/* td_schedule_volume returns the problem's volume of a pair. */
uint64_t td_schedule_volume(const struct td_schedule_problem *problem, uint32_t p, uint32_t q);

/* No schedule has fewer steps than the most partners of an owner (Koenig), and none takes less time
 * than the most that an owner sends or receives. */
struct td_schedule_bound {
    uint32_t steps;
    uint64_t volume;
};
void td_schedule_bound(const struct td_schedule_problem *problem, struct td_schedule_bound *bound);

/* What a schedule takes: its steps that move anything, and the sum over them of the longest
 * message. */
struct td_schedule_cost {
    uint32_t steps;
    uint64_t volume;
};
void td_schedule_cost(const struct td_schedule *s, const struct td_schedule_problem *problem,
                      struct td_schedule_cost *cost);

/* td_schedule_name returns e.g. "circulant"; td_schedule_named finds it, false: there is none. */
const char *td_schedule_name(enum td_schedule_kind kind);
bool td_schedule_named(const char *name, enum td_schedule_kind *kind);

#endif
