/* SPDX-License-Identifier: Apache-2.0 */
#include "lookout.h"

#include <sched.h>

#include "io/clients/clients.h"
#include "io/control/peers.h"
#include "io/loop.h"
#include "io/workers.h"

/* is_at_work returns true if the loop has something to do, so that it should not let others run:
 * packets, which come many in a row, steps of the core, or computations. */
static bool is_at_work(struct td_lookout *l)
{
    uint64_t before = l->bulk;
    l->bulk = td_peers_bulk_reads(l->loop->peers);
    return l->bulk != before || uv_is_active((const uv_handle_t *)&l->loop->more) ||
           td_workers_wait(l->workers);
}

static void on_idle(uv_idle_t *idle)
{
    struct td_lookout *l = idle->data;
    if (td_clients_look(l->clients) || is_at_work(l))
        return; /* the sockets are next */
    td_time now = td_loop_now();
    if (td_awake_lasts(&l->awake, now)) {
        sched_yield();
        td_awake_yielded(&l->awake, now, td_loop_now());
        td_clients_look(l->clients);
    } else if (td_clients_listen(l->clients, false)) {
        uv_idle_stop(idle);
    }
}

void td_lookout_init(struct td_lookout *l, struct td_loop *loop)
{
    *l = (struct td_lookout){.loop = loop};
    uv_idle_init(&loop->uv, &l->idle);
    l->idle.data = l;
}

void td_lookout_start(struct td_lookout *l, struct td_clients *clients, struct td_workers *workers)
{
    l->clients = clients;
    l->workers = workers;
}

void td_lookout_stop(struct td_lookout *l)
{
    l->clients = NULL;
    uv_idle_stop(&l->idle);
}

enum { SHORT_BYTES = 4096, LONG_BYTES = 32768 }; /* of a packet */

void td_lookout_packet(struct td_lookout *l, const struct td_packet *packet)
{
    if (packet->kind == TD_PACKET_DATA && packet->bytes > LONG_BYTES)
        td_awake_end(&l->awake);
}

/* note_request notes whether a call of a local rank is long. Its messages come after it. */
static void note_request(struct td_lookout *l, const struct td_request *q)
{
    if (q->kind == TD_REQUEST_OPERATION)
        l->is_long =
            q->u.operation.source.bytes + q->u.operation.destination.bytes > TD_AWAKE_BYTES;
}

/* is_of_short_call returns true for what the short calls of ranks consist of. */
static bool is_of_short_call(const struct td_event *e)
{
    switch ((int)e->kind) {
    case TD_EVENT_CLIENT_REQUEST:
        return e->u.request.request->kind == TD_REQUEST_OPERATION;
    case TD_EVENT_TREE_MESSAGE:
        return td_message_is_frequent(e->u.tree.message->kind);
    case TD_EVENT_PACKET:
        return e->u.packet.packet.kind == TD_PACKET_DATA && e->u.packet.packet.bytes <= SHORT_BYTES;
    default:
        return false;
    }
}

void td_lookout_note(struct td_lookout *l, const struct td_event *event, td_time now)
{
    if (event->kind == TD_EVENT_PACKET)
        td_lookout_packet(l, &event->u.packet.packet);
    if (event->kind == TD_EVENT_CLIENT_REQUEST)
        note_request(l, event->u.request.request);
    if (!l->clients || l->is_long || !is_of_short_call(event) || !td_awake_extend(&l->awake, now) ||
        uv_is_active((const uv_handle_t *)&l->idle))
        return;
    td_clients_listen(l->clients, true);
    uv_idle_start(&l->idle, on_idle);
}
