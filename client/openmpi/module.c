/* SPDX-License-Identifier: Apache-2.0 */
#include "module.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/op/op.h"

#include "forms_all.h"
#include "forms_neighbours.h"
#include "forms_reduce.h"
#include "forms_rooted.h"
#include "membership.h"
#include "request.h"

_Static_assert(OMPI_SIZEOF_FORTRAN_INTEGER == SIZEOF_INT, "absent/ needs equal sizes");

/* TM_FUNCTIONS: X(function) for every function of a module. */
#define TM_THREE(X, name) X(name) X(i##name) X(name##_init)
#define TM_FUNCTIONS(X)                                                                            \
    TM_THREE(X, allgather)                                                                         \
    TM_THREE(X, allgatherv)                                                                        \
    TM_THREE(X, allreduce)                                                                         \
    TM_THREE(X, alltoall)                                                                          \
    TM_THREE(X, alltoallv)                                                                         \
    TM_THREE(X, alltoallw)                                                                         \
    TM_THREE(X, barrier)                                                                           \
    TM_THREE(X, bcast)                                                                             \
    TM_THREE(X, exscan)                                                                            \
    TM_THREE(X, gather)                                                                            \
    TM_THREE(X, gatherv)                                                                           \
    TM_THREE(X, reduce)                                                                            \
    TM_THREE(X, reduce_scatter)                                                                    \
    TM_THREE(X, reduce_scatter_block)                                                              \
    TM_THREE(X, scan)                                                                              \
    TM_THREE(X, scatter)                                                                           \
    TM_THREE(X, scatterv)                                                                          \
    TM_THREE(X, neighbor_allgather)                                                                \
    TM_THREE(X, neighbor_allgatherv)                                                               \
    TM_THREE(X, neighbor_alltoall)                                                                 \
    TM_THREE(X, neighbor_alltoallv)                                                                \
    TM_THREE(X, neighbor_alltoallw)

/* ---- life ---- */

static void construct(struct tm_module *m)
{
    memset(&m->previous, 0, sizeof m->previous);
    m->reason = TM_MEMBER;
    m->one_node = false;
    m->comm = NULL;
    m->ranks = NULL;
    m->group = NULL;
    m->calls = 0;
    m->begun = false;
    m->pace = (struct tm_pace){0};
}

