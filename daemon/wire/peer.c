/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <string.h>

#include "memory.h"
#include "peer_fields.h"
#include "peer_table.h"

/* struct form: the protobuf messages that a tree message is encoded from. */
struct form {
    union {
#define BODY(number, NAME, name) __typeof__(*((Torus__Peer__Tree *)0)->name) name;
        TD_MESSAGE_KINDS(BODY)
#undef BODY
    } body;
    unsigned witnesses;
    Torus__Peer__Witness witness[2];
    Torus__Peer__Survey survey;
    Torus__Peer__Outcome outcome;
    Torus__Peer__Run run[TD_MEMBERS_PER_MESSAGE], *runs[TD_MEMBERS_PER_MESSAGE];
};

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

/* ---- fields ---- */

/* behind returns the place of the pointer behind a count of a protobuf message. */
static void *behind(const void *count)
{
    return (char *)(uintptr_t)count + sizeof(size_t);
}

/* members_of returns the struct that has the count `runs`. */
static struct td_message_members *members_of(const void *runs)
{
    size_t offset = offsetof(struct td_message_members, runs);
    return (struct td_message_members *)((uintptr_t)runs - offset);
}

/* put_runs returns false if there are too many. */
static bool put_runs(const struct td_message_members *f, void *to, struct form *form)
{
    if (f->runs > TD_MEMBERS_PER_MESSAGE)
        return false;
    for (uint32_t i = 0; i < f->runs; i++) {
        torus__peer__run__init(&form->run[i]);
        form->run[i].first = f->run[i].first;
        form->run[i].count = f->run[i].count;
        form->run[i].node = f->run[i].node;
        form->run[i].token = f->run[i].token;
        form->runs[i] = &form->run[i];
    }
    *(size_t *)to = f->runs;
    *(Torus__Peer__Run ***)behind(to) = form->runs;
    return true;
}

/* get_runs copies the runs into memory. It returns false if they are too many. */
static bool get_runs(const void *from, struct td_wire_memory *memory, struct td_message_members *f)
{
    size_t runs = *(const size_t *)from;
    Torus__Peer__Run *const *m = *(Torus__Peer__Run ***)behind(from);
    struct td_member_run *run =
        runs <= TD_MEMBERS_PER_MESSAGE ? td_wire_allocate(memory, runs * sizeof *run) : NULL;
    for (size_t i = 0; run && i < runs; i++)
        run[i] = (struct td_member_run){m[i]->first, m[i]->count, m[i]->node, m[i]->token};
    f->runs = (uint32_t)runs;
    f->run = run;
    return run != NULL;
}

/* put_field copies a field of a message to its place in the protobuf message. It returns false if
 * it is too long. */
static bool put_field(const struct td_wire_field *f, const void *from, void *to, struct form *form)
{
    switch (f->type) {
    case TD_WIRE_U32:
        *(uint32_t *)to = *(const uint32_t *)from;
        return true;
    case TD_WIRE_U64:
        *(uint64_t *)to = *(const uint64_t *)from;
        return true;
    case TD_WIRE_I64:
        *(int64_t *)to = *(const int64_t *)from;
        return true;
    case TD_WIRE_BOOL:
        *(protobuf_c_boolean *)to = *(const bool *)from;
        return true;
    case TD_WIRE_STRING:
        *(char **)to = td_wire_string(*(const char *const *)from);
        return true;
    case TD_WIRE_FAILURE:
    case TD_WIRE_ENDING:
        *(int32_t *)to = *(const td_err *)from;
        return true;
    case TD_WIRE_BITMAP:
        *(ProtobufCBinaryData *)to = td_wire_put_bitmap(from);
        return true;
    case TD_WIRE_PAYLOAD:
        *(ProtobufCBinaryData *)to = td_wire_put_payload(from);
        return true;
    case TD_WIRE_WITNESS:
        *(Torus__Peer__Witness **)to = td_wire_put_witness(from, &form->witness[form->witnesses++]);
        return true;
    case TD_WIRE_SURVEY:
        *(Torus__Peer__Survey **)to = td_wire_put_survey(from, &form->survey);
        return true;
    case TD_WIRE_OUTCOME:
        *(Torus__Peer__Outcome **)to = td_wire_put_outcome(from, &form->outcome);
        return true;
    case TD_WIRE_TERMS:
        *(size_t *)to = td_wire_put_terms(from, behind(to));
        return true;
    case TD_WIRE_RUNS:
        return put_runs(members_of(from), to, form);
    }
    return false;
}

