/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile daemon with a valid key. In a simulated torus one node changes, drops and adds messages
 * and packets, well-formed and at its place in the session, while the other nodes and their clients
 * work. No node may crash or hang, whatever it is sent, and when the hostile node is dead and all
 * clients have left, nothing of it may be left in the memory of the others - unless it changed what
 * passes through it, and so spoke in the name of others. Memory may be refused and daemons may be
 * restarted meanwhile: the first byte says which of this an input contains (enum feature). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "core/membership/communicator.h"
#include "decide.h"
#include "scene.h"
#include "sim/clients.h"
#include "sim/clock.h"
#include "sim/faults.h"
#include "wire/samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    RANKS_MAX = 12,
    GROUPS_MAX = 16,
    REGION_BYTES = 8192,
    STEPS_MAX = 60,
    RUNS_MAX = 4,
    TERMS_MAX = 4,
    ENVELOPES = 8,
    PIECES_MAX = 80, /* more memberships than a node may send at a time */
};

enum feature {
    REFUSALS = 1, /* allocations are refused */
    RESTARTS = 2, /* daemons are killed and restarted, the hostile one too */
    IDENTITY = 4, /* the hostile node says that it is another daemon, or repeats old messages */
    PIECES = 8,   /* it sends memberships in pieces */
};

/* struct scene: one input's world. */
struct scene {
    struct decide input;
    struct td_sim *sim;
    uint32_t features;
    uint32_t nodes, hostile, rate; /* rate: of 256 messages of the hostile node, those it changes */
    struct rank {
        uint32_t client, node, region, groups;
        uint32_t group[GROUPS_MAX];
        uint64_t request, sequence[GROUPS_MAX];
    } rank[RANKS_MAX];
    uint32_t ranks;
    uint64_t instance[GROUPS_MAX]; /* known to the hostile node */
    uint32_t instances;
    bool storms;            /* messages have multiplied */
    bool impostor;          /* it has sent a message in the name of another node */
    struct td_message last; /* a copy of the envelope of the hostile node's latest message */
    struct td_message envelope[ENVELOPES]; /* of earlier messages; the contents are gone */
    uint32_t envelopes;
};

/* ---- fields ---- */

static struct td_bitmap some_bitmap(struct decide *d, size_t limit)
{
    static uint8_t bits[4][TD_TREE_MESSAGE_MAX]; /* no field is longer */
    static unsigned turn;
    uint8_t *b = bits[turn++ % 4];
    size_t bytes = decide_below(d, 4) ? decide_below(d, 5) : decide_number(d) % (limit + 1);
    if (bytes > limit)
        bytes = limit;
    if (bytes > TD_TREE_MESSAGE_MAX)
        bytes = TD_TREE_MESSAGE_MAX;
    for (size_t i = 0; i < bytes; i++)
        b[i] = (uint8_t)(i < 4 ? decide_bytes(d, 1) : 0xff);
    return (struct td_bitmap){b, (uint32_t)bytes};
}

static const char *some_text(struct decide *d, size_t limit)
{
    static char text[4][TD_TEXT_MAX];
    static unsigned turn;
    char *t = text[turn++ % 4];
    size_t length = decide_below(d, 8) ? decide_below(d, 4) : limit;
    memset(t, 'a' + (int)decide_below(d, 3), length);
    t[length] = '\0';
    return t;
}

static struct td_call some_call(struct decide *d)
{
    return (struct td_call){.kind = (uint8_t)(1 + decide_below(d, TD_KIND_MAX - 1)),
                            .type = (uint8_t)decide_below(d, TD_TYPE_MAX),
                            .op = (uint8_t)decide_below(d, TD_OP_END),
                            .mode = (uint8_t)decide_below(d, TD_REPRODUCIBLES),
                            .root = (uint32_t)decide_number(d),
                            .count = decide_number(d),
                            .plan = decide_number(d),
                            .digest = decide_number(d) & 1};
}

static td_err some_error(struct decide *d, bool or_ok)
{
    return (td_err)(-(int)decide_below(d, (uint32_t)-TD_ERR_PERMISSION + or_ok) - !or_ok);
}

