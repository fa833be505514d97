/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct td_client *td_client_find(struct td_core *core, uint32_t id)
{
    struct td_client *c = core->clients->bucket[id % TD_CLIENT_BUCKETS];
    while (c && c->id != id)
        c = c->next;
    return c;
}

/* refuse sends an error to a client, and closes its connection. */
static void refuse(struct td_core *core, uint32_t id, uint64_t request, td_err error,
                   const char *text)
{
    td_reply_error(core, id, request, error, text);
    td_core_act(core, TD_ACTION_CLOSE_CLIENT)->u.close.client = id;
}

void td_client_open(struct td_core *core, uint32_t id, uint64_t uid, uint64_t pid)
{
    struct td_account *account = td_account_open(core, uid);
    struct td_client *c = account ? td_arena_alloc(account->arena, sizeof *c) : NULL;
    const char *share = c ? td_account_refuses(core, account, TD_HOLD_CLIENTS, 1)
                          : td_account_no_memory(core, account, "another connection");
    bool spare = share && c && td_account_is_privileged(core, account) &&
                 core->clients->spare < TD_CLIENTS_SPARE;
    share = spare ? NULL : share;
    if (core->stopping || share) {
        td_err error = core->stopping ? TD_ERR_SHUTDOWN : c ? TD_ERR_BUSY : TD_ERR_NO_MEMORY;
        refuse(core, id, 0, error, core->stopping ? "the daemon is stopping" : share);
        td_core_free(core, c);
        td_account_close(core, account);
        return;
    }
    assert(c);
    *c = (struct td_client){.next = core->clients->bucket[id % TD_CLIENT_BUCKETS],
                            .id = id,
                            .uid = uid,
                            .pid = pid,
                            .account = account,
                            .opened_at = core->now,
                            .spare = spare};
    core->clients->spare += spare;
    td_account_add(core, account, TD_HOLD_CLIENTS, !spare);
    core->clients->bucket[id % TD_CLIENT_BUCKETS] = c;
    core->clients->silent++;
    td_core_alarm(core, core->now + TD_HELLO_NS);
}

void td_client_observes(struct td_core *core, uint32_t id, bool observes)
{
    struct td_client *c = td_client_find(core, id);
    if (c)
        c->observes = observes;
}

/* expel_silent expels a client whose HELLO is late. It returns false if the step has no room. */
static bool expel_silent(struct td_core *core, const struct td_client *c)
{
    if (c->greeted)
        return true;
    if (core->now - c->opened_at < TD_HELLO_NS) {
        td_core_alarm(core, c->opened_at + TD_HELLO_NS);
        return true;
    }
    if (!td_core_room(core)) {
        td_core_alarm(core, core->now);
        return false;
    }
    td_client_expel(core, c->id, TD_ERR_TIMEOUT, "no HELLO came within 5 s of the connection");
    return true;
}

void td_client_timers(struct td_core *core)
{
    for (int i = 0; i < TD_CLIENT_BUCKETS && core->clients->silent; i++)
        for (struct td_client *c = core->clients->bucket[i], *next = NULL; c; c = next) {
            next = c->next;
            if (!expel_silent(core, c))
                return;
        }
}

void td_client_resumed(struct td_core *core, td_time ns)
{
    for (int i = 0; i < TD_CLIENT_BUCKETS; i++)
        for (struct td_client *c = core->clients->bucket[i]; c; c = c->next)
            c->opened_at += ns;
}

/* ---- regions ---- */

static struct td_region *find_region(struct td_client *c, uint32_t number)
{
    struct td_region *r = c->regions;
    while (r && r->number != number)
        r = r->next;
    return r;
}

uint32_t td_client_region(struct td_client *client, uint32_t number)
{
    const struct td_region *r = find_region(client, number);
    return r && !r->failed ? r->handle : 0;
}

static bool release_dead(struct td_core *core, struct td_task *task)
{
    (void)task;
    while (core->clients->dead_regions) {
        if (!td_core_room(core))
            return false;
        struct td_region *r = core->clients->dead_regions;
        core->clients->dead_regions = r->next;
        td_core_act(core, TD_ACTION_RELEASE_REGION)->u.region.handle = r->handle;
        struct td_account *account = r->account;
        td_account_drop(core, account, TD_HOLD_REGIONS, 1);
        td_core_free(core, r);
        td_account_close(core, account);
    }
    return true;
}

static void queue_release(struct td_core *core, struct td_region *r)
{
    r->next = core->clients->dead_regions;
    core->clients->dead_regions = r;
    core->clients->dead_task.advance = release_dead;
    td_core_queue(core, &core->clients->dead_task);
}

void td_region_release(struct td_core *core, struct td_region *r)
{
    if (r && --r->uses == 0 && r->orphan)
        queue_release(core, r);
}

