/* SPDX-License-Identifier: Apache-2.0 */
#include "peer_table.h"

#include "model/message.h"
#include "peer.pb-c.h"

#include "field_lines.h"

#define TYPES(number, NAME, name)                                                                  \
    typedef struct td_message_##name struct_##name;                                                \
    typedef __typeof__(*((Torus__Peer__Tree *)0)->name) form_##name;
TD_MESSAGE_KINDS(TYPES)
typedef struct td_witness struct_witness;
typedef struct td_survey struct_survey;
typedef struct td_outcome struct_outcome;
typedef struct td_member_run struct_run;
typedef Torus__Peer__Witness form_witness;
typedef Torus__Peer__Survey form_survey;
typedef Torus__Peer__Outcome form_outcome;
typedef Torus__Peer__Run form_run;

/* ---- messages in messages ---- */

static bool has_kind(const void *witness)
{
    return ((const struct td_witness *)witness)->call.kind > 0;
}

static const struct td_wire_field of_witness[] = {
    AS(witness, call.kind, kind, CHOICE, .limit = TD_KIND_MAX - 1),
    AS(witness, call.type, type, CHOICE, .limit = TD_TYPE_MAX - 1),
    AS(witness, call.op, op, CHOICE, .limit = TD_OP_END - 1),
    AS(witness, call.root, root, U32, .limit = 0),
    AS(witness, call.count, count, U64, .limit = 0),
    AS(witness, call.plan, plan, U64, .limit = 0),
    AS(witness, call.digest, digest, U64, .limit = 0),
    AS(witness, call.mode, mode, CHOICE, .limit = TD_REPRODUCIBLES - 1),
    F(witness, rank)};
static const struct td_wire_kind witness =
    KIND(witness, 0, torus__peer__witness__descriptor, .is_sound = has_kind);
static const struct td_wire_field of_survey[] = {
    F(survey, most),      F(survey, total),       F(survey, hash),   F(survey, difference),
    F(survey, by_sender), F(survey, by_receiver), F(survey, by_pair)};
static const struct td_wire_kind survey =
    KIND(survey, 0, torus__peer__survey__descriptor, .is_sound = NULL);
static const struct td_wire_field of_outcome[] = {ENDING(outcome, error), TEXT(outcome, text),
                                                  BITMAP(outcome, lost, TD_BITMAP_BYTES_MAX)};
static const struct td_wire_kind outcome =
    KIND(outcome, 0, torus__peer__outcome__descriptor, .is_sound = NULL);
static const struct td_wire_field of_run[] = {F(run, first), F(run, count), F(run, node),
                                              F(run, token)};
static const struct td_wire_kind run = KIND(run, 0, torus__peer__run__descriptor, .is_sound = NULL);

/* ---- the table ---- */

static const struct td_wire_field of_heartbeat[] = {BITMAP(heartbeat, up, TD_NODES_MAX / 8),
                                                    BITMAP(heartbeat, stopped, TD_NODES_MAX / 8),
                                                    F(heartbeat, sent)};
#define TERMS(name, place)                                                                         \
    NUMBERS(join, terms.list[place].value, name, terms.list[place].count, TD_TERMS_MAX)
