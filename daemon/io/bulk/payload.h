/* SPDX-License-Identifier: Apache-2.0 */
/* payload: the bytes of a packet while they arrive, wait, or leave.
 *
 * A payload has memory of its own or borrows memory from a lender. It is reference-counted: each
 * holder releases it once. With the last release its memory returns to the pool, or the lender is
 * notified. Only the loop's thread changes it; workers may read the bytes of a payload that is held
 * meanwhile.
 * Owns: a bounded number of released payloads for reuse. */
#ifndef TD_IO_BULK_PAYLOAD_H
#define TD_IO_BULK_PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

enum { TD_PAYLOAD_PIECES = 256 };

struct td_payload {
    uint32_t holders, bytes;
    uint8_t *data; /* NULL: the bytes are in pieces of memory, in this order: */
    const struct iovec *piece;
    uint32_t pieces; /* at most TD_PAYLOAD_PIECES */
    bool lent;       /* the bytes are in memory that a client can change */
    /* release is called after the last td_payload_drop and frees the payload. */
    void (*release)(struct td_payload *payload);
};

/* struct td_payload_pool: memory of large payloads for reuse, because fresh memory costs as much as
 * a copy. */
struct td_payload_pool {
    struct pooled *spare;
    uint32_t spares;
    uint32_t bytes_max; /* greatest size of a payload */
};

void td_payload_pool_init(struct td_payload_pool *pool, uint32_t bytes_max);
/* td_payload_pool_fini frees the unused memory. Held payloads are freed when they are released. */
void td_payload_pool_fini(struct td_payload_pool *pool);
/* td_payload_new returns a payload with memory of its own and one holder, or NULL if memory runs
 * out. bytes is at most the pool's bytes_max. */
struct td_payload *td_payload_new(struct td_payload_pool *pool, uint32_t bytes);
struct td_payload *td_payload_hold(struct td_payload *payload);
/* td_payload_parts writes the parts of the memory from byte `at` on, and returns their number. */
unsigned td_payload_parts(const struct td_payload *payload, uint32_t at,
                          struct iovec part[TD_PAYLOAD_PIECES]);
/* td_payload_store copies bytes to the payload, from byte `at` on; td_payload_load copies its first
 * bytes from it. */
void td_payload_store(const struct td_payload *payload, uint32_t at, const uint8_t *in,
                      uint32_t bytes);
void td_payload_load(const struct td_payload *payload, uint8_t *out, uint32_t bytes);
/* td_payload_drop removes one holder. It accepts NULL. */
void td_payload_drop(struct td_payload *payload);

#endif
