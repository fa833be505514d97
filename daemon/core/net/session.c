/* SPDX-License-Identifier: Apache-2.0 */
/* How sessions begin, outlive their connections, and end. link.h says what a session is; here is
 * who decides that both ends mean the same one:
 *   - a frame of a session that is not known is dropped, and the far end is asked for a RESUME;
 *   - one that is not the next one is dropped likewise; but a tree message of a link with two paths
 * waits for those before it (early.h);
 *   - a RESUME that knows our session opens the way out: all that it has not received goes again;
 *   - a RESUME of a new session of the same daemon says that it has given the old ones up, so we
 * do;
 *   - one of another daemon says that the earlier one has ended: our session goes on with what may
 * be for the new one;
 *   - one that knows a session of ours that has been given up here is answered with the new one. */
#include <stdio.h>
#include <string.h>

#include "core/recorder.h"
#include "early.h"
#include "inflight.h"
#include "link.h"
#include "fabric.h"
#include "goodbye.h"
#include "health.h"
#include "session.h"
#include "silence.h"

enum {
    TREE_UNTOLD_MAX = 32, /* tree messages received before that is said for its own sake */
    TREE_KEPT_MAX = 2048, /* a driver can repeat so many at once */
};

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
    a->u.tree.payload_bytes = 0;
    a->u.tree.handle = 0;
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

void td_session_ask_missing(struct td_core *core, struct td_link *link)
{
    struct td_early *e = &core->early[link->node];
    if (link->relayed && e->asked_at && e->asked_with == link->tree_received &&
        core->now < e->asked_at + TD_LINK_PATIENCE_NS)
        return;
    e->asked_at = core->now;
    e->asked_with = link->tree_received;
    td_session_ask(core, link);
}

void td_session_doubt(struct td_core *core, struct td_link *link)
{
    td_session_transition(link, TD_SESSION_CLOSE);
    answer(core, link, true);
}

/* send_resume reports the counts of the link. */
static void send_resume(struct td_core *core, struct td_link *link, bool asks)
{
    struct td_message m = {.kind = TD_MESSAGE_RESUME,
                           .u.resume = {.packets_received = link->lane->received,
                                        .reply_requested = asks,
                                        .incarnation = core->options.incarnation,
                                        .first = link->tree_acknowledged + 1,
                                        .first_packet = link->lane->acknowledged + 1,
                                        .given_up = link->session_given_up,
                                        .question = link->lane->question,
                                        .answers = link->lane->answers}};
    td_session_send(core, link->node, &m);
}

void td_session_speak(struct td_core *core, struct td_link *link)
{
    if (!link->resume_due && link->tree_received - link->tree_received_told < TREE_UNTOLD_MAX)
        return;
    if (!td_link_is_up(link)) { /* goes out when it is */
        td_link_want(core, link);
        return;
    }
    bool asks = link->reply_wanted;
    link->resume_due = link->reply_wanted = false;
    send_resume(core, link, asks);
}

/* ---- the end of sessions ---- */

/* begin_in begins an incoming session, 0: none yet, from the given numbers on. */
static void begin_in(struct td_core *core, struct td_link *link, uint32_t session, uint64_t first,
                     uint64_t first_packet)
{
    struct td_lane *lane = link->lane;
    if (link->early)
        td_early_forget(core, link);
    core->early[link->node].asked_at = 0;
    link->session_in = session;
    link->tree_received = link->tree_received_told = first ? first - 1 : 0;
    lane->received = lane->received_told = first_packet ? first_packet - 1 : 0;
    lane->freed = lane->freed_told = lane->received;
}

/* end_in ends the incoming session. The outgoing one waits until both ends have agreed again. */
static void end_in(struct td_core *core, struct td_link *link)
{
    begin_in(core, link, 0, 1, 1);
    td_session_transition(link, TD_SESSION_RESET);
    link->lane->question = 0; /* it was about the session that ends */
    link->violated = link->torn = link->lane->expected = false;
    link->expires_at = TD_TIME_NEVER;
    if (link->owed) /* less is unacknowledged now */
        td_core_queue(core, &link->task);
}

