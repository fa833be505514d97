/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_counts.h"

#include "io/loop.h"
#include "peers_internal.h"
#include "peers_send.h"

static void send_all(struct td_peers *peers)
{
    struct td_peer *p = NULL;
    while ((p = peers->owing)) {
        peers->owing = p->owed.next;
        p->owed.listed = false;
        if (p->owed.due)
            td_peer_transmit(p, &p->owed.packet, NULL);
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

void td_peer_keep_counts(struct td_peer *p, const struct td_packet *packet)
{
    p->owed.packet = *packet;
    p->owed.due = p->state == TD_CONNECTION_UP; /* otherwise LINK_DOWN follows */
    if (p->owed.listed)
        return;
    p->owed.listed = true;
    p->owed.next = p->peers->owing;
    p->peers->owing = p;
}
