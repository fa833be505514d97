/* SPDX-License-Identifier: Apache-2.0 */
#include "messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "forms.h"

/* ---- the table ---- */

#define PLACE(kind, field) ((struct td_message *)0)->u.kind.field
#define LIMITED(kind, field, type, limit)                                                          \
    {                                                                                              \
#field, type, offsetof(struct td_message, u.kind.field), sizeof(PLACE(kind, field)),       \
            __alignof__(PLACE(kind, field)), limit                                                 \
    }
/* The C type of most fields determines their type. */
#define F(kind, field)                                                                             \
    LIMITED(kind, field,                                                                           \
            _Generic(PLACE(kind, field), uint32_t                                                  \
                     : FIELD_U32, uint64_t                                                         \
                     : FIELD_U64, int64_t                                                          \
                     : FIELD_I64, bool                                                             \
                     : FIELD_BOOL, struct td_witness                                               \
                     : FIELD_WITNESS, struct td_survey                                             \
                     : FIELD_SURVEY, struct td_outcome                                             \
                     : FIELD_OUTCOME),                                                             \
            0)
#define TEXT(kind, field) LIMITED(kind, field, FIELD_STRING, TD_TEXT_MAX - 1)
#define NAME(kind, field) LIMITED(kind, field, FIELD_STRING, TD_NAME_MAX - 1)
#define FAILURE(kind, field) LIMITED(kind, field, FIELD_FAILURE, 0)
#define ENDING(kind, field) LIMITED(kind, field, FIELD_ENDING, 0)
#define BITMAP(kind, field, limit) LIMITED(kind, field, FIELD_BITMAP, limit)
#define PAYLOAD(kind, limit) LIMITED(kind, payload, FIELD_PAYLOAD, limit)
/* A count of runs and the pointer to them are one field. */
/* A list of terms is a field of proto/peer.proto with the name of the list. */
#define TERMS(name, place)                                                                         \
    {                                                                                              \
#name, FIELD_TERMS, offsetof(struct td_message, u.join.terms.list[place]),                 \
            sizeof(struct td_term_list), __alignof__(struct td_term_list), TD_TERMS_MAX            \
    }
#define RUNS(kind, field)                                                                          \
    {                                                                                              \
#field, FIELD_RUNS, offsetof(struct td_message, u.kind.runs),                              \
            offsetof(struct td_message, u.kind.field) + sizeof(void *) -                           \
                offsetof(struct td_message, u.kind.runs),                                          \
            __alignof__(uint32_t), TD_MEMBERS_PER_MESSAGE                                          \
    }

static const struct field of_heartbeat[] = {BITMAP(heartbeat, up, TD_NODES_MAX / 8),
                                            BITMAP(heartbeat, stopped, TD_NODES_MAX / 8),
                                            F(heartbeat, sent)};
static const struct field of_join[] = {
    F(join, token),
    F(join, uid),
    F(join, pid),
    F(join, timeout_ns),
    NAME(join, name),
    F(join, size),
    F(join, rank),
    F(join, is_reminder),
    F(join, epoch),
    F(join, granted),
    F(join, granter),
    TERMS(settings, TD_TERMS_SETTINGS),
    TERMS(costs, TD_TERMS_COSTS),
    TERMS(methods, TD_TERMS_METHODS),
    ENDING(join, refused),
    TEXT(join, refusal),
};
static const struct field of_unjoin[] = {F(unjoin, token)};
static const struct field of_refuse[] = {F(refuse, token), FAILURE(refuse, error),
                                         TEXT(refuse, text)};
static const struct field of_members[] = {
    F(members, uid),   NAME(members, name), F(members, size),  F(members, is_last_piece),
    F(members, epoch),   RUNS(members, run)};
static const struct field of_arrive[] = {
    F(arrive, least),     F(arrive, greatest),
    F(arrive, no_room),   F(arrive, survey),
    F(arrive, last),      F(arrive, silent_node),
    F(arrive, silent_ns), PAYLOAD(arrive, TD_LONG_RIDE_BYTES_MAX)};
