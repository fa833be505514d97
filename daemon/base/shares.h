/* SPDX-License-Identifier: Apache-2.0 */
/* shares: queues of items by job, served in turn: deficit round robin.
 *
 * Each job has a queue, in order. Its turn begins with a quantum on its balance. What it is served
 * is taken off, and its turn ends when nothing is left; a debt is paid in its next turns. A job
 * whose queue is empty loses its balance, and joins at the end of the round when it queues again. A
 * job alone never waits, and is served in the order of its queue.
 *
 * From the time when two jobs are both backlogged, they are served equally up to a quantum and the
 * largest service, whatever the sizes of their items. An operation takes the same time for any
 * number of jobs and items, if a service is at most a quantum. Items are linked, not copied: the
 * queues have no size of their own. Source: Shreedhar and Varghese, "Efficient fair queuing using
 * deficit round robin", 1996; the debt instead of a look at the next item's size is surplus round
 * robin. Owns: nothing. Borrows: the items, until they are removed. Pure. */
#ifndef TD_BASE_SHARES_H
#define TD_BASE_SHARES_H

#include <stdbool.h>
#include <stdint.h>

/* struct td_turn: a queued item, a part of the item's record. */
struct td_turn {
    struct td_turn *next; /* of the same job */
    uint64_t job;
    /* Only the first item of a job has these: */
    const struct td_shares *shares;
    struct td_turn *last;           /* of the same job */
    struct td_turn *after, *before; /* first items of the jobs around it in the round */
    struct td_turn *chain;          /* of a bucket */
    int64_t balance;
};

/* struct td_shares_table finds the queue of a job. Any number of td_shares may use one table.
 * Without a table the round is searched, which suits a few jobs. */
enum { TD_SHARES_BUCKETS = 256 };
struct td_shares_table {
    struct td_turn *bucket[TD_SHARES_BUCKETS];
};

struct td_shares {
    struct td_shares_table *table; /* or NULL */
    struct td_turn *first; /* of the job whose turn it is: the next item. NULL: none is queued */
    uint32_t quantum;
    uint32_t jobs; /* with items */
};

/* td_shares_init makes an empty one. The quantum is at least 1. */
void td_shares_init(struct td_shares *shares, struct td_shares_table *table, uint32_t quantum);
/* td_shares_add queues an item after the items of its job. td_shares_put_back queues it before
 * them: an item that has been served in part. */
void td_shares_add(struct td_shares *shares, struct td_turn *item, uint64_t job);
void td_shares_put_back(struct td_shares *shares, struct td_turn *item, uint64_t job);
/* td_shares_served counts what the job of the next item has been served, and removes the item if it
 * is `done`. The next item may then be another job's. */
void td_shares_served(struct td_shares *shares, uint64_t service, bool done);
/* td_shares_remove removes the items of a job for which `drop` returns true; it may free them. The
 * job loses its balance. */
void td_shares_remove(struct td_shares *shares, uint64_t job,
                      bool (*drop)(void *me, struct td_turn *item), void *me);
/* td_shares_of returns the first item of a job, or NULL. */
struct td_turn *td_shares_of(const struct td_shares *shares, uint64_t job);

#endif
