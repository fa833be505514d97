/* SPDX-License-Identifier: Apache-2.0 */
/* compute: the terms of a computation on an operation's memory: a step of a program, or a copy
 * between memory and a packet or message, or the tables of a plan. The core requests computations
 * from its driver in these terms. Pure: types only. */
#ifndef TD_MODEL_COMPUTE_H
#define TD_MODEL_COMPUTE_H

#include "form.h"
#include "plan.h"
#include "program.h"

/* struct td_memory: a buffer of a rank on this node, inside the region with this handle. */
struct td_memory {
    uint32_t handle; /* TD_NO_MEMORY: the rank has none */
    uint64_t offset, bytes;
    const struct td_form *form; /* of elements with gaps; NULL: the data is contiguous */
};
#define TD_NO_MEMORY UINT32_MAX

/* struct td_view: the memory behind the spaces of an operation's slices. Scratch is the region with
 * handle TD_SCRATCH_HANDLE, which the driver creates at start. */
struct td_view {
    uint32_t ranks;                      /* local ranks of the operation's group */
    const struct td_memory *source;      /* [ranks] */
    const struct td_memory *destination; /* [ranks] */
    uint64_t scratch_offset;             /* where the operation's share begins */
    uint64_t job;                        /* instance of the job's world: jobs take turns */
    uint64_t uid;                        /* of the job's user */
};
#define TD_SCRATCH_HANDLE 0u

enum td_compute_kind {
    TD_COMPUTE_STEP,   /* a COPY, COMBINE or TRANSFORM step */
    TD_COMPUTE_UNPACK, /* copy a received buffer to bytes [offset, offset + bytes) of step.to */
    TD_COMPUTE_LOAD,   /* the same, but of bytes of the core or of a message */
    TD_COMPUTE_STORE,  /* copy step.from to bytes of the core */
    TD_COMPUTE_PLAN,   /* make a transform plan, as the planner does; TD_ERR_NO_MEMORY: `tables` is
                          full */
};

struct td_compute {
    enum td_compute_kind kind;
    uint64_t handle;
    struct td_step step;       /* UNPACK, LOAD: only `to` matters; LOAD writes every lane */
    struct td_view view;       /* its arrays stay valid until COMPUTED */
    uint64_t offset;           /* UNPACK, LOAD */
    uint64_t bytes;            /* UNPACK, LOAD, STORE */
    uint32_t buffer;           /* UNPACK */
    const uint8_t *data;       /* LOAD: valid until the core's next step, so execute it at once */
    uint8_t *store;            /* STORE: as data */
    struct td_plan_input plan; /* PLAN: its plan lives until COMPUTED, and nothing else uses it */
    struct td_arena *tables;   /* PLAN: for the transform plan */
    uint64_t cost_bytes;       /* estimated bytes of memory that it touches */
};

#endif
