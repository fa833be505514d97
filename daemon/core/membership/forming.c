/* SPDX-License-Identifier: Apache-2.0 */
#include "forming.h"

#include "job.h"

void td_forming_drop(struct td_core *core, struct td_forming *f)
{
    struct td_forming **link = &core->joins->forming;
    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
    struct td_account *account = f->account;
    td_core_free(core, f->rank_node);
    td_core_free(core, f->rank_token);
    td_core_free(core, f);
    td_account_close(core, account);
}

/* is_full returns true if a node already sends as many memberships as it may at a time. */
static bool is_full(const struct td_core *core, uint32_t from)
{
    uint32_t count = 0;
    for (const struct td_forming *f = core->joins->forming; f; f = f->next)
        count += f->from == from;
    return count >= TD_FORMING_MAX;
}

struct td_forming *td_forming_start(struct td_core *core, uint32_t from, uint64_t instance,
                                    const struct td_message_members *m)
{
    struct td_account *account = is_full(core, from) ? NULL : td_account_open(core, m->uid);
    struct td_forming *f = account ? td_arena_alloc(account->lasting, sizeof *f) : NULL;
    if (!f) {
        td_account_close(core, account);
        return NULL;
    }
    f->account = account;
    f->instance = instance;
    f->from = from;
    f->size = m->size;
    f->rank_node = td_arena_alloc(account->lasting, m->size * sizeof *f->rank_node);
    f->rank_token = td_arena_alloc(account->lasting, m->size * sizeof *f->rank_token);
    f->next = core->joins->forming;
    core->joins->forming = f;
    if (f->rank_node && f->rank_token)
        return f;
    td_forming_drop(core, f);
    return NULL;
}

struct td_forming *td_forming_find(struct td_core *core, uint32_t from, uint64_t instance)
{
    struct td_forming *f = core->joins->forming;
    while (f && (f->instance != instance || f->from != from))
        f = f->next;
    return f;
}

void td_forming_take(struct td_forming *f, const struct td_message_members *m)
{
    for (uint32_t i = 0; i < m->runs; i++) {
        const struct td_member_run *run = &m->run[i];
        for (uint32_t k = 0; k < run->count && run->first + k < f->size; k++) {
            f->rank_node[run->first + k] = run->node;
            f->rank_token[run->first + k] = run->token + k;
        }
    }
}

void td_forming_end(struct td_core *core, uint32_t from)
{
    struct td_forming *next = NULL;
    for (struct td_forming *f = core->joins->forming; f; f = next) {
        next = f->next;
        if (f->from == from || (from == UINT32_MAX && core->now >= f->expires_at))
            td_forming_drop(core, f);
        else
            td_core_alarm(core, f->expires_at);
    }
}
