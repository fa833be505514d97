/* SPDX-License-Identifier: Apache-2.0 */
#include "peers.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "passed.h"
#include "socket.h"

enum { BUCKETS = 64 };

struct mapping {
    struct mapping *next;
    uint32_t rank, region;
    uint32_t dropped; /* regions that the rank had dropped before */
    const uint8_t *base;
    size_t bytes;
};

struct tl_peers {
    const struct td_segment *segment;
    uint32_t swept; /* regions that all ranks had dropped at the last sweep */
    struct mapping *bucket[BUCKETS];
};

struct tl_peers *tl_peers_new(const struct td_segment *segment)
{
    struct tl_peers *p = calloc(1, sizeof *p);
    if (p)
        p->segment = segment;
    return p;
}

static struct mapping **bucket_of(struct tl_peers *p, uint32_t rank, uint32_t region)
{
    return &p->bucket[(rank * 5 + region) % BUCKETS];
}

static void end(struct mapping **link, bool mapped)
{
    struct mapping *m = *link;
    *link = m->next;
    if (mapped)
        munmap((void *)(uintptr_t)m->base, m->bytes);
    free(m);
}

void tl_peers_free(struct tl_peers *p, bool mapped)
{
    for (int i = 0; p && i < BUCKETS; i++)
        while (p->bucket[i])
            end(&p->bucket[i], mapped);
    free(p);
}

void tl_peers_sweep(struct tl_peers *p)
{
    uint32_t dropped = td_segment_dropped(p->segment);
    if (dropped == p->swept)
        return;
    p->swept = dropped;
    for (int i = 0; i < BUCKETS; i++)
        for (struct mapping **link = &p->bucket[i]; *link;)
            if (td_segment_dropped_by(p->segment, (*link)->rank) != (*link)->dropped)
                end(link, true);
            else
                link = &(*link)->next;
}

/* map maps a region whose descriptor came with the last reply. */
static struct mapping *map(struct tl_peers *p, torus_context *c, uint32_t rank, uint32_t region,
                           uint32_t dropped)
{
    struct mapping **link = bucket_of(p, rank, region), *m = calloc(1, sizeof *m);
    void *base = NULL;
    size_t bytes = 0;
    if (!m || tl_passed_map(c, PROT_READ, &bytes, &base) != TORUS_OK || !base) {
        free(m);
        return NULL;
    }
    *m = (struct mapping){.next = *link,
                          .rank = rank,
                          .region = region,
                          .dropped = dropped,
                          .base = base,
                          .bytes = bytes};
    *link = m;
    return m;
}

/* ask asks the daemon for a region, and maps it. */
static struct mapping *ask(struct tl_peers *p, torus_group *g, uint32_t rank, uint32_t region)
{
    struct td_reply reply;
    struct td_request q = {.kind = TD_REQUEST_PEER_REGION};
    uint32_t dropped = td_segment_dropped_by(p->segment, rank);
    q.u.peer_region.group = g->number;
    q.u.peer_region.rank = rank;
    q.u.peer_region.region = region;
    int saved = errno;
    struct mapping *m = tl_call(g->context, &q, -1, -1, &reply) == TORUS_OK
                            ? map(p, g->context, rank, region, dropped)
                            : NULL;
    errno = saved;
    return m;
}

const uint8_t *tl_peers_find(struct tl_peers *p, torus_group *g, uint32_t rank, uint32_t region,
                             uint64_t offset, uint64_t bytes)
{
    struct mapping *m = *bucket_of(p, rank, region);
    while (m && (m->rank != rank || m->region != region))
        m = m->next;
    if (!m)
        m = ask(p, g, rank, region);
    return m && offset <= m->bytes && bytes <= m->bytes - offset ? m->base + offset : NULL;
}
