/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"

#include <stddef.h>

/* A longer service is charged as this, which bounds the search for the next user. */
#define SERVICE_NS_MAX (UINT64_C(100) * TD_TURNS_NS)

void td_turns_init(struct td_turns *t)
{
    *t = (struct td_turns){0};
    td_shares_init(&t->users, &t->table, TD_TURNS_NS);
}

void td_turns_add(struct td_turns *t, struct td_turns_entry *entry, uint64_t uid)
{
    if (entry->waits)
        return;
    entry->waits = true;
    td_shares_add(&t->users, &entry->turn, uid);
}

struct td_turns_entry *td_turns_next(const struct td_turns *t)
{
    return (struct td_turns_entry *)t->users.first;
}

bool td_turns_served(struct td_turns *t, uint64_t ns, bool more)
{
    struct td_turns_entry *entry = td_turns_next(t);
    uint64_t service = ns < SERVICE_NS_MAX ? ns : SERVICE_NS_MAX;
    bool owes = entry->turn.balance <= (int64_t)service;
    bool keeps_debt = owes && !entry->turn.next && t->users.jobs > 1;
    entry->waits = more || keeps_debt;
    bool gone = !entry->waits;
    td_shares_served(&t->users, service, gone);
    return gone;
}
