/* SPDX-License-Identifier: Apache-2.0 */
/* payload: the bytes of a packet while they come in, wait, or go out.
 *
 * A payload has memory of its own or bytes that somebody lends, and is counted: each holder drops
 * it once, and with the last one its memory goes back to the pool, or the lender is told. All of
 * it is the loop's thread's; workers may read the bytes of what is held meanwhile.
 * Owns: payloads dropped and not yet used again, a bounded number. */
#ifndef TD_IO_BULK_PAYLOAD_H
#define TD_IO_BULK_PAYLOAD_H

#include <stdint.h>

struct td_payload {
    uint32_t holders, bytes;
    uint8_t *data;
    /* over is called when nobody holds it any more, and frees it. */
    void (*over)(struct td_payload *payload);
};

/* struct td_payload_pool: memory of large payloads is used again, since fresh memory costs as much
 * as a copy. */
struct td_payload_pool {
    struct pooled *spare;
    uint32_t spares;
    uint32_t bytes_max; /* of a payload */
};

void td_payload_pool_init(struct td_payload_pool *pool, uint32_t bytes_max);
/* td_payload_pool_fini frees what is spare; what is held is freed when it is dropped. */
void td_payload_pool_fini(struct td_payload_pool *pool);
/* td_payload_new returns a payload with memory of its own and one holder; NULL without memory.
 * bytes is at most the pool's bytes_max. */
struct td_payload *td_payload_new(struct td_payload_pool *pool, uint32_t bytes);
struct td_payload *td_payload_hold(struct td_payload *payload);
/* td_payload_drop accepts NULL. */
void td_payload_drop(struct td_payload *payload);

#endif