/* renew forgets both sessions. What the driver still reads of packets stays until it does not. */
static void renew(struct td_core *core, struct td_link *link)
{
    struct td_lane *lane = link->lane;
    core->fabric->link_ends(core, link->node);
    forget_tree(core, link, UINT64_MAX);
    link->session += 2;
    link->session_given_up = link->session_in ? link->session_in : link->session_given_up;
    lane->sent = lane->acknowledged = lane->freed_there = 0;
    lane->messages += link->tree_sent;
    link->tree_sent = link->tree_acknowledged = 0;
    core->meant[link->node] = 0;
    end_in(core, link);
}

/* drop_sent ends what needs another daemon of the node, and drops what is in flight, unless
 * something here needs this one: then it may be for it. It returns false if it drops nothing. */
static bool drop_sent(struct td_core *core, struct td_link *link, uint64_t incarnation)
{
    if (td_core_notices.daemon_is(core, link->node, (uint32_t)incarnation, true,
                                  "its daemon was restarted"))
        return false;
    forget_tree(core, link, UINT64_MAX);
    link->tree_acknowledged = link->tree_sent;
    core->meant[link->node] = 0;
    return true;
}

/* lose_daemon: another daemon runs on the node now. The session with it goes on where the earlier
 * one had come to, if what is in flight may be for it. */
static void lose_daemon(struct td_core *core, struct td_link *link, uint64_t incarnation)
{
    struct td_lane *lane = link->lane;
    core->fabric->link_ends(core, link->node);
    td_goodbye_restarted(core, link->node);
    if (link->daemon)
        td_recorder_node(core->recorder, TD_TRACE_RESTARTED, link->node, core->now,
                         core->now - core->goodbyes->of[link->node].silent_ns,
                         core->goodbyes->of[link->node].died);
    bool needed = !drop_sent(core, link, incarnation);
    if (!needed || !core->fabric->keeps_packets)
        lane->acknowledged = lane->sent;
    lane->freed_there = lane->acknowledged;
    end_in(core, link);
    td_link_transition(link, TD_LINK_LOSE_SESSION);
    td_link_settle(core, link);
    core->fabric->link_lost(core, link->node);
    if (td_link_is_up(link))
        td_core_notices.node_back(core, link->node);
}

/* record_loss tells the flight recorder that a node is given up, unless it was before. */
static void record_loss(struct td_core *core, const struct td_link *link)
{
    if (link->daemon && !td_link_is_given_up(link))
        td_recorder_node(core->recorder, TD_TRACE_NODE_LOST, link->node, core->now, link->heard_at,
                         td_goodbye_was_said(core, link->node));
}

static void lose(struct td_core *core, struct td_link *link, const char *text)
{
    record_loss(core, link);
    renew(core, link);
    td_link_transition(link, TD_LINK_LOSE_SESSION);
    td_core_notices.node_lost(core, link->node, text);
    td_link_settle(core, link);
    core->fabric->link_lost(core, link->node);
    if (td_link_is_up(link))
        td_core_notices.node_back(core, link->node);
}

/* lose_unreachable gives up a relayed link that has had no route for too long. */
static void lose_unreachable(struct td_core *core, struct td_link *link)
{
    record_loss(core, link);
    td_link_transition(link, TD_LINK_LOSE_ROUTE);
    snprintf(link->text, TD_LINK_TEXT_MAX, "it is unreachable: its torus neighbours have lost it");
    lose(core, link, link->text);
    td_health_changed(core, UINT32_MAX);
}

/* expire ends a session that was not open in time. */
static void expire(struct td_core *core, struct td_link *link)
{
    if (link->relayed && td_link_is_up(link)) {
        lose_unreachable(core, link);
        return;
    }
    lose(core, link,
         td_link_is_up(link) ? "it is connected again, but its session did not resume in time"
                             : td_link_why(link));
    if (td_link_is_up(link))
        td_session_ask(core, link);
}

/* question closes a session that may have ended at the far end. */
static void question(struct td_core *core, struct td_link *link)
{
    link->lane->question = core->resumed_at; /* no earlier one has this number */
    if (td_link_is_open(link))
        td_session_doubt(core, link);
}

void td_session_resumed(struct td_core *core, td_time ns)
{
    bool given_up = ns > (td_time)core->settings.progress_timeout_ns / 2;
    for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
        struct td_link *link = &core->link[n];
        if (link->heard_at)
            link->heard_at += ns;
        td_core_put_off(&link->expires_at, ns);
        if (given_up && !link->relayed && link->session_in)
            question(core, link);
    }
    td_core_put_off(&core->links_expire_at, ns);
}

