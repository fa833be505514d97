/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <string.h>

#include "memory.h"
#include "peer.pb-c.h"
#include "peer_table.h"

/* A kind's field in the protobuf message has the number of the kind plus this. */
enum { FIELD_OF_KIND = 16 };
#define SAME_NUMBER(number, NAME, name)                                                            \
    _Static_assert((int)TORUS__PEER__TREE__BODY_##NAME == FIELD_OF_KIND + (number),                \
                   "proto/peer.proto numbers the kinds as message.h does");
TD_MESSAGE_KINDS(SAME_NUMBER)
#undef SAME_NUMBER

static void put_relay(const struct td_relay *r, Torus__Peer__Relay *m, uint32_t *avoid)
{
    m->origin = r->origin;
    m->destination = r->destination;
    m->hops = r->hops;
    m->n_avoid = r->avoids;
    m->avoid = avoid;
    for (uint32_t i = 0; i < r->avoids; i++)
        avoid[i] = r->avoid[i];
}

static bool get_relay(const Torus__Peer__Relay *m, struct td_relay *r)
{
    if (!m)
        return true;
    if (m->origin >= TD_NODES_MAX || m->destination >= TD_NODES_MAX || m->hops > UINT16_MAX ||
        m->n_avoid > TD_RELAY_AVOID_MAX)
        return false;
    *r = (struct td_relay){.is_relayed = true,
                           .avoids = (uint8_t)m->n_avoid,
                           .origin = (uint16_t)m->origin,
                           .destination = (uint16_t)m->destination,
                           .hops = (uint16_t)m->hops};
    for (size_t i = 0; i < m->n_avoid; i++) {
        if (m->avoid[i] >= TD_NODES_MAX)
            return false;
        r->avoid[i] = (uint16_t)m->avoid[i];
    }
    return true;
}

/* ---- messages ---- */

/* The members of `body` are pointers at one place, of which this is the first. */
#define ANY heartbeat

/* Bytes of the largest body: a membership's runs, and the pointers to them. */
enum { SCRATCH = TD_MEMBERS_PER_MESSAGE * (sizeof(Torus__Peer__Run) + 16) + 2048 };

static bool put_body(const struct td_message *t, struct td_wire_scratch *scratch,
                     Torus__Peer__Tree *m)
{
    const struct td_wire_kind *kind = td_wire_kind(t->kind);
    ProtobufCMessage *body = kind ? td_wire_new(kind, scratch) : NULL;
    m->body_case = (Torus__Peer__Tree__BodyCase)(FIELD_OF_KIND + (int)t->kind);
    m->ANY = (void *)body;
    return body && td_wire_put_fields(kind, &t->u, body, scratch);
}

static bool get_body(const Torus__Peer__Tree *m, struct td_wire_memory *memory,
                     struct td_message *t)
{
    const struct td_wire_kind *kind = td_wire_kind((unsigned)m->body_case - FIELD_OF_KIND);
    if (!kind)
        return false;
    t->kind = (enum td_message_kind)kind->number;
    return td_wire_get_fields(kind, m->ANY, &t->u, memory);
}

size_t td_wire_encode_message(const struct td_message *t, uint8_t *bytes, size_t size)
{
    Torus__Peer__Tree m = TORUS__PEER__TREE__INIT;
    _Alignas(16) uint8_t room[SCRATCH];
    struct td_wire_scratch scratch = {room, sizeof room, 0};
    Torus__Peer__Relay relay = TORUS__PEER__RELAY__INIT;
    uint32_t avoid[TD_RELAY_AVOID_MAX];
    if (t->relay.is_relayed) {
        put_relay(&t->relay, &relay, avoid);
        m.relay = &relay;
    }
    m.session = t->session;
    m.counts_session = t->counts_session;
    m.number = t->number;
    m.received = t->received;
    m.instance = t->instance;
    m.group = t->group;
    m.sequence = t->sequence;
    return put_body(t, &scratch, &m)
               ? td_wire_pack(&m.base, bytes,
                              size < TD_TREE_MESSAGE_MAX ? size : TD_TREE_MESSAGE_MAX)
               : 0;
}

td_err td_wire_decode_message(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                              struct td_message *t, const char **why)
{
    memory->used = 0;
    ProtobufCAllocator allocator = td_wire_allocator(memory);
    Torus__Peer__Tree *m =
        size <= TD_TREE_MESSAGE_MAX ? torus__peer__tree__unpack(&allocator, size, bytes) : NULL;
    if (!m)
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "not a tree message");
    if (m->body_case == TORUS__PEER__TREE__BODY__NOT_SET)
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "tree message of unknown kind");
    *t = (struct td_message){.session = m->session,
                             .counts_session = m->counts_session,
                             .number = m->number,
                             .received = m->received,
                             .instance = m->instance,
                             .group = m->group,
                             .sequence = m->sequence};
    if (!get_relay(m->relay, &t->relay))
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL,
                              "tree message with malformed relay fields");
    if (!get_body(m, memory, t))
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL,
                              "tree message of kind %d with a value out of range",
                              (int)m->body_case - FIELD_OF_KIND);
    return TD_OK;
}
