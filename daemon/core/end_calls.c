/* SPDX-License-Identifier: Apache-2.0 */
#include "end_calls.h"

#include <stddef.h>
#include <string.h>

#include "core/membership/job.h"
#include "core/membership/shrink.h"
#include "core/membership/unformed.h"
#include "core/net/session.h"
#include "core/operation/arrival.h"
#include "core/operation/operation.h"
#include "look.h"
#include "scheduler.h"

/* cause writes who ends the calls, and why, for the end of a sentence. */
static const char *cause(struct td_core *core, const struct td_message_end_calls *e, uint32_t from)
{
    return td_core_format(core, "user %llu on %s%s%.300s", (unsigned long long)e->user,
                          td_core_node_name(core, from), e->why[0] ? ": " : "", e->why);
}

static bool concerns(const struct td_message_end_calls *e, const struct td_communicator *c)
{
    return c->uid == e->owner && strcmp(c->name, e->job) == 0 &&
           (e->all || c->instance == e->instance);
}

/* end_group ends the calls of a group, `most` at most, and returns their number. */
static uint32_t end_group(struct td_core *core, struct td_communicator *c,
                          const struct td_message_end_calls *e, const char *by, uint32_t most)
{
    uint32_t ended = 0;
    for (uint32_t i = 0; c->recorded && i < TD_GROUP_OPERATIONS_MAX && ended < most; i++) {
        struct td_operation *o = c->operation[i];
        if (o && (e->all || td_operation_number(o) == e->number))
            ended += td_arrival_end(core, o, by);
    }
    if (e->all && ended < most)
        ended += td_shrink_end(core, c, by);
    return ended;
}

/* end_all ends what a request names on this node, TD_ENDED_MAX calls at most. */
static uint32_t end_all(struct td_core *core, const struct td_message_end_calls *e, uint32_t from)
{
    const char *by = cause(core, e, from);
    uint32_t ended = 0;
    if (e->all) /* before any join of this node is withdrawn: that may be the last one */
        td_unformed_cancel(core, e->job, e->owner, by);
    for (struct td_communicator *c = core->communicators; c && ended < TD_ENDED_MAX; c = c->next)
        if (concerns(e, c))
            ended += end_group(core, c, e, by, TD_ENDED_MAX - ended);
    if (e->all && ended < TD_ENDED_MAX)
        ended += td_job_end_joins(
            core, e->job, e->owner, TD_ENDED_MAX - ended,
            td_core_format(core, "the join of job %s was cancelled by %s", e->job, by));
    return ended;
}

/* handle fills in the answer to a request. `from`: the node of the user. */
static void handle(struct td_core *core, const struct td_message_end_calls *e, uint32_t from,
                   struct td_reply *reply)
{
    reply->u.status.section = TD_STATUS_OPERATIONS; /* a page without a byte is of an unknown one */
    reply->u.status.next = 0;
    reply->u.status.rows = 0;
    reply->u.status.page = NULL;
    reply->u.status.page_bytes = 0;
    reply->u.status.took_ns = 0;
    if (e->user == 0 || e->user == e->owner) {
        reply->u.status.next = end_all(core, e, from);
        return;
    }
    reply->error = TD_ERR_PERMISSION;
    reply->text = td_core_format(core,
                                 "job %s belongs to user %llu: only that user and root may "
                                 "cancel its calls",
                                 e->job, (unsigned long long)e->owner);
}

void td_end_calls_request(struct td_core *core, const struct td_client *client,
                          const struct td_request *q)
{
    struct td_message_end_calls end = q->u.end_calls.end;
    uint32_t node = q->u.end_calls.node ? q->u.end_calls.node - 1 : core->node;
    td_err error = TD_OK;
    const char *why = NULL;
    end.user = client->uid;
    if (node == core->node) {
        handle(core, &end, core->node, td_reply_new(core, client->id, q->id, TD_REPLY_STATUS));
    } else if (node >= core->options.topology.nodes) {
        td_reply_error(core, client->id, q->id, TD_ERR_INVALID, "the machine has no such node");
    } else if ((why = td_look_why_not(core, node, &error))) {
        td_reply_no_answer(core, client->id, q->id, error, why);
    } else {
        struct td_message m = {.kind = TD_MESSAGE_END_CALLS};
        m.u.end_calls = end;
        m.u.end_calls.ticket = td_look_ticket(core, client, node, q->id);
        td_session_send(core, node, &m);
    }
}

void td_end_calls_message(struct td_core *core, uint32_t from, const struct td_message *m)
{
    struct td_reply *page = td_core_pad(core, sizeof *page);
    if (!page || !td_session_has_room(core, from))
        return; /* whoever asks has patience of its own */
    memset(page, 0, offsetof(struct td_reply, u));
    page->kind = TD_REPLY_STATUS;
    page->text = "";
    handle(core, &m->u.end_calls, from, page);
    td_look_answer(core, from, m->u.end_calls.ticket, page);
}
