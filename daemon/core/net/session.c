/* SPDX-License-Identifier: Apache-2.0 */
/* How sessions begin, outlive their connections, and end. link.h says what a session is; here is
 * who decides that both ends mean the same one:
 *   - a frame of a session that is not known is dropped, and so is one that is not the next; the
 * far end is asked for a RESUME then;
 *   - a RESUME that knows our session opens the way out: all that it has not received goes again;
 *   - a RESUME of a new session says that the far end has given the old ones up, so we do;
 *   - one that knows a session of ours that has been given up here is answered with the new one. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "inflight.h"
#include "link.h"
#include "fabric.h"
#include "health.h"
#include "session.h"

enum {
    TREE_UNTOLD_MAX = 32, /* tree messages received before that is said for its own sake */
    TREE_KEPT_MAX = 2048, /* a driver can repeat so many at once */
};

#define RESUME_NS ((td_time)20000000) /* a RESUME arrives sooner */

/* first_session names the first session of a daemon. */
static uint32_t first_session(uint64_t incarnation)
{
    return (uint32_t)((incarnation ^ incarnation >> 32) * 0x9e3779b1u) | 1;
}

/* never_lost: the session of the way out is the first. */
static bool never_lost(const struct td_core *core, const struct td_link *link)
{
    return link->session == first_session(core->options.incarnation);
}

void td_session_init(struct td_core *core, struct td_link *link)
{
    link->session = first_session(core->options.incarnation);
}

static void expire_at(struct td_core *core, struct td_link *link, td_time at)
{
    if (at < link->expires_at)
        link->expires_at = at;
    if (link->expires_at < core->links_expire_at)
        core->links_expire_at = link->expires_at;
    td_core_alarm(core, core->links_expire_at);
}

/* ---- tree messages ---- */

static void fill(struct td_link *link, struct td_message *m)
{
    m->session = link->session;
    m->counts_session = link->session_in;
    m->received = link->tree_received_told = link->tree_received;
}

void td_session_seal(struct td_core *core, struct td_action *a)
{
    struct td_link *link = &core->link[a->u.tree.node];
    struct td_message *m = &a->u.tree.message;
    link->spoke_at = core->now;
    fill(link, m);
    m->relay = (struct td_relay){0};
    if (link->relayed)
        m->relay = (struct td_relay){
            .is_relayed = true, .origin = (uint16_t)core->node, .destination = link->node};
    a->u.tree.via = link->relayed ? core->fabric->route(core, m) : link->node;
    a->u.tree.held = a->u.tree.via == UINT32_MAX;
    if (m->kind == TD_MESSAGE_HEARTBEAT || m->kind == TD_MESSAGE_RESUME)
        return; /* a later one says all that an earlier one did */
    if (link->relayed && link->tree_sent == 0)
        link->first_sent_at = core->now;
    m->number = ++link->tree_sent;
    a->u.tree.held = a->u.tree.held || !td_link_is_open(link);
    if (link->relayed)
        core->fabric->expect_acknowledgement(core);
    if (link->tree_sent - link->tree_acknowledged < TREE_KEPT_MAX || link->violated)
        return;
    if (td_link_is_up(link) && !link->relayed) {
        td_link_drop(core, link->node, "it has stopped acknowledging tree messages");
        return;
    }
    link->violated = true; /* no more is kept for it: it is given up before its time */
    expire_at(core, link, core->now);
}

bool td_session_has_room(const struct td_core *core, uint32_t node)
{
    const struct td_link *link = &core->link[node];
    return link->tree_sent - link->tree_acknowledged < TREE_KEPT_MAX / 2;
}

void td_session_send(struct td_core *core, uint32_t node, const struct td_message *m)
{
    if (node == core->node) {
        td_core_notices.message(core, node, m);
        return;
    }
    struct td_action *a = td_core_act_bare(core, TD_ACTION_SEND_TREE);
    a->u.tree.node = node;
    a->u.tree.message = *m;
    memset(&a->u.tree.payload, 0, offsetof(struct td_slice, level));
    memset(&a->u.tree.view, 0, sizeof a->u.tree.view);
    td_session_seal(core, a);
}

static void forget_tree(struct td_core *core, struct td_link *link, uint64_t number)
{
    struct td_action *a = td_core_act_bare(core, TD_ACTION_FORGET_TREE);
    a->u.kept.node = link->node;
    a->u.kept.number = number;
}

