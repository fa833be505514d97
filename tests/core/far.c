/* SPDX-License-Identifier: Apache-2.0 */
#include "far.h"

struct far far;

static void routed(struct td_settings *s)
{
    s->tuning.fabric = TD_FABRIC_ROUTED;
}

static void begin(uint32_t at, uint32_t there, void (*change)(struct td_settings *))
{
    node_begin("4", at, change);
    far = (struct far){.link = &node.core->link[there], .node = there, .incarnation = DAEMON};
}

void far_begin(void (*change)(struct td_settings *))
{
    begin(0, FAR, change);
    assert_int_equal(far.link->state, TD_LINK_DOWN);
}

static void begin_relayed(uint32_t at, uint32_t there)
{
    begin(at, there, routed);
    assert_true(far.link->relayed);
    assert_int_equal(far.link->state, TD_LINK_UP);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    far.session = 77;
}

void far_begin_relayed(void)
{
    begin_relayed(0, DISTANT);
}

void far_begin_relayed_back(void)
{
    begin_relayed(DISTANT, 0);
}

void far_up(uint64_t incarnation)
{
    td_session_up(node.core, far.node, incarnation);
    node_run();
}

void far_meet(void)
{
    far_up(DAEMON);
    far.session = far.link->session_in;
    node_forget();
}

void far_down(bool refused)
{
    td_session_down(node.core, far.node, "the cable is cut", refused);
    node_run();
    node_forget();
}

void far_say(void)
{
    td_session_send(node.core, far.node, &(struct td_message){.kind = TD_MESSAGE_RANK_LEFT});
    node_run();
}

bool far_hear(uint64_t number)
{
    struct td_message m = {.kind = TD_MESSAGE_RANK_LEFT,
                           .session = far.session,
                           .counts_session = far.link->session,
                           .number = number};
    bool good = td_session_message(node.core, far.node, &m);
    node_run();
    return good;
}

void far_resume(uint32_t counts_session, uint64_t messages, uint64_t packets, bool wants_reply)
{
    struct td_message m = {.kind = TD_MESSAGE_RESUME,
                           .session = far.session,
                           .counts_session = counts_session,
                           .received = messages};
    m.u.resume.packets_received = packets;
    m.u.resume.reply_requested = wants_reply;
    m.u.resume.incarnation = far.incarnation;
    m.u.resume.first = far.first;
    m.u.resume.given_up = far.given_up;
    m.u.resume.question = far.question;
    m.u.resume.answers = far.answers;
    assert_false(td_session_message(node.core, far.node, &m));
    node_run();
}

void far_pause(uint64_t ns)
{
    node.core->now += ns;
    node.core->resumed_at = node.core->now;
    td_session_resumed(node.core, ns);
    node_run();
}

static const struct td_message_resume *latest(void)
{
    uint32_t i = node.sents;
    while (i > 0 && node.sent[i - 1].message.kind != TD_MESSAGE_RESUME)
        i--;
    assert_true(i > 0);
    return &node.sent[i - 1].message.u.resume;
}

uint64_t far_question(void)
{
    return latest()->question;
}

uint64_t far_answer(void)
{
    return latest()->answers;
}

void far_pass(uint64_t ns)
{
    node.core->now += ns;
    td_session_timers(node.core);
    td_early_timers(node.core);
    node_run();
}

uint32_t far_resumes(void)
{
    return node_count(TD_MESSAGE_RESUME);
}
