/* SPDX-License-Identifier: Apache-2.0 */
/* counts: the table of counts of calls whose counts differ by rank (alltoallv and its relatives).
 *
 * Each rank gives, for every rank, the place and size of the part it sends and of the part it
 * receives. The bytes from the ranks of one node to the ranks of another form a *unit*: the parts
 * of all pairs of ranks one after another, senders outermost. Both nodes know the size of their
 * unit.
 *
 * A survey summarises the counts of all nodes. It travels up the tree with the announcements, and
 * down again if a method needs it (gate.c).
 * Owns: its table, in the arena. Borrows: the group. Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_COUNTS_H
#define TD_MODEL_COUNTS_H

#include "group.h"
#include "program.h"

/* struct td_part: bytes of a rank's buffer. */
struct td_part {
    uint64_t at, bytes;
};

/* struct td_counts: the counts of the local ranks of one node. */
struct td_counts {
    const struct td_group *group;
    uint32_t slot;        /* this node's slot */
    uint32_t ranks;       /* local ranks */
    struct td_part *part; /* [2][ranks][group size]: sources, then destinations */
};

/* struct td_rank_counts: one side of a rank's counts in elements, as the client gives them. Without
 * `at` the parts follow each other. */
struct td_rank_counts {
    const uint64_t *count, *at;
    uint32_t counts, ats; /* their lengths: 0 or the group's size */
};

/* td_counts_build allocates the table. It returns false if the arena is full. */
bool td_counts_build(struct td_counts *counts, struct td_arena *arena, const struct td_group *group,
                     uint32_t slot);
void td_counts_free(struct td_counts *counts, struct td_arena *arena);
/* td_counts_set stores one side of a local rank. It returns NULL, or an error as a sentence. *need
 * is the size in bytes that the buffer must have. */
const char *td_counts_set(struct td_counts *counts, uint32_t local, bool destination,
                          const struct td_rank_counts *given, uint64_t element, uint64_t *need);
/* td_counts_pairs returns the number of pairs of ranks in the unit with a slot. */
uint64_t td_counts_pairs(const struct td_counts *counts, uint32_t slot);
/* td_counts_pair returns pair i of the unit to (or from) a slot, and writes its local rank to
 * *local. */
const struct td_part *td_counts_pair(const struct td_counts *counts, bool destination,
                                     uint32_t slot, uint64_t i, uint32_t *local);
/* td_counts_unit returns the size in bytes of the unit to (or from) a slot. */
uint64_t td_counts_unit(const struct td_counts *counts, bool destination, uint32_t slot);
/* td_counts_slice returns the slice of bytes [begin, begin + bytes) of that unit. */
struct td_slice td_counts_slice(const struct td_counts *counts, bool destination, uint32_t slot,
                                uint64_t begin, uint64_t bytes);

/* td_survey_collect adds the counts of this node; td_survey_merge adds another node's survey. */
void td_survey_collect(struct td_survey *survey, const struct td_counts *counts);
void td_survey_merge(struct td_survey *survey, const struct td_survey *other);
/* td_survey_agrees returns true if each receiver expects the bytes that its senders have for it. If
 * not, *single says whether one pair alone differs; then *sender, *receiver and *more (bytes that
 * the sender has in excess, or fewer if negative) describe it. */
bool td_survey_agrees(const struct td_survey *survey, bool *single, uint32_t *sender,
                      uint32_t *receiver, int64_t *more);

#endif