td_err td_region_use(struct td_core *core, struct td_client *client, const struct td_place *place,
                     uint64_t need_bytes, const char *what, struct td_region **region,
                     const char **text)
{
    *region = NULL;
    if (need_bytes == 0)
        return TD_OK;
    struct td_region *r = find_region(client, place->region);
    if (!r) {
        *text = td_core_format(core, "the %s names region %u, which this process has not shared",
                               what, place->region);
        return TD_ERR_INVALID;
    }
    if (place->bytes < need_bytes || place->offset > r->bytes ||
        need_bytes > r->bytes - place->offset) {
        *text =
            td_core_format(core,
                           "the %s needs %llu bytes, but the request gives %llu at offset %llu of "
                           "a region of %llu",
                           what, (unsigned long long)need_bytes, (unsigned long long)place->bytes,
                           (unsigned long long)place->offset, (unsigned long long)r->bytes);
        return TD_ERR_INVALID;
    }
    if (r->failed) {
        *text = td_core_format(core,
                               "the daemon cannot access the memory of the %s (SIGBUS): free it, "
                               "and allocate it again",
                               what);
        return TD_ERR_SYSTEM;
    }
    r->uses++;
    *region = r;
    return TD_OK;
}

static void add_region(struct td_core *core, struct td_client *c, const struct td_request *q)
{
    const char *text = NULL;
    td_err error = q->u.region.error;
    struct td_region *r = NULL;
    if (error != TD_OK) {
        td_reply_error(core, c->id, q->id, error, q->u.region.text);
        return;
    }
    if (q->u.region.region == 0 || find_region(c, q->u.region.region)) {
        error = TD_ERR_INVALID;
        text = td_core_format(core, "region number %u is 0 or in use: number regions from 1",
                              q->u.region.region);
    } else if (c->regions_count >= TD_CLIENT_REGIONS_MAX) {
        error = TD_ERR_BUSY;
        text = td_core_format(core, "a process can share %d regions at a time: free some",
                              TD_CLIENT_REGIONS_MAX);
    } else if ((text = td_account_refuses(core, c->account, TD_HOLD_REGIONS, 1))) {
        error = TD_ERR_BUSY;
    } else if (!(r = td_arena_alloc(c->account->arena, sizeof *r))) {
        error = TD_ERR_NO_MEMORY;
        text = td_account_no_memory(core, c->account, "another region");
    }
    if (error != TD_OK) {
        td_core_act(core, TD_ACTION_RELEASE_REGION)->u.region.handle = q->u.region.handle;
        td_reply_error(core, c->id, q->id, error, text);
        return;
    }
    *r = (struct td_region){.next = c->regions,
                            .account = td_account_open(core, c->uid),
                            .number = q->u.region.region,
                            .handle = q->u.region.handle,
                            .bytes = q->u.region.bytes};
    c->regions = r;
    c->regions_count++;
    td_account_add(core, r->account, TD_HOLD_REGIONS, 1);
    td_reply_done(core, c->id, q->id);
}

static void drop_region(struct td_core *core, struct td_client *c, const struct td_request *q)
{
    for (struct td_region **link = &c->regions; *link; link = &(*link)->next) {
        struct td_region *r = *link;
        if (r->number != q->u.unregion.region)
            continue;
        *link = r->next;
        c->regions_count--;
        r->orphan = true; /* the last operation that uses it releases it */
        if (r->uses == 0)
            queue_release(core, r);
        td_reply_done(core, c->id, q->id);
        return;
    }
    if (q->id)
        td_reply_error(core, c->id, q->id, TD_ERR_INVALID,
                       td_core_format(core, "region %u is not shared", q->u.unregion.region));
}

void td_client_region_failed(struct td_core *core, uint32_t handle)
{
    for (int i = 0; i < TD_CLIENT_BUCKETS; i++)
        for (struct td_client *c = core->clients->bucket[i]; c; c = c->next)
            for (struct td_region *r = c->regions; r; r = r->next)
                if (r->handle == handle)
                    r->failed = true;
}

/* ---- room for operations ---- */

static bool tell_room(struct td_core *core, struct td_task *task)
{
    (void)task;
    for (int i = 0; i < TD_CLIENT_BUCKETS; i++)
        for (struct td_client *c = core->clients->bucket[i]; c; c = c->next) {
            if (!c->wants_room)
                continue;
            if (!td_core_room(core))
                return false;
            c->wants_room = false;
            td_reply_new(core, c->id, 0, TD_REPLY_ROOM);
        }
    core->clients->room_wanted = false;
    return true;
}

void td_client_wait_for_room(struct td_core *core, struct td_client *client)
{
    client->wants_room = core->clients->room_wanted = true;
}

void td_client_room(struct td_core *core)
{
    if (!core->clients->room_wanted)
        return;
    core->clients->room_task.advance = tell_room;
    td_core_queue(core, &core->clients->room_task);
}

