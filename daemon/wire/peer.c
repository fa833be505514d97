/* SPDX-License-Identifier: Apache-2.0 */
/* Between daemons: greetings and tree messages. */
#include <string.h>

#include "memory.h"
#include "peer.pb-c.h"

size_t td_wire_encode_greeting(const struct td_greeting *g, uint8_t *bytes, size_t size)
{
    Torus__Peer__Greeting m = TORUS__PEER__GREETING__INIT;
    m.major = g->major;
    m.minor = g->minor;
    m.node = g->node;
    m.incarnation = g->incarnation;
    m.peer_incarnation = g->peer_incarnation;
    m.session = g->session;
    m.digest = g->digest;
    m.bulk = g->bulk;
    m.accepted = g->accepted;
    m.shape = td_wire_string(g->shape);
    m.text = td_wire_string(g->text);
    return td_wire_pack(&m.base, bytes, size);
}

td_err td_wire_decode_greeting(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                               struct td_greeting *g, const char **why)
{
    memory->used = 0;
    ProtobufCAllocator allocator = td_wire_allocator(memory);
    Torus__Peer__Greeting *m = torus__peer__greeting__unpack(&allocator, size, bytes);
    if (!m)
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "it is no greeting");
    *g = (struct td_greeting){
        .major = m->major,
        .minor = m->minor,
        .node = m->node,
        .incarnation = m->incarnation,
        .peer_incarnation = m->peer_incarnation,
        .session = m->session,
        .digest = m->digest,
        .bulk = m->bulk,
        .accepted = m->accepted,
        .shape = m->shape,
        .text = m->text,
    };
    return TD_OK;
}

static void put_witness(const struct td_witness *w, Torus__Peer__Witness *m)
{
    torus__peer__witness__init(m);
    m->kind = w->call.kind;
    m->type = w->call.type;
    m->op = w->call.op;
    m->root = w->call.root;
    m->count = w->call.count;
    m->plan = w->call.plan;
    m->digest = w->call.digest;
    m->mode = w->call.mode;
    m->rank = w->rank;
}

static bool get_witness(const Torus__Peer__Witness *m, struct td_witness *w)
{
    *w = (struct td_witness){0};
    if (!m)
        return true;
    if (m->kind >= TD_KIND_MAX || m->type >= TD_TYPE_MAX || m->op >= TD_OP_END ||
        m->mode >= TD_REPRODUCIBLES)
        return false;
    w->call.kind = (uint8_t)m->kind;
    w->call.type = (uint8_t)m->type;
    w->call.op = (uint8_t)m->op;
    w->call.root = m->root;
    w->call.count = m->count;
    w->call.plan = m->plan;
    w->call.digest = m->digest;
    w->call.mode = (uint8_t)m->mode;
    w->rank = m->rank;
    return true;
}

static void put_survey(const struct td_survey *s, Torus__Peer__Survey *m)
{
    torus__peer__survey__init(m);
    m->most = s->most;
    m->total = s->total;
    m->hash = s->hash;
    m->difference = s->difference;
    m->by_sender = s->by_sender;
    m->by_receiver = s->by_receiver;
    m->by_pair = s->by_pair;
}

static struct td_survey get_survey(const Torus__Peer__Survey *m)
{
    if (!m)
        return (struct td_survey){0};
    return (struct td_survey){m->most,      m->total,       m->hash,   m->difference,
                              m->by_sender, m->by_receiver, m->by_pair};
}

