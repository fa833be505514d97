/* SPDX-License-Identifier: Apache-2.0 */
#include "handshake.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "door.h"
#include "io/control/keys/terms.h"
#include "io/control/link/link.h"
#include "io/control/peer.h"
#include "io/control/traffic/express.h"
#include "io/control/traffic/receive.h"

/* struct verdict: the rejection of a handshake. The log has `full`. The other end learns only
 * `told`, which says nothing about this daemon's settings. A peer that has proved its place by its
 * key learns `full` if settings differ (`open`). */
struct verdict {
    bool rejected, busy, open;
    char full[200];
    const char *told;
};

static struct verdict reject(const char *told, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static struct verdict reject(const char *told, const char *format, ...)
{
    struct verdict v = {.rejected = true, .told = told};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(v.full, sizeof v.full, format, arguments);
    va_end(arguments);
    return v;
}

/* check_place judges the version and node number of a handshake. */
static struct verdict check_place(const struct td_peers *peers, const struct td_handshake *g)
{
    uint32_t me = peers->loop->config->node;
    if (g->major != TD_WIRE_PEER_MAJOR || (int64_t)g->minor + 1 < TD_WIRE_PEER_MINOR)
        return reject("protocol versions do not match: run the same release",
                      "protocol version %u.%u of node %u does not match %d.%d of node %u: run the "
                      "same release",
                      g->major, g->minor, g->node, TD_WIRE_PEER_MAJOR, TD_WIRE_PEER_MINOR, me);
    if (g->node >= peers->loop->config->topology.nodes || g->node == me)
        return reject("the node number is invalid or in use: see its log",
                      "node number %u is invalid or in use: this is node %u of %s", g->node, me,
                      peers->shape);
    return (struct verdict){.rejected = false};
}

/* compare_settings judges the settings that a link needs. Those of a group are compared when it
 * forms (core/membership/job_terms.h). */
static struct verdict compare_settings(const struct td_peers *peers, const struct td_handshake *g)
{
    uint32_t me = peers->loop->config->node;
    if (strcmp(g->shape, peers->shape) != 0)
        return reject("[torus] shape differs: see its log",
                      "[torus] shape is %.60s on node %u, but %.60s on node %u", g->shape, g->node,
                      peers->shape, me);
    const struct td_term_list own = {peers->terms, peers->term};
    uint32_t index = 0;
    if (td_terms_differ(&g->terms, &own, &index)) {
        char theirs[32], ours[32], text[80];
        const char *name = td_terms_name(TD_TERMS_LINK, index, text, sizeof text);
        td_terms_print(TD_TERMS_LINK, index, td_terms_value(&g->terms, index), theirs,
                       sizeof theirs);
        td_terms_print(TD_TERMS_LINK, index, td_terms_value(&own, index), ours, sizeof ours);
        return reject("settings differ: see its log",
                      "%s is %s on node %u, but %s on node %u: use the same value",
                      name ? name : "a setting of a newer release", theirs, g->node, ours, me);
    }
    return (struct verdict){.rejected = false};
}

/* is_taken returns true if another daemon has the place of a node: the session of a daemon with
 * another incarnation is live. The system then asks the other end of its stream whether it still
 * exists, so that a host that was restarted does not keep the place. */
static bool is_taken(struct td_peer *p, const struct td_handshake *g)
{
    if (!p->in.session || p->in.incarnation == g->incarnation)
        return false;
    if (!p->in.channel)
        return td_loop_now() - p->in.at < STREAM_MS * 1000000ull;
    td_channel_probe(p->in.channel);
    return true;
}

/* judge_control judges a handshake on the ROUTER. */
static struct verdict judge_control(struct td_peers *peers, const struct td_handshake *g,
                                    const struct td_origin *origin)
{
    if (peers->security->keyed && origin->node != g->node)
        return reject("this key belongs to another node",
                      "it says that it is node %u, but its key belongs to node %u", g->node,
                      origin->node);
    struct verdict v = check_place(peers, g);
    if (v.rejected)
        return v;
    if (g->bulk || g->session == 0)
        return reject("malformed handshake",
                      g->bulk ? "the control and bulk ports are swapped: check listen and port in "
                                "[peers]"
                              : "malformed handshake");
    if (is_taken(&peers->peer[g->node], g)) {
        v = reject("a live daemon has this place",
                   "a live daemon is node %u already: stop one of the two", g->node);
        v.busy = true;
        return v;
    }
    if (!td_peers_can_choose(peers, g))
        return reject(
            "streams are protected in another way: see its log",
            "its streams are not protected as [security] of node %u demands: run the same "
            "release, with the same kind of endpoints",
            peers->loop->config->node);
    v = compare_settings(peers, g);
    v.open = peers->security->keyed;
    return v;
}

/* log_rejection logs a reason, and keeps it for this node's own attempts to connect. */
static void log_rejection(struct td_peers *peers, uint32_t node, const char *address,
                          const char *key, const struct verdict *v)
{
    char why[220];
    snprintf(why, sizeof why, "rejected the handshake of node %u: %s", node, v->full);
    td_reject(&peers->rejections, address, key, why);
    if (node < peers->loop->config->topology.nodes)
        snprintf(peers->peer[node].told.refused, sizeof peers->peer[node].told.refused, "%s",
                 v->full);
}

/* make_answer returns the reply to a handshake. A rejection has no number of this daemon. */
static struct td_handshake make_answer(struct td_peers *peers, const struct td_handshake *g,
                                       const struct verdict *v)
{
    struct td_handshake a = {.major = TD_WIRE_PEER_MAJOR,
                             .minor = TD_WIRE_PEER_MINOR,
                             .busy = v->busy,
                             .text = v->open ? v->full : v->told};
    if (!v->rejected)
        a = td_peers_handshake(peers);
    a.terms = (struct td_term_list){0};
    a.session = g->session;
    a.bulk = g->bulk;
    a.express = g->express && peers->loop->config->express;
    a.accepted = !v->rejected;
    return a;
}

/* accept begins a session of a peer. */
static void accept_session(struct td_peer *p, const struct td_handshake *g)
{
    bool another = p->in.incarnation != g->incarnation;
    p->in.express_expected = g->express && p->peers->loop->config->express;
    p->in.session = g->session;
    p->in.incarnation = g->incarnation;
    p->in.at = td_loop_now();
    p->in.expected = true;
    p->told.refused[0] = '\0';
    if (another)
        p->retry_ms = RETRY_MS; /* earlier attempts were at another daemon */
    if (p->out.incarnation && p->out.incarnation != g->incarnation)
        td_peer_end(p, "its daemon was restarted", RETRY_MS);
    else if (p->state == TD_CONNECTION_ABSENT || (p->state == TD_CONNECTION_PAUSING && another))
        td_peer_connect(p); /* its daemon runs now */
}

void td_peers_receive_handshake(struct td_peers *peers, void *router, zmq_msg_t *identity,
                                zmq_msg_t *message, const struct td_origin *origin)
{
    struct td_handshake g;
    uint8_t answer[HANDSHAKE_BYTES_MAX];
    const char *why = NULL;
    const uint8_t *body = (const uint8_t *)zmq_msg_data(message) + SESSION_BYTES;
    if (td_wire_decode_handshake(body, zmq_msg_size(message) - SESSION_BYTES, &peers->memory, &g,
                                 &why) != TD_OK) {
        td_door_reject(peers, message, origin, "malformed handshake");
        return;
    }
    struct verdict v = judge_control(peers, &g, origin);
    struct td_handshake a = make_answer(peers, &g, &v);
    if (v.rejected) {
        char key[TD_KEY_PREFIX + 1];
        td_origin_key(origin, key);
        log_rejection(peers, g.node, td_peers_address(message), key, &v);
    } else {
        td_peer_choose(&peers->peer[g.node], &g, origin, &a);
        accept_session(&peers->peer[g.node], &g);
        td_door_remember(peers, message, g.node);
    }
    size_t length = td_peers_encode_handshake(&a, answer, sizeof answer);
    if (length && zmq_send(router, zmq_msg_data(identity), zmq_msg_size(identity),
                           ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(router, answer, length, ZMQ_DONTWAIT);
}

/* ---- channels ---- */

static void on_in_ended(void *peer, struct td_channel *channel, bool breach, const char *why)
{
    struct td_peer *p = peer;
    (void)channel;
    p->in.channel = NULL; /* the peer ends its link */
    if (!p->in.expected)  /* otherwise a newer session waits for its stream */
        p->in.session = 0;
    if (breach)
        td_peers_drop(p->peers, p->node, why);
}

static const struct td_channel_calls of_peers = {.place = td_peer_place,
                                                 .arriving = td_peer_arriving,
                                                 .packet = td_peer_receive_packet,
                                                 .ended = on_in_ended};

void td_peers_receive_channel_handshake(void *user, struct td_channel *channel,
                                        const uint8_t *bytes, size_t size)
{
    struct td_peers *peers = user;
    struct td_handshake g;
    uint8_t answer[HANDSHAKE_BYTES_MAX];
    const char *why = NULL;
    char address[80] = "this machine";
    td_channel_address(channel, address, sizeof address);
    if (td_wire_decode_handshake(bytes, size, &peers->memory, &g, &why) != TD_OK) {
        td_reject(&peers->rejections, address, "", "malformed handshake of a stream");
        td_channel_close(channel);
        return;
    }
    struct verdict v = check_place(peers, &g);
    if (!v.rejected)
        v = compare_settings(peers, &g);
    bool express = td_channel_is_express(channel);
    if (!v.rejected && (g.bulk == express || g.express != express))
        v = reject("the control and bulk ports are swapped: check listen and port in [peers]",
                   "the control and bulk ports are swapped: check listen and port in [peers]");
    if (v.rejected)
        log_rejection(peers, g.node, address, "", &v);
    struct td_peer *p = v.rejected ? NULL : &peers->peer[g.node];
    struct td_handshake a = make_answer(peers, &g, &v);
    size_t length = td_peers_encode_handshake(&a, answer, sizeof answer);
    bool expected = p && (express ? p->in.express_expected : p->in.expected);
    /* another number: an earlier attempt, or another process with the same node number */
    if (length == 0 || (p && (!expected || g.session == 0 || g.session != p->in.session)) ||
        !td_channel_send_handshake(channel, answer + SESSION_BYTES, length - SESSION_BYTES)) {
        td_channel_close(channel);
        return;
    }
    if (!p) /* the other end closes the channel when it has the reply */
        return;
    if (express) {
        td_peer_accept_express(p, channel);
        return;
    }
    td_channel_close(p->in.channel);
    td_channel_close(p->in.express); /* of an earlier session */
    p->in.channel = channel;
    p->in.express = NULL;
    p->in.expected = false;
    td_channel_belongs(channel, &of_peers, p, &p->in.terms);
}