static const uint64_t *some_terms(struct decide *d, uint32_t *count)
{
    static uint64_t term[TERMS_MAX];
    *count = decide_below(d, TERMS_MAX + 1);
    for (uint32_t i = 0; i < *count; i++)
        term[i] = decide_number(d);
    return term;
}

static const struct td_member_run *some_runs(struct scene *s, uint32_t *runs)
{
    static struct td_member_run run[RUNS_MAX];
    struct decide *d = &s->input;
    *runs = decide_below(d, RUNS_MAX + 1);
    for (uint32_t i = 0; i < *runs; i++)
        run[i] = (struct td_member_run){(uint32_t)(decide_number(d) % TD_JOB_RANKS_MAX),
                                        (uint32_t)(decide_number(d) % TD_JOB_RANKS_MAX),
                                        decide_below(d, s->nodes + 1), decide_number(d)};
    return run;
}

/* fill_struct fills in a struct of a message: a witness, an outcome or a survey. */
static void fill_struct(struct decide *d, void *at, const struct td_wire_kind *kind)
{
    if (strcmp(kind->name, "witness") == 0) {
        ((struct td_witness *)at)->rank = (uint32_t)decide_number(d);
        if (decide_below(d, 2))
            ((struct td_witness *)at)->call = some_call(d);
    } else if (strcmp(kind->name, "outcome") == 0) {
        *(struct td_outcome *)at =
            (struct td_outcome){some_error(d, true), some_text(d, 8), some_bitmap(d, 64)};
    } else {
        memset(at, (int)decide_below(d, 256), kind->bytes);
    }
}

static void fill(struct scene *s, struct td_message *m, const struct td_wire_field *f)
{
    static uint8_t payload[TD_LONG_RIDE_BYTES_MAX];
    struct decide *d = &s->input;
    void *at = (char *)&m->u + f->offset;
    uint32_t *count = (void *)((char *)&m->u + f->count); /* of a repeated field */
    uint32_t bytes = 0;
    switch (f->type) {
    case TD_WIRE_U32:
        *(uint32_t *)at = (uint32_t)decide_number(d);
        return;
    case TD_WIRE_U64:
        *(uint64_t *)at = decide_number(d);
        return;
    case TD_WIRE_I64:
        *(int64_t *)at = (int64_t)decide_number(d);
        return;
    case TD_WIRE_BOOL:
        *(bool *)at = decide_below(d, 2);
        return;
    case TD_WIRE_STRING:
        *(const char **)at = some_text(d, f->limit);
        return;
    case TD_WIRE_FAILURE:
    case TD_WIRE_ENDING:
        *(td_err *)at = some_error(d, f->type == TD_WIRE_ENDING);
        return;
    case TD_WIRE_BITMAP:
        *(struct td_bitmap *)at = some_bitmap(d, f->limit);
        return;
    case TD_WIRE_PAYLOAD:
        bytes = decide_below(d, 4) ? 8 * decide_below(d, 9) : decide_below(d, (uint32_t)f->limit);
        *(struct td_message_payload *)at = (struct td_message_payload){payload, bytes};
        return;
    case TD_WIRE_MESSAGE:
        fill_struct(d, at, f->of);
        return;
    case TD_WIRE_NUMBERS:
        *(const uint64_t **)at = some_terms(d, count);
        return;
    case TD_WIRE_LIST:
        *(const struct td_member_run **)at = some_runs(s, count);
        return;
    case TD_WIRE_I32: /* of clients' messages only */
    case TD_WIRE_CHOICE:
    case TD_WIRE_LETTER:
    case TD_WIRE_ARRAY:
    case TD_WIRE_SPECIAL:
    case TD_WIRE_INSIDE:
        return;
    }
}

/* address fills in what the message is about: mostly a group and an operation that exist. */
static void address(struct scene *s, struct td_message *m)
{
    struct decide *d = &s->input;
    if (s->instances && decide_below(d, 8))
        m->instance = s->instance[decide_below(d, s->instances)];
    else
        m->instance = decide_number(d);
    m->group = decide_below(d, 4) ? 0 : TD_GROUP_MADE;
    m->sequence = decide_below(d, 8) ? decide_below(d, 8) : decide_number(d);
}

