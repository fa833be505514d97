/* SPDX-License-Identifier: Apache-2.0 */
/* turns: which connection is read next. Users take turns (base/shares.h), and the unit of service
 * is the time that their requests take: a user whose requests are expensive, or many, delays those
 * of others by at most TD_TURNS_NS and one request. A user alone never waits. A user whose last
 * request took more than its turn stays in the round until its debt is paid, if others wait.
 * Owns: nothing. Borrows: the entries, until td_turns_served removes them. Reads no clock. */
#ifndef TD_IO_CLIENTS_TURNS_H
#define TD_IO_CLIENTS_TURNS_H

#include "base/shares.h"

enum { TD_TURNS_NS = 500000 };

/* struct td_turns_entry: a part of a connection's record. Zeroed: it does not wait. */
struct td_turns_entry {
    struct td_turn turn; /* the first member */
    bool waits;
};

struct td_turns {
    struct td_shares_table table;
    struct td_shares users;
};

void td_turns_init(struct td_turns *turns);
/* td_turns_add queues a connection that can be read, once. */
void td_turns_add(struct td_turns *turns, struct td_turns_entry *entry, uint64_t uid);
/* td_turns_next returns the connection to read now; NULL: none waits. */
struct td_turns_entry *td_turns_next(const struct td_turns *turns);
/* td_turns_served counts the time that the next connection has taken. more: it can be read again.
 * It returns true if the connection has left the queue. */
bool td_turns_served(struct td_turns *turns, uint64_t ns, bool more);

#endif
