/* SPDX-License-Identifier: Apache-2.0 */
/* Between daemons: greetings and tree messages. Every kind of tree message has a function
 * put_<kind> that fills in its protobuf message, and a function get_<kind> that reads it and
 * returns false if it is beyond a limit. */
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
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "not a greeting");
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

/* struct form: the protobuf messages that a tree message is encoded from. */
struct form {
    union {
#define BODY(number, NAME, name) __typeof__(*((Torus__Peer__Tree *)0)->name) name;
        TD_MESSAGE_KINDS(BODY)
#undef BODY
    };
    Torus__Peer__Witness witness[2];
    Torus__Peer__Survey survey;
    Torus__Peer__Outcome outcome;
    Torus__Peer__Run run[TD_MEMBERS_PER_MESSAGE], *runs[TD_MEMBERS_PER_MESSAGE];
};

/* ---- parts of several kinds ---- */

static ProtobufCBinaryData put_bitmap(const struct td_bitmap *bitmap)
{
    return (ProtobufCBinaryData){bitmap->bytes, (uint8_t *)(uintptr_t)bitmap->bits};
}

static bool get_bitmap(const ProtobufCBinaryData *bytes, size_t limit, struct td_bitmap *bitmap)
{
    if (bytes->len > limit)
        return false;
    *bitmap = (struct td_bitmap){bytes->data, (uint32_t)bytes->len};
    return true;
}

static ProtobufCBinaryData put_payload(const struct td_message_payload *payload)
{
    return (ProtobufCBinaryData){payload->bytes, (uint8_t *)(uintptr_t)payload->data};
}

static bool get_payload(const ProtobufCBinaryData *bytes, struct td_message_payload *payload)
{
    if (bytes->len > TD_RIDE_BYTES_MAX)
        return false;
    *payload = (struct td_message_payload){bytes->data, (uint32_t)bytes->len};
    return true;
}

static bool get_name(const char *from, const char **name)
{
    *name = from;
    return strlen(from) < TD_NAME_MAX;
}

/* get_ending reads an error, or TD_OK, and its sentence; get_error refuses TD_OK. */
static bool get_ending(int32_t number, const char *from, td_err *error, const char **text)
{
    *text = from;
    if (number > TD_OK || number < TD_ERR_PERMISSION || strlen(from) >= TD_TEXT_MAX)
        return false;
    *error = (td_err)number;
    return true;
}

static bool get_error(int32_t number, const char *from, td_err *error, const char **text)
{
    return number != TD_OK && get_ending(number, from, error, text);
}

static Torus__Peer__Witness *put_witness(const struct td_witness *w, Torus__Peer__Witness *m)
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
    return m;
}

static bool get_witness(const Torus__Peer__Witness *m, struct td_witness *w)
{
    if (!m || m->kind == 0 || m->kind >= TD_KIND_MAX || m->type >= TD_TYPE_MAX ||
        m->op >= TD_OP_END || m->mode >= TD_REPRODUCIBLES)
        return false;
    *w = (struct td_witness){.call = {.kind = (uint8_t)m->kind,
                                      .type = (uint8_t)m->type,
                                      .op = (uint8_t)m->op,
                                      .mode = (uint8_t)m->mode,
                                      .root = m->root,
                                      .count = m->count,
                                      .plan = m->plan,
                                      .digest = m->digest},
                             .rank = m->rank};
    return true;
}

static Torus__Peer__Survey *put_survey(const struct td_survey *s, Torus__Peer__Survey *m)
{
    torus__peer__survey__init(m);
    m->most = s->most;
    m->total = s->total;
    m->hash = s->hash;
    m->difference = s->difference;
    m->by_sender = s->by_sender;
    m->by_receiver = s->by_receiver;
    m->by_pair = s->by_pair;
    return m;
}

/* get_survey reads an absent survey as zero. */
static void get_survey(const Torus__Peer__Survey *m, struct td_survey *s)
{
    *s = (struct td_survey){0};
    if (m)
        *s = (struct td_survey){m->most,      m->total,       m->hash,   m->difference,
                                m->by_sender, m->by_receiver, m->by_pair};
}

static Torus__Peer__Outcome *put_outcome(const struct td_outcome *o, Torus__Peer__Outcome *m)
{
    torus__peer__outcome__init(m);
    m->error = o->error;
    m->text = td_wire_string(o->text);
    m->lost = put_bitmap(&o->lost);
    return m;
}

