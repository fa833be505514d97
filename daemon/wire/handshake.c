/* SPDX-License-Identifier: Apache-2.0 */
#include "handshake.h"

#include <string.h>

#include "memory.h"
#include "peer.pb-c.h"

size_t td_wire_encode_handshake(const struct td_handshake *g, uint8_t *bytes, size_t size)
{
    Torus__Peer__Handshake m = TORUS__PEER__HANDSHAKE__INIT;
    m.major = g->major;
    m.minor = g->minor;
    m.node = g->node;
    m.incarnation = g->incarnation;
    m.peer_incarnation = g->peer_incarnation;
    m.session = g->session;
    m.bulk = g->bulk;
    m.express = g->express;
    m.accepted = g->accepted;
    m.busy = g->busy;
    m.seals = g->seals;
    m.ciphers = g->ciphers;
    if (g->has_random) /* protobuf-c only reads it, and the terms */
        m.random = (ProtobufCBinaryData){.len = TD_HANDSHAKE_RANDOM,
                                         .data = (uint8_t *)(uintptr_t)g->random};
    m.n_terms = g->terms.count;
    m.terms = (uint64_t *)(uintptr_t)g->terms.value;
    m.shape = td_wire_string(g->shape);
    m.text = td_wire_string(g->text);
    return td_wire_pack(&m.base, bytes, size);
}

td_err td_wire_decode_handshake(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                                struct td_handshake *g, const char **why)
{
    memory->used = 0;
    ProtobufCAllocator allocator = td_wire_allocator(memory);
    Torus__Peer__Handshake *m = torus__peer__handshake__unpack(&allocator, size, bytes);
    if (!m)
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "not a handshake");
    if (m->n_terms > TD_TERMS_MAX)
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "a handshake with too many terms");
    *g = (struct td_handshake){
        .major = m->major,
        .minor = m->minor,
        .node = m->node,
        .incarnation = m->incarnation,
        .peer_incarnation = m->peer_incarnation,
        .session = m->session,
        .bulk = m->bulk,
        .express = m->express,
        .accepted = m->accepted,
        .busy = m->busy,
        .seals = m->seals,
        .ciphers = m->ciphers,
        .has_random = m->random.len == TD_HANDSHAKE_RANDOM,
        .terms = {(uint32_t)m->n_terms, m->terms},
        .shape = m->shape,
        .text = m->text,
    };
    if (g->has_random)
        memcpy(g->random, m->random.data, TD_HANDSHAKE_RANDOM);
    return TD_OK;
}
