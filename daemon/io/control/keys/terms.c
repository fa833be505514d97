/* SPDX-License-Identifier: Apache-2.0 */
#include "terms.h"

#include <string.h>

#include "io/control/peer.h"

_Static_assert((int)TD_HANDSHAKE_RANDOM == (int)TD_SEAL_RANDOM, "one half of a stream's key");
_Static_assert((int)TD_KEY_BYTES == (int)TD_SEAL_KEY, "public keys in the terms");

struct td_handshake td_peers_handshake(struct td_peers *peers)
{
    return (struct td_handshake){.major = TD_WIRE_PEER_MAJOR,
                                 .minor = TD_WIRE_PEER_MINOR,
                                 .node = peers->loop->config->node,
                                 .incarnation = peers->loop->incarnation,
                                 .terms = {peers->terms, peers->term},
                                 .shape = peers->shape};
}

size_t td_peers_encode_handshake(const struct td_handshake *g, uint8_t *bytes, size_t size)
{
    put_u64(bytes, 0); /* 0 marks a handshake */
    size_t packed = td_wire_encode_handshake(g, bytes + SESSION_BYTES, size - SESSION_BYTES);
    return packed ? packed + SESSION_BYTES : 0;
}

static uint32_t bit(unsigned n)
{
    return 1u << n;
}

/* wanted returns the kinds that this daemon wants at an endpoint. */
static uint32_t wanted(const struct td_peers *peers, const char *endpoint)
{
    if (strncmp(endpoint, "tcp://", 6) != 0)
        return bit(TD_SEAL_NONE);
    if (!peers->security->keyed)
        return bit(TD_SEAL_NONE) | bit(TD_SEAL_SUM);
    return peers->loop->config->streams == TD_STREAMS_AUTHENTICATE
               ? bit(TD_SEAL_AUTHENTICATE) | bit(TD_SEAL_ENCRYPT)
               : bit(TD_SEAL_ENCRYPT);
}

/* common returns the kinds that both ends want. */
static uint32_t common(const struct td_peers *peers, const struct td_handshake *request)
{
    uint32_t offered = request->seals && request->has_random ? request->seals : bit(TD_SEAL_NONE);
    return wanted(peers, peers->loop->config->listen) & offered;
}

bool td_peers_can_choose(const struct td_peers *peers, const struct td_handshake *request)
{
    return common(peers, request) != 0;
}

void td_peer_offer(struct td_peer *p, struct td_handshake *request, const uint8_t *server)
{
    const struct td_peers *peers = p->peers;
    struct td_seal_terms *t = &p->out.terms;
    *t = (struct td_seal_terms){.node = {request->node, p->node},
                                .incarnation = {request->incarnation},
                                .session = request->session};
    td_key_random(t->random[0], TD_SEAL_RANDOM);
    if (server) {
        memcpy(t->public_key[0], peers->security->public_key, TD_KEY_BYTES);
        memcpy(t->public_key[1], server, TD_KEY_BYTES);
    }
    request->seals = wanted(peers, peers->loop->config->endpoints[p->node]);
    request->ciphers = td_seal_ciphers();
    request->has_random = true;
    memcpy(request->random, t->random[0], TD_SEAL_RANDOM);
}

bool td_peer_agree(struct td_peer *p, const struct td_handshake *reply)
{
    struct td_seal_terms *t = &p->out.terms;
    uint32_t seals = reply->seals ? reply->seals : bit(TD_SEAL_NONE);
    uint32_t ciphers = reply->ciphers ? reply->ciphers : bit(TD_CIPHER_CHACHA);
    if (!(seals & wanted(p->peers, p->peers->loop->config->endpoints[p->node])) ||
        !(ciphers & td_seal_ciphers()))
        return false;
    while (seals > bit(t->kind))
        t->kind++;
    while (ciphers > bit(t->cipher))
        t->cipher++;
    if (seals != bit(t->kind) || ciphers != bit(t->cipher) ||
        (t->kind != TD_SEAL_NONE && !reply->has_random))
        return false;
    memcpy(t->random[1], reply->random, TD_SEAL_RANDOM);
    t->incarnation[1] = reply->incarnation;
    return true;
}

void td_peer_choose(struct td_peer *p, const struct td_handshake *request,
                    const struct td_origin *origin, struct td_handshake *reply)
{
    static const uint8_t best_first[] = {TD_SEAL_AUTHENTICATE, TD_SEAL_ENCRYPT, TD_SEAL_SUM,
                                         TD_SEAL_NONE};
    const struct td_peers *peers = p->peers;
    uint32_t kinds = common(peers, request), ciphers = request->ciphers & td_seal_ciphers();
    unsigned i = 0;
    while (i + 1 < sizeof best_first && !(kinds & bit(best_first[i])))
        i++;
    struct td_seal_terms *t = &p->in.terms;
    *t = (struct td_seal_terms){.kind = best_first[i],
                                .cipher =
                                    ciphers & bit(TD_CIPHER_AES) ? TD_CIPHER_AES : TD_CIPHER_CHACHA,
                                .node = {request->node, peers->loop->config->node},
                                .incarnation = {request->incarnation, peers->loop->incarnation},
                                .session = request->session};
    td_key_random(t->random[1], TD_SEAL_RANDOM);
    memcpy(t->random[0], request->random, TD_SEAL_RANDOM);
    if (origin->public_key) {
        memcpy(t->public_key[0], origin->public_key, TD_KEY_BYTES);
        memcpy(t->public_key[1], peers->security->public_key, TD_KEY_BYTES);
    }
    reply->seals = bit(t->kind);
    reply->ciphers = bit(t->cipher);
    reply->has_random = true;
    memcpy(reply->random, t->random[1], TD_SEAL_RANDOM);
}

const struct td_seal_terms *td_peers_find_terms(void *user, uint64_t session, bool express)
{
    const struct td_peers *peers = user;
    for (uint32_t n = 0; session && n < peers->loop->config->topology.nodes; n++) {
        const struct td_peer *p = &peers->peer[n];
        if ((express ? p->in.express_expected : p->in.expected) && p->in.session == session)
            return &p->in.terms;
    }
    return NULL;
}
