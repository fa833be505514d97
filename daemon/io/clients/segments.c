/* SPDX-License-Identifier: Apache-2.0 */
#include "segments.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "regions.h"
#include "segment/segment.h"

enum {
    SEGMENTS_MAX = 4096,
    BUCKETS = 256,
    CALL_NS = 20, /* a call in a segment takes at least so long */
    ENDS_MAX = 4  /* segments that end before the loop looks at its sockets */
};

/* struct sum: what is believed of the sums of a rank and a kind of call. */
struct sum {
    uint64_t last, ns;
};

struct segment {
    struct segment *next;
    uint32_t group; /* its number */
    uint32_t ranks;
    uint32_t due; /* ranks that have not got it yet */
    void *memory; /* NULL: the group works by requests */
    uint32_t handle;
    int fd; /* -1 once all ranks have it */
    td_time made_at;
    struct sum *believed; /* [ranks][TD_SEGMENT_KINDS]; NULL: there is no memory */
    struct sum all;       /* of these */
};

struct td_segments {
    struct td_regions *regions;
    uint32_t count;
    struct segment *bucket[BUCKETS];
    struct segment *closing; /* their groups have ended */
    uv_idle_t ends;          /* runs while there are any */
};

struct td_segments *td_segments_create(uv_loop_t *uv, struct td_regions *regions)
{
    struct td_segments *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->regions = regions;
    uv_idle_init(uv, &s->ends);
    s->ends.data = s;
    return s;
}

static struct segment **find(struct td_segments *s, uint32_t group)
{
    struct segment **link = &s->bucket[group % BUCKETS];
    while (*link && (*link)->group != group)
        link = &(*link)->next;
    return link;
}

static struct segment *make(struct td_segments *s, uint32_t group, uint32_t ranks, uint64_t uid,
                            td_time now)
{
    struct segment *g = s->count < SEGMENTS_MAX ? calloc(1, sizeof *g) : NULL;
    if (!g)
        return NULL;
    *g = (struct segment){.next = s->bucket[group % BUCKETS],
                          .group = group,
                          .ranks = ranks,
                          .due = ranks,
                          .fd = -1,
                          .made_at = now};
    s->bucket[group % BUCKETS] = g;
    s->count++;
    if ((g->believed = calloc((size_t)ranks * TD_SEGMENT_KINDS, sizeof *g->believed)))
        g->memory = td_regions_share(s->regions, td_segment_bytes(ranks),
                                     td_segment_daemon_bytes(ranks), uid, &g->handle, &g->fd);
    return g;
}

int td_segments_share(struct td_segments *s, uint32_t group, uint32_t ranks, uint64_t uid,
                      td_time now)
{
    struct segment *g = *find(s, group);
    if (!g && ranks <= TD_SEGMENT_RANKS_MAX)
        g = make(s, group, ranks, uid, now);
    return g ? g->fd : -1;
}

void td_segments_shared(struct td_segments *s, uint32_t group)
{
    struct segment *g = *find(s, group);
    if (!g || --g->due > 0 || g->fd < 0)
        return;
    close(g->fd);
    g->fd = -1;
}

/* wake wakes the processes that sleep in a segment. */
static void wake(const struct td_segment *view)
{
    for (uint32_t i = 0; i < TD_SEGMENT_SLOTS; i++)
        syscall(SYS_futex, &view->slot[i].gate, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void end(struct td_segments *s, struct segment **link)
{
    struct segment *g = *link;
    struct td_segment view;
    *link = g->next;
    s->count--;
    if (g->memory) {
        td_segment_open(&view, g->memory, g->ranks);
        td_segment_close(&view);
        wake(&view);
        td_regions_release(s->regions, g->handle);
    }
    if (g->fd >= 0)
        close(g->fd);
    free(g->believed);
    free(g);
}

static void on_ends(uv_idle_t *ends)
{
    struct td_segments *s = ends->data;
    for (int i = 0; i < ENDS_MAX && s->closing; i++)
        end(s, &s->closing);
    if (!s->closing)
        uv_idle_stop(ends);
}

void td_segments_close(struct td_segments *s, uint32_t group)
{
    struct segment **link = find(s, group), *g = *link;
    if (!g)
        return;
    *link = g->next;
    g->next = s->closing;
    s->closing = g;
    uv_idle_start(&s->ends, on_ends);
}

/* believe raises *sum towards what a process has written, as far as all sums together stay below
 * `most`. */
static void believe(uint64_t *sum, uint64_t *all, uint64_t written, uint64_t most)
{
    uint64_t more = written > *sum ? written - *sum : 0, room = most > *all ? most - *all : 0;
    more = more < room ? more : room;
    *sum += more;
    *all += more;
}

bool td_segments_waits(struct td_segments *s, uint32_t group, uint32_t rank, uint32_t kind,
                       td_time now, uint64_t *last, uint64_t *ns)
{
    struct segment *g = *find(s, group);
    struct td_segment view;
    if (!g || !g->memory || rank >= g->ranks || kind >= TD_SEGMENT_KINDS)
        return false;
    struct sum *sum = &g->believed[(size_t)rank * TD_SEGMENT_KINDS + kind];
    uint64_t age = now > g->made_at ? now - g->made_at : 0;
    uint64_t most_ns = age < UINT64_MAX / g->ranks ? age * g->ranks : UINT64_MAX;
    td_segment_open(&view, g->memory, g->ranks);
    td_segment_waits(&view, rank, kind, last, ns);
    believe(&sum->last, &g->all.last, *last, age / CALL_NS);
    believe(&sum->ns, &g->all.ns, *ns, most_ns);
    *last = sum->last;
    *ns = sum->ns;
    return *last > 0 || *ns > 0;
}

void td_segments_destroy(struct td_segments *s)
{
    for (uint32_t i = 0; s && i < BUCKETS; i++)
        while (s->bucket[i])
            end(s, &s->bucket[i]);
    while (s && s->closing)
        end(s, &s->closing);
    free(s);
}
