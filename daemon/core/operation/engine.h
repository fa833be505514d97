/* SPDX-License-Identifier: Apache-2.0 */
/* engine: runs the program of an operation: starts the steps whose dependencies are met, matches
 * packets to receives, and counts what is done.
 * Owns: the counters. Borrows: the operation and its program.
 * Invariant: prefix <= done <= next <= count of every family (next is count for receives). */
#ifndef TD_CORE_OPERATION_ENGINE_H
#define TD_CORE_OPERATION_ENGINE_H

#include "core/core_internal.h"

struct td_engine {
    struct td_engine_family {
        uint64_t next;      /* steps started */
        uint64_t done;      /* steps done */
        uint64_t prefix;    /* the first of them without a gap */
        uint64_t settled;   /* RECV: steps up to here have bytes, or are done */
        uint8_t *bits;      /* [count] done */
        uint64_t *received; /* RECV: [count] bytes; SYNC: [count] see sync.c */
    } family[TD_FAMILIES_MAX];
    bool starved; /* a step found no free in-flight record: the end of another lets it try again */
    struct td_expanded {
        bool kept;
        unsigned family;
        uint64_t index;
        struct td_step step;
    } expanded; /* the step that last found no room: expanding it again costs more than keeping it
                 */
};

/* td_engine_init readies the counters of a compiled program; receives are armed from now on.
 * False: no memory. */
bool td_engine_init(struct td_core *core, struct td_operation *o);
void td_engine_fini(struct td_core *core, struct td_operation *o);
/* td_engine_advance starts what can be started; false when it needs more room in the action list.
 */
bool td_engine_advance(struct td_core *core, struct td_operation *o);
bool td_engine_finished(const struct td_operation *o);
/* td_engine_find returns the operation that takes packets and SYNCs under that number, or NULL. */
struct td_operation *td_engine_find(struct td_communicator *c, uint64_t sequence);
/* td_engine_packet takes a packet's payload, which comes from `node` at last; false when it is of
 * no live operation. */
bool td_engine_packet(struct td_core *core, uint32_t node, const struct td_packet *packet,
                      uint32_t buffer);
/* td_engine_landing fills in where the payload of a packet would be unpacked: see td_core_landing.
 */
bool td_engine_landing(struct td_core *core, uint32_t node, const struct td_packet *packet,
                       struct td_compute *landing);
/* td_engine_delivered: a SEND has been received, or a SYNC is over. td_engine_computed: a
 * computation is done. */
void td_engine_delivered(struct td_core *core, struct td_operation *o, unsigned family,
                         uint64_t index);
void td_engine_computed(struct td_core *core, uint64_t handle, td_err error);
/* td_engine_owed_by returns a node whose message is missing, or UINT32_MAX. */
uint32_t td_engine_owed_by(const struct td_operation *o);
void td_engine_progress(const struct td_operation *o, uint64_t *steps_done, uint64_t *steps);

#endif