static const struct field of_release[] = {F(release, last), F(release, silent_node),
                                          F(release, silent_ns),
                                          PAYLOAD(release, TD_LONG_RIDE_BYTES_MAX)};
static const struct field of_waiting[] = {BITMAP(waiting, arrived, TD_BITMAP_BYTES_MAX),
                                          F(waiting, reply_requested)};
static const struct field of_appeal[] = {FAILURE(appeal, error), TEXT(appeal, text),
                                         F(appeal, is_running), F(appeal, node),
                                         F(appeal, waits_for)};
static const struct field of_rank_lost[] = {
    F(rank_lost, rank),       FAILURE(rank_lost, error),
    F(rank_lost, of_job),     TEXT(rank_lost, text)};
static const struct field of_node_lost[] = {F(node_lost, node), F(node_lost, notify_all),
                                            F(node_lost, is_proven), TEXT(node_lost, text),
                                            F(node_lost, silent_ns)};
static const struct field of_parting[] = {F(parting, step), F(parting, round), F(parting, sequence),
                                          TEXT(parting, text)};
static const struct field of_sync[] = {F(sync, family), F(sync, round), F(sync, step_index)};
static const struct field of_delivered[] = {F(delivered, ticket), F(delivered, is_lost),
                                            F(delivered, with)};
static const struct field of_carry[] = {F(carry, ticket), F(carry, family), F(carry, index),
                                        F(carry, offset), PAYLOAD(carry, TD_LONG_RIDE_BYTES_MAX)};
static const struct field of_resume[] = {F(resume, packets_received),
                                         F(resume, reply_requested),
                                         F(resume, incarnation),
                                         F(resume, first),
                                         F(resume, first_packet),
                                         F(resume, given_up),
                                         F(resume, question),
                                         F(resume, answers)};
static const struct field of_look[] = {F(look, ticket), F(look, uid), F(look, sees_all),
                                       F(look, section), F(look, cursor)};
static const struct field of_seen[] = {F(seen, ticket), BITMAP(seen, page, TD_PAGE_BYTES_MAX)};
static const struct field of_end_calls[] = {
    F(end_calls, ticket), F(end_calls, user),     NAME(end_calls, job), F(end_calls, owner),
    F(end_calls, all),    F(end_calls, instance), F(end_calls, number), TEXT(end_calls, why)};
static const struct field of_goodbye[] = {F(goodbye, incarnation)};
static const struct field of_shrink_ask[] = {
    F(shrink_ask, shrink), F(shrink_ask, view), BITMAP(shrink_ask, lost, TD_BITMAP_BYTES_MAX),
    F(shrink_ask, is_last_call), F(shrink_ask, gave_up_receiver)};
static const struct field of_shrink_vote[] = {F(shrink_vote, shrink),
                                              F(shrink_vote, view),
                                              BITMAP(shrink_vote, lost, TD_BITMAP_BYTES_MAX),
                                              BITMAP(shrink_vote, missing, TD_NODE_RANKS_MAX / 8),
                                              ENDING(shrink_vote, error),
                                              TEXT(shrink_vote, text),
                                              F(shrink_vote, is_deaf)};
static const struct field of_shrink_accepted_before[] = {F(shrink_accepted_before, shrink),
                                                         F(shrink_accepted_before, round),
                                                         F(shrink_accepted_before, outcome)};
static const struct field of_shrink_propose[] = {F(shrink_propose, shrink), F(shrink_propose, view),
                                                 F(shrink_propose, outcome)};
static const struct field of_shrink_accept[] = {F(shrink_accept, shrink), F(shrink_accept, view)};
static const struct field of_shrink_decided[] = {F(shrink_decided, shrink), F(shrink_decided, made),
                                                 F(shrink_decided, outcome)};
static const struct field of_shrink_nobody[] = {F(shrink_nobody, shrink)};
static const struct field of_rank_left[] = {F(rank_left, rank)};
static const struct field of_report[] = {BITMAP(report, arrived, TD_BITMAP_BYTES_MAX)};
static const struct field of_verdict[] = {FAILURE(verdict, error), TEXT(verdict, text),
                                          F(verdict, is_running), F(verdict, silent_node),
                                          F(verdict, silent_ns)};
