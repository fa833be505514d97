/* SPDX-License-Identifier: Apache-2.0 */
/* job: joining and leaving a job, and the environment variables that launchers set. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/variables.h"
#include "group.h"
#include "request.h"
#include "socket.h"
#include "subgroup.h"
#include "wait.h"
#include "lock.h"

/* Variables of launchers, in the order in which they are tried: launchers that start processes
 * under another one come first. Slurm sets SLURM_PROCID and SLURM_NTASKS for a batch script too,
 * which is no rank; only srun sets SLURM_STEP_NUM_TASKS. A script that torchrun did not start may
 * set WORLD_SIZE from other variables; Slurm's have the name of the job. */
static const struct launcher {
    const char *rank, *size, *name, *step;
    bool named; /* tried only if the name is set */
} launchers[] = {
    {"TORUS_RANK", "TORUS_SIZE", "TORUS_JOB", NULL, false},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", NULL, false},
    {"PMI_RANK", "PMI_SIZE", "PMI_JOBID", NULL, false},
    {"RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID", NULL, true},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID", "SLURM_STEP_ID", false},
    {"RANK", "WORLD_SIZE", NULL, NULL, false},
};

static int read_number(torus_context *c, const char *name, int64_t least, int64_t most,
                       int64_t *value)
{
    const char *text = secure_getenv(name);
    char *end = NULL;
    if (!text) /* the caller has looked; another thread may change the environment */
        text = "";
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (!text[0] || *end || errno || number < least || number > most)
        return tl_fail(c, TORUS_ERR_INVALID, "%s=%s: expected a number from %lld to %lld", name,
                       text, (long long)least, (long long)most);
    *value = number;
    return TORUS_OK;
}

/* check_no_size refuses variables of a rank of a job whose size is not given: the job would have
 * this rank alone, and its results would be wrong. */
static int check_no_size(torus_context *c)
{
    const char *name = secure_getenv("TORUS_RANK") ? "TORUS_RANK" : "TORUS_JOB";
    const char *value = secure_getenv(name);
    char strays[TD_STRAYS_MAX], misspelt[TD_STRAYS_MAX];
    if (!value)
        return TORUS_OK;
    const char *meant =
        td_variables_misspelt(td_variables_strays(environ, strays), "TORUS_SIZE", misspelt);
    return tl_fail(c, TORUS_ERR_INVALID,
                   "%s=%s is set, but TORUS_SIZE is not%s%s%s: set TORUS_SIZE to the number of "
                   "ranks of the job, which is 1 if this process is alone",
                   name, value, meant ? " (" : "", meant ? meant : "",
                   meant ? " is set: did you mean TORUS_SIZE?)" : "");
}

/* from_environment fills in the name, rank and size that the options do not set. */
static int from_environment(torus_context *c, const struct torus_join_options *o, char *name,
                            size_t name_bytes, int64_t *rank, int64_t *size)
{
    const struct launcher *l = NULL;
    if (o && o->ranks &&
        secure_getenv(launchers[0].rank)) /* TORUS_RANK, of a size that the program knows */
        l = &launchers[0];
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0] && !l; i++)
        if (secure_getenv(launchers[i].size) &&
            (!launchers[i].named || secure_getenv(launchers[i].name)))
            l = &launchers[i];
    *size = o && o->ranks ? (int64_t)o->ranks : 1;
    *rank = o && o->rank_set ? o->rank : TORUS_RANK_ANY;
    int error = TORUS_OK;
    if (l && !(o && o->ranks))
        error = read_number(c, l->size, 1, TD_JOB_RANKS_MAX, size);
    else if (!l && !(o && o->ranks))
        error = check_no_size(c);
    if (error == TORUS_OK && l && !(o && o->rank_set) && secure_getenv(l->rank))
        error = read_number(c, l->rank, 0, TD_JOB_RANKS_MAX - 1, rank);
    if (o && o->name)
        snprintf(name, name_bytes, "%s", o->name);
    else if (secure_getenv("TORUS_JOB"))
        snprintf(name, name_bytes, "%s", secure_getenv("TORUS_JOB"));
    else if (l && l->name && secure_getenv(l->name))
        snprintf(name, name_bytes, "%s%s%s", secure_getenv(l->name),
                 l->step && secure_getenv(l->step) ? "." : "",
                 l->step && secure_getenv(l->step) ? secure_getenv(l->step) : "");
    else if (*size == 1)
        snprintf(name, name_bytes, "alone-%d-%llx", (int)getpid(), (unsigned long long)tl_now_ns());
    else
        error = error == TORUS_OK ? tl_fail(c, TORUS_ERR_INVALID,
                                            "a job of several ranks needs a name: set TORUS_JOB or "
                                            "torus_join_options.name")
                                  : error;
    return error;
}

