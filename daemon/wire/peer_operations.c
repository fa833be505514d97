/* SPDX-License-Identifier: Apache-2.0 */
#include "peer_operations.h"

#include "memory.h"
#include "peer_fields.h"

void td_wire_put_arrive(const struct td_message_arrive *f, struct td_wire_form *form)
{
    Torus__Peer__Arrive *m = &form->arrive;
    m->least = td_wire_put_witness(&f->least, &form->witness[0]);
    m->greatest = td_wire_put_witness(&f->greatest, &form->witness[1]);
    m->no_room = f->no_room;
    m->survey = td_wire_put_survey(&f->survey, &form->survey);
    m->last = f->last;
    m->silent_node = f->silent_node;
    m->silent_ns = f->silent_ns;
    m->payload = td_wire_put_payload(&f->payload);
}

bool td_wire_get_arrive(const Torus__Peer__Arrive *m, struct td_message_arrive *f)
{
    f->no_room = m->no_room;
    f->last = m->last;
    f->silent_node = m->silent_node;
    f->silent_ns = m->silent_ns;
    td_wire_get_survey(m->survey, &f->survey);
    return td_wire_get_witness(m->least, &f->least) &&
           td_wire_get_witness(m->greatest, &f->greatest) &&
           td_wire_get_payload(&m->payload, TD_LONG_RIDE_BYTES_MAX, &f->payload);
}

void td_wire_put_report(const struct td_message_report *f, struct td_wire_form *form)
{
    Torus__Peer__Report *m = &form->report;
    m->arrived = td_wire_put_bitmap(&f->arrived);
}

bool td_wire_get_report(const Torus__Peer__Report *m, struct td_message_report *f)
{
    return td_wire_get_bitmap(&m->arrived, TD_BITMAP_BYTES_MAX, &f->arrived);
}

void td_wire_put_release(const struct td_message_release *f, struct td_wire_form *form)
{
    Torus__Peer__Release *m = &form->release;
    m->last = f->last;
    m->silent_node = f->silent_node;
    m->silent_ns = f->silent_ns;
    m->payload = td_wire_put_payload(&f->payload);
}

bool td_wire_get_release(const Torus__Peer__Release *m, struct td_message_release *f)
{
    f->last = m->last;
    f->silent_node = m->silent_node;
    f->silent_ns = m->silent_ns;
    return td_wire_get_payload(&m->payload, TD_LONG_RIDE_BYTES_MAX, &f->payload);
}

void td_wire_put_verdict(const struct td_message_verdict *f, struct td_wire_form *form)
{
    Torus__Peer__Verdict *m = &form->verdict;
    m->error = f->error;
    m->text = td_wire_string(f->text);
    m->is_running = f->is_running;
    m->silent_node = f->silent_node;
    m->silent_ns = f->silent_ns;
}

bool td_wire_get_verdict(const Torus__Peer__Verdict *m, struct td_message_verdict *f)
{
    f->is_running = m->is_running;
    f->silent_node = m->silent_node;
    f->silent_ns = m->silent_ns;
    return td_wire_get_error(m->error, m->text, &f->error, &f->text);
}

void td_wire_put_announce_again(const struct td_message_announce_again *f,
                                struct td_wire_form *form)
{
    Torus__Peer__AnnounceAgain *m = &form->announce_again;
    m->is_surveyed = f->is_surveyed;
    m->without_scratch = f->without_scratch;
    m->survey = td_wire_put_survey(&f->survey, &form->survey);
}

bool td_wire_get_announce_again(const Torus__Peer__AnnounceAgain *m,
                                struct td_message_announce_again *f)
{
    f->is_surveyed = m->is_surveyed;
    f->without_scratch = m->without_scratch;
    td_wire_get_survey(m->survey, &f->survey);
    return true;
}

void td_wire_put_waiting(const struct td_message_waiting *f, struct td_wire_form *form)
{
    Torus__Peer__Waiting *m = &form->waiting;
    m->arrived = td_wire_put_bitmap(&f->arrived);
    m->reply_requested = f->reply_requested;
}

bool td_wire_get_waiting(const Torus__Peer__Waiting *m, struct td_message_waiting *f)
{
    f->reply_requested = m->reply_requested;
    return td_wire_get_bitmap(&m->arrived, TD_BITMAP_BYTES_MAX, &f->arrived);
}

void td_wire_put_appeal(const struct td_message_appeal *f, struct td_wire_form *form)
{
    Torus__Peer__Appeal *m = &form->appeal;
    m->error = f->error;
    m->text = td_wire_string(f->text);
    m->is_running = f->is_running;
    m->node = f->node;
    m->waits_for = f->waits_for;
}

bool td_wire_get_appeal(const Torus__Peer__Appeal *m, struct td_message_appeal *f)
{
    f->is_running = m->is_running;
    f->node = m->node;
    f->waits_for = m->waits_for;
    return td_wire_get_error(m->error, m->text, &f->error, &f->text);
}

void td_wire_put_sync(const struct td_message_sync *f, struct td_wire_form *form)
{
    Torus__Peer__Sync *m = &form->sync;
    m->family = f->family;
    m->round = f->round;
    m->step_index = f->step_index;
}

bool td_wire_get_sync(const Torus__Peer__Sync *m, struct td_message_sync *f)
{
    f->family = m->family;
    f->round = m->round;
    f->step_index = m->step_index;
    return true;
}

void td_wire_put_delivered(const struct td_message_delivered *f, struct td_wire_form *form)
{
    Torus__Peer__Delivered *m = &form->delivered;
    m->ticket = f->ticket;
    m->is_lost = f->is_lost;
    m->with = f->with;
}

bool td_wire_get_delivered(const Torus__Peer__Delivered *m, struct td_message_delivered *f)
{
    f->ticket = m->ticket;
    f->is_lost = m->is_lost;
    f->with = m->with;
    return true;
}

void td_wire_put_carry(const struct td_message_carry *f, struct td_wire_form *form)
{
    Torus__Peer__Carry *m = &form->carry;
    m->ticket = f->ticket;
    m->family = f->family;
    m->index = f->index;
    m->offset = f->offset;
    m->payload = td_wire_put_payload(&f->payload);
}

bool td_wire_get_carry(const Torus__Peer__Carry *m, struct td_message_carry *f)
{
    f->ticket = m->ticket;
    f->family = m->family;
    f->index = m->index;
    f->offset = m->offset;
    return td_wire_get_payload(&m->payload, TD_LONG_RIDE_BYTES_MAX, &f->payload);
}