static const struct field of_announce_again[] = {
    F(announce_again, is_surveyed), F(announce_again, without_scratch), F(announce_again, survey)};
static const struct field of_rank_gone[] = {F(rank_gone, rank), FAILURE(rank_gone, error),
                                            F(rank_gone, of_job), TEXT(rank_gone, text)};
static const struct field of_neighbour_lost[] = {F(neighbour_lost, node),
                                                 F(neighbour_lost, never_up)};
static const struct field of_neighbour_back[] = {F(neighbour_back, node)};
static const struct field of_epoch_poll[] = {F(epoch_poll, ballot)};
static const struct field of_epoch_vote[] = {
    F(epoch_vote, ballot),
    F(epoch_vote, is_vote),
    F(epoch_vote, seen),
    F(epoch_vote, accepted),
    BITMAP(epoch_vote, exclusions, TD_EXCLUSIONS_BYTES_MAX),
    F(epoch_vote, age_ns)};
static const struct field of_epoch_propose[] = {
    F(epoch_propose, ballot), BITMAP(epoch_propose, exclusions, TD_EXCLUSIONS_BYTES_MAX)};
static const struct field of_epoch_accept[] = {F(epoch_accept, ballot)};
static const struct field of_epoch_known[] = {
    F(epoch_known, ballot), BITMAP(epoch_known, exclusions, TD_EXCLUSIONS_BYTES_MAX)};
static const struct field of_shrink_partitioned[] = {F(shrink_partitioned, shrink)};
static const struct field of_registry_ask[] = {F(registry_ask, round)};
static const struct field of_registry_answer[] = {F(registry_answer, round),
                                                  F(registry_answer, is_draining)};
static const struct field of_grant[] = {F(grant, first), F(grant, count), F(grant, token)};
static const struct field of_granted[] = {F(granted, first), F(granted, count),
                                          F(granted, is_granted)};

