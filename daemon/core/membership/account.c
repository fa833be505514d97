/* SPDX-License-Identifier: Apache-2.0 */
#include "account.h"

#include <assert.h>

#include "base/allowance.h"

struct td_account *td_account_open(struct td_core *core, uint64_t uid)
{
    struct td_account **link = &core->accounts->bucket[uid % TD_ACCOUNT_BUCKETS];
    while (*link && (*link)->uid != uid)
        link = &(*link)->next;
    if (!*link) {
        if (!(*link = td_arena_alloc(core->arena, sizeof **link)))
            return NULL;
        (*link)->uid = uid;
    }
    (*link)->references++;
    return *link;
}

void td_account_close(struct td_core *core, struct td_account *a)
{
    if (!a || --a->references > 0)
        return;
    struct td_account **link = &core->accounts->bucket[a->uid % TD_ACCOUNT_BUCKETS];
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
    for (int i = 0; i < TD_HOLDINGS; i++)
        assert(a->held[i] == 0);
    td_core_free(core, a);
}

static uint64_t limit_of(const struct td_core *core, enum td_holding holding)
{
    const struct td_settings *s = &core->settings;
    switch (holding) {
    case TD_HOLD_CLIENTS:
        return s->clients_max;
    case TD_HOLD_GROUPS:
        return s->groups_max;
    case TD_HOLD_REGIONS:
        return s->regions_max;
    case TD_HOLD_OPERATIONS:
        return s->operations_max;
    case TD_HOLD_MEMORY:
        return s->arena_bytes / 2; /* the rest is for links, clients and operations */
    case TD_HOLD_CALLS:
        return s->arena_bytes / 4 * 3; /* the rest is for links, clients and a few groups */
    case TD_HOLD_SCRATCH:
        return s->scratch_bytes;
    case TD_HOLDINGS:
        break;
    }
    return 0;
}

bool td_account_is_privileged(const struct td_core *core, const struct td_account *a)
{
    return a->uid == 0 || a->uid == core->options.uid;
}

static uint64_t allowance(const struct td_core *core, const struct td_account *a,
                          enum td_holding holding)
{
    uint64_t others = core->accounts->held[holding] - a->held[holding];
    return td_allowance(limit_of(core, holding), others, core->settings.share_percent,
                        td_account_is_privileged(core, a));
}

uint64_t td_account_most(const struct td_core *core, const struct td_account *a,
                         enum td_holding holding)
{
    return td_allowance(limit_of(core, holding), 0, core->settings.share_percent,
                        td_account_is_privileged(core, a));
}

bool td_account_may(const struct td_core *core, const struct td_account *a, enum td_holding holding,
                    uint64_t more)
{
    uint64_t most = allowance(core, a, holding);
    return more <= most && a->held[holding] <= most - more;
}

const char *td_account_refuses(struct td_core *core, const struct td_account *a,
                               enum td_holding holding, uint64_t more)
{
    static const struct {
        const char *things, *key;
    } names[TD_HOLDINGS] = {
        [TD_HOLD_CLIENTS] = {"connections", "clients"},
        [TD_HOLD_GROUPS] = {"groups and joins", "groups"},
        [TD_HOLD_REGIONS] = {"shared regions", "regions"},
        [TD_HOLD_OPERATIONS] = {"operations on record", "operations"},
        [TD_HOLD_MEMORY] = {"bytes of groups and jobs", "memory"},
        [TD_HOLD_CALLS] = {"bytes of calls", "memory"},
        [TD_HOLD_SCRATCH] = {"bytes of scratch", "scratch"},
    };
    uint64_t limit = limit_of(core, holding), all = core->accounts->held[holding];
    if (td_account_may(core, a, holding, more))
        return NULL;
    if (td_account_is_privileged(core, a) || all >= limit)
        return td_core_format(core, "node %u has %llu %s, the maximum: raise [limits] %s",
                              core->node, (unsigned long long)all, names[holding].things,
                              names[holding].key);
    return td_core_format(
        core,
        "user %llu has %llu %s on node %u, the share of one user while others have %llu: free "
        "some, or raise [limits] %s or share",
        (unsigned long long)a->uid, (unsigned long long)a->held[holding], names[holding].things,
        core->node, (unsigned long long)(all - a->held[holding]), names[holding].key);
}

void td_account_add(struct td_core *core, struct td_account *a, enum td_holding holding,
                    uint64_t more)
{
    a->held[holding] += more;
    core->accounts->held[holding] += more;
}

void td_account_drop(struct td_core *core, struct td_account *a, enum td_holding holding,
                     uint64_t less)
{
    assert(a->held[holding] >= less);
    a->held[holding] -= less;
    core->accounts->held[holding] -= less;
}
