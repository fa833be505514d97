/* SPDX-License-Identifier: Apache-2.0 */
#include "clients.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cores.h"
#include "memory.h"
#include "trace.h"
#include "wire/client.h"

enum { SIM_PID = 10000 };

static struct client *find(const struct td_sim *sim, uint32_t client)
{
    assert(client >= 1 && client <= sim->clients);
    return &sim->client[client - 1];
}

uint32_t td_sim_open(struct td_sim *sim, uint32_t node)
{
    assert(node < sim->topology.nodes);
    sim->client = realloc(sim->client, (sim->clients + 1) * sizeof *sim->client);
    assert(sim->client);
    struct client *c = &sim->client[sim->clients++];
    *c = (struct client){.node = node, .open = true, .next_id = 1};
    c->closed_by_daemon = !sim->node[node].alive;
    c->last = clock_delay(sim, sim->options.request_ns_max);
    queue_put(&sim->queue, c->last, CLIENT_OPENED, node)->from = sim->clients;
    struct td_request hello = {.kind = TD_REQUEST_HELLO};
    hello.u.hello.program = "simulated";
    uint32_t client = sim->clients;
    td_sim_request(sim, client, &hello);
    return client;
}

void td_sim_close(struct td_sim *sim, uint32_t client)
{
    struct client *c = find(sim, client);
    if (!c->open)
        return;
    c->open = false;
    sim->waiting -= c->waiting;
    c->waiting = 0;
    td_time after = clock_delay(sim, sim->options.request_ns_max);
    c->last = after > c->last ? after : c->last;
    queue_put(&sim->queue, c->last, CLIENT_CLOSED, c->node)->from = client;
}

bool td_sim_closed(const struct td_sim *sim, uint32_t client)
{
    return find(sim, client)->closed_by_daemon;
}

uint32_t td_sim_region(struct td_sim *sim, uint32_t client, uint64_t bytes)
{
    struct client *c = find(sim, client);
    c->region = realloc(c->region, (c->regions + 1) * sizeof *c->region);
    assert(c->region);
    uint8_t *base = sim->options.timing_only ? NULL : aligned_alloc(64, (bytes + 64) / 64 * 64);
    assert(base || sim->options.timing_only);
    c->region[c->regions++] = (struct client_region){base, bytes, 0};
    struct td_request q = {.kind = TD_REQUEST_REGION};
    q.u.region.region = c->regions;
    q.u.region.bytes = bytes;
    td_sim_request(sim, client, &q);
    return c->regions;
}

void *td_sim_memory(struct td_sim *sim, uint32_t client, uint32_t region)
{
    struct client *c = find(sim, client);
    assert(region >= 1 && region <= c->regions);
    return c->region[region - 1].base;
}

void td_sim_lose_region(struct td_sim *sim, uint32_t client, uint32_t region)
{
    struct client *c = find(sim, client);
    struct client_region *r = &c->region[region - 1];
    assert(region >= 1 && region <= c->regions);
    if (r->base)
        memset(r->base, 0, r->bytes);
    td_time after = clock_delay(sim, sim->options.request_ns_max);
    c->last = after > c->last ? after : c->last;
    struct event *e = queue_put(&sim->queue, c->last, REGION_LOST, c->node);
    e->from = client;
    e->handle = region;
}

uint64_t td_sim_request(struct td_sim *sim, uint32_t client, const struct td_request *request)
{
    static uint8_t bytes[TD_DATAGRAM_MAX];
    struct client *c = find(sim, client);
    struct td_request q = *request;
    q.id = c->next_id++;
    size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
    assert(size > 0);
    uint8_t *copy = malloc(size);
    assert(copy);
    memcpy(copy, bytes, size);
    td_time after = clock_delay(sim, sim->options.request_ns_max);
    c->last = after > c->last ? after : c->last;
    if (c->open && !c->closed_by_daemon)
        c->waiting++;
    sim->waiting++;
    struct event *e = queue_put(&sim->queue, c->last, CLIENT_REQUEST, c->node);
    e->from = client;
    e->object = copy;
    e->size = (uint32_t)size;
    return q.id;
}

const struct td_reply *td_sim_reply(const struct td_sim *sim, uint32_t client, uint64_t id)
{
    const struct client *c = find(sim, client);
    for (uint32_t i = c->replies; i-- > 0;)
        if (c->reply[i].id == id)
            return &c->reply[i];
    return NULL;
}

static void free_replies(struct client *c)
{
    for (uint32_t i = 0; i < c->replies; i++)
        free((void *)(uintptr_t)c->reply[i].text);
    c->replies = 0;
}

void td_sim_forget(struct td_sim *sim)
{
    for (uint32_t i = 0; i < sim->clients; i++)
        free_replies(&sim->client[i]);
}