static void fill_all(struct scene *s, struct td_message *m, const struct td_wire_kind *kind)
{
    memset(&m->u, 0, sizeof m->u);
    m->kind = (enum td_message_kind)kind->number;
    /* no field of a message is a null pointer: the table knows which are strings */
    for (unsigned i = 0; i < kind->fields; i++)
        fill(s, m, &kind->field[i]);
}

/* ---- tampering ---- */

/* speaks_for_others returns true for a message that passes through the hostile node: a relayed one,
 * or the membership of a job, which node 0 made. */
static bool speaks_for_others(const struct scene *s, const struct td_message *m)
{
    return (m->relay.is_relayed && m->relay.origin != s->hostile) || m->kind == TD_MESSAGE_MEMBERS;
}

static bool tamper(void *me, uint32_t from, uint32_t to, struct td_message *m)
{
    struct scene *s = me;
    struct decide *d = &s->input;
    (void)to;
    if (from != s->hostile)
        return true;
    s->last = *m;
    if (s->features & IDENTITY && decide_below(d, 4) == 0)
        s->envelope[s->envelopes++ % ENVELOPES] = *m;
    if (d->left == 0 || decide_below(d, 256) >= s->rate)
        return true;
    const struct td_wire_kind *kind = kind_of(m);
    s->impostor = s->impostor || speaks_for_others(s, m);
    switch (decide_below(d, 8)) {
    case 0:
        return false;
    case 1:
        address(s, m);
        return true;
    case 2:
        m->session = (uint32_t)decide_number(d);
        m->counts_session = (uint32_t)decide_number(d);
        m->received = decide_number(d);
        return true;
    case 3:
        m->number = decide_number(d);
        return true;
    case 4:
        fill_all(s, m, &td_wire_kinds[decide_below(d, td_wire_kinds_count)]);
        address(s, m);
        s->impostor = s->impostor || speaks_for_others(s, m);
        return true;
    default:
        for (uint32_t n = 1 + decide_below(d, 3); kind->fields && n > 0; n--)
            fill(s, m, &kind->field[decide_below(d, kind->fields)]);
        return true;
    }
}

static void change_packet(struct scene *s, struct td_packet *p)
{
    struct decide *d = &s->input;
    switch (decide_below(d, 12)) {
    case 0:
        p->instance = s->instances ? s->instance[decide_below(d, s->instances)] : 1;
        return;
    case 1:
        p->sequence = decide_number(d);
        return;
    case 2:
        p->index = decide_number(d);
        return;
    case 3:
        p->offset = decide_number(d);
        return;
    case 4:
        p->family = (uint32_t)decide_number(d);
        return;
    case 5:
        p->origin = decide_below(d, s->nodes + 2);
        return;
    case 6:
        p->destination = decide_below(d, s->nodes + 2);
        return;
    case 7:
        p->direction = (uint8_t)decide_number(d);
        p->channel = (uint8_t)decide_number(d);
        return;
    case 8:
        p->link_sequence = decide_number(d);
        p->session = (uint32_t)decide_number(d);
        return;
    case 9:
        p->received = decide_number(d);
        p->freed = decide_number(d);
        p->counts_session = (uint32_t)decide_number(d);
        return;
    case 10:
        for (int i = 0; i < 3; i++)
            p->channel_freed[i] = (uint32_t)decide_number(d);
        p->ticket = (uint32_t)decide_number(d);
        return;
    default:
        for (int i = 0; i < TD_DIMENSIONS_MAX; i++)
            p->left[i] = (int16_t)decide_number(d);
        return;
    }
}

static void tamper_packet(void *me, uint32_t from, uint32_t to, struct td_packet *p)
{
    struct scene *s = me;
    (void)to;
    if (from == s->hostile && s->input.left && decide_below(&s->input, 256) < s->rate)
        change_packet(s, p);
}