static bool get_outcome(const Torus__Peer__Outcome *m, struct td_outcome *o)
{
    return m && get_ending(m->error, m->text, &o->error, &o->text) &&
           get_bitmap(&m->lost, TD_BITMAP_BYTES_MAX, &o->lost);
}

/* ---- the node tree ---- */

static void put_heartbeat(const struct td_message_heartbeat *f, struct form *form)
{
    Torus__Peer__Heartbeat *m = &form->heartbeat;
    m->up = put_bitmap(&f->up);
}

static bool get_heartbeat(const Torus__Peer__Heartbeat *m, struct td_message_heartbeat *f)
{
    return get_bitmap(&m->up, TD_NODES_MAX / 8, &f->up);
}

/* ---- jobs ---- */

static void put_join(const struct td_message_join *f, struct form *form)
{
    Torus__Peer__Join *m = &form->join;
    m->token = f->token;
    m->uid = f->uid;
    m->pid = f->pid;
    m->timeout_ns = f->timeout_ns;
    m->name = td_wire_string(f->name);
    m->size = f->size;
    m->rank = f->rank;
    m->is_reminder = f->is_reminder;
}

static bool get_join(const Torus__Peer__Join *m, struct td_message_join *f)
{
    f->token = m->token;
    f->uid = m->uid;
    f->pid = m->pid;
    f->timeout_ns = m->timeout_ns;
    f->size = m->size;
    f->rank = m->rank;
    f->is_reminder = m->is_reminder;
    return get_name(m->name, &f->name);
}

static void put_unjoin(const struct td_message_unjoin *f, struct form *form)
{
    Torus__Peer__Unjoin *m = &form->unjoin;
    m->token = f->token;
}

static bool get_unjoin(const Torus__Peer__Unjoin *m, struct td_message_unjoin *f)
{
    f->token = m->token;
    return true;
}

static void put_refuse(const struct td_message_refuse *f, struct form *form)
{
    Torus__Peer__Refuse *m = &form->refuse;
    m->token = f->token;
    m->error = f->error;
    m->text = td_wire_string(f->text);
}

static bool get_refuse(const Torus__Peer__Refuse *m, struct td_message_refuse *f)
{
    f->token = m->token;
    return get_error(m->error, m->text, &f->error, &f->text);
}

static void put_members(const struct td_message_members *f, struct form *form)
{
    Torus__Peer__Members *m = &form->members;
    m->uid = f->uid;
    m->name = td_wire_string(f->name);
    m->size = f->size;
    m->is_last_piece = f->is_last_piece;
    for (uint32_t i = 0; i < f->runs; i++) {
        torus__peer__run__init(&form->run[i]);
        form->run[i].first = f->run[i].first;
        form->run[i].count = f->run[i].count;
        form->run[i].node = f->run[i].node;
        form->run[i].token = f->run[i].token;
        form->runs[i] = &form->run[i];
    }
    m->n_run = f->runs;
    m->run = form->runs;
}

/* get_runs copies the runs of a MEMBERS, as many as get_members has allowed, into memory. */
static bool get_runs(const Torus__Peer__Members *m, struct td_wire_memory *memory,
                     struct td_message_members *f)
{
    struct td_member_run *run = td_wire_allocate(memory, f->runs * sizeof *run);
    for (uint32_t i = 0; run && i < f->runs; i++)
        run[i] = (struct td_member_run){m->run[i]->first, m->run[i]->count, m->run[i]->node,
                                        m->run[i]->token};
    f->run = run;
    return run != NULL;
}

static bool get_members(const Torus__Peer__Members *m, struct td_message_members *f)
{
    f->uid = m->uid;
    f->size = m->size;
    f->is_last_piece = m->is_last_piece;
    f->runs = (uint32_t)m->n_run; /* get_runs reads them */
    return get_name(m->name, &f->name) && m->n_run <= TD_MEMBERS_PER_MESSAGE;
}

static void put_rank_left(const struct td_message_rank_left *f, struct form *form)
{
    Torus__Peer__RankLeft *m = &form->rank_left;
    m->rank = f->rank;
}

