/* SPDX-License-Identifier: Apache-2.0 */
#include "sharing.h"

#include <stdlib.h>

#include "closer.h"
#include "io/loop.h"
#include "mapping.h"
#include "regions.h"

struct request {
    struct td_closer_call call; /* the first member */
    struct td_sharing of;
    struct td_mapping mapping;
    uint64_t id;
    uint32_t region;
};

static void work(struct td_closer_call *call)
{
    td_mapping_make(&((struct request *)call)->mapping);
}

static void drop(struct td_closer_call *call)
{
    struct request *r = (struct request *)call;
    td_mapping_fini(&r->mapping);
    free(r);
}

/* feed tells the core how a request has ended. */
static void feed(struct request *r)
{
    struct td_loop *loop = r->of.loop;
    struct td_request q = {.kind = TD_REQUEST_REGION, .id = r->id};
    const struct td_event e = {.kind = TD_EVENT_CLIENT_REQUEST,
                               .u.request = {.client = r->of.client, .request = &q}};
    q.u.region.region = r->region;
    q.u.region.bytes = r->mapping.bytes;
    q.u.region.text = r->mapping.text;
    td_busy_begin(&loop->busy, "request: region");
    td_busy_may_last(&loop->busy, NULL);
    q.u.region.error =
        td_regions_add(loop->regions, &r->mapping, r->of.may_keep, &q.u.region.handle);
    td_loop_feed(loop, &e);
    td_busy_end(&loop->busy);
}

static void done(struct td_closer_call *call)
{
    struct request *r = (struct request *)call;
    if (!r->of.loop->stopped) {
        feed(r);
        r->of.ended(r->of.user, r->of.client);
    }
    if (r->mapping.fd >= 0)
        td_closer_close(r->of.closer, r->of.uid, r->mapping.fd);
    if (r->mapping.base)
        td_closer_unmap(r->of.closer, r->of.uid, r->mapping.base, r->mapping.bytes);
    free(r);
}

bool td_sharing_begin(const struct td_sharing *of, const struct td_request *q, int fd)
{
    struct request *r = calloc(1, sizeof *r);
    if (!r)
        return false;
    r->call = (struct td_closer_call){.work = work, .done = done, .drop = drop};
    r->of = *of;
    r->mapping.fd = fd;
    r->mapping.bytes = q->u.region.bytes;
    r->mapping.uid = of->uid;
    r->id = q->id;
    r->region = q->u.region.region;
    td_regions_reserve(of->loop->regions, &r->mapping);
    if (td_closer_call(of->closer, of->uid, &r->call))
        return true;
    uint32_t handle = 0;
    r->mapping.error = TD_ERR_NO_MEMORY;
    (void)td_regions_add(of->loop->regions, &r->mapping, false, &handle); /* it counts no more */
    free(r);
    return false;
}
