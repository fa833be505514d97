/* SPDX-License-Identifier: Apache-2.0 */
/* relay: what the methods share that send data by way of other nodes' scratch.
 *
 * What the ranks of one node have for the ranks of another is a *unit*: [rank there][rank here]
 * [piece], padded to the node with the most ranks, so that units of all pairs of nodes are of one
 * size and places are products. A *piece* is a range of the bytes of every rank's message: messages
 * are cut into segments, so that scratch is bounded however long they are, and segments into parts.
 * Padding is a copy of the first local rank's data: nothing is sent that was not written.
 *
 * Of calls with parts (core/parts.h) a unit is the node's one message to the other node, as long as
 * the longest of all and filled up with zeros: relays need not know whose is how long. So they are
 * of an array's move (move_relay.h).
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_ALLTOALL_RELAY_H
#define TD_COLLECTIVES_ALLTOALL_RELAY_H

#include "collectives/collectives.h"

/* The program's first parameters. */
enum {
    TD_RELAY_RANKS,    /* the most of any node */
    TD_RELAY_BYTES,    /* of a rank's message to another */
    TD_RELAY_SEGMENT,  /* of them in one segment */
    TD_RELAY_SEGMENTS, /* how many */
    TD_RELAY_PARTS,
    TD_RELAY_PACKS,   /* steps that pack one part of one segment */
    TD_RELAY_UNPACKS, /* and that unpack one */
    /* the first of PARTS families that pack, and that unpack */
    TD_RELAY_PACKERS,
    TD_RELAY_UNPACKERS,
    TD_RELAY_PARAMETERS
};

/* td_relay_plan chooses the segments, for `buffers` buffers with a unit for every node and each of
 * `parts` parts, and reserves the scratch. */
void td_relay_plan(struct td_program *p, uint32_t parts, uint32_t buffers);
/* td_relay_has: whether a slice is of such buffers. */
bool td_relay_has(const struct td_slice *slice);
/* td_relay_piece returns a part of a segment as a range of bytes of every rank's message. */
struct td_range td_relay_piece(const struct td_program *p, uint64_t segment, uint32_t part);
/* td_relay_unit returns the bytes of a unit with that piece. */
int64_t td_relay_unit(const struct td_program *p, struct td_range piece);
/* td_relay_buffer returns the place in scratch of a buffer's units of a part. */
int64_t td_relay_buffer(const struct td_program *p, uint32_t buffer, uint32_t part);

/* td_relay_pack makes `step` the COPY number i (< PACKS) of what this node has for others, its own
 * unit included. Returns the slot it is for; the caller adds the place of that unit. */
uint32_t td_relay_pack(const struct td_program *p, uint64_t i, struct td_range piece,
                       struct td_step *step);
/* td_relay_unpack makes `step` the COPY number i (< UNPACKS) of what others have for the ranks
 * here. Returns the slot it is from; the caller adds the place of the unit, if `from` is a
 * buffer's.
 */
uint32_t td_relay_unpack(const struct td_program *p, uint64_t i, struct td_range piece,
                         struct td_step *step);

#endif
