/* SPDX-License-Identifier: Apache-2.0 */
#include "peer_shrink.h"

#include "memory.h"
#include "peer_fields.h"

void td_wire_put_shrink_ask(const struct td_message_shrink_ask *f, struct td_wire_form *form)
{
    Torus__Peer__ShrinkAsk *m = &form->shrink_ask;
    m->shrink = f->shrink;
    m->view = f->view;
    m->lost = td_wire_put_bitmap(&f->lost);
    m->is_last_call = f->is_last_call;
    m->gave_up_receiver = f->gave_up_receiver;
}

bool td_wire_get_shrink_ask(const Torus__Peer__ShrinkAsk *m, struct td_message_shrink_ask *f)
{
    f->shrink = m->shrink;
    f->view = m->view;
    f->is_last_call = m->is_last_call;
    f->gave_up_receiver = m->gave_up_receiver;
    return td_wire_get_bitmap(&m->lost, TD_BITMAP_BYTES_MAX, &f->lost);
}

void td_wire_put_shrink_vote(const struct td_message_shrink_vote *f, struct td_wire_form *form)
{
    Torus__Peer__ShrinkVote *m = &form->shrink_vote;
    m->shrink = f->shrink;
    m->view = f->view;
    m->is_deaf = f->is_deaf;
    m->lost = td_wire_put_bitmap(&f->lost);
    m->missing = td_wire_put_bitmap(&f->missing);
    m->error = f->error;
    m->text = td_wire_string(f->text);
}

bool td_wire_get_shrink_vote(const Torus__Peer__ShrinkVote *m, struct td_message_shrink_vote *f)
{
    f->shrink = m->shrink;
    f->view = m->view;
    f->is_deaf = m->is_deaf;
    return td_wire_get_bitmap(&m->lost, TD_BITMAP_BYTES_MAX, &f->lost) &&
           td_wire_get_bitmap(&m->missing, TD_NODE_RANKS_MAX / 8, &f->missing) &&
           td_wire_get_ending(m->error, m->text, &f->error, &f->text);
}

void td_wire_put_shrink_accepted_before(const struct td_message_shrink_accepted_before *f,
                                        struct td_wire_form *form)
{
    Torus__Peer__ShrinkAcceptedBefore *m = &form->shrink_accepted_before;
    m->shrink = f->shrink;
    m->round = f->round;
    m->outcome = td_wire_put_outcome(&f->outcome, &form->outcome);
}

bool td_wire_get_shrink_accepted_before(const Torus__Peer__ShrinkAcceptedBefore *m,
                                        struct td_message_shrink_accepted_before *f)
{
    f->shrink = m->shrink;
    f->round = m->round;
    return td_wire_get_outcome(m->outcome, &f->outcome);
}

void td_wire_put_shrink_propose(const struct td_message_shrink_propose *f,
                                struct td_wire_form *form)
{
    Torus__Peer__ShrinkPropose *m = &form->shrink_propose;
    m->shrink = f->shrink;
    m->view = f->view;
    m->outcome = td_wire_put_outcome(&f->outcome, &form->outcome);
}

bool td_wire_get_shrink_propose(const Torus__Peer__ShrinkPropose *m,
                                struct td_message_shrink_propose *f)
{
    f->shrink = m->shrink;
    f->view = m->view;
    return td_wire_get_outcome(m->outcome, &f->outcome);
}

void td_wire_put_shrink_accept(const struct td_message_shrink_accept *f, struct td_wire_form *form)
{
    Torus__Peer__ShrinkAccept *m = &form->shrink_accept;
    m->shrink = f->shrink;
    m->view = f->view;
}

bool td_wire_get_shrink_accept(const Torus__Peer__ShrinkAccept *m,
                               struct td_message_shrink_accept *f)
{
    f->shrink = m->shrink;
    f->view = m->view;
    return true;
}

void td_wire_put_shrink_decided(const struct td_message_shrink_decided *f,
                                struct td_wire_form *form)
{
    Torus__Peer__ShrinkDecided *m = &form->shrink_decided;
    m->shrink = f->shrink;
    m->made = f->made;
    m->outcome = td_wire_put_outcome(&f->outcome, &form->outcome);
}

bool td_wire_get_shrink_decided(const Torus__Peer__ShrinkDecided *m,
                                struct td_message_shrink_decided *f)
{
    f->shrink = m->shrink;
    f->made = m->made;
    return td_wire_get_outcome(m->outcome, &f->outcome);
}

void td_wire_put_shrink_nobody(const struct td_message_shrink_nobody *f, struct td_wire_form *form)
{
    Torus__Peer__ShrinkNobody *m = &form->shrink_nobody;
    m->shrink = f->shrink;
}

bool td_wire_get_shrink_nobody(const Torus__Peer__ShrinkNobody *m,
                               struct td_message_shrink_nobody *f)
{
    f->shrink = m->shrink;
    return true;
}

void td_wire_put_shrink_partitioned(const struct td_message_shrink_partitioned *f,
                                    struct td_wire_form *form)
{
    Torus__Peer__ShrinkPartitioned *m = &form->shrink_partitioned;
    m->shrink = f->shrink;
}

bool td_wire_get_shrink_partitioned(const Torus__Peer__ShrinkPartitioned *m,
                                    struct td_message_shrink_partitioned *f)
{
    f->shrink = m->shrink;
    return true;
}
