/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/op/op.h"

#include "error.h"

/* The base is that of Open MPI's own collectives: the functions of MPI keep types and operators
 * there, too. */
struct tm_request {
    ompi_coll_base_nbc_request_t super;
    struct tm_call call;
    struct tm_group *group;
    struct ompi_datatype_t **types; /* retained */
    size_t type_count;
};

static void construct(struct tm_request *r)
{
    r->super.super.req_type = OMPI_REQUEST_COLL;
    r->super.super.req_start = NULL;
    r->super.super.req_cancel = NULL;
    r->group = NULL;
    r->types = NULL;
    r->type_count = 0;
    memset(&r->call, 0, sizeof r->call);
}

typedef struct tm_request tm_request_t;
OBJ_CLASS_INSTANCE(tm_request_t, ompi_coll_base_nbc_request_t, construct, NULL);

/* ---- what a request retains ---- */

/* keep retains a type that is not predefined. */
static void keep(struct tm_request *r, struct ompi_datatype_t *type)
{
    if (!type || ompi_datatype_is_predefined(type))
        return;
    OBJ_RETAIN(type);
    r->types[r->type_count++] = type;
}

/* side_blocks returns the number of types that a side names. */
static size_t side_blocks(const struct tm_side *side)
{
    return side->block ? side->blocks : 0;
}

static int retain(struct tm_request *r)
{
    const struct tm_call *c = &r->call;
    size_t most = side_blocks(&c->from) + side_blocks(&c->to) + 1;
    r->types = calloc(most, sizeof *r->types);
    if (!r->types)
        return OMPI_ERR_OUT_OF_RESOURCE;
    for (size_t i = 0; i < side_blocks(&c->from); i++)
        keep(r, c->from.block[i].type);
    for (size_t i = 0; i < side_blocks(&c->to); i++)
        keep(r, c->to.block[i].type);
    keep(r, c->folding.type);
    if (c->args.op && !ompi_op_is_intrinsic(c->args.op))
        OBJ_RETAIN(c->args.op);
    OBJ_RETAIN(c->comm);
    return OMPI_SUCCESS;
}

static void let_go(struct tm_request *r)
{
    for (size_t i = 0; i < r->type_count; i++)
        OBJ_RELEASE(r->types[i]);
    free(r->types);
    if (r->call.args.op && !ompi_op_is_intrinsic(r->call.args.op))
        OBJ_RELEASE(r->call.args.op);
    OBJ_RELEASE(r->call.comm);
}

/* ---- life ---- */

static int free_request(ompi_request_t **request)
{
    struct tm_request *r = (struct tm_request *)*request;
    if (!REQUEST_COMPLETE(&r->super.super))
        return MPI_ERR_REQUEST;
    OMPI_REQUEST_FINI(&r->super.super);
    let_go(r);
    tm_call_free(&r->call);
    tm_group_release(r->group);
    OBJ_RELEASE(r);
    *request = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

/* complete runs when the call has ended. */
static void complete(struct tm_call *call)
{
    struct tm_request *r = (struct tm_request *)((char *)call - offsetof(struct tm_request, call));
    r->super.super.req_status.MPI_ERROR =
        call->error == TORUS_OK ? MPI_SUCCESS : tm_error(call->error, call->text);
    ompi_request_complete(&r->super.super, true);
}

/* make returns a request whose call is prepared, or NULL. It takes over a hold of the group. */
static struct tm_request *make(struct ompi_communicator_t *comm, struct tm_group *group,
                               const struct tm_args *args, bool persistent)
{
    struct tm_request *r = OBJ_NEW(tm_request_t);
    if (!r) {
        tm_group_release(group);
        return NULL;
    }
    ompi_request_t *super = &r->super.super;
    OMPI_REQUEST_INIT(super, persistent);
    super->req_mpi_object.comm = comm;
    super->req_free = free_request;
    super->req_status._cancelled = 0;
    super->req_status.MPI_ERROR = MPI_SUCCESS;
    r->group = group;
    if (tm_call_prepare(&r->call, comm, args) == OMPI_SUCCESS && retain(r) == OMPI_SUCCESS) {
        r->call.ended = complete;
        return r;
    }
    tm_call_free(&r->call);
    tm_group_release(group);
    OMPI_REQUEST_FINI(super);
    OBJ_RELEASE(r);
    return NULL;
}

int tm_request_start(struct ompi_communicator_t *comm, struct tm_group *group,
                     const struct tm_args *args, ompi_request_t **made)
{
    struct tm_request *r = make(comm, tm_group_hold(group), args, false);
    if (!r)
        return OMPI_ERR_OUT_OF_RESOURCE;
    r->super.super.req_state = OMPI_REQUEST_ACTIVE;
    *made = &r->super.super;
    tm_call_start(&r->call, group);
    return OMPI_SUCCESS;
}

/* start serves MPI_Start and MPI_Startall. */
static int start(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; i++) {
        struct tm_request *r = (struct tm_request *)requests[i];
        ompi_request_t *super = &r->super.super;
        super->req_complete = REQUEST_PENDING;
        super->req_state = OMPI_REQUEST_ACTIVE;
        super->req_status.MPI_ERROR = MPI_SUCCESS;
        tm_call_start(&r->call, r->group);
    }
    return OMPI_SUCCESS;
}

int tm_request_init(struct ompi_communicator_t *comm, struct tm_group *group,
                    const struct tm_args *args, ompi_request_t **made)
{
    struct tm_request *r = make(comm, group, args, true);
    if (!r)
        return OMPI_ERR_OUT_OF_RESOURCE;
    r->super.super.req_start = start;
    *made = &r->super.super;
    return OMPI_SUCCESS;
}
