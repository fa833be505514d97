/* SPDX-License-Identifier: Apache-2.0 */
#include "forming.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libtorus/deadline.h"
#include "libtorus/socket.h"
#include "libtorus/status.h"
#include "torusctl/torusctl.h"

#define FIRST_S 0.05 /* from the end of a rank to the first look; then twice as long each time */
#define MOST_S 5.0
#define TELL_S 5.0 /* from the start of the ranks until it is told that some are missing */
#define ANSWER_NS 500000000LL /* time limit of an answer */
#define LOOK_NS 2000000000LL  /* of the search for the list of jobs: nodes may be silent */

void forming_note(struct emulation *e, uint32_t rank, int code)
{
    if (e->ended.any || e->ranks < e->size)
        return; /* the first one is named; ranks of other hosts may still come */
    e->ended.any = true;
    e->ended.rank = rank;
    e->ended.code = code;
    e->ended.step_s = FIRST_S;
    e->ended.look_at_s = tool_seconds() + FIRST_S;
}

/* left_ms returns the time until a moment, in milliseconds. */
static int left_ms(double at_s)
{
    double left = at_s - tool_seconds();
    return left > 0 ? (int)(left * 1000) + 1 : 0;
}

int forming_wait_ms(const struct emulation *e)
{
    int look = e->ended.any && e->running ? left_ms(e->ended.look_at_s) : -1;
    int tell = e->tell_at_s > 0 && e->running ? left_ms(e->tell_at_s) : -1;
    return look < 0 || (tell >= 0 && tell < look) ? tell : look;
}

/* answer waits for the reply to a request. It returns false if none comes in time. */
static bool answer(torus_context *c, uint64_t id, struct td_reply *reply)
{
    int64_t until = tl_now_ns() + ANSWER_NS;
    do {
        if (tl_next(c, until, reply) != TORUS_OK)
            return false;
    } while (reply->id != id);
    return true;
}

/* has_row returns 1 if a section of a node has a row that `is_it` accepts, 0 if it has none, and -1
 * if the node does not answer. */
static int has_row(struct emulation *e, torus_context *c, uint32_t node, uint32_t section,
                   bool (*is_it)(struct emulation *e, const struct td_status_row *row))
{
    static struct td_reply reply;
    uint64_t id = 0, cursor = 0;
    do {
        if (tl_status_ask(c, node, section, cursor, &id) != TORUS_OK || !answer(c, id, &reply) ||
            reply.kind != TD_REPLY_STATUS || reply.error != TD_OK)
            return -1;
        for (uint32_t i = 0; i < reply.u.status.rows; i++)
            if (is_it(e, &reply.u.status.row[i]))
                return 1;
        cursor = reply.u.status.next;
    } while (cursor);
    return 0;
}

/* lacks_ranks returns true for the job of the emulation, if fewer ranks than it has are there. */
static bool lacks_ranks(struct emulation *e, const struct td_status_row *row)
{
    const struct td_row_job *j = &row->u.job;
    bool lacks = row->kind == TD_ROW_JOB && strcmp(j->name, e->job) == 0 && j->size == e->size &&
                 j->joined > 0 && j->joined < j->size;
    if (lacks)
        e->joined = j->joined;
    return lacks;
}

/* is_group returns true for a group of the job of the emulation: the job has formed. */
static bool is_group(struct emulation *e, const struct td_status_row *row)
{
    return row->kind == TD_ROW_GROUP && strcmp(row->u.group.job, e->job) == 0;
}

/* first_node and end_node are the nodes that have ranks of this command. */
static uint32_t first_node(const struct emulation *e, const torus_context *c)
{
    return e->topology.nodes ? 0 : torus_node(c);
}

static uint32_t end_node(const struct emulation *e, const torus_context *c)
{
    return e->topology.nodes ? e->topology.nodes : torus_node(c) + 1;
}

/* is_forming returns true if the job waits for ranks. The first node that is up and does not drain
 * keeps the list of jobs. A job that has formed and lost a rank lacks one, too, but its ranks go
 * on. */
static bool is_forming(struct emulation *e, torus_context *c)
{
    int lacks = -1;
    int64_t until = tl_now_ns() + LOOK_NS;
    for (uint32_t n = 0; lacks <= 0 && n <= first_node(e, c) && tl_now_ns() < until; n++)
        lacks = has_row(e, c, n, TD_STATUS_JOBS, lacks_ranks);
    if (lacks <= 0)
        return false;
    for (uint32_t n = first_node(e, c); n < end_node(e, c); n++)
        if (has_row(e, c, n, TD_STATUS_GROUPS, is_group) != 0)
            return false;
    return true;
}

/* end_joins ends the joins of the job on all nodes. */
static void end_joins(const struct emulation *e, torus_context *c)
{
    static struct td_reply reply;
    char why[100];
    uint64_t id = 0;
    snprintf(why, sizeof why, "rank %u ended (code %d) before the job formed", e->ended.rank,
             e->ended.code);
    struct td_message_end_calls end = {.job = e->job, .owner = getuid(), .all = true, .why = why};
    for (uint32_t n = first_node(e, c); n < end_node(e, c); n++)
        if (tl_end_calls(c, n, &end, &id) != TORUS_OK || !answer(c, id, &reply))
            return;
}

void forming_begin(struct emulation *e)
{
    e->tell_at_s = tool_seconds() + TELL_S;
}

/* tell says that the job waits for ranks, once. Until a rank has joined, it looks again. */
static void tell(struct emulation *e, torus_context *c)
{
    e->tell_at_s = tool_seconds() + TELL_S;
    if (is_forming(e, c))
        fprintf(stderr, "torusctl run: job %s: %u of %u ranks have joined; torusctl why %s\n",
                e->job, e->joined, e->size, e->job);
    if (e->joined || has_row(e, c, first_node(e, c), TD_STATUS_GROUPS, is_group) != 0)
        e->tell_at_s = 0; /* it is told, or the job has formed, or the daemon does not answer */
}

void forming_check(struct emulation *e)
{
    char path[128];
    if (forming_wait_ms(e) != 0)
        return;
    bool tells = e->tell_at_s > 0 && left_ms(e->tell_at_s) == 0;
    bool looks = e->ended.any && left_ms(e->ended.look_at_s) == 0;
    snprintf(path, sizeof path, "%s/s0", e->folder);
    struct torus_open_options options = {.size = sizeof options,
                                         .socket = e->topology.nodes ? path : e->socket};
    if (!e->ended.context && torus_open(&e->ended.context, &options) != TORUS_OK)
        forming_end(e); /* that daemon has ended: its ranks hear of it */
    if (tells && e->ended.context)
        tell(e, e->ended.context);
    else if (tells)
        e->tell_at_s = 0;
    if (!e->ended.any)
        forming_end(e); /* no connection of this command is left while the job runs */
    if (!looks)
        return;
    if (e->ended.context && is_forming(e, e->ended.context))
        end_joins(e, e->ended.context);
    e->ended.step_s = e->ended.step_s * 2 < MOST_S ? e->ended.step_s * 2 : MOST_S;
    e->ended.look_at_s = tool_seconds() + e->ended.step_s;
}

void forming_end(struct emulation *e)
{
    torus_close(e->ended.context);
    e->ended.context = NULL;
}
