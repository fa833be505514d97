/* SPDX-License-Identifier: Apache-2.0 */
/* flood: a short operation without the tree, on a group that is a torus by itself. Along the rings
 * of one dimension after the other every node tells both neighbours what it has, and passes on what
 * it hears: the blocks of k nodes go round a ring in k / 2 hops, and after the last ring all have
 * all, in as many hops as the machine is wide. What a node tells is its arrival too, with its call.
 *
 * Who has all blocks has heard of all ranks, and all made the same call: that is the good ending,
 * and it is the same on all nodes since each comes to it. A bad one is the root's, as ever, and
 * must not cross it: the root gives it only if it has not told itself, or knows of a node that has
 * not and has promised that it never will (a veto). It asks for vetoes when somebody appeals, and
 * when a rank is lost.
 *
 * A node that has no room for what it is told says so, and is told all again when it tells itself:
 * before that nobody can have gone on without it.
 * Owns: its arrays, in the arena. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_OPERATION_FLOOD_H
#define TD_CORE_OPERATION_FLOOD_H

#include "operation.h"

struct td_flood {
    struct td_early_block { /* what came before its turn */
        struct td_early_block *next;
        uint32_t ring, sign, hop, bytes;
        uint8_t payload[];
    } * held;
    uint8_t *all;                         /* [ride_bytes] of every rank its share, in rank order */
    uint8_t *own;                         /* of the ranks here */
    uint32_t ring;                        /* in which it is; the number of rings: all is there */
    uint32_t got[2];                      /* blocks that have come round it, by sign */
    uint32_t sent[2 * TD_DIMENSIONS_MAX]; /* to the next in a ring, by sign */
    uint32_t missed;                      /* mask: that one had no room */
};

/* td_flood_sent returns true if the neighbours have the block of this node: the operation may
 * complete on another node. */
bool td_flood_sent(const struct td_operation *o);
void td_flood_message(struct td_core *core, struct td_operation *o, uint32_t from,
                      const struct td_message_flood *m);
/* td_flood_missed: a neighbour had no room. */
void td_flood_missed(struct td_operation *o, uint32_t node);
/* td_flood_advance goes on; false when there is no room for more actions now. */
bool td_flood_advance(struct td_core *core, struct td_operation *o);
void td_flood_free(struct td_core *core, struct td_operation *o);

/* td_flood_rank_loss_settled serves the notice rank_loss_settled: it returns false while an
 * operation might still complete on some node. Otherwise it records in the group which operations
 * complete in spite of the loss. The root announces the loss only then. */
bool td_flood_rank_loss_settled(struct td_core *core, struct td_communicator *c);
/* td_flood_good returns true if the root said that an operation completes in spite of the loss. */
bool td_flood_good(const struct td_communicator *c, uint64_t sequence);

#endif
