/* SPDX-License-Identifier: Apache-2.0 */
#include "account.h"

#include <assert.h>

#include "base/allowance.h"

/* ---- what a user may hold ---- */

bool td_account_is_privileged(const struct td_core *core, const struct td_account *a)
{
    return a->uid == 0 || a->uid == core->options.uid;
}

/* limit_of returns the limit of what all users hold. What the daemon takes for itself of its memory
 * is no user's. */
static uint64_t limit_of(const struct td_core *core, enum td_holding holding)
{
    const struct td_settings *s = &core->settings;
    uint64_t own = td_arena_used(core->arena) - td_arena_used(core->accounts->arena);
    switch (holding) {
    case TD_HOLD_CLIENTS:
        return s->clients_max;
    case TD_HOLD_GROUPS:
        return s->groups_max;
    case TD_HOLD_REGIONS:
        return s->regions_max;
    case TD_HOLD_OPERATIONS:
        return s->operations_max;
    case TD_HOLD_SCRATCH:
        return s->scratch_bytes;
    case TD_HOLD_MEMORY:
    case TD_HOLD_CALLS:
        return own < s->arena_bytes ? s->arena_bytes - own : 0;
    case TD_HOLDINGS:
        break;
    }
    return 0;
}

/* held_of returns what is held of a limit: all kinds of memory have one limit. */
static uint64_t held_of(const uint64_t *held, const struct td_arena *arena, enum td_holding holding)
{
    return holding < TD_HOLD_COUNTED ? held[holding] : td_arena_used(arena);
}

/* share_of returns what a user may have of a limit beside the others. */
static uint64_t share_of(const struct td_core *core, const struct td_account *a,
                         enum td_holding holding)
{
    const struct td_accounts *all = core->accounts;
    uint64_t others = held_of(all->held, all->arena, holding) - held_of(a->held, a->arena, holding);
    return td_allowance(limit_of(core, holding), others, core->settings.share_percent,
                        td_account_is_privileged(core, a));
}

/* part_of returns the part of a share that one kind may take. */
static uint64_t part_of(const struct td_core *core, const struct td_account *a, uint64_t share,
                        enum td_holding holding)
{
    if (td_account_is_privileged(core, a) || holding < TD_HOLD_COUNTED)
        return share;
    return share - share / (holding == TD_HOLD_MEMORY ? 4 : 8);
}

uint64_t td_account_held(const struct td_account *a, enum td_holding holding)
{
    return held_of(a->held, holding == TD_HOLD_MEMORY ? a->lasting : a->calls, holding);
}

uint64_t td_account_most(const struct td_core *core, const struct td_account *a,
                         enum td_holding holding)
{
    uint64_t share = td_allowance(limit_of(core, holding), 0, core->settings.share_percent,
                                  td_account_is_privileged(core, a));
    return part_of(core, a, share, holding);
}

/* has returns true if a user who holds so much may hold `more` of `most`. */
static bool has(uint64_t held, uint64_t more, uint64_t most)
{
    return more <= most && held <= most - more;
}

bool td_account_may(const struct td_core *core, const struct td_account *a, enum td_holding holding,
                    uint64_t more)
{
    const struct td_arena *arena = holding == TD_HOLD_MEMORY ? a->lasting : a->arena;
    uint64_t most = part_of(core, a, share_of(core, a, holding), holding);
    return has(held_of(a->held, arena, holding), more, most);
}

/* The arena asks these two before each allocation of a user. What a user has lies in the first
 * bytes, as many as the daemon, the others and the share take: so the reserve is not in small
 * pieces. */
static size_t may_have(const void *holder, size_t more)
{
    const struct td_account *a = holder;
    uint64_t held = td_arena_used(a->arena), share = share_of(a->core, a, TD_HOLD_CALLS);
    if (!has(held, more, share))
        return 0;
    return td_account_is_privileged(a->core, a) ? SIZE_MAX
                                                : td_arena_used(a->core->arena) - held + share;
}

static size_t may_keep(const void *holder, size_t more)
{
    const struct td_account *a = holder;
    return td_account_may(a->core, a, TD_HOLD_MEMORY, more) ? SIZE_MAX : 0;
}

/* ---- accounts ---- */

bool td_account_init(struct td_core *core)
{
    core->accounts->arena = td_arena_part(core->arena, NULL, NULL);
    return core->accounts->arena;
}

/* free_account frees an account. If much memory was its user's, the rest of the block is looked
 * through later (td_scratch_timers). */