void td_session_timers(struct td_core *core)
{
    if (core->now >= core->links_expire_at) {
        core->links_expire_at = TD_TIME_NEVER;
        for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
            struct td_link *link = &core->link[n];
            if (core->now >= link->expires_at && td_core_room(core))
                expire(core, link);
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

/* is_earlier returns true if the session that is known here is one that the daemon which sends this
 * RESUME has given up: a daemon goes on from its first one in steps of 2. */
static bool is_earlier(const struct td_link *link, const struct td_message *m)
{
    uint32_t first = first_session(m->u.resume.incarnation);
    uint32_t known = link->session_in - first;
    return known % 2 == 0 && known < m->session - first;
}

/* is_meant returns true if all groups that the messages may be of, which have not been
 * acknowledged, have formed with the daemon that sends this RESUME. They may be over here, and
 * nothing need it. */
static bool is_meant(const struct td_core *core, const struct td_link *link,
                     const struct td_message *m)
{
    return core->meant[link->node] == (uint32_t)m->u.resume.incarnation;
}

/* is_another returns true if a RESUME of a session that is new here comes from another daemon than
 * what this node has sent was for, or perhaps was for. */
static bool is_another(const struct td_core *core, const struct td_link *link,
                       const struct td_message *m)
{
    if (link->session_in)
        return !is_earlier(link, m);
    if (link->daemon)
        return link->daemon != (uint32_t)m->u.resume.incarnation;
    /* this one has received nothing: what was sent may have been for one that never answered */
    return link->relayed && m->received == 0 && link->tree_sent > 0 && !is_meant(core, link, m);
}

/* change_session takes a RESUME of a session that is new here. */
static void change_session(struct td_core *core, struct td_link *link, const struct td_message *m)
{
    /* by the daemon of that session; unless the daemon knows ours, and goes on in it */
    bool unanswered = link->relayed && link->tree_sent > 0 && m->counts_session != link->session;
    bool given_up = m->u.resume.given_up == link->session;
    if (!given_up && is_another(core, link, m))
        lose_daemon(core, link, m->u.resume.incarnation);
    else if (given_up || (link->session_in && (unanswered || !untouched(link))))
        lose(core, link, "its daemon has ended the session");
    begin_in(core, link, m->session, m->u.resume.first, m->u.resume.first_packet);
}

/* take_incarnation notes which daemon the RESUME of a session comes from, now that its session is
 * known here. Groups of an earlier daemon end, even if they have formed since. */
static void take_incarnation(struct td_core *core, struct td_link *link, const struct td_message *m)
{
    uint64_t incarnation = m->u.resume.incarnation;
    bool unanswered = link->relayed && !link->daemon && m->received == 0 &&
                      link->tree_sent > link->tree_acknowledged && !is_meant(core, link, m);
    /* it has spoken first, and what was sent may have been for one that never answered */
    if (unanswered && drop_sent(core, link, incarnation)) {
        td_session_transition(link, TD_SESSION_RESET);
        core->fabric->dropped(core, link->node);
        td_core_notices.node_back(core, link->node);
    }
    if (link->relayed || link->daemon) /* else it is not up yet */
        link->daemon = (uint32_t)incarnation;
    (void)td_core_notices.daemon_is(core, link->node, (uint32_t)incarnation, false,
                                    "its daemon was restarted");
}

/* skip moves on to the numbers from which the far end goes on: messages and packets before them
 * were for an earlier daemon of this node, or were acknowledged. */
static void skip(struct td_core *core, struct td_link *link, const struct td_message_resume *resume)
{
    struct td_lane *lane = link->lane;
    if (resume->first > link->tree_received + 1) {
        uint64_t before = link->tree_received;
        link->tree_received = link->tree_received_told = resume->first - 1;
        if (link->early)
            td_early_advance(core, link, link->tree_received - before);
    }
    if (resume->first_packet > lane->received + 1) {
        lane->received = lane->received_told = resume->first_packet - 1;
        lane->freed = lane->freed_told = lane->received;
    }
}

/* gives_in: a RESUME counts a session that has been given up here, and is of one that is not known
 * here. The far end may not know our new session either, and ignore the answer just so, if that
 * counts the session of it that is known here. Of two that have given each other up, the one with
 * the lower number goes on in the new session of the other, and the answer counts that. */
static bool gives_in(const struct td_core *core, const struct td_link *link,
                     const struct td_message *m)
{
    return core->node < link->node && link->session_in && m->session != link->session_in;
}

/* is_answered takes the question of a RESUME. It returns false if the RESUME does not answer that
 * of this node, and may have been sent before. */
static bool is_answered(struct td_link *link, const struct td_message_resume *resume)
{
    struct td_lane *lane = link->lane;
    if (!link->relayed)
        lane->answers = resume->question ? resume->question : lane->answers;
    return !lane->question || resume->answers == lane->question;
}

static void take_resume(struct td_core *core, struct td_link *link, const struct td_message *m)
{
    struct td_lane *lane = link->lane;
    const struct td_message_resume *resume = &m->u.resume;
    bool same = link->session_in && link->daemon == (uint32_t)resume->incarnation;
    if (m->session == 0 || (same && (int32_t)(m->session - link->session_in) < 0))
        return; /* a later one has overtaken it */
    if (m->counts_session && m->counts_session != link->session) {
        if (gives_in(core, link, m)) {
            change_session(core, link, m);
            take_incarnation(core, link, m);
        }
        /* it has to forget */
        answer(core, link, true);
        return;
    }
    bool known = m->session == link->session_in;
    /* the far end has dropped messages: it could not know that they were for this daemon */
    bool missed = resume->first > (known ? link->tree_received : 0) + 1;
    if (!known)
        change_session(core, link, m);
    take_incarnation(core, link, m);
    skip(core, link, resume);
    /* a daemon that has counted less than what was acknowledged does not know yet where this
     * session goes on */
    bool counted = td_link_is_open(link) || (m->received >= link->tree_acknowledged &&
                                             resume->packets_received >= lane->acknowledged);
    bool answered = is_answered(link, resume);
    bool agreed = m->counts_session == link->session && counted && answered;
    /* else what went out was dropped there, and goes again */
    td_session_transition(link, agreed ? TD_SESSION_HEAR : TD_SESSION_RESET);
    bool was_open = td_link_is_open(link);
    if (agreed) {
        lane->question = 0;
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
    if (missed && td_link_is_up(link))
        td_core_notices.node_back(core, link->node);
    td_early_replied(core, link);
}

/* adopts: the first frame of a daemon that has come up before we know that it has. */
static bool adopts(struct td_core *core, struct td_link *link, uint32_t session, uint64_t number)
{
    if (link->session_in || link->daemon || !never_lost(core, link) || number != 1)
        return false;
    link->session_in = session;
    return true;
}

bool td_session_message(struct td_core *core, uint32_t node, const struct td_message *m)
{
    struct td_link *link = &core->link[node];
    td_silence_hear(core, link);
    if (m->kind == TD_MESSAGE_RESUME) {
        if (m->u.resume.reply_requested)
            td_silence_asked(core, link);
        take_resume(core, link, m);
        return false;
    }
    bool outdated = m->counts_session && m->counts_session != link->session;
    if (link->relayed && outdated && (m->number == 0 || link->session_in == 0)) {
        td_session_ask(core, link); /* it is for a session, or an incarnation, that has ended */
        return false;
    }
    if (m->number && m->session != link->session_in && !adopts(core, link, m->session, m->number)) {
        td_early_drop(core, link);
        return false;
    }
    if (m->session == link->session_in)
        take_received(core, link, m);
    if (m->number == 0)
        return true;
    if (m->number != link->tree_received + 1) {
        if (m->number > link->tree_received && core->two_paths)
            td_early_arrive(core, link, m);
        else if (m->number > link->tree_received)
            td_session_ask_missing(core, link);
        return false;
    }
    link->tree_received++;
    if (link->early)
        td_early_advance(core, link, 1);
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

void td_session_expect(struct td_core *core, uint32_t node, uint32_t daemon)
{
    struct td_link *link = &core->link[node];
    if (node == core->node || (link->daemon && link->daemon == daemon))
        return;
    if (!link->daemon && daemon)
        core->meant[node] = !core->meant[node] || core->meant[node] == daemon ? daemon : UINT32_MAX;
    if (link->daemon)
        td_session_ask(core, link); /* one of the two has ended */
    if (link->relayed || td_link_is_up(link))
        return;
    bool runs_out = td_link_is_given_up(link) || link->expires_at != TD_TIME_NEVER;
    link->lane->expected = true;
    td_link_transition(link, TD_LINK_EXPECT);
    if (!runs_out)
        return; /* it was never tried */
    link->expires_at = TD_TIME_NEVER;
    expire_at(core, link, td_core_after(core, core->settings.progress_timeout_ns));
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

void td_session_route(struct td_core *core, struct td_link *link, bool route, bool lost)
{
    bool up = td_link_is_up(link);
    if (route && up && link->expires_at != TD_TIME_NEVER) {
        link->expires_at = TD_TIME_NEVER;
        td_session_doubt(core, link); /* what was sent meanwhile went nowhere */
    } else if (route && link->state == TD_LINK_UNREACHABLE) {
        td_session_reachable(core, link);
    } else if (lost && up) {
        lose_unreachable(core, link);
    } else if (!route && up && link->expires_at == TD_TIME_NEVER) {
        expire_at(core, link, td_core_after(core, core->settings.progress_timeout_ns));
    } else if (!route && !up && link->state != TD_LINK_UNREACHABLE) {
        td_link_transition(link, TD_LINK_LOSE_ROUTE); /* its session has ended, or ends now */
    }
}

void td_session_reachable(struct td_core *core, struct td_link *link)
{
    td_link_transition(link, TD_LINK_COME_UP);
    td_session_transition(link, TD_SESSION_RESET);
    link->violated = false;
    link->expires_at = TD_TIME_NEVER;
    td_silence_hear(core, link);
    link->text[0] = '\0';
    td_session_ask(core, link);
    td_core_notices.node_back(core, link->node);
}

void td_session_check(struct td_core *core, struct td_link *link)
{
    if (link->relayed && td_link_is_up(link) && (link->session_in || link->tree_sent > 0))
        td_session_ask(core, link);
}

void td_session_probe(struct td_core *core, struct td_link *link)
{
    send_resume(core, link, true);
}

/* ---- up and down ---- */

void td_session_up(struct td_core *core, uint32_t node, uint64_t incarnation)
{
    struct td_link *link = &core->link[node];
    bool first = !link->daemon;
    if (!first && link->daemon != (uint32_t)incarnation)
        lose_daemon(core, link, incarnation);
    bool had = link->daemon && link->expires_at != TD_TIME_NEVER;
    if (!link->daemon)
        link->expires_at = TD_TIME_NEVER; /* it was given time to come up */
    td_link_transition(link, TD_LINK_COME_UP);
    td_session_transition(link, TD_SESSION_RESET);
    link->violated = link->lane->expected = false;
    link->daemon = (uint32_t)incarnation;
    td_silence_hear_up(core, link);
    link->lane->since = core->now;
    if (link->text[0])
        link->text[0] = '\0';
    bool fresh = first && !link->resume_due && never_lost(core, link);
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

/* grace_of returns how long a link that went down may stay so. The silence before counts where
 * heartbeats come: a host may be reported as unreachable when it has been silent for long. */
static td_time grace_of(const struct td_core *core, const struct td_link *link, bool refused)
{
    td_time beat = (td_time)core->settings.heartbeat_ns, least = beat / 2,
            whole = (td_time)core->settings.progress_timeout_ns, quiet = core->now - link->heard_at;
    bool met = link->daemon != 0; /* else the daemon there may be starting just as well */
    if (refused)
        return least;
    if (!met && !link->lane->expected)
        return beat;
    if (!met || !(link->neighbour || link->watches > 0))
        return whole;
    return quiet + least < whole ? whole - quiet : least;
}

void td_session_down(struct td_core *core, uint32_t node, const char *text, bool refused)
{
    struct td_link *link = &core->link[node];
    bool was_up = td_link_is_up(link);
    if (td_goodbye_was_said(core, node))
        text = TD_GOODBYE_TEXT; /* the driver knows only how the connection has ended */
    snprintf(link->text, TD_LINK_TEXT_MAX, "%s", text ? text : "");
    link->torn = link->torn || was_up;
    if (was_up)
        link->lane->since = core->now;
    td_link_transition(link, TD_LINK_GO_DOWN);
    td_session_transition(link, TD_SESSION_CLOSE);
    if (link->news)
        memset(link->news, 0, 2 * td_bit_bytes(core->options.topology.nodes));
    if (!td_link_is_given_up(link) && !link->violated)
        expire_at(core, link, core->now + grace_of(core, link, refused));
    else
        lose(core, link, td_link_why(link));
    if (was_up)
        td_health_changed(core, UINT32_MAX);
}
