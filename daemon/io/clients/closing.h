/* SPDX-License-Identifier: Apache-2.0 */
/* closing: the queues of the closer, one for each user, served in turn.
 *
 * An item is queued, then runs on a thread, then ends. One user has at most `user_threads` items
 * that run, of which one place is kept for urgent items: others may run for as long as the user
 * likes. Users take turns, an item each. Every operation takes the same time for any number of
 * items and of users, but for users whose numbers share a bucket.
 *
 * An item that unmaps memory does not run while another one of its user uses that memory: it is
 * held by that one, and is the next of its user when that one ends.
 * Owns: a record for each user with items. Borrows: the items, until they end. Not thread-safe;
 * pure but for malloc. */
#ifndef TD_IO_CLIENTS_CLOSING_H
#define TD_IO_CLIENTS_CLOSING_H

#include <stdbool.h>
#include <stdint.h>

enum { TD_CLOSING_BUCKETS = 256, TD_CLOSING_THREADS_MAX = 8 /* of one user */ };

struct td_closing_user;

/* struct td_closing_item: a part of an item's record. The caller sets the first three. */
struct td_closing_item {
    const void *memory; /* that the item uses, or NULL */
    bool unmaps;        /* it ends the mapping of `memory` */
    bool urgent;        /* it goes before those of its user that are not */
    struct td_closing_user *user;
    struct td_closing_item *next;
    struct td_closing_item *held; /* items that wait for this one's end */
};

/* struct td_closing: of zeros, and `user_threads`: empty. */
struct td_closing {
    uint32_t user_threads; /* 2 to TD_CLOSING_THREADS_MAX */
    uint32_t ready;        /* items that td_closing_take would return one after the other */
    struct td_closing_user *turn, *last; /* users with such an item, in the order of their turns */
    struct td_closing_user *bucket[TD_CLOSING_BUCKETS];
};

/* td_closing_add queues an item of a user. It returns false if there is no memory for the user. */
bool td_closing_add(struct td_closing *q, struct td_closing_item *item, uint64_t uid);
/* td_closing_take returns the next item, which runs from now on; NULL: none may run now. */
struct td_closing_item *td_closing_take(struct td_closing *q);
/* td_closing_end ends an item that runs. */
void td_closing_end(struct td_closing *q, struct td_closing_item *item);
/* td_closing_pending returns the number of items of a user that have not ended. */
uint32_t td_closing_pending(const struct td_closing *q, uint64_t uid);
/* td_closing_runs returns true if an item runs, and writes the user of one. */
bool td_closing_runs(const struct td_closing *q, uint64_t *uid);

#endif
