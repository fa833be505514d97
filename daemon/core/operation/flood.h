/* SPDX-License-Identifier: Apache-2.0 */
/* flood: a short operation without the tree, on a group that is a torus by itself.
 *
 * The blocks of all nodes travel along the rings of one dimension after the other. Every node sends
 * its block to both neighbours and forwards the blocks that it receives. The blocks of a ring of k
 * nodes pass it in k / 2 hops; after the last ring every node has all blocks. A block carries the
 * call of its node too, so it is also that node's arrival.
 *
 * A node that has all blocks has heard from all ranks, and completes the operation by itself. Only
 * the root ends an operation with an error, and never one that may complete on some node. It gives
 * an error only if it has not sent its own block, or knows of a node that has not and has promised
 * never to send it (a veto). The root asks for vetoes after an appeal and when a rank is lost.
 *
 * A node without memory for a block tells the sender, which sends all blocks again after that node
 * has sent its own, or after a pause. Before a node sends its own block, it reserves memory for all
 * others: their senders may complete then, and forget them.
 * Owns: its arrays, in the arena. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_OPERATION_FLOOD_H
#define TD_CORE_OPERATION_FLOOD_H

#include "operation.h"

struct td_flood {
    struct td_early_block { /* a block that came before its turn */
        struct td_early_block *next;
        uint32_t ring, sign, hop, bytes;
        bool reserved; /* it is in `reserve` */
        uint8_t payload[];
    } * early;
    uint8_t *reserve; /* room for all blocks, from the block that this node sends on */
    uint32_t reserve_bytes, reserve_used;
    uint8_t *all;         /* [ride_bytes] each rank's share, in rank order */
    uint8_t *own;         /* the shares of the local ranks */
    uint32_t ring;        /* the ring that the blocks travel now; program.rings: all are here */
    uint32_t received[2]; /* blocks received in this ring, by sign */
    uint32_t sent[2 * TD_DIMENSIONS_MAX]; /* blocks sent to each neighbour, by ring and sign */
    uint32_t
        refused; /* a bit for each neighbour, by ring and sign, that had no memory for a block */
};

/* td_flood_sent returns true if the neighbours have the block of this node: the operation may
 * complete on another node. */
bool td_flood_sent(const struct td_operation *o);
void td_flood_message(struct td_core *core, struct td_operation *o, uint32_t from,
                      const struct td_message_flood *message);
/* td_flood_refused notes that a neighbour had no memory for a block. */
void td_flood_refused(struct td_core *core, struct td_operation *o, uint32_t node);
/* td_flood_advance sends and applies the blocks whose turn it is. It returns false when there is no
 * room for more actions. */
bool td_flood_advance(struct td_core *core, struct td_operation *o);
void td_flood_free(struct td_core *core, struct td_operation *o);

/* td_flood_rank_loss_settled serves the notice rank_loss_settled: it returns false while an
 * operation might still complete on some node. Otherwise it records in the group which operations
 * complete in spite of the loss. The root announces the loss only then. */
bool td_flood_rank_loss_settled(struct td_core *core, struct td_communicator *c);
/* td_flood_completes returns true if the root has listed an operation as one that completes in
 * spite of the loss. */
bool td_flood_completes(const struct td_communicator *c, uint64_t sequence);

#endif