/* ---- events ---- */

void clients_opened(struct td_sim *sim, uint32_t client)
{
    trace_line(sim, find(sim, client)->node, '>', "client %u opened", client);
    cores_feed(sim, find(sim, client)->node,
               &(struct td_event){.kind = TD_EVENT_CLIENT_OPENED,
                                  .u.opened = {client, SIM_UID, SIM_PID + client}});
}

void clients_request(struct td_sim *sim, uint32_t client, const uint8_t *bytes, size_t size)
{
    struct client *c = find(sim, client);
    struct td_request q;
    const char *why = NULL;
    if (c->closed_by_daemon)
        return; /* as on a socket that the daemon has closed */
    sim->decoded->used = 0;
    td_err error = td_wire_decode_request(bytes, size, sim->decoded, &q, &why);
    if (error != TD_OK) {
        trace_line(sim, c->node, '>', "client %u malformed request: %s", client, why);
        cores_feed(
            sim, c->node,
            &(struct td_event){.kind = TD_EVENT_CLIENT_INVALID, .u.invalid = {client, error, why}});
        return;
    }
    if (q.kind == TD_REQUEST_REGION && q.u.region.region >= 1 && q.u.region.region <= c->regions) {
        struct client_region *s = &c->region[q.u.region.region - 1];
        q.u.region.handle = s->handle = memory_map(&sim->node[c->node], s->base, s->bytes);
        q.u.region.error = TD_OK;
        q.u.region.text = "";
    }
    trace_line(sim, c->node, '>', "client %u request %llu of kind %d", client,
               (unsigned long long)q.id, (int)q.kind);
    cores_feed(sim, c->node,
               &(struct td_event){.kind = TD_EVENT_CLIENT_REQUEST, .u.request = {client, &q}});
}

void clients_region_lost(struct td_sim *sim, uint32_t client, uint32_t region)
{
    const struct client *c = find(sim, client);
    uint32_t handle = c->region[region - 1].handle;
    trace_line(sim, c->node, '>', "client %u region %u lost", client, region);
    if (handle && !c->closed_by_daemon)
        cores_feed(sim, c->node,
                   &(struct td_event){.kind = TD_EVENT_REGION_FAILED, .u.region.handle = handle});
}

void clients_closed(struct td_sim *sim, uint32_t client)
{
    struct client *c = find(sim, client);
    if (c->closed_by_daemon)
        return;
    c->closed_by_daemon = true;
    trace_line(sim, c->node, '>', "client %u closed", client);
    cores_feed(sim, c->node,
               &(struct td_event){.kind = TD_EVENT_CLIENT_CLOSED, .u.closed.client = client});
}

void clients_cut_off(struct td_sim *sim, uint32_t client)
{
    struct client *c = find(sim, client);
    c->closed_by_daemon = true;
    sim->waiting -= c->waiting;
    c->waiting = 0;
}

void clients_receive_reply(struct td_sim *sim, uint32_t client, const struct td_reply *reply)
{
    static uint8_t bytes[TD_DATAGRAM_MAX];
    struct client *c = find(sim, client);
    const char *why = NULL;
    struct td_reply r;
    size_t size = td_wire_encode_reply(reply, bytes, sizeof bytes);
    assert(size > 0);
    sim->decoded->used = 0;
    td_err error = td_wire_decode_reply(bytes, size, sim->decoded, &r, &why);
    assert(error == TD_OK && r.kind == reply->kind && r.id == reply->id);
    if (!c->open)
        return;
    if (r.id) {
        assert(!td_sim_reply(sim, client, r.id) && c->waiting > 0);
        c->waiting--;
        sim->waiting--;
    }
    if (c->replies == c->replies_room) {
        c->replies_room = c->replies_room ? 2 * c->replies_room : 16;
        c->reply = realloc(c->reply, c->replies_room * sizeof *c->reply);
        assert(c->reply);
    }
    r.text = strdup(r.text ? r.text : "");
    uint32_t rows = r.kind == TD_REPLY_STATUS ? r.u.status.rows : 0;
    if (r.kind == TD_REPLY_STATUS)
        r.u.status.rows = 0;
    c->reply[c->replies++] = r;
    if (r.kind == TD_REPLY_STATUS)
        r.u.status.rows = rows;
    if (sim->options.observer.reply)
        sim->options.observer.reply(sim->options.observer.me, client, &r);
}

void clients_fini(struct td_sim *sim)
{
    for (uint32_t i = 0; i < sim->clients; i++) {
        struct client *c = &sim->client[i];
        for (uint32_t k = 0; k < c->regions; k++)
            free(c->region[k].base);
        free_replies(c);
        free(c->region);
        free(c->reply);
    }
    free(sim->client);
}
