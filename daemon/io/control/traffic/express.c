/* SPDX-License-Identifier: Apache-2.0 */
#include "express.h"

#include "io/bulk/express.h"
#include "io/control/link/link.h"
#include "io/control/peer.h"
#include "receive.h"

/* ---- to the peer ---- */

static void on_answer(void *peer, struct td_channel *channel, const uint8_t *bytes, size_t size)
{
    struct td_peer *p = peer;
    (void)channel;
    if (td_peer_accepted(p, bytes, size))
        td_express_transition(&p->express_state, TD_EXPRESS_COME_UP);
}

static void on_ended(void *peer, struct td_channel *channel, bool breach, const char *why)
{
    struct td_peer *p = peer;
    (void)channel;
    (void)breach;
    if (p->express_state == TD_EXPRESS_OPEN) {
        td_peer_end(p, why, 0);
        return;
    }
    p->out.express = NULL;
    td_express_transition(&p->express_state, TD_EXPRESS_CLOSE); /* until the link comes up again */
    td_log(TD_LOG_WARNING,
           "node %u: cannot open the express path: %s; its tree messages take ZeroMQ", p->node,
           why);
}

void td_peer_want_express(struct td_peer *p, enum td_message_kind kind)
{
    static const struct td_channel_calls calls = {
        .carries_messages = true, .handshake = on_answer, .ended = on_ended};
    if (p->express_state != TD_EXPRESS_AGREED || !td_message_is_frequent(kind))
        return;
    p->out.express = td_peer_open_stream(p, &calls);
    td_express_transition(&p->express_state,
                          p->out.express ? TD_EXPRESS_CONNECT : TD_EXPRESS_CLOSE);
}

bool td_peer_send_express(struct td_peer *p, const uint8_t *bytes, size_t size, bool loose)
{
    if (p->express_state != TD_EXPRESS_OPEN)
        return false;
    if (loose && td_express_is_full(p->out.express))
        return true;
    if (!td_express_send(p->out.express, bytes, size))
        td_peer_end(p, "cannot queue a message to it", RETRY_MS);
    return true;
}

void td_peers_flush(struct td_peers *peers)
{
    td_express_flush(&peers->channels);
}

/* ---- from the peer ---- */

static void on_message(void *peer, struct td_channel *channel, const uint8_t *bytes, size_t size)
{
    const struct td_peer *p = peer;
    (void)channel;
    td_peers_receive_message(p->peers, p->node, bytes, size);
}

static void on_in_ended(void *peer, struct td_channel *channel, bool breach, const char *why)
{
    struct td_peer *p = peer;
    (void)channel;
    p->in.express = NULL; /* the peer ends its link */
    if (breach)
        td_peers_drop(p->peers, p->node, why);
}

void td_peer_accept_express(struct td_peer *p, struct td_channel *channel)
{
    static const struct td_channel_calls calls = {
        .carries_messages = true, .message = on_message, .ended = on_in_ended};
    td_channel_close(p->in.express);
    p->in.express = channel;
    p->in.express_expected = false;
    td_channel_belongs(channel, &calls, p, &p->in.terms);
}
