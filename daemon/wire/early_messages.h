/* SPDX-License-Identifier: Apache-2.0 */
/* early_messages: encoded tree messages from one peer that arrived before one with a lower number.
 * Both drivers use it: the core decides which messages are kept, and when they are taken
 * (core/net/early.h).
 *
 * Owns: a copy of each message.
 * Invariant: the numbers of the messages that the core still wants span less than
 * TD_EARLY_MESSAGES_MAX, so each has a place of its own. */
#ifndef TD_WIRE_EARLY_MESSAGES_H
#define TD_WIRE_EARLY_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TD_EARLY_MESSAGES_MAX = 64 };

struct td_early_message {
    uint64_t number;
    size_t size;
    uint8_t bytes[];
};

/* struct td_early_messages: a zeroed one is empty. */
struct td_early_messages {
    struct td_early_message **place; /* [TD_EARLY_MESSAGES_MAX], or NULL: none was ever kept */
};

/* td_early_messages_keep keeps a copy of a message; one in its place is dropped. It returns false
 * if memory runs out; nothing has changed then. */
bool td_early_messages_keep(struct td_early_messages *early, uint64_t number, const uint8_t *bytes,
                            size_t size);
/* td_early_messages_take returns the message with a number, which the caller frees by free, or NULL
 * if it is not here. */
struct td_early_message *td_early_messages_take(struct td_early_messages *early, uint64_t number);
/* td_early_messages_forget drops all messages. */
void td_early_messages_forget(struct td_early_messages *early);

#endif