/* get_error reads an error; `or_ok`: or TD_OK. */
static bool get_error(int32_t number, bool or_ok, td_err *error)
{
    *error = (td_err)number;
    return number <= (or_ok ? TD_OK : TD_ERR_INVALID) && number >= TD_ERR_PERMISSION;
}

static bool get_string(const char *from, size_t limit, const char **to)
{
    *to = from;
    return strlen(from) <= limit;
}

/* get_field copies a field of a protobuf message to its place in the message. It returns false if
 * it is beyond a limit. */
static bool get_field(const struct td_wire_field *f, const void *from, void *to,
                      struct td_wire_memory *memory)
{
    switch (f->type) {
    case TD_WIRE_U32:
        *(uint32_t *)to = *(const uint32_t *)from;
        return true;
    case TD_WIRE_U64:
        *(uint64_t *)to = *(const uint64_t *)from;
        return true;
    case TD_WIRE_I64:
        *(int64_t *)to = *(const int64_t *)from;
        return true;
    case TD_WIRE_BOOL:
        *(bool *)to = *(const protobuf_c_boolean *)from;
        return true;
    case TD_WIRE_STRING:
        return get_string(*(char *const *)from, f->limit, to);
    case TD_WIRE_FAILURE:
        return get_error(*(const int32_t *)from, false, to);
    case TD_WIRE_ENDING:
        return get_error(*(const int32_t *)from, true, to);
    case TD_WIRE_BITMAP:
        return td_wire_get_bitmap(from, f->limit, to);
    case TD_WIRE_PAYLOAD:
        return td_wire_get_payload(from, f->limit, to);
    case TD_WIRE_WITNESS:
        return td_wire_get_witness(*(Torus__Peer__Witness *const *)from, to);
    case TD_WIRE_SURVEY:
        td_wire_get_survey(*(Torus__Peer__Survey *const *)from, to);
        return true;
    case TD_WIRE_OUTCOME:
        return td_wire_get_outcome(*(Torus__Peer__Outcome *const *)from, to);
    case TD_WIRE_TERMS:
        return td_wire_get_terms(*(uint64_t **)behind(from), *(const size_t *)from, to);
    case TD_WIRE_RUNS:
        return get_runs(from, memory, members_of(to));
    }
    return false;
}

/* ---- messages ---- */

/* The members of `body` are pointers at one place, of which this is the first. */
#define ANY heartbeat

static bool put_body(const struct td_message *t, struct form *form, Torus__Peer__Tree *m)
{
    const struct td_wire_kind *kind = td_wire_kind(t->kind);
    if (!kind)
        return false;
    form->witnesses = 0;
    kind->descriptor->message_init((ProtobufCMessage *)&form->body);
    for (unsigned i = 0; i < kind->fields; i++) {
        const struct td_wire_field *f = &kind->field[i];
        if (!put_field(f, (const char *)t + f->offset, (char *)&form->body + f->wire, form))
            return false;
    }
    m->body_case = (Torus__Peer__Tree__BodyCase)(FIELD_OF_KIND + (int)t->kind);
    m->ANY = &form->body.ANY;
    return true;
}

static bool get_body(const Torus__Peer__Tree *m, struct td_wire_memory *memory,
                     struct td_message *t)
{
    const struct td_wire_kind *kind = td_wire_kind((unsigned)m->body_case - FIELD_OF_KIND);
    if (!kind)
        return false;
    t->kind = kind->kind;
    for (unsigned i = 0; i < kind->fields; i++) {
        const struct td_wire_field *f = &kind->field[i];
        if (!get_field(f, (const char *)m->ANY + f->wire, (char *)t + f->offset, memory))
            return false;
    }
    return true;
}

size_t td_wire_encode_message(const struct td_message *t, uint8_t *bytes, size_t size)
{
    Torus__Peer__Tree m = TORUS__PEER__TREE__INIT;
    struct form form;
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
    return put_body(t, &form, &m)
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