size_t td_wire_encode_message(const struct td_message *t, uint8_t *bytes, size_t size)
{
    Torus__Peer__Tree m = TORUS__PEER__TREE__INIT;
    Torus__Peer__Witness least, greatest;
    Torus__Peer__Survey survey;
    Torus__Peer__Run run[TD_MEMBERS_PER_MESSAGE], *runs[TD_MEMBERS_PER_MESSAGE];
    if (t->members > TD_MEMBERS_PER_MESSAGE)
        return 0;
    m.kind = (uint32_t)t->kind;
    m.instance = t->instance;
    m.group = t->group;
    m.sequence = t->sequence;
    m.error = t->error;
    m.text = td_wire_string(t->text);
    m.rank = t->rank;
    m.node = t->node;
    m.token = t->token;
    m.uid = t->uid;
    m.pid = t->pid;
    m.size = t->size;
    m.timeout_ns = t->timeout_ns;
    m.name = td_wire_string(t->name);
    m.last = t->last;
    for (uint32_t i = 0; i < t->members; i++) {
        torus__peer__run__init(&run[i]);
        run[i].first = t->member[i].first;
        run[i].count = t->member[i].count;
        run[i].node = t->member[i].node;
        run[i].token = t->member[i].token;
        runs[i] = &run[i];
    }
    m.n_member = t->members;
    m.member = runs;
    if (t->kind == TD_MESSAGE_ARRIVE || t->kind == TD_MESSAGE_FLOOD) {
        put_witness(&t->least, &least);
        put_witness(&t->greatest, &greatest);
        m.least = &least;
        m.greatest = &greatest;
    }
    if (t->surveyed ||
        (t->kind == TD_MESSAGE_ARRIVE && !t->partial && td_call_has_parts(t->least.call.kind))) {
        put_survey(&t->survey, &survey);
        m.survey = &survey;
    }
    m.surveyed = t->surveyed;
    m.partial = t->partial;
    m.no_room = t->no_room;
    m.poll = t->poll;
    m.bitmap.len = t->bitmap_bytes;
    m.bitmap.data = (uint8_t *)(uintptr_t)t->bitmap;
    m.payload.len = t->payload_bytes;
    m.payload.data = (uint8_t *)(uintptr_t)t->payload;
    m.session = t->session;
    m.counts_session = t->counts_session;
    m.number = t->number;
    m.received = t->received;
    m.packets_received = t->packets_received;
    return td_wire_pack(&m.base, bytes, size < TD_TREE_MESSAGE_MAX ? size : TD_TREE_MESSAGE_MAX);
}

td_err td_wire_decode_message(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                              struct td_message *t, const char **why)
{
    memory->used = 0;
    ProtobufCAllocator allocator = td_wire_allocator(memory);
    Torus__Peer__Tree *m =
        size <= TD_TREE_MESSAGE_MAX ? torus__peer__tree__unpack(&allocator, size, bytes) : NULL;
    if (!m)
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "it is no tree message");
    if (m->kind < TD_MESSAGE_HEARTBEAT || m->kind > TD_MESSAGE_SHRINK)
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "a tree message of unknown kind %u",
                              m->kind);
    if (m->n_member > TD_MEMBERS_PER_MESSAGE || m->bitmap.len > TD_BITMAP_BYTES_MAX ||
        m->payload.len > TD_RIDE_BYTES_MAX || strlen(m->name) >= TD_NAME_MAX || m->error > TD_OK ||
        m->error < TD_ERR_PERMISSION)
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "a tree message beyond its limits");
    struct td_member_run *member = td_wire_take(memory, m->n_member * sizeof *member);
    if (!member)
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "a tree message beyond its limits");
    *t = (struct td_message){.kind = (enum td_message_kind)m->kind};
    if (!get_witness(m->least, &t->least) || !get_witness(m->greatest, &t->greatest))
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "a tree message with an unknown call");
    t->instance = m->instance;
    t->group = m->group;
    t->sequence = m->sequence;
    t->error = (td_err)m->error;
    t->text = m->text;
    t->rank = m->rank;
    t->node = m->node;
    t->token = m->token;
    t->uid = m->uid;
    t->pid = m->pid;
    t->size = m->size;
    t->timeout_ns = m->timeout_ns;
    t->name = m->name;
    t->last = m->last;
    t->members = (uint32_t)m->n_member;
    t->member = member;
    for (uint32_t i = 0; i < t->members; i++)
        member[i] = (struct td_member_run){m->member[i]->first, m->member[i]->count,
                                           m->member[i]->node, m->member[i]->token};
    t->partial = m->partial;
    t->surveyed = m->surveyed;
    t->survey = get_survey(m->survey);
    t->no_room = m->no_room;
    t->poll = m->poll;
    t->bitmap = m->bitmap.data;
    t->bitmap_bytes = (uint32_t)m->bitmap.len;
    t->payload = m->payload.data;
    t->payload_bytes = (uint32_t)m->payload.len;
    t->session = m->session;
    t->counts_session = m->counts_session;
    t->number = m->number;
    t->received = m->received;
    t->packets_received = m->packets_received;
    return TD_OK;
}
