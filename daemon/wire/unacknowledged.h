/* SPDX-License-Identifier: Apache-2.0 */
/* unacknowledged: queue of encoded tree messages to one peer, kept until the peer acknowledges
 * them. Both drivers use it: the core numbers the messages and decides when to send them again.
 *
 * Owns: a copy of each message.
 * Invariant: message numbers increase from first to last. */
#ifndef TD_WIRE_UNACKNOWLEDGED_H
#define TD_WIRE_UNACKNOWLEDGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct td_unacknowledged_message {
    struct td_unacknowledged_message *next;
    uint64_t number;
    size_t size;
    uint8_t bytes[];
};

/* struct td_unacknowledged: a zeroed queue is empty. */
struct td_unacknowledged {
    struct td_unacknowledged_message *first, *last;
};

/* td_unacknowledged_keep appends a copy of a message. The number is larger than those in the queue.
 * Returns false if memory runs out; the queue is then unchanged. */
bool td_unacknowledged_keep(struct td_unacknowledged *queue, uint64_t number, const uint8_t *bytes,
                            size_t size);
/* td_unacknowledged_acknowledge frees all messages up to and including `number`; UINT64_MAX frees
 * all.
 */
void td_unacknowledged_acknowledge(struct td_unacknowledged *queue, uint64_t number);
/* td_unacknowledged_from returns the first message whose number is at least `number`; the rest
 * follow by `next`. Returns NULL if none exists. The message is valid until it is acknowledged. */
const struct td_unacknowledged_message *
td_unacknowledged_from(const struct td_unacknowledged *queue, uint64_t number);

#endif
