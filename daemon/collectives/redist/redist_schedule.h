/* SPDX-License-Identifier: Apache-2.0 */
/* redist_schedule: the steps in which owners exchange messages when an array moves from P owners to
 * Q. Every step is a partial permutation: no owner sends or receives twice in it. Every pair with
 * data meets in exactly one step. Owns: the table, unless the schedule has a closed form. A built
 * schedule borrows nothing. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REDIST_REDIST_SCHEDULE_H
#define TD_COLLECTIVES_REDIST_REDIST_SCHEDULE_H

#include "base/arena.h"
#include "model/layout.h"
#include "redist_circulant.h"

enum td_schedule_kind {
    TD_SCHEDULE_AUTO, /* circulant if it applies; otherwise the cheaper of the next two; caterpillar
                         for more than TD_SCHEDULE_PAIRS_MAX pairs */
    TD_SCHEDULE_CIRCULANT,   /* closed form; if it does not apply, as AUTO */
    TD_SCHEDULE_COLOURING,   /* fewest steps: edge colouring, largest volumes first */
    TD_SCHEDULE_CLASSES,     /* equal messages within a step: each size is coloured separately */
    TD_SCHEDULE_MATCHING,    /* fewest steps: one matching after the other, for comparison */
    TD_SCHEDULE_CATERPILLAR, /* round robin in max(P, Q) steps, for comparison */
    TD_SCHEDULES
};

/* td_schedule_volume_fn returns the data that owner p sends to owner q; 0: none. */
typedef uint64_t td_schedule_volume_fn(const void *me, uint32_t p, uint32_t q);

struct td_schedule_problem {
    uint32_t p, q; /* owners before and after: products of the axes' parts */
    uint32_t dimensions;
    const struct td_schedule_axis *axis; /* NULL: boxes or offsets, described by `volume` alone */
    const uint8_t *order[2]; /* axes of each grid, outermost first, in the order in which owners are
                                numbered; NULL: row-major */
    td_schedule_volume_fn *volume; /* NULL: blocks of a superblock, from the axes */
    const void *me;
    uint64_t startup; /* cost of a step besides its data, in units of volume */
};

/* td_schedule_pose fills in a problem from two layouts, except volume, me and startup. The caller
 * owns the layouts and `axis`, an array of TD_DIMENSIONS_MAX. */
void td_schedule_pose(struct td_schedule_problem *problem, struct td_schedule_axis *axis,
                      const struct td_layout *from, const struct td_layout *to);

enum {
    TD_SCHEDULE_IDLE = UINT16_MAX,
    TD_SCHEDULE_OWNERS_MAX = UINT16_MAX - 1,
    TD_SCHEDULE_PAIRS_MAX = 1 << 16, /* greatest number of pairs for which a table is computed */
};
_Static_assert((int)TD_JOB_RANKS_MAX <= (int)TD_SCHEDULE_OWNERS_MAX, "a table names every rank");

struct td_schedule {
    enum td_schedule_kind kind; /* never AUTO */
    uint32_t p, q, steps;
    struct td_circulant circulant; /* if the kind is CIRCULANT */
    uint16_t
        *table; /* `steps` rows of p receivers, then `steps` rows of q senders; NULL: closed form */
};

/* td_schedule_build makes the schedule of a kind. It returns false if the arena is full. */
bool td_schedule_build(struct td_schedule *s, struct td_arena *arena, enum td_schedule_kind wanted,
                       const struct td_schedule_problem *problem);
/* td_schedule_free accepts a zeroed schedule. */
void td_schedule_free(struct td_schedule *s, struct td_arena *arena);

/* td_schedule_send writes the owner to which `p` sends in a step, td_schedule_receive the owner
 * that sends to `q`. Both return false if the owner is idle. A pair that meets may have no data (a
 * short array, a caterpillar). */
bool td_schedule_send(const struct td_schedule *s, uint32_t p, uint32_t step, uint32_t *q);
bool td_schedule_receive(const struct td_schedule *s, uint32_t q, uint32_t step, uint32_t *p);

/* td_schedule_volume returns the problem's volume of a pair. */
uint64_t td_schedule_volume(const struct td_schedule_problem *problem, uint32_t p, uint32_t q);

/* struct td_schedule_bound: no schedule has fewer steps than the greatest number of partners of an
 * owner (Koenig), and none takes less time than the greatest volume that an owner sends or
 * receives. */
struct td_schedule_bound {
    uint32_t steps;
    uint64_t volume;
};
void td_schedule_bound(const struct td_schedule_problem *problem, struct td_schedule_bound *bound);

/* struct td_schedule_cost: the steps with any data, and the sum over them of the longest message.
 */
struct td_schedule_cost {
    uint32_t steps;
    uint64_t volume;
};
void td_schedule_cost(const struct td_schedule *s, const struct td_schedule_problem *problem,
                      struct td_schedule_cost *cost);

/* td_schedule_name returns e.g. "circulant". td_schedule_named finds the schedule with a name, or
 * returns false. */
const char *td_schedule_name(enum td_schedule_kind kind);
bool td_schedule_named(const char *name, enum td_schedule_kind *kind);

#endif
