/* SPDX-License-Identifier: Apache-2.0 */
/* plan: transforms and redistributions that a group agrees on once and executes repeatedly. */
#ifndef TORUS_PLAN_H
#define TORUS_PLAN_H

#include "group.h"
#include "model/plan.h"
#include "request.h"

struct torus_plan {
    struct tl_attachment attachment; /* first: the group frees the plan */
    uint64_t number;                 /* in the daemon */
    uint8_t kind;                    /* of the calls that execute it */
    bool distinct;                   /* input and output must not share memory */
    size_t alignment;                /* of the buffers, in bytes */
    struct tl_move *move;            /* of a redistribution on one node; NULL: it goes by request */
    /* this rank's part; index 0: input, 1: output */
    size_t bytes[2];
    struct td_box box[2];
    struct td_owned owned[2][TD_DIMENSIONS_MAX];
};

/* tl_plan_describe_fft writes the request for the plan of a transform. */
int tl_plan_describe_fft(torus_context *c, const struct torus_fft_desc *d, struct td_request *q);

/* tl_plan_parse makes the plan of a description, as the daemon does. Its attachment frees it, also
 * before tl_plan_reply has attached it to its group. TORUS_ERR_INVALID: the description is
 * malformed. */
int tl_plan_parse(torus_group *g, unsigned kind, const struct td_description *d,
                  torus_plan **planned);

/* tl_plan_reply attaches r->new_plan to its group: on_reply of a request. */
int tl_plan_reply(torus_request *r, const struct td_reply *reply, bool *again);

/* tl_plan_bind binds the buffers of an execution and writes its request, without group and plan
 * number. tl_plan_address writes these. */
int tl_plan_bind(torus_request *r, const torus_plan *p, const void *source, void *destination,
                 struct td_request *q);
void tl_plan_address(const torus_plan *p, struct td_request *q);

#endif
