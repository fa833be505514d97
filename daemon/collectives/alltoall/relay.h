/* SPDX-License-Identifier: Apache-2.0 */
/* relay: the common part of methods that send data by way of other nodes' scratch.
 *
 * The messages of the ranks of one node for the ranks of another are a *unit*: [rank there][rank
 * here] [piece], padded to the node with the most ranks, so that units of all pairs of nodes are of
 * one size and places are products. A *piece* is a range of the bytes of every rank's message:
 * messages are cut into segments, so that scratch is bounded however long they are, and segments
 * into parts. Padding is a copy of the first local rank's data: nothing is sent that was not
 * written.
 *
 * If counts differ by rank (model/counts.h), a unit is the node's one message to the other node. It
 * is as long as the longest of all units, filled up with zeros, so relays need not know the
 * lengths. The units of an array's move (td_relay_units) are alike. Pure: no I/O, clock, or
 * globals. */
#ifndef TD_COLLECTIVES_ALLTOALL_RELAY_H
#define TD_COLLECTIVES_ALLTOALL_RELAY_H

#include "collectives/method.h"
#include "model/layout.h"

/* struct td_relay: the parameters of such a program. Always the first member of the method's own.
 */
struct TD_STORED td_relay {
    int64_t ranks;              /* of the node with the most */
    int64_t bytes;              /* of a rank's message to another */
    int64_t segment, segments;  /* bytes of a message in a segment; how many segments */
    int64_t parts;              /* of a segment */
    int64_t packs, unpacks;     /* steps that pack, and unpack, one part of one segment */
    int64_t packers, unpackers; /* the first of `parts` families that pack, and that unpack */
};

/* struct td_relay_units: the units of a program that are not the ranks' messages. Its functions are
 * as td_relay_pack and td_relay_unpack; `packs` and `unpacks` return how many steps those have. */
struct td_relay_units {
    uint64_t (*packs)(const struct td_relay_units *units);
    uint64_t (*unpacks)(const struct td_relay_units *units);
    uint32_t (*pack)(const struct td_relay_units *units, uint64_t i, struct td_range piece,
                     struct td_step *step);
    uint32_t (*unpack)(const struct td_relay_units *units, uint64_t i, struct td_range piece,
                       struct td_step *step);
};

/* td_relay_of returns the relay parameters of a program by such a method. */
const struct td_relay *td_relay_of(const struct td_program *p);
/* td_relay_applies returns true if a call may go by relays (method.h). */
bool td_relay_applies(struct td_query *q);

/* td_relay_plan chooses the segments, for `buffers` buffers that hold a unit for every node and
 * each of `parts` parts, and reserves the scratch. */
void td_relay_plan(struct td_program *p, struct td_relay *relay, uint32_t parts, uint32_t buffers);
/* td_relay_has returns true if a slice lies in such buffers. */
bool td_relay_has(const struct td_slice *slice);
/* td_relay_piece returns a part of a segment as a range of bytes of every rank's message. */
struct td_range td_relay_piece(const struct td_program *p, uint64_t segment, uint32_t part);
/* td_relay_unit returns the bytes of a unit with that piece. */
int64_t td_relay_unit(const struct td_program *p, struct td_range piece);
/* td_relay_buffer returns the place in scratch of a buffer's units of a part. */
int64_t td_relay_buffer(const struct td_program *p, uint32_t buffer, uint32_t part);

/* td_relay_pack writes COPY number i (< packs) of this node's units for others, its own included.
 * Returns the slot of the unit; the caller adds the unit's place. */
uint32_t td_relay_pack(const struct td_program *p, uint64_t i, struct td_range piece,
                       struct td_step *step);
/* td_relay_unpack writes COPY number i (< unpacks) of the units of others for the ranks here.
 * Returns the slot of the unit; the caller adds the unit's place if `from` lies in a buffer. */
uint32_t td_relay_unpack(const struct td_program *p, uint64_t i, struct td_range piece,
                         struct td_step *step);

#endif