static void forge(struct scene *s)
{
    struct decide *d = &s->input;
    uint32_t to = decide_below(d, s->nodes);
    struct td_message m = s->last;
    if (!td_sim_connected(s->sim, s->hostile, to))
        return;
    fill_all(s, &m, &td_wire_kinds[decide_below(d, td_wire_kinds_count)]);
    address(s, &m);
    if (!decide_below(d, 4)) /* else with the number of the message before: a repetition */
        m.number = decide_below(d, 2) ? 0 : m.number + 1;
    if (!decide_below(d, 4))
        m.relay = (struct td_relay){.is_relayed = decide_below(d, 2),
                                    .origin = (uint16_t)decide_below(d, s->nodes),
                                    .destination = (uint16_t)decide_below(d, s->nodes),
                                    .hops = (uint16_t)decide_number(d)};
    s->impostor = s->impostor || speaks_for_others(s, &m);
    td_sim_forge(s->sim, s->hostile, to, &m);
}

/* replay sends a message of an earlier moment of the session, or of an earlier session. */
static void replay(struct scene *s)
{
    struct decide *d = &s->input;
    uint32_t to = decide_below(d, s->nodes);
    if (s->envelopes == 0 || !td_sim_connected(s->sim, s->hostile, to))
        return;
    struct td_message m = s->envelope[decide_below(d, s->envelopes) % ENVELOPES];
    fill_all(s, &m, &td_wire_kinds[decide_below(d, td_wire_kinds_count)]);
    s->impostor = s->impostor || speaks_for_others(s, &m);
    m.number += decide_below(d, 3);
    td_sim_forge(s->sim, s->hostile, to, &m);
}

/* claim makes others see the hostile daemon as another one: any, or that of another node. */
static void claim(struct scene *s)
{
    struct decide *d = &s->input;
    uint32_t other = decide_below(d, s->nodes);
    td_sim_claim(s->sim, s->hostile,
                 decide_below(d, 2) ? td_sim_incarnation(s->sim, other) : decide_number(d) | 1);
    td_sim_break_link(s->sim, s->hostile, decide_below(d, s->nodes));
}

/* send_pieces sends the first pieces of many memberships. */
static void send_pieces(struct scene *s)
{
    struct decide *d = &s->input;
    uint32_t to = decide_below(d, s->nodes), pieces = decide_below(d, PIECES_MAX);
    struct td_message m = s->last;
    if (!td_sim_connected(s->sim, s->hostile, to))
        return;
    memset(&m.u, 0, sizeof m.u);
    m.kind = TD_MESSAGE_MEMBERS;
    m.number = 0;
    m.group = 0;
    m.relay = (struct td_relay){0};
    m.u.members.name = "pieces";
    m.u.members.size = 1 + decide_below(d, decide_below(d, 4) ? 64 : 2 * TD_JOB_RANKS_MAX);
    m.u.members.is_last_piece = !decide_below(d, 8);
    s->impostor = true;
    for (uint32_t i = 0; i < pieces; i++) {
        struct td_member_run run = {decide_below(d, 64), 1 + decide_below(d, 64),
                                    decide_below(d, s->nodes), decide_number(d)};
        m.instance = decide_below(d, 8) ? 1000 + i : 1000;
        m.u.members.runs = 1;
        m.u.members.run = &run;
        td_sim_forge(s->sim, s->hostile, to, &m);
    }
}

static void forge_packet(struct scene *s)
{
    struct decide *d = &s->input;
    uint32_t to = decide_below(d, s->nodes);
    struct td_packet p = {.kind = decide_below(d, 3) ? TD_PACKET_DATA : TD_PACKET_CREDIT};
    if (!td_sim_connected(s->sim, s->hostile, to))
        return;
    p.session = p.counts_session = 1;
    p.link_sequence = decide_below(d, 4);
    p.origin = s->hostile;
    p.destination = to;
    for (uint32_t n = decide_below(d, 6); n > 0; n--)
        change_packet(s, &p);
    p.bytes = p.kind == TD_PACKET_DATA ? 1 + decide_below(d, 1024) : 0;
    td_sim_forge_packet(s->sim, s->hostile, to, &p, NULL);
}

