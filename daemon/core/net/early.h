/* SPDX-License-Identifier: Apache-2.0 */
/* early: numbered tree messages that arrive before one with a lower number.
 *
 * Tree messages of a session may take two paths (docs/architecture.md), and one path may be faster.
 * Without an express path no message overtakes another one, and a gap is a loss. The core handles
 * them strictly by number: a loss that overtook a release would give ranks different endings. A
 * message that is early by at most TD_EARLY_MAX numbers is kept by the driver until the missing
 * ones have arrived. If the next one has not after TD_EARLY_PATIENCE_NS, the far end is asked to
 * retransmit it. Owns: a bit for each early message of a link. The driver owns the messages. */
#ifndef TD_CORE_NET_EARLY_H
#define TD_CORE_NET_EARLY_H

#include "link.h"

enum { TD_EARLY_MAX = 64 };
#define TD_EARLY_PATIENCE_NS ((td_time)1000000000)

/* struct td_early: the early messages of a link. Bit i of `kept`: the driver keeps the message that
 * is i + 1 numbers after the next one.
 * Invariant: link->early == (tree_received < greatest). */
struct td_early {
    uint64_t kept;
    uint64_t greatest;   /* number that has arrived, also of a message that was not kept */
    td_time since;       /* the next message has been missing since then */
    td_time asked_at;    /* relayed: when missing messages were asked for; 0: never */
    uint64_t asked_with; /* tree_received at that time */
    bool dropped;        /* a message was dropped while the reply to a RESUME was outstanding, which
                            may have been sent before that message */
};

/* td_early_arrive takes a message whose number is greater than the next one of the link's session.
 * It must be called while the core handles the message's event. */
void td_early_arrive(struct td_core *core, struct td_link *link, const struct td_message *message)
    __attribute__((cold));
/* td_early_drop asks the far end for a message that must be dropped: now, or when the outstanding
 * reply has come, which calls td_early_replied. */
void td_early_drop(struct td_core *core, struct td_link *link) __attribute__((cold));
void td_early_replied(struct td_core *core, struct td_link *link);
/* td_early_advance notes that the count of received messages has grown by `count`. If the message
 * that is next now is early, the driver passes it to the core. */
void td_early_advance(struct td_core *core, struct td_link *link, uint64_t count)
    __attribute__((cold));
/* td_early_forget drops the early messages of a session that has ended. */
void td_early_forget(struct td_core *core, struct td_link *link) __attribute__((cold));
/* td_early_timers asks the far ends of links whose next message has been missing for too long. */
void td_early_timers(struct td_core *core);

#endif
