/* SPDX-License-Identifier: Apache-2.0 */
/* compute: what a computation on an operation's memory is: a step of a program, or bytes that move
 * between memory and a packet or message. The core asks its driver for computations in these terms.
 * Pure: types only. */
#ifndef TD_MODEL_COMPUTE_H
#define TD_MODEL_COMPUTE_H

#include "program.h"

/* struct td_memory: a buffer of a rank on this node. A region is named by the driver's handle. */
struct td_memory {
    uint32_t handle; /* TD_NO_MEMORY when the rank has none */
    uint64_t offset, bytes;
};
#define TD_NO_MEMORY UINT32_MAX

/* struct td_view: what the spaces of an operation's slices mean. Scratch is the region with handle
 * TD_SCRATCH_HANDLE, which the driver made at start. */
struct td_view {
    uint32_t ranks;                      /* local ranks of the operation's group */
    const struct td_memory *source;      /* [ranks] */
    const struct td_memory *destination; /* [ranks] */
    uint64_t scratch_offset;             /* of the operation's share */
};
#define TD_SCRATCH_HANDLE 0u

enum td_compute_kind {
    TD_COMPUTE_STEP,   /* a COPY, COMBINE or TRANSFORM step */
    TD_COMPUTE_UNPACK, /* bytes [offset, offset + bytes) of step.to from a received buffer */
    TD_COMPUTE_LOAD,   /* the same from bytes the core has (payload that rode along) */
    TD_COMPUTE_STORE,  /* step.from to bytes of the core */
};

struct td_compute {
    enum td_compute_kind kind;
    uint64_t handle;
    struct td_step step; /* UNPACK, LOAD: `to` alone counts; LOAD writes every lane of it */
    struct td_view view; /* its arrays live until COMPUTED */
    uint64_t offset;     /* UNPACK */
    uint64_t bytes;      /* UNPACK, LOAD, STORE */
    uint32_t buffer;     /* UNPACK */
    const uint8_t *data; /* LOAD: valid until the next step of the core: execute it at once */
    uint8_t *store;      /* STORE: the same */
    uint64_t cost_bytes; /* about how much memory it touches */
};

#endif