/* destruct does not wait for other ranks: the torus group is freed locally. */
static void destruct(struct tm_module *m)
{
#define X(function)                                                                                \
    if (m->previous.coll_##function##_module)                                                      \
        OBJ_RELEASE(m->previous.coll_##function##_module);
    TM_FUNCTIONS(X)
#undef X
    tm_group_release(m->group);
    free(m->ranks);
}

OBJ_CLASS_INSTANCE(tm_module_t, mca_coll_base_module_t, construct, destruct);

/* is_world returns true if the group of the job serves the communicator. */
static bool is_world(struct ompi_communicator_t *comm)
{
    return comm == &ompi_mpi_comm_world.comm &&
           (uint32_t)ompi_comm_size(comm) == tm_membership_size();
}

/* begin_group starts to make the communicator's group, and does not wait. */
static int begin_group(struct tm_module *m)
{
    uint32_t size = (uint32_t)ompi_comm_size(m->comm);
    m->begun = true;
    m->group = tm_group_new(m->ranks, size, m->comm->c_contextid, is_world(m->comm));
    return m->group ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}

/* enable saves the functions that served the communicator. The group of the job needs no creation;
 * others are made by has_group. */
static int enable(mca_coll_base_module_t *module, struct ompi_communicator_t *comm)
{
    struct tm_module *m = (struct tm_module *)module;
    const mca_coll_base_comm_coll_t *now = comm->c_coll;
#define X(function)                                                                                \
    m->previous.coll_##function = now->coll_##function;                                            \
    m->previous.coll_##function##_module = now->coll_##function##_module;                          \
    if (m->previous.coll_##function##_module)                                                      \
        OBJ_RETAIN(m->previous.coll_##function##_module);
    TM_FUNCTIONS(X)
#undef X
    return m->reason == TM_TAKEN && is_world(comm) ? begin_group(m) : OMPI_SUCCESS;
}

mca_coll_base_module_t *tm_module_query(struct ompi_communicator_t *comm, int *priority)
{
    if (comm == &ompi_mpi_comm_world.comm)
        tm_membership_init(comm);
    *priority = tm_parameters.priority;
    if (OMPI_COMM_IS_INTER(comm) || ompi_comm_size(comm) < 2 || *priority < 0)
        return NULL;
    struct tm_module *m = OBJ_NEW(tm_module_t);
    if (!m)
        return NULL;
    m->comm = comm;
    m->ranks = calloc((size_t)ompi_comm_size(comm), sizeof *m->ranks);
    if (m->ranks)
        m->reason = tm_membership_ranks(comm, m->ranks, &m->one_node);
    /* Each group costs one of the daemon's, and a program may have more communicators. */
    if (m->reason == TM_TAKEN && comm->c_contextid >= tm_parameters.communicators)
        m->reason = TM_GROUPS;
    tm_verbose(2, "communicator %u of %d ranks: %s", comm->c_contextid, ompi_comm_size(comm),
               m->reason == TM_TAKEN ? "taken" : "left to Open MPI");
    m->super.coll_module_enable = enable;
    tm_forms_rooted(&m->super);
    tm_forms_all(&m->super);
    tm_forms_reduce(&m->super);
    tm_forms_neighbours(&m->super);
    return &m->super;
}

/* ---- calls ---- */

/* all_have_room returns true if every rank may have another persistent call. A rank may have freed
 * a call that others still have, so they agree by the functions of Open MPI. */
static bool all_have_room(struct tm_module *m)
{
    int room = tm_groups_persistent() < tm_parameters.persistent;
    int error =
        m->previous.coll_allreduce(MPI_IN_PLACE, &room, 1, &ompi_mpi_int.dt, &ompi_mpi_op_min.op,
                                   m->comm, m->previous.coll_allreduce_module);
    return error == OMPI_SUCCESS && room;
}

/* has_group returns true from the call on that makes the communicator worth a group; that call
 * starts to make it. MPI makes the order of a communicator's calls and their bytes equal on all
 * ranks, so all of them begin with the same call. The calls that Open MPI makes for itself have
 * fallen back before (`internal`) and are not counted. */
static bool has_group(struct tm_module *m, const struct tm_args *args)
{
    if (m->begun)
        return true;
    m->calls += tm_weight(args, m->comm);
    if (m->calls < tm_after())
        return false;
    begin_group(m); /* without memory the call fails: it must not fall back on one rank alone */
    return true;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* leaves_short returns true if a short call stays with Open MPI. The ranks make an allreduce to
 * agree on that where the order of calls says so. After its failure calls go through torusd, and
 * return the error. */
static bool leaves_short(struct tm_module *m)
{
    int64_t now = now_ns();
    if (tm_pace_ends(&m->pace, now)) {
        int error = TORUS_OK;
        const char *text = NULL;
        int32_t slow = tm_pace_is_slow(&m->pace, now);
        torus_group *g = m->group ? tm_group_await(m->group, &error, &text) : NULL;
        if (!g || torus_allreduce(g, &slow, &slow, 1, TORUS_INT32, TORUS_MAX) != TORUS_OK)
            slow = true;
        tm_pace_next(&m->pace, slow, now_ns()); /* the agreement is no part of the next row */
    }
    return m->pace.leaves;
}

bool tm_form_takes(struct tm_module *m, const struct tm_args *args, enum tm_form form)
{
    enum tm_reason reason = tm_decide(args, form, m->comm, m->reason, m->one_node);
    if (reason == TM_TAKEN && form == TM_PERSISTENT && !all_have_room(m))
        reason = TM_GROUPS;
    if (reason == TM_TAKEN && form != TM_PERSISTENT && !has_group(m, args))
        reason = TM_FEW;
    if (reason == TM_TAKEN && tm_is_short(args, form, m->comm, m->one_node) && leaves_short(m))
        reason = TM_SLOWER;
    tm_count(args->kind, reason);
    return reason == TM_TAKEN;
}

int tm_form_run(struct tm_module *m, const struct tm_args *args)
{
    struct tm_call call;
    if (!m->group)
        return OMPI_ERR_OUT_OF_RESOURCE;
    int error = tm_call_prepare(&call, m->comm, args);
    if (error == OMPI_SUCCESS)
        error = tm_call_run(&call, m->group);
    tm_call_free(&call);
    return error;
}

int tm_form_start(struct tm_module *m, const struct tm_args *args, ompi_request_t **request)
{
    if (!m->group)
        return OMPI_ERR_OUT_OF_RESOURCE;
    return tm_request_start(m->comm, m->group, args, request);
}

int tm_form_init(struct tm_module *m, const struct tm_args *args, ompi_request_t **request)
{
    struct tm_group *group = tm_group_new(m->ranks, (uint32_t)ompi_comm_size(m->comm),
                                          TM_PERSISTENT_TAG + m->comm->c_contextid, false);
    return group ? tm_request_init(m->comm, group, args, request) : OMPI_ERR_OUT_OF_RESOURCE;
}