/* A kind without a list of fields does not compile. */
const struct kind kinds[] = {
#define KIND(number, NAME, name)                                                                   \
    {TD_MESSAGE_##NAME, #name, sizeof(struct td_message_##name), of_##name,                        \
     sizeof of_##name / sizeof of_##name[0]},
    TD_MESSAGE_KINDS(KIND)
#undef KIND
};
const unsigned kinds_count = sizeof kinds / sizeof kinds[0];

const struct kind *kind_of(const struct td_message *m)
{
    for (unsigned i = 0; i < kinds_count; i++)
        if (kinds[i].kind == m->kind)
            return &kinds[i];
    fail_msg("a message of kind %d", (int)m->kind);
    return NULL;
}

/* ---- drawing ---- */

static uint64_t number(enum amount amount)
{
    if (amount == AMOUNT_NONE)
        return 0;
    return amount == AMOUNT_MOST ? UINT64_MAX : draw() >> below(64);
}

static size_t length(enum amount amount, size_t limit)
{
    if (amount == AMOUNT_NONE)
        return 0;
    if (amount == AMOUNT_SMALL)
        return below((limit < 16 ? limit : 16) + 1);
    return amount == AMOUNT_MOST ? limit : below(limit + 1);
}

/* room returns memory that is valid until some_fields has been called twice more. */
static uint8_t pool[2][65536];
static unsigned pool_turn;
static size_t pool_used;

static void *room(size_t bytes)
{
    size_t at = pool_used;
    pool_used += (bytes + 15) & ~(size_t)15;
    assert_true(pool_used <= sizeof pool[0]);
    return pool[pool_turn] + at;
}

static const char *some_string(size_t bytes)
{
    char *string = room(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        string[i] = (char)(1 + below(255));
    string[bytes] = '\0';
    return string;
}

static const uint8_t *some_bytes(size_t bytes)
{
    uint8_t *data = room(bytes);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)draw();
    return data;
}

static struct td_bitmap some_bitmap(size_t bytes)
{
    return (struct td_bitmap){some_bytes(bytes), (uint32_t)bytes};
}

static td_err some_error(enum amount amount, bool or_ok)
{
    if (amount == AMOUNT_NONE)
        return or_ok ? TD_OK : TD_ERR_INVALID;
    if (amount == AMOUNT_MOST)
        return TD_ERR_PERMISSION;
    return (td_err)(-(int)below((unsigned)-TD_ERR_PERMISSION + or_ok) - !or_ok);
}

static struct td_witness some_witness(enum amount amount)
{
    if (amount == AMOUNT_NONE)
        return (struct td_witness){.call.kind = 1};
    if (amount == AMOUNT_MOST)
        return (struct td_witness){.call = {.kind = TD_KIND_MAX - 1,
                                            .type = TD_TYPE_MAX - 1,
                                            .op = TD_OP_END - 1,
                                            .mode = TD_REPRODUCIBLES - 1,
                                            .root = UINT32_MAX,
                                            .count = UINT64_MAX,
                                            .plan = UINT64_MAX,
                                            .digest = UINT64_MAX},
                                   .rank = UINT32_MAX};
    return (struct td_witness){some_call(), (uint32_t)number(amount)};
}

static struct td_survey some_survey(enum amount amount)
{
    return (struct td_survey){number(amount), number(amount), number(amount), number(amount),
                              number(amount), number(amount), number(amount)};
}

/* some_runs draws runs as large as a job allows: they must fit. */
static const struct td_member_run *some_runs(enum amount amount, size_t runs)
{
    struct td_member_run *run = room(runs * sizeof *run);
    for (size_t i = 0; i < runs; i++)
        run[i] = (struct td_member_run){(uint32_t)number(amount) % TD_JOB_RANKS_MAX,
                                        (uint32_t)number(amount) % (TD_JOB_RANKS_MAX + 1),
                                        (uint32_t)number(amount) % TD_NODES_MAX, number(amount)};
    return run;
}

/* some_terms draws as many terms as a list holds: those of all lists fit a message. */
static struct td_term_list some_terms(enum amount amount, size_t count)
{
    uint64_t *value = room(count * sizeof *value);
    for (size_t i = 0; i < count; i++)
        value[i] = number(amount);
    return (struct td_term_list){(uint32_t)count, value};
}

void fill_field(struct td_message *m, const struct field *f, enum amount amount, size_t beyond)
{
    void *at = (char *)m + f->offset;
    size_t limit = f->type == FIELD_RUNS && amount == AMOUNT_SMALL ? 3 : f->limit;
    size_t n = length(amount, limit) + beyond;
    switch (f->type) {
    case FIELD_U32:
        *(uint32_t *)at = (uint32_t)number(amount);
        return;
    case FIELD_U64:
        *(uint64_t *)at = number(amount);
        return;
    case FIELD_I64:
        *(int64_t *)at = amount == AMOUNT_MOST ? INT64_MIN : (int64_t)number(amount);
        return;
    case FIELD_BOOL:
        *(bool *)at = amount == AMOUNT_MOST || number(amount) % 2;
        return;
    case FIELD_STRING:
        *(const char **)at = some_string(n);
        return;
    case FIELD_FAILURE:
    case FIELD_ENDING:
        *(td_err *)at = some_error(amount, f->type == FIELD_ENDING);
        return;
    case FIELD_BITMAP:
        *(struct td_bitmap *)at = some_bitmap(n);
        return;
    case FIELD_PAYLOAD:
        *(struct td_message_payload *)at = (struct td_message_payload){some_bytes(n), (uint32_t)n};
        return;
    case FIELD_WITNESS:
        *(struct td_witness *)at = some_witness(amount);
        return;
    case FIELD_SURVEY:
        *(struct td_survey *)at = some_survey(amount);
        return;
    case FIELD_OUTCOME:
        *(struct td_outcome *)at = (struct td_outcome){
            some_error(amount, true), some_string(length(amount, TD_TEXT_MAX - 1)),
            some_bitmap(length(amount, TD_BITMAP_BYTES_MAX))};
        return;
    case FIELD_TERMS:
        *(struct td_term_list *)at = some_terms(amount, n);
        return;
    case FIELD_RUNS:
        m->u.members.runs = (uint32_t)n;
        m->u.members.run = some_runs(amount, n);
        return;
    }
}

/* some_relay fills in the route of a relayed message. */
static struct td_relay some_relay(enum amount amount)
{
    struct td_relay r = {.is_relayed = true,
                         .avoids = (uint8_t)(number(amount) % (TD_RELAY_AVOID_MAX + 1)),
                         .origin = (uint16_t)(number(amount) % TD_NODES_MAX),
                         .destination = (uint16_t)(number(amount) % TD_NODES_MAX),
                         .hops = (uint16_t)number(amount)};
    for (unsigned i = 0; i < r.avoids; i++)
        r.avoid[i] = (uint16_t)(number(amount) % TD_NODES_MAX);
    return r;
}

struct td_message some_fields(const struct kind *kind, enum amount amount)
{
    struct td_message m = {.kind = kind->kind,
                           .session = (uint32_t)number(amount),
                           .counts_session = (uint32_t)number(amount),
                           .group = (uint32_t)number(amount),
                           .number = number(amount),
                           .received = number(amount),
                           .instance = number(amount),
                           .sequence = number(amount)};
    if (number(amount) % 2)
        m.relay = some_relay(amount);
    pool_turn = !pool_turn;
    pool_used = 0;
    for (unsigned i = 0; i < kind->fields; i++)
        fill_field(&m, &kind->field[i], amount, 0);
    return m;
}

/* ---- comparing ---- */

static void same_bitmap(const struct td_bitmap *a, const struct td_bitmap *b)
{
    assert_int_equal(a->bytes, b->bytes);
    if (a->bytes)
        assert_memory_equal(a->bits, b->bits, a->bytes);
}

static void same_payload(const struct td_message_payload *a, const struct td_message_payload *b)
{
    assert_int_equal(a->bytes, b->bytes);
    if (a->bytes)
        assert_memory_equal(a->data, b->data, a->bytes);
}

static void same_witness(const struct td_witness *a, const struct td_witness *b)
{
    assert_int_equal(td_call_compare(&a->call, &b->call), 0);
    assert_int_equal(a->rank, b->rank);
}

static void same_outcome(const struct td_outcome *a, const struct td_outcome *b)
{
    assert_int_equal(a->error, b->error);
    assert_string_equal(a->text, b->text);
    same_bitmap(&a->lost, &b->lost);
}

static void same_runs(const struct td_message_members *a, const struct td_message_members *b)
{
    assert_int_equal(a->runs, b->runs);
    for (uint32_t i = 0; i < a->runs; i++) {
        assert_int_equal(a->run[i].first, b->run[i].first);
        assert_int_equal(a->run[i].count, b->run[i].count);
        assert_int_equal(a->run[i].node, b->run[i].node);
        assert_int_equal(a->run[i].token, b->run[i].token);
    }
}

static void same_terms(const struct td_term_list *a, const struct td_term_list *b)
{
    assert_int_equal(a->count, b->count);
    if (a->count)
        assert_memory_equal(a->value, b->value, a->count * sizeof *a->value);
}

static void same_field(const struct td_message *m, const struct td_message *n,
                       const struct field *f)
{
    const void *a = (const char *)m + f->offset, *b = (const char *)n + f->offset;
    switch (f->type) {
    case FIELD_U32:
    case FIELD_U64:
    case FIELD_I64:
    case FIELD_BOOL:
    case FIELD_FAILURE:
    case FIELD_ENDING:
    case FIELD_SURVEY:
        assert_memory_equal(a, b, f->bytes);
        return;
    case FIELD_STRING:
        assert_string_equal(*(const char *const *)a, *(const char *const *)b);
        return;
    case FIELD_BITMAP:
        same_bitmap(a, b);
        return;
    case FIELD_PAYLOAD:
        same_payload(a, b);
        return;
    case FIELD_WITNESS:
        same_witness(a, b);
        return;
    case FIELD_OUTCOME:
        same_outcome(a, b);
        return;
    case FIELD_RUNS:
        same_runs(&m->u.members, &n->u.members);
        return;
    case FIELD_TERMS:
        same_terms(a, b);
        return;
    }
}

void same_message(const struct td_message *a, const struct td_message *b)
{
    const struct kind *kind = kind_of(a);
    assert_int_equal(a->relay.is_relayed, b->relay.is_relayed);
    assert_int_equal(a->relay.origin, b->relay.origin);
    assert_int_equal(a->relay.destination, b->relay.destination);
    assert_int_equal(a->relay.hops, b->relay.hops);
    assert_int_equal(a->relay.avoids, b->relay.avoids);
    assert_memory_equal(a->relay.avoid, b->relay.avoid, sizeof a->relay.avoid);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->session, b->session);
    assert_int_equal(a->counts_session, b->counts_session);
    assert_int_equal(a->group, b->group);
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->received, b->received);
    assert_int_equal(a->instance, b->instance);
    assert_int_equal(a->sequence, b->sequence);
    for (unsigned i = 0; i < kind->fields; i++)
        same_field(a, b, &kind->field[i]);
}

