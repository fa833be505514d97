/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include "memory.h"
#include "peer_epochs.h"
#include "peer_fields.h"
#include "peer_form.h"
#include "peer_jobs.h"
#include "peer_losses.h"
#include "peer_operations.h"
#include "peer_shrink.h"

static void td_wire_put_heartbeat(const struct td_message_heartbeat *f, struct td_wire_form *form)
{
    Torus__Peer__Heartbeat *m = &form->heartbeat;
    m->up = td_wire_put_bitmap(&f->up);
    m->stopped = td_wire_put_bitmap(&f->stopped);
    m->sent = f->sent;
}

static bool td_wire_get_heartbeat(const Torus__Peer__Heartbeat *m, struct td_message_heartbeat *f)
{
    f->sent = m->sent;
    return td_wire_get_bitmap(&m->up, TD_NODES_MAX / 8, &f->up) &&
           td_wire_get_bitmap(&m->stopped, TD_NODES_MAX / 8, &f->stopped);
}

static void td_wire_put_goodbye(const struct td_message_goodbye *f, struct td_wire_form *form)
{
    form->goodbye.incarnation = f->incarnation;
}

static bool td_wire_get_goodbye(const Torus__Peer__Goodbye *m, struct td_message_goodbye *f)
{
    f->incarnation = m->incarnation;
    return true;
}

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

size_t td_wire_encode_message(const struct td_message *t, uint8_t *bytes, size_t size)
{
    Torus__Peer__Tree m = TORUS__PEER__TREE__INIT;
    struct td_wire_form form;
    if (t->kind == TD_MESSAGE_MEMBERS && t->u.members.runs > TD_MEMBERS_PER_MESSAGE)
        return 0;
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
    switch (t->kind) {
#define PUT(number, NAME, name)                                                                    \
    case TD_MESSAGE_##NAME:                                                                        \
        torus__peer__##name##__init(&form.name);                                                   \
        td_wire_put_##name(&t->u.name, &form);                                                     \
        m.body_case = TORUS__PEER__TREE__BODY_##NAME;                                              \
        m.name = &form.name;                                                                       \
        break;
        TD_MESSAGE_KINDS(PUT)
#undef PUT
    }
    return td_wire_pack(&m.base, bytes, size < TD_TREE_MESSAGE_MAX ? size : TD_TREE_MESSAGE_MAX);
}

/* get_body reads the fields of the message's kind. */
static bool get_body(const Torus__Peer__Tree *m, struct td_wire_memory *memory,
                     struct td_message *t)
{
    switch (m->body_case) {
#define GET(number, NAME, name)                                                                    \
    case TORUS__PEER__TREE__BODY_##NAME:                                                           \
        t->kind = TD_MESSAGE_##NAME;                                                               \
        if (!td_wire_get_##name(m->name, &t->u.name))                                              \
            return false;                                                                          \
        break;
        TD_MESSAGE_KINDS(GET)
#undef GET
    case TORUS__PEER__TREE__BODY__NOT_SET:
    case _TORUS__PEER__TREE__BODY__CASE_IS_INT_SIZE:
        return false;
    }
    return t->kind != TD_MESSAGE_MEMBERS || td_wire_get_runs(m->members, memory, &t->u.members);
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