/* run lets virtual time pass. Lies about losses can make honest nodes ask each other for ever, as
 * fast as messages travel: such an input ends early. */
static void run(struct scene *s, td_time duration)
{
    s->storms = s->storms || !scene_run(s->sim, duration);
}

/* ---- clients that keep the rules ---- */

static void collect(struct scene *s, struct rank *r)
{
    const struct td_reply *reply = td_sim_reply(s->sim, r->client, r->request);
    if (!reply || reply->kind != TD_REPLY_JOINED || r->groups == GROUPS_MAX)
        return;
    r->group[r->groups++] = reply->u.joined.group;
    r->request = 0;
    if (s->instances < GROUPS_MAX)
        s->instance[s->instances++] = reply->u.joined.instance;
}

static void send_all(struct scene *s, struct td_request *q, uint32_t which, bool operation)
{
    for (uint32_t i = 0; i < s->ranks; i++) {
        struct rank *r = &s->rank[i];
        collect(s, r);
        if (r->groups == 0 || td_sim_closed(s->sim, r->client))
            continue;
        uint32_t g = which % r->groups;
        if (operation) {
            q->u.operation.group = r->group[g];
            q->u.operation.sequence = r->sequence[g]++;
            q->u.operation.source = (struct td_place){r->region, 0, REGION_BYTES / 2, NULL};
            q->u.operation.destination =
                (struct td_place){r->region, REGION_BYTES / 2, REGION_BYTES / 2, NULL};
        } else if (q->kind == TD_REQUEST_GROUP) {
            q->u.make.group = r->group[g];
        } else {
            q->u.shrink.group = r->group[g];
        }
        r->request = td_sim_request(s->sim, r->client, q);
    }
}

static void operate(struct scene *s)
{
    static const uint8_t some[] = {TD_KIND_BARRIER,   TD_KIND_ALLREDUCE, TD_KIND_ALLTOALL,
                                   TD_KIND_BROADCAST, TD_KIND_ALLGATHER, TD_KIND_SCAN,
                                   TD_KIND_REDUCE,    TD_KIND_GATHER};
    struct decide *d = &s->input;
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.call.kind = some[decide_below(d, sizeof some)];
    bool reduces = td_call_reduces(q.u.operation.call.kind);
    if (q.u.operation.call.kind != TD_KIND_BARRIER) {
        q.u.operation.call.type = TD_TYPE_INT32;
        q.u.operation.call.op = reduces ? TD_OP_SUM : 0;
        q.u.operation.call.count = 1 + decide_below(d, 256) % (REGION_BYTES / 8 / RANKS_MAX);
    }
    q.u.operation.timeout_ns = (int64_t)SCENE_SECOND;
    send_all(s, &q, decide_below(d, GROUPS_MAX), true);
}

static void make_group(struct scene *s)
{
    uint64_t member[RANKS_MAX];
    struct td_request q = {.kind = TD_REQUEST_GROUP};
    for (uint32_t i = 0; i < s->ranks; i++)
        member[i] = s->ranks - 1 - i;
    q.u.make.member = member;
    q.u.make.members = s->ranks;
    q.u.make.number = decide_below(&s->input, 4);
    send_all(s, &q, 0, false);
}

static void shrink(struct scene *s)
{
    struct td_request q = {.kind = TD_REQUEST_SHRINK};
    q.u.shrink.timeout_ns = (int64_t)SCENE_SECOND;
    send_all(s, &q, decide_below(&s->input, GROUPS_MAX), false);
}

/* ---- the scene ---- */

