/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_internal.h"

#include <string.h>

static void take_tree(struct td_peers *peers, uint32_t node, const uint8_t *body, size_t size)
{
    struct td_message m;
    const char *why = NULL;
    if (td_wire_decode_message(body, size, &peers->memory, &m, &why) != TD_OK) {
        td_peers_drop(peers, node, why);
        return;
    }
    td_loop_feed(peers->loop, &(struct td_event){.kind = TD_EVENT_TREE_MESSAGE,
                                                 .u.tree = {.node = node, .message = &m}});
}

static void take_packet(struct td_peers *peers, uint32_t node, const uint8_t *body, size_t size,
                        zmq_msg_t *payload)
{
    struct td_event e = {.kind = TD_EVENT_PACKET, .u.packet = {.node = node, .buffer = UINT32_MAX}};
    struct td_packet *packet = &e.u.packet.packet;
    const char *why = NULL;
    if (td_wire_decode_packet(body, size, packet, &why) != TD_OK) {
        td_peers_drop(peers, node, why);
        return;
    }
    if ((packet->kind == TD_PACKET_DATA) != (payload != NULL) ||
        (payload && zmq_msg_size(payload) != packet->bytes)) {
        td_peers_drop(peers, node, "a packet came with a payload of another size");
        return;
    }
    if (payload && (e.u.packet.buffer = td_peers_keep_buffer(peers, payload)) == UINT32_MAX) {
        td_peers_drop(peers, node, "no memory for its packets");
        return;
    }
    td_loop_feed(peers->loop, &e);
}

/* take_frames takes one message of a ROUTER: identity, body, and for bulk data a payload. */
static bool take_frames(struct td_peers *peers, void *router, int kind)
{
    zmq_msg_t part[4];
    int parts = 0;
    bool more = true;
    while (more) {
        zmq_msg_t *m = &part[parts < 4 ? parts : 3];
        if (parts >= 4)
            zmq_msg_close(m);
        zmq_msg_init(m);
        if (zmq_msg_recv(m, router, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(m);
            break;
        }
        more = zmq_msg_more(m);
        parts++;
    }
    bool any = parts > 0;
    if (parts == 2 || parts == 3) {
        const uint8_t *identity = zmq_msg_data(&part[0]), *body = zmq_msg_data(&part[1]);
        size_t size = zmq_msg_size(&part[1]);
        uint32_t node = UINT32_MAX;
        if (zmq_msg_size(&part[0]) == IDENTITY_BYTES && identity[0] == 'T')
            memcpy(&node, identity + 1, 4);
        uint64_t session = size >= SESSION_BYTES ? get_u64(body) : 0;
        if (session == 0 && size > SESSION_BYTES && parts == 2)
            td_peers_take_greeting(peers, router, &part[0], body + SESSION_BYTES,
                                   size - SESSION_BYTES);
        else if (session != 0 && node < peers->loop->config->topology.nodes &&
                 peers->peer[node].session_in[kind] == session) {
            if (kind == TREE && parts == 2)
                take_tree(peers, node, body + SESSION_BYTES, size - SESSION_BYTES);
            else if (kind == BULK)
                take_packet(peers, node, body + SESSION_BYTES, size - SESSION_BYTES,
                            parts == 3 ? &part[2] : NULL);
        }
    }
    for (int i = 0; i < parts && i < 4; i++)
        zmq_msg_close(&part[i]);
    return any;
}

bool td_peers_receive_tree(void *user, void *router)
{
    return take_frames(user, router, TREE);
}

bool td_peers_receive_bulk(void *user, void *router)
{
    return take_frames(user, router, BULK);
}