/* ---- reading ---- */

static uint64_t sum(const void *data, size_t bytes, size_t limit)
{
    uint64_t total = 0;
    assert_true(bytes <= limit);
    for (size_t i = 0; i < bytes; i++)
        total += ((const uint8_t *)data)[i];
    return total;
}

static void check_error(td_err error, bool or_ok)
{
    assert_true(error >= TD_ERR_PERMISSION && error <= (or_ok ? TD_OK : TD_ERR_INVALID));
}

static uint64_t read_string(const char *string, size_t limit)
{
    assert_non_null(string);
    return sum(string, strlen(string), limit);
}

static uint64_t read_call(const struct td_call *call)
{
    assert_true(call->kind > 0 && call->kind < TD_KIND_MAX && call->type < TD_TYPE_MAX &&
                call->op < TD_OP_END && call->mode < TD_REPRODUCIBLES);
    return sum(call, sizeof *call, sizeof *call);
}

static uint64_t read_field(const struct td_message *m, const struct field *f)
{
    const void *at = (const char *)m + f->offset;
    const struct td_bitmap *bitmap = at;
    const struct td_message_payload *payload = at;
    const struct td_outcome *outcome = at;
    const struct td_term_list *terms = at;
    switch (f->type) {
    case FIELD_U32:
    case FIELD_U64:
    case FIELD_I64:
    case FIELD_BOOL:
    case FIELD_SURVEY:
        return sum(at, f->bytes, f->bytes);
    case FIELD_FAILURE:
    case FIELD_ENDING:
        check_error(*(const td_err *)at, f->type == FIELD_ENDING);
        return 0;
    case FIELD_STRING:
        return read_string(*(const char *const *)at, f->limit);
    case FIELD_BITMAP:
        return sum(bitmap->bits, bitmap->bytes, f->limit);
    case FIELD_PAYLOAD:
        return sum(payload->data, payload->bytes, f->limit);
    case FIELD_WITNESS:
        return read_call(&((const struct td_witness *)at)->call);
    case FIELD_OUTCOME:
        check_error(outcome->error, true);
        return read_string(outcome->text, TD_TEXT_MAX - 1) +
               sum(outcome->lost.bits, outcome->lost.bytes, TD_BITMAP_BYTES_MAX);
    case FIELD_TERMS:
        return sum(terms->value, terms->count * sizeof *terms->value,
                   f->limit * sizeof *terms->value);
    case FIELD_RUNS:
        assert_true(m->u.members.runs <= f->limit);
        return sum(m->u.members.run, m->u.members.runs * sizeof *m->u.members.run,
                   f->limit * sizeof *m->u.members.run);
    }
    return 0;
}

uint64_t read_message(const struct td_message *m)
{
    const struct kind *kind = kind_of(m);
    uint64_t total = 0;
    for (unsigned i = 0; i < kind->fields; i++)
        total += read_field(m, &kind->field[i]);
    return total;
}
