/* SPDX-License-Identifier: Apache-2.0 */
/* account: what each user of this node holds, and how much more the user may have.
 *
 * A user may hold [limits] share percent of what the other users leave of a limit
 * (base/allowance.h). Root and the daemon's own user may hold all of it.
 * Owns: accounts, in the arena. Borrows: nothing.
 * Invariant: an account exists while something refers to it; `held` of all accounts adds up to
 * that of td_accounts. */
#ifndef TD_CORE_MEMBERSHIP_ACCOUNT_H
#define TD_CORE_MEMBERSHIP_ACCOUNT_H

#include "core/core_internal.h"

enum td_holding {
    TD_HOLD_CLIENTS,
    TD_HOLD_GROUPS,     /* groups of this node, and joins of its clients */
    TD_HOLD_REGIONS,    /* number of regions; the driver limits their bytes */
    TD_HOLD_OPERATIONS, /* on record */
    TD_HOLD_MEMORY,     /* bytes of groups, and at node 0 of jobs */
    TD_HOLD_CALLS,      /* bytes of operations: records, copied forms, tables of counts */
    TD_HOLD_SCRATCH,    /* bytes */
    TD_HOLDINGS
};

struct td_account {
    struct td_account *next;
    uint64_t uid;
    uint32_t references;
    uint64_t held[TD_HOLDINGS];
};

enum { TD_ACCOUNT_BUCKETS = 64 };

struct td_accounts {
    struct td_account *bucket[TD_ACCOUNT_BUCKETS]; /* by uid */
    uint64_t held[TD_HOLDINGS];                    /* of all users */
};

/* td_account_open returns the user's account, or NULL if memory runs out. Each object that holds
 * something opens it, and closes it at its end. td_account_close accepts NULL. */
struct td_account *td_account_open(struct td_core *core, uint64_t uid);
void td_account_close(struct td_core *core, struct td_account *account);
/* td_account_is_privileged returns true for root and the daemon's own user. */
bool td_account_is_privileged(const struct td_core *core, const struct td_account *account);
/* td_account_refuses returns NULL if the user may hold `more`, else a sentence, valid until the
 * next step. */
const char *td_account_refuses(struct td_core *core, const struct td_account *account,
                               enum td_holding holding, uint64_t more);
/* td_account_may returns true if the user may hold `more`. */
bool td_account_may(const struct td_core *core, const struct td_account *account,
                    enum td_holding holding, uint64_t more);
/* td_account_most returns how much the user may hold if no other user holds anything. */
uint64_t td_account_most(const struct td_core *core, const struct td_account *account,
                         enum td_holding holding);
void td_account_add(struct td_core *core, struct td_account *account, enum td_holding holding,
                    uint64_t more);
void td_account_drop(struct td_core *core, struct td_account *account, enum td_holding holding,
                     uint64_t less);

#endif