static bool get_rank_left(const Torus__Peer__RankLeft *m, struct td_message_rank_left *f)
{
    f->rank = m->rank;
    return true;
}

/* ---- operations ---- */

static void put_arrive(const struct td_message_arrive *f, struct form *form)
{
    Torus__Peer__Arrive *m = &form->arrive;
    m->least = put_witness(&f->least, &form->witness[0]);
    m->greatest = put_witness(&f->greatest, &form->witness[1]);
    m->no_room = f->no_room;
    m->survey = put_survey(&f->survey, &form->survey);
    m->payload = put_payload(&f->payload);
}

static bool get_arrive(const Torus__Peer__Arrive *m, struct td_message_arrive *f)
{
    f->no_room = m->no_room;
    get_survey(m->survey, &f->survey);
    return get_witness(m->least, &f->least) && get_witness(m->greatest, &f->greatest) &&
           get_payload(&m->payload, &f->payload);
}

static void put_report(const struct td_message_report *f, struct form *form)
{
    Torus__Peer__Report *m = &form->report;
    m->arrived = put_bitmap(&f->arrived);
}

static bool get_report(const Torus__Peer__Report *m, struct td_message_report *f)
{
    return get_bitmap(&m->arrived, TD_BITMAP_BYTES_MAX, &f->arrived);
}

static void put_release(const struct td_message_release *f, struct form *form)
{
    Torus__Peer__Release *m = &form->release;
    m->payload = put_payload(&f->payload);
}

static bool get_release(const Torus__Peer__Release *m, struct td_message_release *f)
{
    return get_payload(&m->payload, &f->payload);
}

static void put_verdict(const struct td_message_verdict *f, struct form *form)
{
    Torus__Peer__Verdict *m = &form->verdict;
    m->error = f->error;
    m->text = td_wire_string(f->text);
}

static bool get_verdict(const Torus__Peer__Verdict *m, struct td_message_verdict *f)
{
    return get_error(m->error, m->text, &f->error, &f->text);
}

static void put_announce_again(const struct td_message_announce_again *f, struct form *form)
{
    Torus__Peer__AnnounceAgain *m = &form->announce_again;
    m->is_surveyed = f->is_surveyed;
    m->survey = put_survey(&f->survey, &form->survey);
}

static bool get_announce_again(const Torus__Peer__AnnounceAgain *m,
                               struct td_message_announce_again *f)
{
    f->is_surveyed = m->is_surveyed;
    get_survey(m->survey, &f->survey);
    return true;
}

static void put_waiting(const struct td_message_waiting *f, struct form *form)
{
    Torus__Peer__Waiting *m = &form->waiting;
    m->arrived = put_bitmap(&f->arrived);
    m->reply_requested = f->reply_requested;
}

static bool get_waiting(const Torus__Peer__Waiting *m, struct td_message_waiting *f)
{
    f->reply_requested = m->reply_requested;
    return get_bitmap(&m->arrived, TD_BITMAP_BYTES_MAX, &f->arrived);
}

static void put_appeal(const struct td_message_appeal *f, struct form *form)
{
    Torus__Peer__Appeal *m = &form->appeal;
    m->error = f->error;
    m->text = td_wire_string(f->text);
    m->is_veto = f->is_veto;
}

static bool get_appeal(const Torus__Peer__Appeal *m, struct td_message_appeal *f)
{
    f->is_veto = m->is_veto;
    return get_error(m->error, m->text, &f->error, &f->text);
}

static void put_flood(const struct td_message_flood *f, struct form *form)
{
    Torus__Peer__Flood *m = &form->flood;
    m->ring = f->ring;
    m->is_backward = f->is_backward;
    m->hops = f->hops;
    m->witness = put_witness(&f->witness, &form->witness[0]);
    m->payload = put_payload(&f->payload);
}

static bool get_flood(const Torus__Peer__Flood *m, struct td_message_flood *f)
{
    f->ring = m->ring;
    f->is_backward = m->is_backward;
    f->hops = m->hops;
    return get_witness(m->witness, &f->witness) && get_payload(&m->payload, &f->payload);
}

static void put_sync(const struct td_message_sync *f, struct form *form)
{
    Torus__Peer__Sync *m = &form->sync;
    m->family = f->family;
    m->round = f->round;
    m->step_index = f->step_index;
}

