/* SPDX-License-Identifier: Apache-2.0 */
#include "peer_jobs.h"

#include "memory.h"
#include "peer_fields.h"

void td_wire_put_join(const struct td_message_join *f, struct td_wire_form *form)
{
    Torus__Peer__Join *m = &form->join;
    m->token = f->token;
    m->uid = f->uid;
    m->pid = f->pid;
    m->timeout_ns = f->timeout_ns;
    m->name = td_wire_string(f->name);
    m->size = f->size;
    m->rank = f->rank;
    m->is_reminder = f->is_reminder;
    m->epoch = f->epoch;
    m->granted = f->granted;
    m->granter = f->granter;
    m->refused = f->refused;
    m->refusal = td_wire_string(f->refusal);
    m->n_settings = td_wire_put_terms(&f->terms.list[TD_TERMS_SETTINGS], &m->settings);
    m->n_costs = td_wire_put_terms(&f->terms.list[TD_TERMS_COSTS], &m->costs);
    m->n_methods = td_wire_put_terms(&f->terms.list[TD_TERMS_METHODS], &m->methods);
}

bool td_wire_get_join(const Torus__Peer__Join *m, struct td_message_join *f)
{
    f->token = m->token;
    f->uid = m->uid;
    f->pid = m->pid;
    f->timeout_ns = m->timeout_ns;
    f->size = m->size;
    f->rank = m->rank;
    f->is_reminder = m->is_reminder;
    f->epoch = m->epoch;
    f->granted = m->granted;
    f->granter = m->granter;
    return td_wire_get_name(m->name, &f->name) &&
           td_wire_get_ending(m->refused, m->refusal, &f->refused, &f->refusal) &&
           td_wire_get_terms(m->settings, m->n_settings, &f->terms.list[TD_TERMS_SETTINGS]) &&
           td_wire_get_terms(m->costs, m->n_costs, &f->terms.list[TD_TERMS_COSTS]) &&
           td_wire_get_terms(m->methods, m->n_methods, &f->terms.list[TD_TERMS_METHODS]);
}

void td_wire_put_unjoin(const struct td_message_unjoin *f, struct td_wire_form *form)
{
    Torus__Peer__Unjoin *m = &form->unjoin;
    m->token = f->token;
}

bool td_wire_get_unjoin(const Torus__Peer__Unjoin *m, struct td_message_unjoin *f)
{
    f->token = m->token;
    return true;
}

void td_wire_put_refuse(const struct td_message_refuse *f, struct td_wire_form *form)
{
    Torus__Peer__Refuse *m = &form->refuse;
    m->token = f->token;
    m->error = f->error;
    m->text = td_wire_string(f->text);
}

bool td_wire_get_refuse(const Torus__Peer__Refuse *m, struct td_message_refuse *f)
{
    f->token = m->token;
    return td_wire_get_error(m->error, m->text, &f->error, &f->text);
}

void td_wire_put_members(const struct td_message_members *f, struct td_wire_form *form)
{
    Torus__Peer__Members *m = &form->members;
    m->uid = f->uid;
    m->name = td_wire_string(f->name);
    m->size = f->size;
    m->is_last_piece = f->is_last_piece;
    m->epoch = f->epoch;
    for (uint32_t i = 0; i < f->runs; i++) {
        torus__peer__run__init(&form->run[i]);
        form->run[i].first = f->run[i].first;
        form->run[i].count = f->run[i].count;
        form->run[i].node = f->run[i].node;
        form->run[i].token = f->run[i].token;
        form->runs[i] = &form->run[i];
    }
    m->n_run = f->runs;
    m->run = form->runs;
}

bool td_wire_get_runs(const Torus__Peer__Members *m, struct td_wire_memory *memory,
                      struct td_message_members *f)
{
    struct td_member_run *run = td_wire_allocate(memory, f->runs * sizeof *run);
    for (uint32_t i = 0; run && i < f->runs; i++)
        run[i] = (struct td_member_run){m->run[i]->first, m->run[i]->count, m->run[i]->node,
                                        m->run[i]->token};
    f->run = run;
    return run != NULL;
}

bool td_wire_get_members(const Torus__Peer__Members *m, struct td_message_members *f)
{
    f->uid = m->uid;
    f->size = m->size;
    f->is_last_piece = m->is_last_piece;
    f->epoch = m->epoch;
    f->runs = (uint32_t)m->n_run; /* td_wire_get_runs reads them */
    return td_wire_get_name(m->name, &f->name) && m->n_run <= TD_MEMBERS_PER_MESSAGE;
}

void td_wire_put_rank_left(const struct td_message_rank_left *f, struct td_wire_form *form)
{
    Torus__Peer__RankLeft *m = &form->rank_left;
    m->rank = f->rank;
}

bool td_wire_get_rank_left(const Torus__Peer__RankLeft *m, struct td_message_rank_left *f)
{
    f->rank = m->rank;
    return true;
}

void td_wire_put_registry_ask(const struct td_message_registry_ask *f, struct td_wire_form *form)
{
    Torus__Peer__RegistryAsk *m = &form->registry_ask;
    m->round = f->round;
}

bool td_wire_get_registry_ask(const Torus__Peer__RegistryAsk *m, struct td_message_registry_ask *f)
{
    f->round = m->round;
    return true;
}

void td_wire_put_registry_answer(const struct td_message_registry_answer *f,
                                 struct td_wire_form *form)
{
    Torus__Peer__RegistryAnswer *m = &form->registry_answer;
    m->round = f->round;
    m->is_draining = f->is_draining;
}

bool td_wire_get_registry_answer(const Torus__Peer__RegistryAnswer *m,
                                 struct td_message_registry_answer *f)
{
    f->round = m->round;
    f->is_draining = m->is_draining;
    return true;
}

void td_wire_put_grant(const struct td_message_grant *f, struct td_wire_form *form)
{
    Torus__Peer__Grant *m = &form->grant;
    m->first = f->first;
    m->count = f->count;
    m->token = f->token;
}

bool td_wire_get_grant(const Torus__Peer__Grant *m, struct td_message_grant *f)
{
    f->first = m->first;
    f->count = m->count;
    f->token = m->token;
    return true;
}

void td_wire_put_granted(const struct td_message_granted *f, struct td_wire_form *form)
{
    Torus__Peer__Granted *m = &form->granted;
    m->first = f->first;
    m->count = f->count;
    m->is_granted = f->is_granted;
}

bool td_wire_get_granted(const Torus__Peer__Granted *m, struct td_message_granted *f)
{
    f->first = m->first;
    f->count = m->count;
    f->is_granted = m->is_granted;
    return true;
}
