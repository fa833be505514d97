/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_internal.h"

#include <stdio.h>
#include <string.h>

struct td_greeting td_peers_greeting(struct td_peers *peers)
{
    return (struct td_greeting){.major = TD_WIRE_MAJOR,
                                .minor = TD_WIRE_MINOR,
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
    if (g->major != TD_WIRE_MAJOR || (int64_t)g->minor + 1 < TD_WIRE_MINOR)
        snprintf(text, bytes, "it speaks version %u.%u between daemons, this one %d.%d", g->major,
                 g->minor, TD_WIRE_MAJOR, TD_WIRE_MINOR);
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

void td_peers_take_greeting(struct td_peers *peers, void *router, zmq_msg_t *identity,
                            const uint8_t *body, size_t size)
{
    struct td_greeting g, answer = td_peers_greeting(peers);
    const char *why = NULL;
    char text[200];
    uint8_t bytes[1024];
    if (td_wire_decode_greeting(body, size, &peers->memory, &g, &why) != TD_OK) {
        td_log(TD_LOG_WARNING, "a peer was turned away: %s", why);
        return;
    }
    const char *wrong = objection(peers, &g, text, sizeof text);
    if (wrong) {
        log_refusal(peers, g.node, wrong);
    } else {
        struct td_peer *p = &peers->peer[g.node];
        p->session_in[g.bulk ? BULK : TREE] = g.session;
        p->refused[0] = '\0';
        if (p->way[TREE].socket && p->incarnation && p->incarnation != g.incarnation)
            td_peer_end(p, "the daemon there was started anew", RETRY_MS);
        else if (p->wanted && !p->up && uv_is_active((uv_handle_t *)&p->retry) &&
                 !p->way[TREE].socket)
            td_peer_connect(p); /* it is there now: no need to wait */
    }
    answer.session = g.session;
    answer.bulk = g.bulk;
    answer.accepted = !wrong;
    answer.text = wrong;
    size_t length = td_peers_encode_greeting(&answer, bytes, sizeof bytes);
    if (zmq_send(router, zmq_msg_data(identity), zmq_msg_size(identity),
                 ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(router, bytes, length, ZMQ_DONTWAIT);
}
