/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_handshake.h"

#include <stdio.h>
#include <string.h>

#include "peers_internal.h"
#include "peers_link.h"
#include "peers_receive.h"

struct td_handshake td_peers_handshake(struct td_peers *peers)
{
    return (struct td_handshake){.major = TD_WIRE_PEER_MAJOR,
                                 .minor = TD_WIRE_PEER_MINOR,
                                 .node = peers->loop->config->node,
                                 .incarnation = peers->loop->incarnation,
                                 .digest = peers->loop->digest,
                                 .shape = peers->shape};
}

size_t td_peers_encode_handshake(const struct td_handshake *g, uint8_t *bytes, size_t size)
{
    put_u64(bytes, 0); /* 0 marks a handshake */
    size_t packed = td_wire_encode_handshake(g, bytes + SESSION_BYTES, size - SESSION_BYTES);
    return packed ? packed + SESSION_BYTES : 0;
}

/* objection returns NULL, or the reason for the rejection of a handshake. */
static const char *objection(struct td_peers *peers, const struct td_handshake *g, char *text,
                             size_t bytes)
{
    uint32_t me = peers->loop->config->node;
    if (g->major != TD_WIRE_PEER_MAJOR || (int64_t)g->minor + 1 < TD_WIRE_PEER_MINOR)
        snprintf(text, bytes,
                 "protocol version %u.%u of node %u does not match %d.%d of node %u: run the same "
                 "release",
                 g->major, g->minor, g->node, TD_WIRE_PEER_MAJOR, TD_WIRE_PEER_MINOR, me);
    else if (g->node >= peers->loop->config->topology.nodes || g->node == me)
        snprintf(text, bytes, "node number %u is invalid or in use: this is node %u of %s", g->node,
                 me, peers->shape);
    else if (strcmp(g->shape, peers->shape) != 0)
        snprintf(text, bytes, "[torus] shape is %.60s on node %u, but %.60s on node %u", g->shape,
                 g->node, peers->shape, me);
    else if (g->digest != peers->loop->digest)
        snprintf(text, bytes,
                 "[torus], [network] or [alltoall] settings, or progress_timeout, differ between "
                 "nodes %u and %u: use the same values",
                 g->node, me);
    else
        return NULL;
    return text;
}

/* log_refusal logs each reason once, because the other end retries. */
static void log_refusal(struct td_peers *peers, uint32_t node, const char *wrong)
{
    bool known = node < peers->loop->config->topology.nodes;
    char *last = known ? peers->peer[node].refused : peers->refused;
    if (strcmp(last, wrong) == 0)
        return;
    snprintf(last, sizeof peers->refused, "%s", wrong);
    td_log(TD_LOG_WARNING, "rejected the handshake of node %u: %s", node, wrong);
}

/* judge decodes a handshake and encodes the reply. It returns the peer, or NULL if the handshake is
 * rejected. The reply has no bytes if the handshake is malformed. */
static struct td_peer *judge(struct td_peers *peers, const uint8_t *body, size_t size, bool bulk,
                             struct td_handshake *g, uint8_t *answer, size_t *answer_bytes)
{
    const char *why = NULL;
    char text[200];
    if (td_wire_decode_handshake(body, size, &peers->memory, g, &why) != TD_OK) {
        td_log(TD_LOG_WARNING, "rejected a malformed handshake: %s", why);
        *answer_bytes = 0;
        return NULL;
    }
    const char *wrong = objection(peers, g, text, sizeof text);
    if (!wrong && g->bulk != bulk)
        wrong = "the control and bulk ports are swapped: check listen and port in [peers]";
    if (wrong)
        log_refusal(peers, g->node, wrong);
    struct td_handshake a = td_peers_handshake(peers);
    a.session = g->session;
    a.bulk = bulk;
    a.accepted = !wrong;
    a.text = wrong;
    *answer_bytes = td_peers_encode_handshake(&a, answer, HANDSHAKE_BYTES_MAX);
    return wrong ? NULL : &peers->peer[g->node];
}

void td_peers_receive_handshake(struct td_peers *peers, void *router, zmq_msg_t *identity,
                                const uint8_t *body, size_t size)
{
    struct td_handshake g;
    uint8_t answer[HANDSHAKE_BYTES_MAX];
    size_t length = 0;
    struct td_peer *p = judge(peers, body, size, false, &g, answer, &length);
    if (p) {
        p->session_in = g.session;
        p->refused[0] = '\0';
        if (p->dealer && p->incarnation && p->incarnation != g.incarnation)
            td_peer_end(p, "its daemon was restarted", RETRY_MS);
        else if (p->wanted && !p->up && p->absent && !p->dealer)
            td_peer_connect(p); /* its daemon runs now */
    }
    if (length && zmq_send(router, zmq_msg_data(identity), zmq_msg_size(identity),
                           ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(router, answer, length, ZMQ_DONTWAIT);
}

/* ---- channels ---- */

static void on_in_ended(void *peer, struct td_channel *channel, bool breach, const char *why)
{
    struct td_peer *p = peer;
    (void)channel;
    p->in = NULL; /* the peer ends its link */
    if (breach)
        td_peers_drop(p->peers, p->node, why);
}

static const struct td_channel_calls of_peers = {
    .place = td_peer_place, .packet = td_peer_receive_packet, .ended = on_in_ended};

void td_peers_receive_channel_handshake(void *user, struct td_channel *channel,
                                        const uint8_t *bytes, size_t size)
{
    struct td_peers *peers = user;
    struct td_handshake g;
    uint8_t answer[HANDSHAKE_BYTES_MAX];
    size_t length = 0;
    struct td_peer *p = judge(peers, bytes, size, true, &g, answer, &length);
    /* another number: an earlier attempt, or another process with the same node number */
    if (length == 0 || (p && g.session != p->session_in) ||
        !td_channel_send_handshake(channel, answer + SESSION_BYTES, length - SESSION_BYTES)) {
        td_channel_close(channel);
        return;
    }
    if (!p) /* the other end closes the channel when it has the reply */
        return;
    td_channel_close(p->in);
    p->in = channel;
    td_channel_belongs(channel, &of_peers, p);
}
