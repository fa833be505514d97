/* SPDX-License-Identifier: Apache-2.0 */
#include "payload.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    POOLED_BYTES = 16384, /* shorter payloads come from malloc */
    SPARES_MAX = 64,
};

struct pooled {
    struct td_payload payload;
    struct td_payload_pool *pool;
    struct pooled *next;
    uint8_t bytes[];
};

static void recycle(struct td_payload *payload)
{
    struct pooled *p = (struct pooled *)payload;
    struct td_payload_pool *pool = p->pool;
    if (payload->bytes < POOLED_BYTES || pool->spares >= SPARES_MAX) {
        free(p);
        return;
    }
    p->next = pool->spare;
    pool->spare = p;
    pool->spares++;
}

void td_payload_pool_init(struct td_payload_pool *pool, uint32_t bytes_max)
{
    *pool = (struct td_payload_pool){.bytes_max = bytes_max};
}

void td_payload_pool_fini(struct td_payload_pool *pool)
{
    while (pool->spare) {
        struct pooled *p = pool->spare;
        pool->spare = p->next;
        free(p);
    }
    pool->spares = SPARES_MAX; /* no memory is kept from now on */
}

struct td_payload *td_payload_new(struct td_payload_pool *pool, uint32_t bytes)
{
    bool large = bytes >= POOLED_BYTES;
    struct pooled *p = large ? pool->spare : NULL;
    if (p) {
        pool->spare = p->next;
        pool->spares--;
    } else if (!(p = malloc(sizeof *p + (large ? pool->bytes_max : bytes)))) {
        return NULL;
    }
    p->pool = pool;
    p->payload =
        (struct td_payload){.holders = 1, .bytes = bytes, .data = p->bytes, .release = recycle};
    return &p->payload;
}

unsigned td_payload_parts(const struct td_payload *p, uint32_t at,
                          struct iovec part[TD_PAYLOAD_PIECES])
{
    unsigned parts = 0;
    if (p->data) {
        part[0] = (struct iovec){p->data + at, p->bytes - at};
        return at < p->bytes;
    }
    for (uint32_t i = 0; i < p->pieces; i++) {
        size_t size = p->piece[i].iov_len, skip = at < size ? at : size;
        at -= (uint32_t)skip;
        if (skip < size)
            part[parts++] = (struct iovec){(uint8_t *)p->piece[i].iov_base + skip, size - skip};
    }
    return parts;
}

void td_payload_store(const struct td_payload *p, uint32_t at, const uint8_t *in, uint32_t bytes)
{
    struct iovec part[TD_PAYLOAD_PIECES];
    unsigned parts = td_payload_parts(p, at, part);
    for (unsigned i = 0; i < parts && bytes > 0; i++) {
        uint32_t size = part[i].iov_len < bytes ? (uint32_t)part[i].iov_len : bytes;
        memcpy(part[i].iov_base, in, size);
        in += size;
        bytes -= size;
    }
}

void td_payload_load(const struct td_payload *p, uint8_t *out, uint32_t bytes)
{
    struct iovec part[TD_PAYLOAD_PIECES];
    unsigned parts = td_payload_parts(p, 0, part);
    for (unsigned i = 0; i < parts && bytes > 0; i++) {
        uint32_t size = part[i].iov_len < bytes ? (uint32_t)part[i].iov_len : bytes;
        memcpy(out, part[i].iov_base, size);
        out += size;
        bytes -= size;
    }
}

struct td_payload *td_payload_hold(struct td_payload *payload)
{
    payload->holders++;
    return payload;
}

void td_payload_drop(struct td_payload *payload)
{
    if (payload && --payload->holders == 0)
        payload->release(payload);
}