static void set_up(struct scene *s)
{
    static const char *const shapes[] = {"2", "4", "2x2", "3x2"};
    struct decide *d = &s->input;
    struct td_sim_options o;
    s->features = decide_below(d, 256);
    scene_options(&o, d, shapes, 4, 400 << 10);
    o.express_permille = o.seed % 2 ? 500 : 0; /* tree messages take two paths */
    o.settings.operations_max = 64;
    o.settings.clients_max = 64;
    o.tamper = (struct td_tamper){tamper, tamper_packet, s};
    s->rate = decide_below(d, 256);
    s->sim = scene_create(&o);
    s->nodes = td_sim_nodes(s->sim);
    s->hostile = decide_below(d, s->nodes);
    s->last = (struct td_message){.session = 1, .counts_session = 1};
    run(s, SCENE_MILLISECOND);
    s->ranks = s->nodes * (1 + decide_below(d, 2));
    for (uint32_t i = 0; i < s->ranks; i++) {
        struct rank *r = &s->rank[i];
        r->node = i % s->nodes;
        r->client = td_sim_open(s->sim, r->node);
        r->region = td_sim_region(s->sim, r->client, REGION_BYTES);
        memset(td_sim_memory(s->sim, r->client, r->region), 1, REGION_BYTES);
        struct td_request q = {.kind = TD_REQUEST_JOIN};
        q.u.join.name = "job";
        q.u.join.size = s->ranks;
        q.u.join.rank = i;
        q.u.join.timeout_ns = (int64_t)SCENE_SECOND;
        r->request = td_sim_request(s->sim, r->client, &q);
    }
    run(s, 5 * SCENE_MILLISECOND);
}

static void act(struct scene *s)
{
    static const td_time durations[] = {1000, 20000, SCENE_MILLISECOND, 50 * SCENE_MILLISECOND,
                                        SCENE_SECOND};
    struct decide *d = &s->input;
    switch (decide_below(d, 12)) {
    case 0:
    case 1:
        operate(s);
        return;
    case 2:
        make_group(s);
        return;
    case 3:
        shrink(s);
        return;
    case 4:
        td_sim_close(s->sim, s->rank[decide_below(d, s->ranks)].client);
        return;
    case 5:
        td_sim_break_link(s->sim, s->hostile, decide_below(d, s->nodes));
        return;
    case 6:
    case 7:
        forge(s);
        return;
    case 8:
        forge_packet(s);
        return;
    default:
        run(s, durations[decide_below(d, 5)]);
        return;
    }
}

/* restart kills a daemon; another one takes its place. */
static void restart(struct scene *s)
{
    uint32_t node = decide_below(&s->input, s->nodes);
    scene_refuse_none();
    td_sim_kill_node(s->sim, node);
    run(s, SCENE_MILLISECOND << decide_below(&s->input, 12));
    td_sim_start_node(s->sim, node);
    if (node == s->hostile)
        s->last = (struct td_message){.session = 1, .counts_session = 1};
}

/* special does one of the things that the features of an input add. */
static void special(struct scene *s)
{
    uint32_t feature = 1u << decide_below(&s->input, 4);
    if (!(s->features & feature))
        return;
    if (feature == REFUSALS)
        scene_refuse(&s->input);
    else if (feature == RESTARTS)
        restart(s);
    else if (feature == PIECES)
        send_pieces(s);
    else if (decide_below(&s->input, 2))
        replay(s);
    else
        claim(s);
}

/* tear_down ends the hostile node and all clients, and looks for what is left. */
static void tear_down(struct scene *s)
{
    s->rate = 0;
    s->input.left = 0;
    td_sim_kill_node(s->sim, s->hostile);
    run(s, 15 * SCENE_SECOND); /* a relayed node is given up after three silences of 2 s */
    for (uint32_t i = 0; i < s->ranks; i++)
        td_sim_close(s->sim, s->rank[i].client);
    const char *left = s->storms ? NULL : scene_leftovers(s->sim);
    if (left && !s->impostor) {
        fprintf(stderr, "with node %u hostile: %s\n", s->hostile, left);
        abort();
    }
    td_sim_destroy(s->sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scene s = {.input = {data, size}};
    set_up(&s);
    for (int i = 0; i < STEPS_MAX && s.input.left > 0 && !s.storms; i++)
        if (s.features && decide_below(&s.input, 4) == 0)
            special(&s);
        else
            act(&s);
    tear_down(&s);
    return 0;
}
