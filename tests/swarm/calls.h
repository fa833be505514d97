/* SPDX-License-Identifier: Apache-2.0 */
/* calls: the calls of the swarm, with their buffers and the results that they must have. All
 * data are computed from the call's salt, so that nothing is stored.
 * Pure: it works on memory that it is given. */
#ifndef SWARM_CALLS_H
#define SWARM_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/request.h"

enum { SWARM_GUARD = 32 };

/* struct swarm_call: one call of all ranks of a group. */
struct swarm_call {
    struct td_call call;
    bool in_place;
    uint32_t size; /* ranks of the group */
    uint64_t salt;
    uint64_t at, longest; /* of the buffers in each half of a region, guards not counted */
};

/* swarm_call_draw draws a call whose buffers need at most `room` bytes of each half, guards
 * included. */
void swarm_call_draw(struct swarm_call *c, uint64_t *random, uint32_t size, uint64_t at,
                     uint64_t room);
/* swarm_call_bytes returns the bytes that the call takes of each half. */
uint64_t swarm_call_bytes(const struct swarm_call *c);
/* swarm_call_prepare fills the buffers of a member; `base` is its region of 2 * half bytes. */
void swarm_call_prepare(const struct swarm_call *c, uint32_t member, uint8_t *base, uint64_t half);
/* swarm_call_request fills in the request. `room` has 3 * size numbers, and is used until the
 * request was sent. */
void swarm_call_request(const struct swarm_call *c, uint32_t member, uint32_t region, uint64_t half,
                        uint64_t *room, struct td_request *q);
/* swarm_call_change turns a request into that of another call, which needs no more memory. */
void swarm_call_change(struct td_request *q);
/* swarm_call_check returns NULL, or what is wrong with a member's buffers after the call. Only a
 * call that succeeded has a result. */
const char *swarm_call_check(const struct swarm_call *c, uint32_t member, uint8_t *base,
                             uint64_t half, bool success);
/* swarm_call_hash returns a hash of a member's buffers and guards. */
uint64_t swarm_call_hash(const struct swarm_call *c, const uint8_t *base, uint64_t half);

#endif