/* check_name refuses an empty name, and says where it comes from. */
static int check_name(torus_context *c, const struct torus_join_options *o, const char *name)
{
    const char *from = o && o->name                 ? "torus_join_options.name"
                       : secure_getenv("TORUS_JOB") ? "TORUS_JOB"
                                                    : "the launcher's variable with the job's name";
    return name[0] ? TORUS_OK
                   : tl_fail(c, TORUS_ERR_INVALID, "%s is empty: a job needs a name", from);
}

/* A daemon answers a join at most 2 s after its time limit. */
static const int64_t JOIN_LATE_NS = 20 * (int64_t)1000000000;

enum { ANY_RANK = UINT32_MAX }; /* of a group that this process has not joined yet */

static int join_reply(torus_request *r, const struct td_reply *reply, bool *again)
{
    torus_group *g = r->new_group;
    g->world = reply->u.joined.group;
    if (g->rank == ANY_RANK)
        g->rank = reply->u.joined.rank;
    return tl_subgroup_reply(r, reply, again);
}

int torus_ijoin(torus_context *c, const struct torus_join_options *o, torus_group **world,
                torus_request **request)
{
    TL_GUARD(c);
    char name[TD_NAME_MAX + 1];
    int64_t rank = 0, size = 0;
    int saved = errno;
    if (!c || !world)
        return tl_null(c, "torus_join", c ? "world" : "context");
    if (!request)
        return tl_fail(c, TORUS_ERR_INVALID, "request is NULL");
    int error = tl_ready(c);
    if (error != TORUS_OK)
        return error;
    if (o && o->size != sizeof *o)
        return tl_wrong_size(c, "torus_join_options", o->size, sizeof *o);
    error = from_environment(c, o, name, sizeof name, &rank, &size);
    if (error == TORUS_OK)
        error = check_name(c, o, name);
    errno = saved;
    if (error != TORUS_OK)
        return error;
    torus_request *r = tl_request_new(c, NULL);
    if (!r || !(r->new_group = calloc(1, sizeof *r->new_group))) {
        tl_request_free(r);
        return tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the request");
    }
    r->new_group->context = c;
    r->new_group->size = (uint32_t)size;
    r->new_group->rank = rank == TORUS_RANK_ANY ? ANY_RANK : (uint32_t)rank;
    r->new_group->timeout_ns = -1;
    r->on_reply = join_reply;
    r->new_group_out = world;
    *world = NULL;
    struct td_request q = {.kind = TD_REQUEST_JOIN};
    q.u.join.name = name;
    q.u.join.size = (uint32_t)size;
    q.u.join.rank = rank;
    q.u.join.timeout_ns = o && o->timeout_ns > 0 ? o->timeout_ns : -1;
    return tl_request_submit(r, &q, request);
}

int torus_join(torus_context *c, const struct torus_join_options *o, torus_group **world)
{
    TL_GUARD(c);
    torus_request *r = NULL;
    int error = torus_ijoin(c, o, world, &r);
    if (error != TORUS_OK || !o || o->timeout_ns <= 0 || o->timeout_ns > INT64_MAX - JOIN_LATE_NS)
        return tl_request_wait(error, &r);
    error = torus_wait(r, o->timeout_ns + JOIN_LATE_NS);
    if (error != TORUS_PENDING)
        return error;
    tl_give_up(c); /* the request ends with the connection */
    return torus_wait(r, -1);
}

/* leave_subgroups leaves and frees all groups of a job except its world group. */
static int leave_subgroups(torus_group *world)
{
    torus_context *c = world->context;
    torus_group *next = NULL;
    int error = TORUS_OK;
    for (torus_group *g = c->groups; g; g = g->next)
        if (g->world == world->number && g->in_flight)
            return tl_fail(c, TORUS_ERR_BUSY,
                           "cannot leave the job: operations of one of its groups are in flight "
                           "(%u); wait for "
                           "them, or cancel them, first",
                           g->in_flight);
    for (torus_group *g = c->groups; g && error == TORUS_OK; g = next) {
        next = g->next;
        if (g->world != world->number || g == world)
            continue;
        struct td_request q = {.kind = TD_REQUEST_LEAVE};
        q.u.leave.group = g->number;
        error = tl_send(c, &q, -1);
        tl_group_free(g);
    }
    return error;
}

int torus_leave(torus_group *g)
{
    TL_GUARD(g ? g->context : NULL);
    if (!g)
        return tl_no_group("torus_leave");
    torus_context *c = g->context;
    struct td_reply reply;
    struct td_request q = {.kind = TD_REQUEST_LEAVE};
    int error = tl_ready(c);
    if (error != TORUS_OK)
        return error;
    if (g->in_flight)
        return tl_fail(
            c, TORUS_ERR_BUSY,
            "cannot leave the group: %u of its operations are in flight; wait for them, or "
            "cancel them, first",
            g->in_flight);
    if (!g->member && (error = leave_subgroups(g)) != TORUS_OK)
        return error;
    q.u.leave.group = g->number;
    error = tl_call(c, &q, -1, -1, &reply);
    tl_group_free(g);
    return error;
}
