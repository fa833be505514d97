/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_internal.h"

#include <stdio.h>
#include <string.h>

struct td_greeting td_peers_greeting(struct td_peers *peers)
{
    return (struct td_greeting){.major = TD_WIRE_PEER_MAJOR,
                                .minor = TD_WIRE_PEER_MINOR,
                                .node = peers->loop->config->node,
                                .incarnation = peers->loop->incarnation,
                                .digest = peers->loop->digest,
                                .shape = peers->shape};
}

size_t td_peers_encode_greeting(const struct td_greeting *g, uint8_t *bytes, size_t size)
{
    put_u64(bytes, 0); /* no session yet: that is how a greeting is known */
    size_t packed = td_wire_encode_greeting(g, bytes + SESSION_BYTES, size - SESSION_BYTES);
    return packed ? packed + SESSION_BYTES : 0;
}

/* objection returns NULL, or why a greeting is refused. */
static const char *objection(struct td_peers *peers, const struct td_greeting *g, char *text,
                             size_t bytes)
{
    if (g->major != TD_WIRE_PEER_MAJOR || (int64_t)g->minor + 1 < TD_WIRE_PEER_MINOR)
        snprintf(text, bytes, "it speaks version %u.%u between daemons, this one %d.%d", g->major,
                 g->minor, TD_WIRE_PEER_MAJOR, TD_WIRE_PEER_MINOR);
    else if (g->node >= peers->loop->config->topology.nodes || g->node == peers->loop->config->node)
        snprintf(text, bytes, "it says it is node %u, this is node %u of %s", g->node,
                 peers->loop->config->node, peers->shape);
    else if (strcmp(g->shape, peers->shape) != 0)
        snprintf(text, bytes, "its shape is %s, here it is %s", g->shape, peers->shape);
    else if (g->digest != peers->loop->digest)
        snprintf(text, bytes,
                 "its [torus], [network] or [alltoall] settings, or progress_timeout, differ from "
                 "those here");
    else
        return NULL;
    return text;
}

/* log_refusal says it once: the other side goes on trying. */
static void log_refusal(struct td_peers *peers, uint32_t node, const char *wrong)
{
    bool known = node < peers->loop->config->topology.nodes;
    char *last = known ? peers->peer[node].refused : peers->refused;
    if (strcmp(last, wrong) == 0)
        return;
    snprintf(last, sizeof peers->refused, "%s", wrong);
    td_log(TD_LOG_WARNING, "a daemon that calls itself node %u was refused: %s", node, wrong);
}

/* judge decodes a greeting and readies the answer, of no bytes when it is no greeting. NULL: it is
 * refused. */
static struct td_peer *judge(struct td_peers *peers, const uint8_t *body, size_t size, bool bulk,
                             struct td_greeting *g, uint8_t *answer, size_t *answer_bytes)
{
    const char *why = NULL;
    char text[200];
    if (td_wire_decode_greeting(body, size, &peers->memory, g, &why) != TD_OK) {
        td_log(TD_LOG_WARNING, "a peer was turned away: %s", why);
        *answer_bytes = 0;
        return NULL;
    }
    const char *wrong = objection(peers, g, text, sizeof text);
    if (!wrong && g->bulk != bulk)
        wrong = "it took the port for packets for that of messages, or the other way round";
    if (wrong)
        log_refusal(peers, g->node, wrong);
    struct td_greeting a = td_peers_greeting(peers);
    a.session = g->session;
    a.bulk = bulk;
    a.accepted = !wrong;
    a.text = wrong;
    *answer_bytes = td_peers_encode_greeting(&a, answer, GREETING_BYTES_MAX);
    return wrong ? NULL : &peers->peer[g->node];
}

void td_peers_take_greeting(struct td_peers *peers, void *router, zmq_msg_t *identity,
                            const uint8_t *body, size_t size)
{
    struct td_greeting g;
    uint8_t answer[GREETING_BYTES_MAX];
    size_t length = 0;
    struct td_peer *p = judge(peers, body, size, false, &g, answer, &length);
    if (p) {
        p->session_in = g.session;
        p->refused[0] = '\0';
        if (p->dealer && p->incarnation && p->incarnation != g.incarnation)
            td_peer_end(p, "the daemon there was started anew", RETRY_MS);
        else if (p->wanted && !p->up && p->absent && !p->dealer)
            td_peer_connect(p); /* it is there now: no need to wait */
    }
    if (length && zmq_send(router, zmq_msg_data(identity), zmq_msg_size(identity),
                           ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(router, answer, length, ZMQ_DONTWAIT);
}

/* ---- of channels ---- */

static void on_in_ended(void *peer, struct td_channel *channel, bool breach, const char *why)
{
    struct td_peer *p = peer;
    (void)channel;
    p->in = NULL; /* the link that it belonged to ends over there */
    if (breach)
        td_peers_drop(p->peers, p->node, why);
}

static const struct td_channel_calls of_peers = {
    .place = td_peer_place, .packet = td_peer_receive_packet, .ended = on_in_ended};

void td_peers_take_channel_greeting(void *user, struct td_channel *channel, const uint8_t *bytes,
                                    size_t size)
{
    struct td_peers *peers = user;
    struct td_greeting g;
    uint8_t answer[GREETING_BYTES_MAX];
    size_t length = 0;
    struct td_peer *p = judge(peers, bytes, size, true, &g, answer, &length);
    /* one of another session is of an attempt before, or of somebody else that says it is it */
    if (length == 0 || (p && g.session != p->session_in) ||
        !td_channel_greet(channel, answer + SESSION_BYTES, length - SESSION_BYTES)) {
        td_channel_close(channel);
        return;
    }
    if (!p) /* it closes, when it has heard why */
        return;
    td_channel_close(p->in);
    p->in = channel;
    td_channel_belongs(channel, &of_peers, p);
}