static void free_account(struct td_core *core, struct td_account *a)
{
    enum { MUCH = 4 << 20, KEPT_NS = 1000000000 };
    td_arena_part_free(a->calls);
    td_arena_part_free(a->lasting);
    td_arena_part_free(a->arena);
    td_core_free(core, a);
    if (td_arena_touched(core->arena) - td_arena_used(core->arena) < MUCH ||
        core->unused_at != TD_TIME_NEVER)
        return;
    core->unused_at = core->now + 10 * (td_time)KEPT_NS;
    td_core_alarm(core, core->unused_at);
}

/* make adds a new account and returns it, or NULL if memory runs out. The account itself is the
 * daemon's. */
static struct td_account *make(struct td_core *core, uint64_t uid)
{
    struct td_account *a = td_arena_alloc(core->arena, sizeof *a);
    if (!a)
        return NULL;
    a->core = core;
    a->uid = uid;
    a->arena = td_arena_part(core->accounts->arena, may_have, a);
    a->lasting = a->arena ? td_arena_part(a->arena, may_keep, a) : NULL;
    a->calls = a->arena ? td_arena_part(a->arena, NULL, NULL) : NULL;
    if (!a->lasting || !a->calls) {
        free_account(core, a);
        return NULL;
    }
    struct td_account **bucket = &core->accounts->bucket[uid % TD_ACCOUNT_BUCKETS];
    a->next = *bucket;
    *bucket = a;
    return a;
}

struct td_account *td_account_find(const struct td_core *core, uint64_t uid)
{
    struct td_account *a = core->accounts->bucket[uid % TD_ACCOUNT_BUCKETS];
    while (a && a->uid != uid)
        a = a->next;
    return a;
}

struct td_account *td_account_open(struct td_core *core, uint64_t uid)
{
    struct td_account *a = td_account_find(core, uid);
    if (!a && !(a = make(core, uid)))
        return NULL;
    a->references++;
    return a;
}

void td_account_close(struct td_core *core, struct td_account *a)
{
    if (!a || --a->references > 0)
        return;
    struct td_account **link = &core->accounts->bucket[a->uid % TD_ACCOUNT_BUCKETS];
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
    for (int i = 0; i < TD_HOLD_COUNTED; i++)
        assert(a->held[i] == 0);
    free_account(core, a);
}

/* ---- refusals ---- */

/* is_full returns true if a limit is reached whoever asks. */
static bool is_full(const struct td_core *core, const struct td_account *a, enum td_holding holding)
{
    const struct td_accounts *all = core->accounts;
    return td_account_is_privileged(core, a) ||
           held_of(all->held, all->arena, holding) >= limit_of(core, holding);
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
        [TD_HOLD_SCRATCH] = {"bytes of scratch", "scratch"},
        [TD_HOLD_MEMORY] = {"bytes of groups, plans and jobs", "memory"},
        [TD_HOLD_CALLS] = {"bytes of memory", "memory"},
    };
    const struct td_accounts *all = core->accounts;
    const struct td_arena *arena = holding == TD_HOLD_MEMORY ? a->lasting : a->arena;
    uint64_t held = held_of(a->held, arena, holding);
    uint64_t everything = held_of(all->held, all->arena, holding);
    uint64_t others = everything - held_of(a->held, a->arena, holding);
    if (td_account_may(core, a, holding, more))
        return NULL;
    if (is_full(core, a, holding))
        return td_core_format(core, "node %u has %llu %s, the maximum: raise [limits] %s",
                              core->node, (unsigned long long)everything, names[holding].things,
                              names[holding].key);
    return td_core_format(
        core,
        "user %llu has %llu %s on node %u, the share of one user while others have %llu: free "
        "some, or raise [limits] %s or share",
        (unsigned long long)a->uid, (unsigned long long)held, names[holding].things, core->node,
        (unsigned long long)others, names[holding].key);
}

const char *td_account_no_memory(struct td_core *core, const struct td_account *a, const char *what)
{
    struct td_arena_lack lack = td_arena_lack(core->arena);
    bool lasts = a && lack.part == a->lasting;
    bool own = a && (lasts || lack.part == a->arena || lack.part == a->calls);
    if (!own || is_full(core, a, TD_HOLD_MEMORY))
        return td_core_format(core, "node %u has no memory left for %s: raise [limits] memory",
                              core->node, what);
    uint64_t most = share_of(core, a, TD_HOLD_MEMORY);
    if (lasts)
        most = part_of(core, a, most, TD_HOLD_MEMORY);
    return td_core_format(
        core,
        "no memory on node %u for %s, which takes another %llu bytes: user %llu has %llu bytes%s, "
        "and one user may have %llu now: free groups or plans, or raise [limits] memory or share",
        core->node, what, (unsigned long long)lack.bytes, (unsigned long long)a->uid,
        (unsigned long long)lack.used, lasts ? " of groups, plans and jobs" : "",
        (unsigned long long)most);
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