static void take_received(struct td_core *core, struct td_link *link, const struct td_message *m)
{
    if (m->counts_session != link->session || m->received <= link->tree_acknowledged ||
        m->received > link->tree_sent)
        return;
    link->tree_acknowledged = m->received;
    link->age = 0;
    if (link->owed)
        td_core_queue(core, &link->task);
    forget_tree(core, link, m->received);
}

/* ---- asking ---- */

/* answer readies a RESUME; `asks`: it asks for a reply. */
static void answer(struct td_core *core, struct td_link *link, bool asks)
{
    link->resume_due = true;
    link->reply_wanted = link->reply_wanted || asks;
    if (asks)
        td_session_transition(link, TD_SESSION_ASK);
    td_core_queue(core, &link->task);
}

void td_session_ask_again(struct td_core *core, struct td_link *link)
{
    answer(core, link, true);
}

void td_session_ask(struct td_core *core, struct td_link *link)
{
    if (link->session_state != TD_SESSION_ASKING && link->session_state != TD_SESSION_CHECKING)
        answer(core, link, true);
}

void td_session_doubt(struct td_core *core, struct td_link *link)
{
    td_session_transition(link, TD_SESSION_CLOSE);
    answer(core, link, true);
}

void td_session_speak(struct td_core *core, struct td_link *link)
{
    if (!link->resume_due && link->tree_received - link->tree_received_told < TREE_UNTOLD_MAX)
        return;
    if (!td_link_is_up(link)) { /* goes out when it is */
        td_link_want(core, link);
        return;
    }
    struct td_message m = {.kind = TD_MESSAGE_RESUME,
                           .u.resume = {.packets_received = link->lane->received,
                                        .reply_requested = link->reply_wanted,
                                        .uptime_ns = core->now - core->started_at}};
    link->resume_due = link->reply_wanted = false;
    td_session_send(core, link->node, &m);
}

/* ---- the end of sessions ---- */

/* renew forgets both sessions. What the driver still reads of packets stays until it does not. */
static void renew(struct td_core *core, struct td_link *link)
{
    struct td_lane *lane = link->lane;
    forget_tree(core, link, UINT64_MAX);
    link->session += 2;
    link->session_in = 0;
    td_session_transition(link, TD_SESSION_RESET);
    link->violated = link->torn = false;
    lane->retransmit = lane->sent = lane->acknowledged = lane->freed_there = 0;
    lane->received = lane->freed = lane->received_told = lane->freed_told = 0;
    link->tree_sent = link->tree_acknowledged = 0;
    if (link->owed) /* nothing is unacknowledged now */
        td_core_queue(core, &link->task);
    link->tree_received = link->tree_received_told = 0;
    link->expires_at = TD_TIME_NEVER;
}

static void lose(struct td_core *core, struct td_link *link, const char *text)
{
    renew(core, link);
    td_link_transition(link, TD_LINK_LOSE_SESSION);
    td_core_notices.node_lost(core, link->node, text);
    td_link_settle(core, link);
    core->fabric->link_lost(core, link->node);
    if (td_link_is_up(link))
        td_core_notices.node_back(core, link->node);
}

void td_session_timers(struct td_core *core)
{
    if (core->now >= core->links_expire_at) {
        core->links_expire_at = TD_TIME_NEVER;
        for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
            struct td_link *link = &core->link[n];
            if (core->now >= link->expires_at && td_core_room(core)) {
                lose(core, link,
                     td_link_is_up(link) && !link->relayed
                         ? "it is connected again, but its session did not resume in time"
                         : td_link_why(link));
                if (td_link_is_up(link))
                    td_session_ask(core, link);
            }
            if (link->expires_at < core->links_expire_at)
                core->links_expire_at = link->expires_at;
        }
    }
    td_core_alarm(core, core->links_expire_at);
}

/* ---- resuming ---- */

/* go_on opens the way out and repeats what the far end does not have. */
static void go_on(struct td_core *core, struct td_link *link)
{
    struct td_lane *lane = link->lane;
    td_session_transition(link, TD_SESSION_AGREE);
    link->counts_due = true;
    link->expires_at = TD_TIME_NEVER;
    if (link->tree_sent > link->tree_acknowledged) {
        struct td_action *a = td_core_act(core, TD_ACTION_REPEAT_TREE);
        a->u.kept.node = link->node;
        a->u.kept.via = core->fabric->next_hop(core, link->node);
        a->u.kept.number = link->tree_acknowledged + 1;
    }
    lane->retransmit = lane->acknowledged < lane->sent ? lane->acknowledged + 1 : 0;
    td_core_queue(core, &link->task);
    core->fabric->link_open(core, link->node);
}

