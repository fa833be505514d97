/* SPDX-License-Identifier: Apache-2.0 */
/* account: what each user of this node holds, and how much more the user may have.
 *
 * A user may hold [limits] share percent of what the other users leave of a limit
 * (base/allowance.h). Root and the daemon's own user may hold all of it.
 *
 * Memory of the core belongs to a user from its allocation to its release: the account has parts of
 * the core's arena, which count it and refuse what exceeds the user's share. Groups, jobs and plans
 * may take three quarters of the share, calls seven eighths. So a user whose groups and plans take
 * all that they may can still call, and the oldest call of each group finds a record beside those
 * that wait for it. Owns: accounts, in the arena. Borrows: nothing. Invariant: an account exists
 * while something refers to it; `held` of all accounts adds up to that of td_accounts, and the
 * arenas of all accounts to that of td_accounts. */
#ifndef TD_CORE_MEMBERSHIP_ACCOUNT_H
#define TD_CORE_MEMBERSHIP_ACCOUNT_H

#include "core/core_internal.h"

enum td_holding {
    TD_HOLD_CLIENTS,
    TD_HOLD_GROUPS,     /* groups of this node, and joins of its clients */
    TD_HOLD_REGIONS,    /* number of regions; the driver limits their bytes */
    TD_HOLD_OPERATIONS, /* on record */
    TD_HOLD_SCRATCH,    /* bytes */
    TD_HOLD_MEMORY,     /* bytes of groups and plans, and at node 0 of jobs */
    TD_HOLD_CALLS,      /* bytes of operations: records, copied forms, tables of counts */
    TD_HOLDINGS,
    TD_HOLD_COUNTED = TD_HOLD_MEMORY /* those before are counted here, memory by the arena */
};

struct td_account {
    struct td_account *next;
    struct td_core *core;
    uint64_t uid;
    uint32_t references;
    uint64_t held[TD_HOLD_COUNTED];
    /* All memory of the user: connections, regions, joins, and the two parts. A holder of memory
     * frees it before it closes the account. */
    struct td_arena *arena;
    struct td_arena *lasting; /* TD_HOLD_MEMORY */
    struct td_arena *calls;   /* TD_HOLD_CALLS */
};

enum { TD_ACCOUNT_BUCKETS = 64 };

struct td_accounts {
    struct td_account *bucket[TD_ACCOUNT_BUCKETS]; /* by uid */
    uint64_t held[TD_HOLD_COUNTED];                /* of all users */
    struct td_arena *arena;                        /* of all users; the rest is the daemon's own */
};

/* td_account_init makes the arena of all users. It returns false if memory runs out. */
bool td_account_init(struct td_core *core);
/* td_account_find returns the user's account, or NULL. */
struct td_account *td_account_find(const struct td_core *core, uint64_t uid);
/* td_account_open returns the user's account, or NULL if memory runs out. Each object that holds
 * something opens it, and closes it at its end. td_account_close accepts NULL. */
struct td_account *td_account_open(struct td_core *core, uint64_t uid);
void td_account_close(struct td_core *core, struct td_account *account);
/* td_account_held returns what the user holds. */
uint64_t td_account_held(const struct td_account *account, enum td_holding holding);
/* td_account_is_privileged returns true for root and the daemon's own user. */
bool td_account_is_privileged(const struct td_core *core, const struct td_account *account);
/* td_account_refuses returns NULL if the user may hold `more`, else a sentence, valid until the
 * next step. */
const char *td_account_refuses(struct td_core *core, const struct td_account *account,
                               enum td_holding holding, uint64_t more);
/* td_account_no_memory returns the sentence of the last allocation that failed, which was for
 * `what`, e.g. "another group": the user's share is taken, or all memory of the node. */
const char *td_account_no_memory(struct td_core *core, const struct td_account *account,
                                 const char *what);
/* td_account_may returns true if the user may hold `more`. */
bool td_account_may(const struct td_core *core, const struct td_account *account,
                    enum td_holding holding, uint64_t more);
/* td_account_most returns how much the user may hold if no other user holds anything. */
uint64_t td_account_most(const struct td_core *core, const struct td_account *account,
                         enum td_holding holding);
/* td_account_add and td_account_drop count what is not memory. */
void td_account_add(struct td_core *core, struct td_account *account, enum td_holding holding,
                    uint64_t more);
void td_account_drop(struct td_core *core, struct td_account *account, enum td_holding holding,
                     uint64_t less);

#endif
