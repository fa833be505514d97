/* SPDX-License-Identifier: Apache-2.0 */
/* relay: the common part of the methods that send data by way of other nodes' scratch memory.
 *
 * The messages from the ranks of one node to the ranks of another form a *unit*: [rank there][rank
 * here][piece], padded to the node with the most ranks, so that all units have the same size and
 * places are products. A *piece* is a range of the bytes of every rank's message. Messages are cut
 * into segments, which bounds the scratch memory, and segments into parts. Padding is a copy of the
 * first local rank's data, so that only data that was written is sent.
 *
 * If counts differ by rank (model/counts.h), a unit is the node's one message to the other node. It
 * is padded with zeros to the longest of all units, so relays need not know the lengths. The units
 * of an array's move (td_relay_units) are padded in the same way. Pure: no I/O, clock, or globals.
 */
#ifndef TD_COLLECTIVES_ALLTOALL_RELAY_H
#define TD_COLLECTIVES_ALLTOALL_RELAY_H

#include "collectives/method.h"
#include "model/layout.h"

/* struct td_relay: the parameters of such a program. It is always the first member of the method's
 * parameters. */
struct TD_STORED td_relay {
    int64_t ranks;             /* greatest number of ranks of a node */
    int64_t bytes;             /* of one rank's message to another */
    int64_t segment, segments; /* bytes of a message in a segment; number of segments */
    int64_t parts;             /* parts of a segment */
    int64_t packs,
        unpacks; /* number of steps that pack, and that unpack, one part of one segment */
    int64_t packers,
        unpackers; /* the first of `parts` families that pack, and of those that unpack */
};

/* struct td_relay_units: the units of a program whose units are not the messages of ranks. Its
 * functions correspond to td_relay_pack and td_relay_unpack; `packs` and `unpacks` return the
 * number of their steps. */
struct td_relay_units {
    uint64_t (*packs)(const struct td_relay_units *units);
    uint64_t (*unpacks)(const struct td_relay_units *units);
    uint32_t (*pack)(const struct td_relay_units *units, uint64_t i, struct td_range piece,
                     struct td_step *step);
    uint32_t (*unpack)(const struct td_relay_units *units, uint64_t i, struct td_range piece,
                       struct td_step *step);
};

/* td_relay_of returns the relay parameters of a program. */
const struct td_relay *td_relay_of(const struct td_program *p);
/* td_relay_applies returns true if relays may carry a call (method.h). */
bool td_relay_applies(struct td_query *q);

/* td_relay_plan chooses the segments for `buffers` buffers, each with a unit for every node and
 * each of `parts` parts, and reserves the scratch memory. */
void td_relay_plan(struct td_program *p, struct td_relay *relay, uint32_t parts, uint32_t buffers);
/* td_relay_has returns true if a slice is in such a buffer. */
bool td_relay_has(const struct td_slice *slice);
/* td_relay_piece returns a part of a segment as a range of bytes of every rank's message. */
struct td_range td_relay_piece(const struct td_program *p, uint64_t segment, uint32_t part);
/* td_relay_unit returns the bytes of a unit with that piece. */
int64_t td_relay_unit(const struct td_program *p, struct td_range piece);
/* td_relay_buffer returns the place in scratch memory of a buffer's units of a part. */
int64_t td_relay_buffer(const struct td_program *p, uint32_t buffer, uint32_t part);

/* td_relay_pack writes COPY number i (< packs) of this node's units for all nodes, itself included.
 * It returns the slot of the unit; the caller adds the unit's place. */
uint32_t td_relay_pack(const struct td_program *p, uint64_t i, struct td_range piece,
                       struct td_step *step);
/* td_relay_unpack writes COPY number i (< unpacks) of the units from other nodes for the local
 * ranks. It returns the slot of the unit; the caller adds the unit's place if `from` is in a
 * buffer. */
uint32_t td_relay_unpack(const struct td_program *p, uint64_t i, struct td_range piece,
                         struct td_step *step);

#endif