static bool get_sync(const Torus__Peer__Sync *m, struct td_message_sync *f)
{
    f->family = m->family;
    f->round = m->round;
    f->step_index = m->step_index;
    return true;
}

static void put_delivered(const struct td_message_delivered *f, struct form *form)
{
    Torus__Peer__Delivered *m = &form->delivered;
    m->ticket = f->ticket;
}

static bool get_delivered(const Torus__Peer__Delivered *m, struct td_message_delivered *f)
{
    f->ticket = m->ticket;
    return true;
}

/* ---- links and losses ---- */

static void put_rank_gone(const struct td_message_rank_gone *f, struct form *form)
{
    Torus__Peer__RankGone *m = &form->rank_gone;
    m->rank = f->rank;
    m->error = f->error;
    m->text = td_wire_string(f->text);
}

static bool get_rank_gone(const Torus__Peer__RankGone *m, struct td_message_rank_gone *f)
{
    f->rank = m->rank;
    return get_error(m->error, m->text, &f->error, &f->text);
}

static void put_rank_lost(const struct td_message_rank_lost *f, struct form *form)
{
    Torus__Peer__RankLost *m = &form->rank_lost;
    m->rank = f->rank;
    m->error = f->error;
    m->text = td_wire_string(f->text);
    m->good_first = f->good_first;
    m->good = put_bitmap(&f->good);
}

static bool get_rank_lost(const Torus__Peer__RankLost *m, struct td_message_rank_lost *f)
{
    f->rank = m->rank;
    f->good_first = m->good_first;
    return get_error(m->error, m->text, &f->error, &f->text) &&
           get_bitmap(&m->good, TD_GROUP_OPERATIONS_MAX / 8, &f->good);
}

static void put_node_lost(const struct td_message_node_lost *f, struct form *form)
{
    Torus__Peer__NodeLost *m = &form->node_lost;
    m->node = f->node;
    m->notify_all = f->notify_all;
    m->text = td_wire_string(f->text);
}

static bool get_node_lost(const Torus__Peer__NodeLost *m, struct td_message_node_lost *f)
{
    f->node = m->node;
    f->notify_all = m->notify_all;
    f->text = m->text;
    return strlen(m->text) < TD_TEXT_MAX;
}

static void put_neighbour_lost(const struct td_message_neighbour_lost *f, struct form *form)
{
    Torus__Peer__NeighbourLost *m = &form->neighbour_lost;
    m->node = f->node;
}

static bool get_neighbour_lost(const Torus__Peer__NeighbourLost *m,
                               struct td_message_neighbour_lost *f)
{
    f->node = m->node;
    return true;
}

static void put_neighbour_back(const struct td_message_neighbour_back *f, struct form *form)
{
    Torus__Peer__NeighbourBack *m = &form->neighbour_back;
    m->node = f->node;
}

static bool get_neighbour_back(const Torus__Peer__NeighbourBack *m,
                               struct td_message_neighbour_back *f)
{
    f->node = m->node;
    return true;
}

static void put_resume(const struct td_message_resume *f, struct form *form)
{
    Torus__Peer__Resume *m = &form->resume;
    m->packets_received = f->packets_received;
    m->uptime_ns = f->uptime_ns;
    m->reply_requested = f->reply_requested;
}

static bool get_resume(const Torus__Peer__Resume *m, struct td_message_resume *f)
{
    f->packets_received = m->packets_received;
    f->uptime_ns = m->uptime_ns;
    f->reply_requested = m->reply_requested;
    return true;
}

/* ---- shrinks ---- */

static void put_shrink_ask(const struct td_message_shrink_ask *f, struct form *form)
{
    Torus__Peer__ShrinkAsk *m = &form->shrink_ask;
    m->shrink = f->shrink;
    m->view = f->view;
    m->lost = put_bitmap(&f->lost);
    m->is_last_call = f->is_last_call;
    m->gave_up_receiver = f->gave_up_receiver;
}

static bool get_shrink_ask(const Torus__Peer__ShrinkAsk *m, struct td_message_shrink_ask *f)
{
    f->shrink = m->shrink;
    f->view = m->view;
    f->is_last_call = m->is_last_call;
    f->gave_up_receiver = m->gave_up_receiver;
    return get_bitmap(&m->lost, TD_BITMAP_BYTES_MAX, &f->lost);
}