static const struct td_wire_field of_join[] = {
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
static const struct td_wire_field of_unjoin[] = {F(unjoin, token)};
static const struct td_wire_field of_refuse[] = {F(refuse, token), FAILURE(refuse, error),
                                                 TEXT(refuse, text)};
static const struct td_wire_field of_members[] = {
    F(members, uid),   NAME(members, name),
    F(members, size),  F(members, is_last_piece),
    F(members, epoch), LIST(members, run, runs, TD_MEMBERS_PER_MESSAGE, run)};
static const struct td_wire_field of_arrive[] = {REQUIRED(arrive, least, witness),
                                                 REQUIRED(arrive, greatest, witness),
                                                 F(arrive, no_room),
                                                 MESSAGE(arrive, survey, survey),
                                                 F(arrive, last),
                                                 F(arrive, silent_node),
                                                 F(arrive, silent_ns),
                                                 PAYLOAD(arrive, TD_LONG_RIDE_BYTES_MAX)};
static const struct td_wire_field of_release[] = {F(release, last), F(release, silent_node),
                                                  F(release, silent_ns),
                                                  PAYLOAD(release, TD_LONG_RIDE_BYTES_MAX)};
static const struct td_wire_field of_waiting[] = {BITMAP(waiting, arrived, TD_BITMAP_BYTES_MAX),
                                                  F(waiting, reply_requested)};
static const struct td_wire_field of_appeal[] = {FAILURE(appeal, error), TEXT(appeal, text),
                                                 F(appeal, is_running), F(appeal, node),
                                                 F(appeal, waits_for)};
static const struct td_wire_field of_rank_lost[] = {F(rank_lost, rank), FAILURE(rank_lost, error),
                                                    F(rank_lost, of_job), TEXT(rank_lost, text)};
static const struct td_wire_field of_node_lost[] = {F(node_lost, node), F(node_lost, notify_all),
                                                    F(node_lost, is_proven), TEXT(node_lost, text),
                                                    F(node_lost, silent_ns)};
static const struct td_wire_field of_parting[] = {F(parting, step), F(parting, round),
                                                  F(parting, sequence), TEXT(parting, text)};
static const struct td_wire_field of_sync[] = {F(sync, family), F(sync, round),
                                               F(sync, step_index)};
static const struct td_wire_field of_delivered[] = {F(delivered, ticket), F(delivered, is_lost),
                                                    F(delivered, with)};
static const struct td_wire_field of_carry[] = {F(carry, ticket), F(carry, family), F(carry, index),
                                                F(carry, offset),
                                                PAYLOAD(carry, TD_LONG_RIDE_BYTES_MAX)};
static const struct td_wire_field of_resume[] = {
    F(resume, packets_received), F(resume, reply_requested),
    F(resume, incarnation),      F(resume, first),
    F(resume, first_packet),     F(resume, given_up),
    F(resume, question),         F(resume, answers)};
static const struct td_wire_field of_look[] = {F(look, ticket), F(look, uid), F(look, sees_all),
                                               F(look, section), F(look, cursor)};
static const struct td_wire_field of_seen[] = {F(seen, ticket),
                                               BITMAP(seen, page, TD_PAGE_BYTES_MAX)};
static const struct td_wire_field of_end_calls[] = {
    F(end_calls, ticket), F(end_calls, user),     NAME(end_calls, job), F(end_calls, owner),
    F(end_calls, all),    F(end_calls, instance), F(end_calls, number), TEXT(end_calls, why)};
static const struct td_wire_field of_goodbye[] = {F(goodbye, incarnation)};
static const struct td_wire_field of_shrink_ask[] = {
    F(shrink_ask, shrink), F(shrink_ask, view), BITMAP(shrink_ask, lost, TD_BITMAP_BYTES_MAX),
    F(shrink_ask, is_last_call), F(shrink_ask, gave_up_receiver)};
static const struct td_wire_field of_shrink_vote[] = {
    F(shrink_vote, shrink),
    F(shrink_vote, view),
    BITMAP(shrink_vote, lost, TD_BITMAP_BYTES_MAX),
    BITMAP(shrink_vote, missing, TD_NODE_RANKS_MAX / 8),
    ENDING(shrink_vote, error),
    TEXT(shrink_vote, text),
    F(shrink_vote, is_deaf)};
static const struct td_wire_field of_shrink_accepted_before[] = {
    F(shrink_accepted_before, shrink), F(shrink_accepted_before, round),
    REQUIRED(shrink_accepted_before, outcome, outcome)};
static const struct td_wire_field of_shrink_propose[] = {
    F(shrink_propose, shrink), F(shrink_propose, view), REQUIRED(shrink_propose, outcome, outcome)};
static const struct td_wire_field of_shrink_accept[] = {F(shrink_accept, shrink),
                                                        F(shrink_accept, view)};
static const struct td_wire_field of_shrink_decided[] = {
    F(shrink_decided, shrink), F(shrink_decided, made), REQUIRED(shrink_decided, outcome, outcome)};
static const struct td_wire_field of_shrink_nobody[] = {F(shrink_nobody, shrink)};
static const struct td_wire_field of_rank_left[] = {F(rank_left, rank)};
static const struct td_wire_field of_report[] = {BITMAP(report, arrived, TD_BITMAP_BYTES_MAX)};
static const struct td_wire_field of_verdict[] = {FAILURE(verdict, error), TEXT(verdict, text),
                                                  F(verdict, is_running), F(verdict, silent_node),
                                                  F(verdict, silent_ns)};
static const struct td_wire_field of_announce_again[] = {F(announce_again, is_surveyed),
                                                         F(announce_again, without_scratch),
                                                         MESSAGE(announce_again, survey, survey)};
static const struct td_wire_field of_rank_gone[] = {F(rank_gone, rank), FAILURE(rank_gone, error),
                                                    F(rank_gone, of_job), TEXT(rank_gone, text)};
static const struct td_wire_field of_neighbour_lost[] = {F(neighbour_lost, node),
                                                         F(neighbour_lost, never_up)};
static const struct td_wire_field of_neighbour_back[] = {F(neighbour_back, node)};
static const struct td_wire_field of_epoch_poll[] = {F(epoch_poll, ballot)};
static const struct td_wire_field of_epoch_vote[] = {
    F(epoch_vote, ballot),
    F(epoch_vote, is_vote),
    F(epoch_vote, seen),
    F(epoch_vote, accepted),
    BITMAP(epoch_vote, exclusions, TD_EXCLUSIONS_BYTES_MAX),
    F(epoch_vote, age_ns)};
static const struct td_wire_field of_epoch_propose[] = {
    F(epoch_propose, ballot), BITMAP(epoch_propose, exclusions, TD_EXCLUSIONS_BYTES_MAX)};
static const struct td_wire_field of_epoch_accept[] = {F(epoch_accept, ballot)};
static const struct td_wire_field of_epoch_known[] = {
    F(epoch_known, ballot), BITMAP(epoch_known, exclusions, TD_EXCLUSIONS_BYTES_MAX)};
static const struct td_wire_field of_shrink_partitioned[] = {F(shrink_partitioned, shrink)};
static const struct td_wire_field of_registry_ask[] = {F(registry_ask, round)};
static const struct td_wire_field of_registry_answer[] = {F(registry_answer, round),
                                                          F(registry_answer, is_draining)};
static const struct td_wire_field of_grant[] = {F(grant, first), F(grant, count), F(grant, token)};
static const struct td_wire_field of_granted[] = {F(granted, first), F(granted, count),
                                                  F(granted, is_granted)};

/* A kind without a list of fields does not compile. */

const struct td_wire_kind td_wire_kinds[] = {
#define MESSAGE_KIND(number, NAME, name)                                                           \
    KIND(name, TD_MESSAGE_##NAME, torus__peer__##name##__descriptor, .is_sound = NULL),
    TD_MESSAGE_KINDS(MESSAGE_KIND)
#undef MESSAGE_KIND
};
const unsigned td_wire_kinds_count = sizeof td_wire_kinds / sizeof td_wire_kinds[0];

/* The number of a kind to its place in the table, plus 1. */
enum {
#define INDEX(number, NAME, name) INDEX_##NAME,
    TD_MESSAGE_KINDS(INDEX)
#undef INDEX
};
static const uint8_t place_of[] = {
#define AT(number, NAME, name) [number] = INDEX_##NAME + 1,
    TD_MESSAGE_KINDS(AT)
#undef AT
};

const struct td_wire_kind *td_wire_kind(unsigned number)
{
    bool known = number < sizeof place_of && place_of[number];
    return known ? &td_wire_kinds[place_of[number] - 1] : NULL;
}