/* untouched: nothing has come and nothing was acknowledged, so that whatever session the far end is
 * in can begin. */
static bool untouched(const struct td_link *link)
{
    return link->lane->received == 0 && link->tree_received == 0 && link->lane->acknowledged == 0 &&
           link->tree_acknowledged == 0;
}

/* was_for_predecessor returns true if messages of a relayed link were sent before the daemon that
 * sends this RESUME was started, by more than a RESUME takes to arrive. */
static bool was_for_predecessor(const struct td_core *core, const struct td_link *link,
                                const struct td_message *m)
{
    return link->relayed && link->tree_sent > 0 &&
           core->now - link->first_sent_at > m->u.resume.uptime_ns + RESUME_NS;
}

static void take_resume(struct td_core *core, struct td_link *link, const struct td_message *m)
{
    struct td_lane *lane = link->lane;
    const struct td_message_resume *resume = &m->u.resume;
    if (m->session == 0)
        return;
    if (m->counts_session && m->counts_session != link->session) {
        answer(core, link, true); /* it has to forget */
        return;
    }
    bool known = m->session == link->session_in;
    if (!known) {
        bool unanswered = link->relayed && link->tree_sent > 0; /* by the daemon of that session */
        if (link->session_in ? unanswered || !untouched(link) : was_for_predecessor(core, link, m))
            lose(core, link, "its daemon has ended the session");
        link->session_in = m->session;
        lane->received = lane->freed = lane->received_told = lane->freed_told = 0;
        link->tree_received = link->tree_received_told = 0;
    }
    bool agreed = m->counts_session == link->session;
    /* else what went out was dropped there, and goes again */
    td_session_transition(link, agreed ? TD_SESSION_HEAR : TD_SESSION_RESET);
    bool was_open = td_link_is_open(link);
    if (agreed) {
        take_received(core, link, m);
        if (resume->packets_received > lane->acknowledged && resume->packets_received <= lane->sent)
            td_link_acknowledge(core, link, resume->packets_received);
    }
    if (agreed && td_link_is_up(link) && (!was_open || resume->reply_requested)) {
        lane->resumes += known && link->torn;
        link->torn = false;
        go_on(core, link);
    }
    if (resume->reply_requested || !agreed)
        answer(core, link, !agreed);
}

/* adopts: the first frame of a daemon that has come up before we know that it has. */
static bool adopts(struct td_core *core, struct td_link *link, uint32_t session, uint64_t number)
{
    if (link->session_in || (!link->relayed && link->incarnation) || !never_lost(core, link) ||
        number != 1)
        return false;
    link->session_in = session;
    return true;
}

bool td_session_message(struct td_core *core, uint32_t node, const struct td_message *m)
{
    struct td_link *link = &core->link[node];
    link->heard_at = core->now;
    if (m->kind == TD_MESSAGE_RESUME) {
        take_resume(core, link, m);
        return false;
    }
    bool outdated = m->counts_session && m->counts_session != link->session;
    if (link->relayed && outdated && (m->number == 0 || link->session_in == 0)) {
        td_session_ask(core, link); /* it is for a session, or an incarnation, that has ended */
        return false;
    }
    if (m->number && m->session != link->session_in && !adopts(core, link, m->session, m->number)) {
        td_session_ask(core, link);
        return false;
    }
    if (m->session == link->session_in)
        take_received(core, link, m);
    if (m->number == 0)
        return true;
    if (m->number != link->tree_received + 1) {
        if (m->number > link->tree_received)
            td_session_ask(core, link);
        return false;
    }
    link->tree_received++;
    if (link->relayed)
        core->fabric->expect_acknowledgement(core);
    if (link->tree_received - link->tree_received_told >= TREE_UNTOLD_MAX)
        td_core_queue(core, &link->task);
    return true;
}

