/* SPDX-License-Identifier: Apache-2.0 */
#include "peer_losses.h"

#include "memory.h"
#include "peer_fields.h"

void td_wire_put_rank_gone(const struct td_message_rank_gone *f, struct td_wire_form *form)
{
    Torus__Peer__RankGone *m = &form->rank_gone;
    m->rank = f->rank;
    m->error = f->error;
    m->of_job = f->of_job;
    m->text = td_wire_string(f->text);
}

bool td_wire_get_rank_gone(const Torus__Peer__RankGone *m, struct td_message_rank_gone *f)
{
    f->rank = m->rank;
    f->of_job = m->of_job;
    return td_wire_get_error(m->error, m->text, &f->error, &f->text);
}

void td_wire_put_rank_lost(const struct td_message_rank_lost *f, struct td_wire_form *form)
{
    Torus__Peer__RankLost *m = &form->rank_lost;
    m->rank = f->rank;
    m->error = f->error;
    m->of_job = f->of_job;
    m->text = td_wire_string(f->text);
}

bool td_wire_get_rank_lost(const Torus__Peer__RankLost *m, struct td_message_rank_lost *f)
{
    f->rank = m->rank;
    f->of_job = m->of_job;
    return td_wire_get_error(m->error, m->text, &f->error, &f->text);
}

void td_wire_put_node_lost(const struct td_message_node_lost *f, struct td_wire_form *form)
{
    Torus__Peer__NodeLost *m = &form->node_lost;
    m->node = f->node;
    m->notify_all = f->notify_all;
    m->is_proven = f->is_proven;
    m->text = td_wire_string(f->text);
    m->silent_ns = f->silent_ns;
}

bool td_wire_get_node_lost(const Torus__Peer__NodeLost *m, struct td_message_node_lost *f)
{
    f->node = m->node;
    f->notify_all = m->notify_all;
    f->is_proven = m->is_proven;
    f->text = m->text;
    f->silent_ns = m->silent_ns;
    return strlen(m->text) < TD_TEXT_MAX;
}

void td_wire_put_parting(const struct td_message_parting *f, struct td_wire_form *form)
{
    Torus__Peer__Parting *m = &form->parting;
    m->step = f->step;
    m->round = f->round;
    m->sequence = f->sequence;
    m->text = td_wire_string(f->text);
}

bool td_wire_get_parting(const Torus__Peer__Parting *m, struct td_message_parting *f)
{
    f->step = m->step;
    f->round = m->round;
    f->sequence = m->sequence;
    f->text = m->text;
    return strlen(m->text) < TD_TEXT_MAX;
}

void td_wire_put_neighbour_lost(const struct td_message_neighbour_lost *f,
                                struct td_wire_form *form)
{
    Torus__Peer__NeighbourLost *m = &form->neighbour_lost;
    m->node = f->node;
    m->never_up = f->never_up;
}

bool td_wire_get_neighbour_lost(const Torus__Peer__NeighbourLost *m,
                                struct td_message_neighbour_lost *f)
{
    f->node = m->node;
    f->never_up = m->never_up;
    return true;
}

void td_wire_put_neighbour_back(const struct td_message_neighbour_back *f,
                                struct td_wire_form *form)
{
    Torus__Peer__NeighbourBack *m = &form->neighbour_back;
    m->node = f->node;
}

bool td_wire_get_neighbour_back(const Torus__Peer__NeighbourBack *m,
                                struct td_message_neighbour_back *f)
{
    f->node = m->node;
    return true;
}

void td_wire_put_resume(const struct td_message_resume *f, struct td_wire_form *form)
{
    Torus__Peer__Resume *m = &form->resume;
    m->packets_received = f->packets_received;
    m->incarnation = f->incarnation;
    m->first = f->first;
    m->first_packet = f->first_packet;
    m->given_up = f->given_up;
    m->question = f->question;
    m->answers = f->answers;
    m->reply_requested = f->reply_requested;
}

bool td_wire_get_resume(const Torus__Peer__Resume *m, struct td_message_resume *f)
{
    f->packets_received = m->packets_received;
    f->incarnation = m->incarnation;
    f->first = m->first;
    f->first_packet = m->first_packet;
    f->given_up = m->given_up;
    f->question = m->question;
    f->answers = m->answers;
    f->reply_requested = m->reply_requested;
    return true;
}

void td_wire_put_look(const struct td_message_look *f, struct td_wire_form *form)
{
    Torus__Peer__Look *m = &form->look;
    m->ticket = f->ticket;
    m->uid = f->uid;
    m->sees_all = f->sees_all;
    m->section = f->section;
    m->cursor = f->cursor;
}

bool td_wire_get_look(const Torus__Peer__Look *m, struct td_message_look *f)
{
    *f = (struct td_message_look){m->ticket, m->uid, m->sees_all, m->section, m->cursor};
    return true;
}

void td_wire_put_seen(const struct td_message_seen *f, struct td_wire_form *form)
{
    Torus__Peer__Seen *m = &form->seen;
    m->ticket = f->ticket;
    m->page = td_wire_put_bitmap(&f->page);
}

bool td_wire_get_seen(const Torus__Peer__Seen *m, struct td_message_seen *f)
{
    f->ticket = m->ticket;
    return td_wire_get_bitmap(&m->page, TD_PAGE_BYTES_MAX, &f->page);
}

void td_wire_put_end_calls(const struct td_message_end_calls *f, struct td_wire_form *form)
{
    Torus__Peer__EndCalls *m = &form->end_calls;
    m->ticket = f->ticket;
    m->user = f->user;
    m->job = td_wire_string(f->job);
    m->owner = f->owner;
    m->all = f->all;
    m->instance = f->instance;
    m->number = f->number;
    m->why = td_wire_string(f->why);
}

bool td_wire_get_end_calls(const Torus__Peer__EndCalls *m, struct td_message_end_calls *f)
{
    *f = (struct td_message_end_calls){.ticket = m->ticket,
                                       .user = m->user,
                                       .job = m->job,
                                       .owner = m->owner,
                                       .all = m->all,
                                       .instance = m->instance,
                                       .number = m->number,
                                       .why = m->why};
    return strlen(m->job) < TD_NAME_MAX && strlen(m->why) < TD_TEXT_MAX;
}
