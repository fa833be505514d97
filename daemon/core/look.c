/* SPDX-License-Identifier: Apache-2.0 */
#include "look.h"

#include <string.h>

#include "core/net/goodbye.h"
#include "core/net/health.h"
#include "core/net/silence.h"
#include "core/net/link.h"
#include "core/net/session.h"
#include "inspect.h"

/* silence_text returns what is known of the reason of a silence, in memory of this step, or NULL.
 */
static const char *silence_text(struct td_core *core, uint32_t node)
{
    char text[TD_TEXT_MAX];
    return td_silence_print_why(core, node, text, sizeof text) ? td_core_format(core, "%s", text)
                                                               : NULL;
}

const char *td_look_why_not(struct td_core *core, uint32_t node, td_err *error)
{
    struct td_link *link = &core->link[node];
    if (td_health_is_stopped(core, node)) {
        td_link_want(core, link); /* it may have been started again */
        *error = TD_ERR_SHUTDOWN;
        return td_core_format(core, "%s: " TD_GOODBYE_TEXT, td_core_node_name(core, node));
    }
    bool down = td_link_is_given_up(link) && td_health_state(core, node) == TD_PEER_DOWN;
    if (!td_link_is_up(link) && !link->relayed && !down) {
        td_link_want(core, link); /* nothing has needed a connection so far */
        *error = TD_ERR_BUSY;
        return td_core_format(core, "the connection to %s is not up%s: %s",
                              td_core_node_name(core, node), link->lane->since ? "" : " yet",
                              td_link_why(link));
    }
    *error = TD_ERR_NODE_FAILED;
    if (!td_link_is_up(link))
        return td_core_format(core, "%s is not connected: %s", td_core_node_name(core, node),
                              td_link_why(link));
    *error = TD_ERR_BUSY;
    if (!td_link_is_open(link) || link->session_in == 0) { /* a first message may get lost */
        td_session_ask(core, link);
        const char *why = silence_text(core, node);
        return why ? why
                   : td_core_format(core, "the session with %s has not begun yet",
                                    td_core_node_name(core, node));
    }
    const char *why = td_silence_now(core, node) ? silence_text(core, node) : NULL;
    if (why)
        return why;
    return td_session_has_room(core, node)
               ? NULL
               : td_core_format(core, "too much is in flight to %s", td_core_node_name(core, node));
}

uint64_t td_look_ticket(struct td_core *core, const struct td_client *client, uint32_t node,
                        uint64_t request)
{
    struct td_looks *all = core->looks;
    uint64_t ticket = ++all->tickets;
    struct td_look *l = &all->look[ticket % TD_LOOKS_MAX];
    if (l->ticket && td_client_find(core, l->client))
        td_reply_no_answer(core, l->client, l->request, TD_ERR_BUSY,
                           "later questions have taken the place of this one");
    *l = (struct td_look){.ticket = ticket,
                          .request = request,
                          .client = client->id,
                          .node = node,
                          .asked_at = core->now};
    return ticket;
}

static void ask(struct td_core *core, const struct td_client *client, uint32_t node,
                const struct td_request *q)
{
    struct td_message m = {.kind = TD_MESSAGE_LOOK};
    m.u.look = (struct td_message_look){.ticket = td_look_ticket(core, client, node, q->id),
                                        .uid = client->uid,
                                        .sees_all = td_inspect_sees_all(core, client),
                                        .section = q->u.status.section,
                                        .cursor = q->u.status.cursor};
    td_session_send(core, node, &m);
}

void td_look_request(struct td_core *core, const struct td_client *client,
                     const struct td_request *q)
{
    uint32_t node = q->u.status.node - 1;
    td_err error = TD_OK;
    const char *why = NULL;
    if (q->u.status.node == 0 || node == core->node)
        td_inspect_reply(core, client, q);
    else if (node >= core->options.topology.nodes)
        td_reply_no_answer(core, client->id, q->id, TD_ERR_INVALID, "the machine has no such node");
    else if ((why = td_look_why_not(core, node, &error)))
        td_reply_no_answer(core, client->id, q->id, error, why);
    else
        ask(core, client, node, q);
}

void td_look_answer(struct td_core *core, uint32_t to, uint64_t ticket, const struct td_reply *page)
{
    struct td_message m = {.kind = TD_MESSAGE_SEEN, .u.seen.ticket = ticket};
    uint8_t *bytes = td_core_pad(core, TD_PAGE_BYTES_MAX);
    if (page && bytes && core->options.encode_page) {
        m.u.seen.page.bytes = (uint32_t)core->options.encode_page(page, bytes, TD_PAGE_BYTES_MAX);
        m.u.seen.page.bits = m.u.seen.page.bytes ? bytes : NULL;
    }
    td_session_send(core, to, &m);
}

/* answer sends the page that a node has asked for. */
static void answer(struct td_core *core, uint32_t to, const struct td_message_look *look)
{
    if (!td_session_has_room(core, to))
        return; /* whoever asks has patience of its own */
    struct td_reply *page = td_core_pad(core, sizeof *page);
    bool known =
        page && td_inspect_page(core, look->uid, look->sees_all, look->section, look->cursor, page);
    td_look_answer(core, to, look->ticket, known ? page : NULL);
}

/* pass_on gives a page to the client that has asked for it. */
static void pass_on(struct td_core *core, uint32_t from, const struct td_message_seen *seen)
{
    struct td_look *l = &core->looks->look[seen->ticket % TD_LOOKS_MAX];
    uint8_t *bytes = td_core_pad(core, seen->page.bytes + 1);
    if (seen->ticket == 0 || l->ticket != seen->ticket || l->node != from || !bytes)
        return;
    l->ticket = 0;
    if (!td_client_find(core, l->client))
        return;
    if (seen->page.bytes == 0) {
        td_reply_no_answer(core, l->client, l->request, TD_ERR_INVALID,
                           td_core_format(core, "%s does not know this section of the status",
                                          td_core_node_name(core, from)));
        return;
    }
    memcpy(bytes, seen->page.bits, seen->page.bytes);
    struct td_reply *r = td_reply_new(core, l->client, l->request, TD_REPLY_STATUS);
    memset(&r->u.status, 0, sizeof r->u.status);
    r->u.status.page = bytes;
    r->u.status.took_ns = core->now - l->asked_at + 1;
    r->u.status.page_bytes = seen->page.bytes;
}

void td_look_message(struct td_core *core, uint32_t from, const struct td_message *m)
{
    if (m->kind == TD_MESSAGE_LOOK)
        answer(core, from, &m->u.look);
    else
        pass_on(core, from, &m->u.seen);
}