/* ---- connections and requests ---- */

static void free_client(struct td_core *core, struct td_client *c)
{
    struct td_account *account = c->account;
    core->clients->spare -= c->spare;
    td_account_drop(core, account, TD_HOLD_CLIENTS, !c->spare);
    td_core_free(core, c);
    td_account_close(core, account);
}

/* leave loses the ranks of clients that are gone. It returns false if the step has no room. */
static bool leave(struct td_core *core, struct td_task *task)
{
    struct td_clients *clients = core->clients;
    (void)task;
    while (clients->leaving) {
        struct td_client *c = clients->leaving;
        if (!td_core_notices.client_gone(core, c))
            return false;
        clients->leaving = c->next_leaving;
        free_client(core, c);
    }
    return true;
}

void td_client_init(struct td_core *core)
{
    core->clients->leaving_task.advance = leave;
}

/* forget removes a client; its ranks are lost. It sends no CLOSE_CLIENT to the driver. */
static void forget(struct td_core *core, uint32_t id)
{
    struct td_client **link = &core->clients->bucket[id % TD_CLIENT_BUCKETS];
    while (*link && (*link)->id != id)
        link = &(*link)->next;
    struct td_client *c = *link;
    if (!c)
        return;
    *link = c->next;
    core->clients->silent -= !c->greeted;
    bool done = td_core_notices.client_gone(core, c);
    while (c->regions) {
        struct td_region *r = c->regions;
        c->regions = r->next;
        r->orphan = true;
        if (r->uses == 0)
            queue_release(core, r);
    }
    if (done) {
        free_client(core, c);
        return;
    }
    c->next_leaving = core->clients->leaving;
    core->clients->leaving = c;
    td_core_queue(core, &core->clients->leaving_task);
}

void td_client_close(struct td_core *core, uint32_t id)
{
    forget(core, id);
}

void td_client_expel(struct td_core *core, uint32_t id, td_err error, const char *text)
{
    if (!td_client_find(core, id))
        return;
    refuse(core, id, 0, error, text);
    forget(core, id);
}

static void greet(struct td_core *core, struct td_client *c, const struct td_request *q)
{
    core->clients->silent -= !c->greeted;
    c->greeted = true;
    snprintf(c->program, sizeof c->program, "%s", q->u.hello.program ? q->u.hello.program : "");
    struct td_reply *r = td_reply_new(core, c->id, q->id, TD_REPLY_WELCOME);
    r->u.welcome.node = core->node;
    r->u.welcome.incarnation = core->options.incarnation;
    r->u.welcome.topology = core->options.topology;
    r->u.welcome.packet_bytes = core->settings.packet_bytes;
    r->u.welcome.region_bytes_max = core->settings.region_bytes_max;
    r->u.welcome.form_loops_max = TD_FORM_LOOPS_MAX;
    r->u.welcome.peer_regions = true;
    r->u.welcome.peers_known = core->options.peers_known;
}

/* unmap releases the memory that the driver has mapped for a request that is refused. */
static void unmap(struct td_core *core, const struct td_request *q)
{
    if (q->kind == TD_REQUEST_REGION && q->u.region.error == TD_OK)
        td_core_act(core, TD_ACTION_RELEASE_REGION)->u.region.handle = q->u.region.handle;
}

/* take_place counts a spare connection, before it joins a job. It returns NULL, or a sentence if
 * the limit is still reached. */
static const char *take_place(struct td_core *core, struct td_client *c)
{
    const char *text = td_account_refuses(core, c->account, TD_HOLD_CLIENTS, 1);
    if (text)
        return text;
    td_account_add(core, c->account, TD_HOLD_CLIENTS, 1);
    core->clients->spare--;
    c->spare = false;
    return NULL;
}

struct td_client *td_client_request(struct td_core *core, uint32_t id, const struct td_request *q)
{
    struct td_client *c = td_client_find(core, id);
    const char *full = NULL;
    if (!c) { /* expelled, but the driver had not closed its connection yet */
        unmap(core, q);
        return NULL;
    }
    if (!c->greeted && q->kind != TD_REQUEST_HELLO) {
        unmap(core, q);
        td_client_expel(core, id, TD_ERR_PROTOCOL, "the first request must be HELLO");
        return NULL;
    }
    if (q->kind == TD_REQUEST_HELLO)
        greet(core, c, q);
    else if (q->kind == TD_REQUEST_REGION)
        add_region(core, c, q);
    else if (q->kind == TD_REQUEST_UNREGION)
        drop_region(core, c, q);
    else if (q->kind == TD_REQUEST_JOIN && c->spare && (full = take_place(core, c)))
        td_reply_error(core, c->id, q->id, TD_ERR_BUSY, full);
    else
        return c;
    return NULL;
}
