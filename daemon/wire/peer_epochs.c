/* SPDX-License-Identifier: Apache-2.0 */
#include "peer_epochs.h"

#include "peer_fields.h"

void td_wire_put_epoch_poll(const struct td_message_epoch_poll *f, struct td_wire_form *form)
{
    Torus__Peer__EpochPoll *m = &form->epoch_poll;
    m->ballot = f->ballot;
}

bool td_wire_get_epoch_poll(const Torus__Peer__EpochPoll *m, struct td_message_epoch_poll *f)
{
    f->ballot = m->ballot;
    return true;
}

void td_wire_put_epoch_vote(const struct td_message_epoch_vote *f, struct td_wire_form *form)
{
    Torus__Peer__EpochVote *m = &form->epoch_vote;
    m->ballot = f->ballot;
    m->is_vote = f->is_vote;
    m->seen = f->seen;
    m->accepted = f->accepted;
    m->age_ns = f->age_ns;
    m->exclusions = td_wire_put_bitmap(&f->exclusions);
}

bool td_wire_get_epoch_vote(const Torus__Peer__EpochVote *m, struct td_message_epoch_vote *f)
{
    f->ballot = m->ballot;
    f->is_vote = m->is_vote;
    f->seen = m->seen;
    f->accepted = m->accepted;
    f->age_ns = m->age_ns;
    return td_wire_get_bitmap(&m->exclusions, TD_EXCLUSIONS_BYTES_MAX, &f->exclusions);
}

void td_wire_put_epoch_propose(const struct td_message_epoch_propose *f, struct td_wire_form *form)
{
    Torus__Peer__EpochPropose *m = &form->epoch_propose;
    m->ballot = f->ballot;
    m->exclusions = td_wire_put_bitmap(&f->exclusions);
}

bool td_wire_get_epoch_propose(const Torus__Peer__EpochPropose *m,
                               struct td_message_epoch_propose *f)
{
    f->ballot = m->ballot;
    return td_wire_get_bitmap(&m->exclusions, TD_EXCLUSIONS_BYTES_MAX, &f->exclusions);
}

void td_wire_put_epoch_accept(const struct td_message_epoch_accept *f, struct td_wire_form *form)
{
    Torus__Peer__EpochAccept *m = &form->epoch_accept;
    m->ballot = f->ballot;
}

bool td_wire_get_epoch_accept(const Torus__Peer__EpochAccept *m, struct td_message_epoch_accept *f)
{
    f->ballot = m->ballot;
    return true;
}

void td_wire_put_epoch_known(const struct td_message_epoch_known *f, struct td_wire_form *form)
{
    Torus__Peer__EpochKnown *m = &form->epoch_known;
    m->ballot = f->ballot;
    m->exclusions = td_wire_put_bitmap(&f->exclusions);
}

bool td_wire_get_epoch_known(const Torus__Peer__EpochKnown *m, struct td_message_epoch_known *f)
{
    f->ballot = m->ballot;
    return td_wire_get_bitmap(&m->exclusions, TD_EXCLUSIONS_BYTES_MAX, &f->exclusions);
}