bool td_session_is_next(struct td_core *core, struct td_link *link, const struct td_packet *p)
{
    bool data = p->kind == TD_PACKET_DATA;
    if (p->session != link->session_in &&
        !(data && adopts(core, link, p->session, p->link_sequence))) {
        td_session_ask(core, link);
        return false;
    }
    if (!data)
        return p->counts_session == link->session;
    if (p->link_sequence > link->lane->received + 1)
        td_session_ask(core, link);
    return p->link_sequence == link->lane->received + 1;
}

/* ---- relayed links ---- */

void td_session_give_up(struct td_core *core, struct td_link *link, const char *text)
{
    snprintf(link->text, TD_LINK_TEXT_MAX, "%s", text);
    link->violated = true;
    td_link_transition(link, TD_LINK_GO_DOWN);
    td_session_transition(link, TD_SESSION_CLOSE);
    expire_at(core, link, core->now);
}

void td_session_unreachable(struct td_core *core, struct td_link *link, const char *text)
{
    bool was_up = td_link_is_up(link);
    td_link_transition(link, TD_LINK_LOSE_ROUTE);
    if (!was_up)
        return; /* its session has ended, or ends now */
    snprintf(link->text, TD_LINK_TEXT_MAX, "%s", text);
    lose(core, link, link->text);
    td_health_changed(core, UINT32_MAX);
}

void td_session_reachable(struct td_core *core, struct td_link *link)
{
    td_link_transition(link, TD_LINK_COME_UP);
    td_session_transition(link, TD_SESSION_RESET);
    link->violated = false;
    link->expires_at = TD_TIME_NEVER;
    link->heard_at = core->now;
    link->text[0] = '\0';
    td_session_ask(core, link);
    td_core_notices.node_back(core, link->node);
}

void td_session_check(struct td_core *core, struct td_link *link)
{
    if (!link->relayed || !td_link_is_up(link) || (link->session_in == 0 && link->tree_sent == 0))
        return;
    if (link->session_in == 0)
        lose(core, link, "its daemon was restarted");
    td_session_ask(core, link);
}

void td_session_probe(struct td_core *core, struct td_link *link)
{
    struct td_message m = {
        .kind = TD_MESSAGE_RESUME,
        .u.resume = {.reply_requested = true, .uptime_ns = core->now - core->started_at}};
    td_session_send(core, link->node, &m);
}

/* ---- up and down ---- */

void td_session_up(struct td_core *core, uint32_t node, uint64_t incarnation)
{
    struct td_link *link = &core->link[node];
    if (link->incarnation && link->incarnation != incarnation)
        lose(core, link, "its daemon was restarted");
    bool met = link->incarnation == incarnation;
    bool had = link->incarnation && link->expires_at != TD_TIME_NEVER;
    if (!link->incarnation)
        link->expires_at = TD_TIME_NEVER; /* it was given time to come up */
    td_link_transition(link, TD_LINK_COME_UP);
    td_session_transition(link, TD_SESSION_RESET);
    link->violated = false;
    link->incarnation = incarnation;
    link->heard_at = core->now;
    if (link->text[0])
        link->text[0] = '\0';
    bool fresh = !met && !link->resume_due && never_lost(core, link);
    if (fresh && link->session_in == 0)
        link->session_in = first_session(incarnation);
    if (fresh && link->session_in == first_session(incarnation))
        go_on(core, link);
    else
        td_session_ask(core, link);
    td_core_queue(core, &link->task);
    if (!had)
        td_core_notices.node_back(core, node);
    td_health_changed(core, UINT32_MAX);
}

void td_session_down(struct td_core *core, uint32_t node, const char *text, bool refused)
{
    struct td_link *link = &core->link[node];
    bool was_up = td_link_is_up(link);
    bool met = link->incarnation != 0; /* else the daemon there may be starting just as well */
    uint64_t grace = (uint64_t)(refused || !met ? core->settings.heartbeat_ns
                                                : core->settings.progress_timeout_ns);
    snprintf(link->text, TD_LINK_TEXT_MAX, "%s", text ? text : "");
    link->torn = link->torn || was_up;
    td_link_transition(link, TD_LINK_GO_DOWN);
    td_session_transition(link, TD_SESSION_CLOSE);
    link->lane->retransmit = 0;
    if (link->news)
        memset(link->news, 0, td_bit_bytes(core->options.topology.nodes));
    if (!td_link_is_given_up(link) && !link->violated)
        expire_at(core, link, core->now + grace);
    else
        lose(core, link, td_link_why(link));
    if (was_up)
        td_health_changed(core, UINT32_MAX);
}
