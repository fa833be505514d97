/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_counts.h"

#include "io/loop.h"
#include "peers_internal.h"
#include "peers_link.h"

static void send_counts(struct td_peer *p)
{
    struct td_packet packet = p->counts;
    p->owes_counts = false;
    if (p->up && !td_channel_send(p->channel, &packet, NULL))
        td_peer_end(p, "cannot send packets to it", RETRY_MS);
}

static void send_all(struct td_peers *peers)
{
    struct td_peer *p = NULL;
    while ((p = peers->owing)) {
        peers->owing = p->next_owing;
        p->is_owing = false;
        if (p->owes_counts)
            send_counts(p);
    }
}

static void on_check(uv_check_t *check)
{
    send_all(check->data);
}

static void on_prepare(uv_prepare_t *prepare)
{
    send_all(prepare->data);
}

void td_peers_counts_init(struct td_peers *peers)
{
    uv_check_init(&peers->loop->uv, &peers->counts_check);
    uv_prepare_init(&peers->loop->uv, &peers->counts_prepare);
    peers->counts_check.data = peers->counts_prepare.data = peers;
    uv_check_start(&peers->counts_check, on_check);
    uv_prepare_start(&peers->counts_prepare, on_prepare);
}

void td_peers_counts_close(struct td_peers *peers)
{
    send_all(peers);
    uv_close((uv_handle_t *)&peers->counts_check, NULL);
    uv_close((uv_handle_t *)&peers->counts_prepare, NULL);
}

bool td_peer_counts_ride(struct td_peer *p, const struct td_packet *packet)
{
    if (p->owes_counts && p->counts.direction != packet->direction)
        send_counts(p); /* routed: counts of another direction, which the packet does not have */
    p->owes_counts = false;
    return p->up;
}

void td_peer_keep_counts(struct td_peer *p, const struct td_packet *packet)
{
    if (!td_peer_counts_ride(p, packet))
        return;
    p->counts = *packet;
    p->owes_counts = true;
    if (p->is_owing)
        return;
    p->is_owing = true;
    p->next_owing = p->peers->owing;
    p->peers->owing = p;
}
