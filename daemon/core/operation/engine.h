/* SPDX-License-Identifier: Apache-2.0 */
/* engine: runs the program of an operation. It starts the steps whose dependencies are met, matches
 * packets to RECV steps, and counts the steps that are done.
 * Owns: the counters. Borrows: the operation and its program.
 * Invariant: prefix <= done <= next <= count of every family (next is count for receives). */
#ifndef TD_CORE_OPERATION_ENGINE_H
#define TD_CORE_OPERATION_ENGINE_H

#include "core/core_internal.h"

struct td_engine {
    struct td_engine_family {
        uint64_t next;      /* steps started */
        uint64_t done;      /* steps done */
        uint64_t prefix;    /* steps at the beginning that are all done */
        uint64_t settled;   /* RECV: the steps before this one have bytes, or are done */
        uint8_t *bits;      /* [count] one bit a step: done */
        uint64_t *received; /* RECV: [count] bytes received; SYNC: [count] see sync.c */
    } family[TD_FAMILIES_MAX];
    bool starved; /* a step found no in-flight record or memory: it waits for the end of another */
    struct td_operation *next_starved; /* in the list of operations that wait so */
    struct td_expanded {
        bool kept;
        unsigned family;
        uint64_t index;
        struct td_step step;
    } expanded; /* the step that last found no room: keeping it costs less than expanding it again
                 */
};

/* td_engine_init clears the counters of a compiled program. Packets for its RECV steps are accepted
 * from now on. It returns false if memory runs out. */
bool td_engine_init(struct td_core *core, struct td_operation *o);
void td_engine_fini(struct td_core *core, struct td_operation *o);
/* td_engine_advance starts the steps that can start. It returns false when the action list has no
 * room for more. */
bool td_engine_advance(struct td_core *core, struct td_operation *o);
/* td_engine_record_free lets the operation go on that has waited the longest for an in-flight
 * record. */
void td_engine_record_free(struct td_core *core);
/* td_engine_finished returns true if all steps are done. */
bool td_engine_finished(const struct td_operation *o);
/* td_engine_find returns the operation that accepts packets and SYNCs with a sequence number, or
 * NULL. */
struct td_operation *td_engine_find(struct td_communicator *c, uint64_t sequence);
/* td_engine_packet starts to unpack a packet whose origin is `node`. It returns false if no live
 * operation expects the packet. */
bool td_engine_packet(struct td_core *core, uint32_t node, const struct td_packet *packet,
                      uint32_t buffer);
/* td_engine_carried does so for bytes that a message has brought: `data` is valid until the next
 * step. */
void td_engine_carried(struct td_core *core, uint32_t node, const struct td_packet *packet,
                       const uint8_t *data);
/* td_engine_arriving notes that the operation of a packet makes progress. */
void td_engine_arriving(struct td_core *core, const struct td_packet *packet);
/* td_engine_landing fills in where the payload of a packet would be unpacked: see td_core_landing.
 */
bool td_engine_landing(struct td_core *core, uint32_t node, const struct td_packet *packet,
                       struct td_compute *landing);
/* td_engine_delivered ends a SEND step whose bytes are all received, or a SYNC step. */
void td_engine_delivered(struct td_core *core, struct td_operation *o, unsigned family,
                         uint64_t index);
/* td_engine_computed ends the computation with that handle. */
void td_engine_computed(struct td_core *core, uint64_t handle, td_err error);
/* td_engine_needs returns true unless the operation of the computation with that handle has ended.
 */
bool td_engine_needs(const struct td_core *core, uint64_t handle);
/* td_engine_owed_by returns a node whose message the operation waits for, or UINT32_MAX. */
uint32_t td_engine_owed_by(const struct td_operation *o);
/* td_engine_progress counts the steps that are done, and all steps. */
void td_engine_progress(const struct td_operation *o, uint64_t *steps_done, uint64_t *steps);

#endif