static void put_shrink_vote(const struct td_message_shrink_vote *f, struct form *form)
{
    Torus__Peer__ShrinkVote *m = &form->shrink_vote;
    m->shrink = f->shrink;
    m->view = f->view;
    m->lost = put_bitmap(&f->lost);
    m->missing = put_bitmap(&f->missing);
    m->error = f->error;
    m->text = td_wire_string(f->text);
}

static bool get_shrink_vote(const Torus__Peer__ShrinkVote *m, struct td_message_shrink_vote *f)
{
    f->shrink = m->shrink;
    f->view = m->view;
    return get_bitmap(&m->lost, TD_BITMAP_BYTES_MAX, &f->lost) &&
           get_bitmap(&m->missing, TD_NODE_RANKS_MAX / 8, &f->missing) &&
           get_ending(m->error, m->text, &f->error, &f->text);
}

static void put_shrink_accepted_before(const struct td_message_shrink_accepted_before *f,
                                       struct form *form)
{
    Torus__Peer__ShrinkAcceptedBefore *m = &form->shrink_accepted_before;
    m->shrink = f->shrink;
    m->round = f->round;
    m->outcome = put_outcome(&f->outcome, &form->outcome);
}

static bool get_shrink_accepted_before(const Torus__Peer__ShrinkAcceptedBefore *m,
                                       struct td_message_shrink_accepted_before *f)
{
    f->shrink = m->shrink;
    f->round = m->round;
    return get_outcome(m->outcome, &f->outcome);
}

static void put_shrink_propose(const struct td_message_shrink_propose *f, struct form *form)
{
    Torus__Peer__ShrinkPropose *m = &form->shrink_propose;
    m->shrink = f->shrink;
    m->view = f->view;
    m->outcome = put_outcome(&f->outcome, &form->outcome);
}

static bool get_shrink_propose(const Torus__Peer__ShrinkPropose *m,
                               struct td_message_shrink_propose *f)
{
    f->shrink = m->shrink;
    f->view = m->view;
    return get_outcome(m->outcome, &f->outcome);
}

static void put_shrink_accept(const struct td_message_shrink_accept *f, struct form *form)
{
    Torus__Peer__ShrinkAccept *m = &form->shrink_accept;
    m->shrink = f->shrink;
    m->view = f->view;
}

static bool get_shrink_accept(const Torus__Peer__ShrinkAccept *m,
                              struct td_message_shrink_accept *f)
{
    f->shrink = m->shrink;
    f->view = m->view;
    return true;
}

static void put_shrink_decided(const struct td_message_shrink_decided *f, struct form *form)
{
    Torus__Peer__ShrinkDecided *m = &form->shrink_decided;
    m->shrink = f->shrink;
    m->made = f->made;
    m->outcome = put_outcome(&f->outcome, &form->outcome);
}

static bool get_shrink_decided(const Torus__Peer__ShrinkDecided *m,
                               struct td_message_shrink_decided *f)
{
    f->shrink = m->shrink;
    f->made = m->made;
    return get_outcome(m->outcome, &f->outcome);
}

static void put_shrink_nobody(const struct td_message_shrink_nobody *f, struct form *form)
{
    Torus__Peer__ShrinkNobody *m = &form->shrink_nobody;
    m->shrink = f->shrink;
}

static bool get_shrink_nobody(const Torus__Peer__ShrinkNobody *m,
                              struct td_message_shrink_nobody *f)
{
    f->shrink = m->shrink;
    return true;
}

/* ---- tree messages ---- */

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
    struct form form;
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
        put_##name(&t->u.name, &form);                                                             \
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
        if (!get_##name(m->name, &t->u.name))                                                      \
            return false;                                                                          \
        break;
        TD_MESSAGE_KINDS(GET)
#undef GET
    case TORUS__PEER__TREE__BODY__NOT_SET:
    case _TORUS__PEER__TREE__BODY__CASE_IS_INT_SIZE:
        return false;
    }
    return t->kind != TD_MESSAGE_MEMBERS || get_runs(m->members, memory, &t->u.members);
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
                              "a tree message with a malformed relay");
    if (!get_body(m, memory, t))
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL,
                              "tree message of kind %d is beyond its limits",
                              (int)m->body_case - FIELD_OF_KIND);
    return TD_OK;
}
