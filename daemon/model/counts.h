/* SPDX-License-Identifier: Apache-2.0 */
/* parts: who has how much for whom, in calls whose counts differ by rank (alltoallv and its kin).
 *
 * Every rank says what it has for, and what it takes from, every rank: a place and a size in its
 * buffer each. What the ranks of one node have for those of another is a *unit*: the bytes of every
 * pair of ranks one after the other, the senders outermost; both nodes know a unit of theirs.
 *
 * A survey is what all nodes together know of the sizes: it travels up the tree with the arrival,
 * and down again when a method needs it (gate.c).
 * Owns: its table, in the arena. Borrows: the group. Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_COUNTS_H
#define TD_MODEL_COUNTS_H

#include "group.h"
#include "program.h"

/* struct td_part: bytes of a rank's buffer. */
struct td_part {
    uint64_t at, bytes;
};

/* struct td_counts: those of the local ranks of one node. */
struct td_counts {
    const struct td_group *group;
    uint32_t slot;        /* this node's */
    uint32_t ranks;       /* local */
    struct td_part *part; /* [2][ranks][group size]: of the sources, then of the destinations */
};

/* struct td_rank_counts: one side of a rank's parts, as the client says them, in elements. `at` may
 * be missing: the parts then follow each other. */
struct td_rank_counts {
    const uint64_t *count, *at;
    uint32_t counts, ats; /* how many there are: 0 or the group's size */
};

/* td_counts_build takes the memory; false when there is none. */
bool td_counts_build(struct td_counts *parts, struct td_arena *arena, const struct td_group *group,
                     uint32_t slot);
void td_counts_free(struct td_counts *parts, struct td_arena *arena);
/* td_counts_set notes one side of a local rank. Returns NULL or what is wrong with the counts;
 * *need is then what the buffer must hold. */
const char *td_counts_set(struct td_counts *parts, uint32_t local, bool destination,
                          const struct td_rank_counts *counts, uint64_t element, uint64_t *need);
/* td_counts_pairs returns how many pairs of ranks the unit with a slot has. */
uint64_t td_counts_pairs(const struct td_counts *parts, uint32_t slot);
/* td_counts_pair returns pair i of the unit for (or from) a slot, and which local rank has it. */
const struct td_part *td_counts_pair(const struct td_counts *parts, bool destination, uint32_t slot,
                                     uint64_t i, uint32_t *local);
/* td_counts_unit returns the bytes of the unit for (or from) a slot. */
uint64_t td_counts_unit(const struct td_counts *parts, bool destination, uint32_t slot);
/* td_counts_slice names bytes [begin, begin + bytes) of that unit. */
struct td_slice td_counts_slice(const struct td_counts *parts, bool destination, uint32_t slot,
                                uint64_t begin, uint64_t bytes);

/* td_survey_take adds what this node knows; td_survey_add what others told. */
void td_survey_take(struct td_survey *survey, const struct td_counts *parts);
void td_survey_add(struct td_survey *survey, const struct td_survey *other);
/* td_survey_agrees: whether every receiver takes what its senders have for it. If not, `single`
 * says whether the difference is that of one pair: then sender, receiver and how many bytes more
 * the sender has (or fewer). */
bool td_survey_agrees(const struct td_survey *survey, bool *single, uint32_t *sender,
                      uint32_t *receiver, int64_t *more);

#endif
