/* SPDX-License-Identifier: Apache-2.0 */
#include "client_table.h"

#include "base/variables.h"
#include "client.pb-c.h"
#include "field_lines.h"

/* ---- messages in messages ---- */

typedef struct td_call struct_call;
typedef Torus__Client__Call form_call;

/* has_kind and the limits are those of a witness in peer_table.c: the call travels on between
 * daemons; if it passed here and not there, it would end a link. */
static bool has_kind(const void *call)
{
    return ((const struct td_call *)call)->kind > 0;
}

static const struct td_wire_field of_call[] = {CHOICE(call, kind, TD_KIND_MAX - 1, NULL),
                                               CHOICE(call, type, TD_TYPE_MAX - 1, NULL),
                                               CHOICE(call, op, TD_OP_END - 1, NULL),
                                               F(call, root),
                                               F(call, count),
                                               F(call, plan),
                                               F(call, digest),
                                               CHOICE(call, mode, TD_REPRODUCIBLES - 1, NULL)};
static const struct td_wire_kind call =
    KIND(call, 0, torus__client__call__descriptor, .is_sound = has_kind);

typedef struct td_place struct_place;
typedef Torus__Client__Place form_place;
static const struct td_wire_field of_place[] = {F(place, region), F(place, offset), F(place, bytes),
                                                SPECIAL(place, form, td_wire_elements)};
static const struct td_wire_kind place =
    KIND(place, 0, torus__client__place__descriptor, .is_sound = NULL);

typedef struct td_rank_counts struct_counts;
typedef Torus__Client__Counts form_counts;
static const struct td_wire_field of_counts[] = {NUMBERS(counts, count, count, counts, UINT32_MAX),
                                                 NUMBERS(counts, at, place, ats, UINT32_MAX)};
static const struct td_wire_kind counts =
    KIND(counts, 0, torus__client__counts__descriptor, .is_sound = NULL);

typedef struct td_fft struct_fft;
typedef Torus__Client__Fft form_fft;
static const struct td_wire_field of_fft[] = {F(fft, type),
                                              F(fft, sign),
                                              F(fft, scale),
                                              ARRAY(fft, size, size, dimensions),
                                              SECOND(fft, transform, transform, dimensions),
                                              SECOND(fft, grid, grid, dimensions),
                                              CHOICE(fft, method, UINT8_MAX, NULL)};
static const struct td_wire_kind fft =
    KIND(fft, 0, torus__client__fft__descriptor, .is_sound = NULL);

typedef struct td_redist struct_redist;
typedef Torus__Client__Redist form_redist;
static const struct td_wire_field of_redist[] = {F(redist, element), F(redist, schedule),
                                                 ARRAY(redist, size, size, dimensions),
                                                 SECOND(redist, axes, axis, dimensions)};
static const struct td_wire_kind redist =
    KIND(redist, 0, torus__client__redist__descriptor, .is_sound = NULL);

typedef struct td_box struct_box;
typedef Torus__Client__Box form_box;
static const struct td_wire_field of_box[] = {ARRAY(box, begin, begin, dimensions),
                                              SECOND(box, count, count, dimensions)};
static const struct td_wire_kind box =
    KIND(box, 0, torus__client__box__descriptor, .is_sound = NULL);

/* Texts that only the datagram limits. */
#define STRING(kind, field) LINE(kind, field, STRING, .limit = TD_DATAGRAM_MAX)

/* ---- requests: struct td_request and one protobuf message, of which a kind has some fields ----
 */

#define REQUEST(name)                                                                              \
    typedef __typeof__(((struct td_request *)0)->u.name) struct_##name;                            \
    typedef Torus__Client__Request form_##name
REQUEST(hello);
static const struct td_wire_field of_hello[] = {
    STRING(hello, program), LINE(hello, strays, STRING, .limit = TD_STRAYS_MAX - 1)};
REQUEST(region);
static const struct td_wire_field of_region[] = {F(region, region), F(region, bytes),
                                                 INSIDE(region, handle), INSIDE(region, error),
                                                 INSIDE(region, text)};
REQUEST(unregion);
static const struct td_wire_field of_unregion[] = {F(unregion, region)};
REQUEST(join);
static const struct td_wire_field of_join[] = {STRING(join, name), F(join, size), F(join, rank),
                                               F(join, timeout_ns)};
REQUEST(leave);
static const struct td_wire_field of_leave[] = {F(leave, group)};
REQUEST(operation);
static const struct td_wire_field of_operation[] = {
    F(operation, group),
    REQUIRED(operation, call, call),
    AS(operation, description.fft, fft, MESSAGE, .of = &fft),
    AS(operation, description.redist, redist, MESSAGE, .of = &redist),
    AS(operation, description.from, layout_from, STRING, .limit = TD_DATAGRAM_MAX),
    AS(operation, description.to, layout_to, STRING, .limit = TD_DATAGRAM_MAX),
    MESSAGE(operation, source, place),
    MESSAGE(operation, destination, place),
    F(operation, timeout_ns),
    F(operation, sequence),
    F(operation, by_segment),
    F(operation, waited_ns),
    MESSAGE(operation, from, counts),
    MESSAGE(operation, to, counts)};
REQUEST(unplan);
static const struct td_wire_field of_unplan[] = {F(unplan, group), F(unplan, plan)};
REQUEST(cancel);
static const struct td_wire_field of_cancel[] = {F(cancel, request)};
REQUEST(status);
static const struct td_wire_field of_status[] = {F(status, section), F(status, cursor),
                                                 F(status, node)};
REQUEST(make);
static const struct td_wire_field of_make[] = {F(make, group), F(make, number),
                                               NUMBERS(make, member, member, members, UINT32_MAX)};
REQUEST(shrink);
static const struct td_wire_field of_shrink[] = {F(shrink, group), F(shrink, timeout_ns)};
REQUEST(peer_region);
static const struct td_wire_field of_peer_region[] = {F(peer_region, group), F(peer_region, rank),
                                                      F(peer_region, region)};
static bool has_owner(const void *peer_region)
{
    int64_t rank = ((const struct_peer_region *)peer_region)->rank;
    return rank >= 0 && rank <= UINT32_MAX;
}
/* This one has a message of its own. */
REQUEST(end_calls);
typedef struct_end_calls struct_end;
typedef Torus__Client__EndCalls form_end;
static const struct td_wire_field of_end[] = {
    F(end, node),
    INSIDE(end, end.ticket),
    INSIDE(end, end.user),
    AS(end, end.job, job, STRING, .limit = TD_NAME_MAX - 1),
    AS(end, end.owner, owner, U64, .limit = 0),
    AS(end, end.all, all, BOOL, .limit = 0),
    AS(end, end.instance, instance, U64, .limit = 0),
    AS(end, end.number, number, U64, .limit = 0),
    AS(end, end.why, why, STRING, .limit = TD_TEXT_MAX - 1)};
static const struct td_wire_kind end =
    KIND(end, 0, torus__client__end_calls__descriptor, .is_sound = NULL);
static const struct td_wire_field of_end_calls[] = {{.name = "end_calls",
                                                     .type = TD_WIRE_MESSAGE,
                                                     .bytes = sizeof(struct_end_calls),
                                                     .alignment = __alignof__(struct_end_calls),
                                                     .wire = offsetof(form_end_calls, end_calls),
                                                     .of = &end,
                                                     .flags = TD_WIRE_REQUIRED}};

#define REQUEST_KIND(NAME, name, ...)                                                              \
    [TD_REQUEST_##NAME] =                                                                          \
        KIND(name, TD_REQUEST_##NAME, torus__client__request__descriptor, __VA_ARGS__)
static const struct td_wire_kind requests[] = {
    REQUEST_KIND(HELLO, hello, .is_sound = NULL),
    REQUEST_KIND(REGION, region, .is_sound = NULL),
    REQUEST_KIND(UNREGION, unregion, .is_sound = NULL),
    REQUEST_KIND(JOIN, join, .is_sound = NULL),
    REQUEST_KIND(LEAVE, leave, .is_sound = NULL),
    REQUEST_KIND(OPERATION, operation, .is_sound = NULL),
    REQUEST_KIND(UNPLAN, unplan, .is_sound = NULL),
    REQUEST_KIND(CANCEL, cancel, .is_sound = NULL),
    REQUEST_KIND(STATUS, status, .is_sound = NULL),
    REQUEST_KIND(GROUP, make, .is_sound = NULL),
    REQUEST_KIND(SHRINK, shrink, .is_sound = NULL),
    REQUEST_KIND(PEER_REGION, peer_region, .is_sound = has_owner),
    REQUEST_KIND(END_CALLS, end_calls, .is_sound = NULL),
    [TD_REQUEST_RELOAD] = {.number = TD_REQUEST_RELOAD, .name = "reload"},
};

/* ---- replies: struct td_reply and one protobuf message, of which a kind has some fields ---- */

#define REPLY(name)                                                                                \
    typedef __typeof__(((struct td_reply *)0)->u.name) struct_##name;                              \
    typedef Torus__Client__Reply form_##name
REPLY(welcome);
static const struct td_wire_field of_welcome[] = {
    F(welcome, node),
    F(welcome, incarnation),
    AS(welcome, topology, shape, SPECIAL, .special = &td_wire_shape),
    F(welcome, packet_bytes),
    F(welcome, region_bytes_max),
    F(welcome, form_loops_max),
    F(welcome, peer_regions),
    F(welcome, peers_known)};
static bool has_node(const void *welcome)
{
    const struct_welcome *w = welcome;
    return w->node < w->topology.nodes;
}
REPLY(joined);
static const struct td_wire_field of_joined[] = {F(joined, group),
                                                 F(joined, rank),
                                                 F(joined, size),
                                                 F(joined, instance),
                                                 BITMAP(joined, lost, TD_BITMAP_BYTES_MAX),
                                                 INSIDE(joined, is_local),
                                                 INSIDE(joined, job),
                                                 INSIDE(joined, index),
                                                 F(joined, has_segment),
                                                 F(joined, has_letters)};
static bool has_place(const void *joined)
{
    const struct_joined *j = joined;
    return j->size > 0 && j->size <= TD_JOB_RANKS_MAX && j->rank < j->size &&
           !(j->has_segment && j->has_letters);
}
REPLY(planned);
static const struct td_wire_field of_planned[] = {F(planned, plan), MESSAGE(planned, source, box),
                                                  MESSAGE(planned, destination, box)};
typedef __typeof__(((struct td_reply *)0)->u.status) struct_page;
typedef Torus__Client__Reply form_page;
static const struct td_wire_field of_page[] = {F(page, section),
                                               F(page, next),
                                               {.name = "row",
                                                .type = TD_WIRE_SPECIAL,
                                                .offset = offsetof(struct_page, rows),
                                                .bytes = sizeof(uint32_t),
                                                .alignment = __alignof__(uint32_t),
                                                .wire = offsetof(form_page, n_row),
                                                .special = &td_wire_rows},
                                               INSIDE(page, row),
                                               INSIDE(page, page),
                                               INSIDE(page, page_bytes),
                                               F(page, took_ns)};

#define REPLY_KIND(NAME, name, ...)                                                                \
    [TD_REPLY_##NAME] = KIND(name, TD_REPLY_##NAME, torus__client__reply__descriptor, __VA_ARGS__)
#define BARE_REPLY(NAME, text) [TD_REPLY_##NAME] = {.number = TD_REPLY_##NAME, .name = text}
static const struct td_wire_kind replies[] = {
    BARE_REPLY(ERROR, "error"),
    BARE_REPLY(DONE, "done"),
    BARE_REPLY(NO_ROOM, "no_room"),
    BARE_REPLY(ROOM, "room"),
    BARE_REPLY(PEER_REGION, "peer_region"),
    REPLY_KIND(WELCOME, welcome, .is_sound = has_node),
    REPLY_KIND(JOINED, joined, .is_sound = has_place),
    REPLY_KIND(PLANNED, planned, .is_sound = NULL),
    REPLY_KIND(STATUS, page, .is_sound = NULL),
};

/* ---- rows ---- */

#define ROW(kind)                                                                                  \
    typedef struct td_row_##kind struct_row_##kind;                                                \
    typedef __typeof__(*((Torus__Client__Row *)0)->kind) form_row_##kind

static const char *const peer_states[] = {"down", "up", "unknown"}, *const group_states[] = {
                                                                        "active", "parted",
                                                                        "broken"};

ROW(node);
static const struct td_wire_field of_row_node[] = {F(row_node, node), F(row_node, operations),
                                                   STRING(row_node, endpoint)};
ROW(peer);
static const struct td_wire_field of_row_peer[] = {
    F(row_peer, node),          CHOICE(row_peer, state, TD_PEER_UNKNOWN, peer_states),
    STRING(row_peer, endpoint), STRING(row_peer, error),
    F(row_peer, silent_ns),     F(row_peer, restarted_ns),
    F(row_peer, died),          F(row_peer, restart_silent_ns)};
ROW(client);
static const struct td_wire_field of_row_client[] = {
    F(row_client, pid),          F(row_client, uid),
    STRING(row_client, program), STRING(row_client, job),
    F(row_client, seat),         F(row_client, rank),
    F(row_client, joining),      LETTER(row_client, process_state)};
ROW(job);
static const struct td_wire_field of_row_job[] = {STRING(row_job, name),
                                                  F(row_job, uid),
                                                  F(row_job, size),
                                                  F(row_job, joined),
                                                  BITMAP(row_job, ranks, TD_BITMAP_BYTES_MAX),
                                                  BITMAP(row_job, gone_nodes, TD_NODES_MAX / 8),
                                                  F(row_job, forming_ns)};
static bool has_ranks_of_job(const void *row)
{
    const struct td_row_job *r = row;
    return r->ranks.bytes == 0 || r->ranks.bytes * 8 >= r->size;
}

typedef struct td_row_absent struct_absent;
typedef Torus__Client__Absent form_absent;
static const struct td_wire_field of_absent[] = {
    F(absent, rank),
    F(absent, job_rank),
    F(absent, node),
    CHOICE(absent, node_state, TD_PEER_UNKNOWN, peer_states),
    F(absent, silent_ns),
    F(absent, pid),
    LETTER(absent, process_state),
    F(absent, since_ns)};
static const struct td_wire_kind absent =
    KIND(absent, 0, torus__client__absent__descriptor, .is_sound = NULL);
ROW(operation);
static const struct td_wire_field of_row_operation[] = {
    STRING(row_operation, job),
    STRING(row_operation, kind),
    F(row_operation, group),
    F(row_operation, size),
    F(row_operation, sequence),
    F(row_operation, age_ns),
    F(row_operation, running),
    F(row_operation, step),
    F(row_operation, steps),
    BITMAP(row_operation, arrived, TD_BITMAP_BYTES_MAX),
    F(row_operation, instance),
    F(row_operation, job_instance),
    LIST(row_operation, absent, absents, TD_ROW_ABSENTS_MAX, absent),
    CHOICE(row_operation, waits_for, TD_NODES_MAX, NULL),
    F(row_operation, idle_ns),
    F(row_operation, nobody_waits)};
static bool has_ranks_of_group(const void *row)
{
    const struct td_row_operation *r = row;
    return r->arrived.bytes == 0 || r->arrived.bytes * 8 >= r->size;
}

ROW(router);
static const struct td_wire_field of_row_router[] = {F(row_router, node),
                                                     ARRAY(row_router, number, number, numbers)};
static bool has_numbers(const void *row)
{
    uint32_t numbers = ((const struct td_row_router *)row)->numbers;
    return numbers == 1 || numbers == TD_QUEUES_NUMBERS;
}
ROW(direction);
static const struct td_wire_field of_row_direction[] = {
    F(row_direction, direction), F(row_direction, neighbour), F(row_direction, up),
    FULL(row_direction, number)};
ROW(plan);
static const struct td_wire_field of_row_plan[] = {STRING(row_plan, kind),
                                                   STRING(row_plan, precision), F(row_plan, sign),
                                                   F(row_plan, age_ns), FULL(row_plan, number)};
ROW(record);
static const struct td_wire_field of_row_record[] = {STRING(row_record, job),
                                                     F(row_record, uid),
                                                     F(row_record, instance),
                                                     F(row_record, size),
                                                     F(row_record, unformed),
                                                     F(row_record, formed_ns),
                                                     F(row_record, ended_ns),
                                                     F(row_record, operations),
                                                     F(row_record, waited_ns),
                                                     ENDING(row_record, error),
                                                     TEXT(row_record, text),
                                                     F(row_record, failed_ns),
                                                     F(row_record, died_ns),
                                                     F(row_record, died_rank),
                                                     F(row_record, died_pid),
                                                     F(row_record, died_paused_ns),
                                                     BITMAP(row_record, nodes, TD_NODES_MAX / 8)};
ROW(wait);
static const struct td_wire_field of_row_wait[] = {F(row_wait, instance),
                                                   F(row_wait, rank),
                                                   F(row_wait, node),
                                                   F(row_wait, kind),
                                                   F(row_wait, pid),
                                                   F(row_wait, last),
                                                   F(row_wait, waited_ns),
                                                   F(row_wait, longest_ns),
                                                   F(row_wait, silent_node),
                                                   F(row_wait, silent_ns),
                                                   F(row_wait, silent_longest_ns),
                                                   F(row_wait, longest_age_ns),
                                                   F(row_wait, longest_operation),
                                                   F(row_wait, longest_group),
                                                   F(row_wait, silent_ranks),
                                                   F(row_wait, silences),
                                                   F(row_wait, silence_ns),
                                                   F(row_wait, silence_longest_ns),
                                                   F(row_wait, silence_longest_age_ns),
                                                   F(row_wait, silence_unheard_ns),
                                                   F(row_wait, silence_heard_ns)};
ROW(link);
static const struct td_wire_field of_row_link[] = {
    F(row_link, to),
    CHOICE(row_link, state, TD_PEER_UNKNOWN, peer_states),
    F(row_link, up),
    F(row_link, neighbours),
    F(row_link, since_ns),
    F(row_link, packets),
    F(row_link, bytes),
    F(row_link, repeated_packets),
    F(row_link, resumes),
    F(row_link, messages),
    F(row_link, silent_ns),
    F(row_link, busy_ns),
    F(row_link, busy_bytes),
    F(row_link, session_sent_packets),
    F(row_link, session_received_packets),
    STRING(row_link, error)};
ROW(group);
static const struct td_wire_field of_row_group[] = {
    STRING(row_group, job),
    F(row_group, uid),
    F(row_group, instance),
    F(row_group, job_instance),
    F(row_group, index),
    F(row_group, size),
    CHOICE(row_group, state, TD_GROUP_BROKEN, group_states),
    ENDING(row_group, error),
    TEXT(row_group, text),
    F(row_group, calls_done),
    F(row_group, in_flight),
    F(row_group, age_ns),
    BITMAP(row_group, ranks, TD_BITMAP_BYTES_MAX),
    BITMAP(row_group, member_nodes, TD_NODES_MAX / 8)};
ROW(fact);
static const struct td_wire_field of_row_fact[] = {STRING(row_fact, name), STRING(row_fact, value),
                                                   STRING(row_fact, unit), F(row_fact, is_set),
                                                   F(row_fact, reloads)};
ROW(trace);
static const struct td_wire_field of_row_trace[] = {
    STRING(row_trace, text),
    NUMBERS(row_trace, number, number, numbers, TD_TRACE_EVENTS_MAX *TD_TRACE_NUMBERS)};
static bool has_whole_events(const void *row)
{
    return ((const struct td_row_trace *)row)->numbers % TD_TRACE_NUMBERS == 0;
}
ROW(side);
static const struct td_wire_field of_row_side[] = {F(row_side, instance), STRING(row_side, call),
                                                   F(row_side, count),
                                                   ARRAY(row_side, rank, rank, ranks)};
static bool has_no_more_ranks(const void *row)
{
    const struct td_row_side *r = row;
    return r->ranks <= r->count;
}
ROW(outage);
static const struct td_wire_field of_row_outage[] = {
    F(row_outage, instance),   F(row_outage, kind),           F(row_outage, rank),
    F(row_outage, pid),        F(row_outage, count),          F(row_outage, ns),
    F(row_outage, longest_ns), F(row_outage, longest_age_ns), STRING(row_outage, text)};

#define ROW_KIND(NAME, name, ...)                                                                  \
    [TD_ROW_##NAME] =                                                                              \
        KIND(row_##name, TD_ROW_##NAME, torus__client__row_##name##__descriptor, __VA_ARGS__)
static const struct td_wire_kind rows[] = {
    ROW_KIND(NODE, node, .is_sound = NULL),
    ROW_KIND(PEER, peer, .is_sound = NULL),
    ROW_KIND(CLIENT, client, .is_sound = NULL),
    ROW_KIND(JOB, job, .is_sound = has_ranks_of_job),
    ROW_KIND(OPERATION, operation, .is_sound = has_ranks_of_group),
    ROW_KIND(ROUTER, router, .is_sound = has_numbers),
    ROW_KIND(DIRECTION, direction, .is_sound = NULL),
    ROW_KIND(PLAN, plan, .is_sound = NULL),
    ROW_KIND(RECORD, record, .is_sound = NULL),
    ROW_KIND(WAIT, wait, .is_sound = NULL),
    ROW_KIND(LINK, link, .is_sound = NULL),
    ROW_KIND(GROUP, group, .is_sound = NULL),
    ROW_KIND(FACT, fact, .is_sound = NULL),
    ROW_KIND(TRACE, trace, .is_sound = has_whole_events),
    ROW_KIND(SIDE, side, .is_sound = has_no_more_ranks),
    ROW_KIND(OUTAGE, outage, .is_sound = NULL),
};

/* ---- */

#define FIND(table, number)                                                                        \
    ((number) < sizeof(table) / sizeof(table)[0] && (table)[number].name ? &(table)[number] : NULL)

const struct td_wire_kind *td_wire_request(unsigned number)
{
    return FIND(requests, number);
}

const struct td_wire_kind *td_wire_reply(unsigned number)
{
    return FIND(replies, number);
}

const struct td_wire_kind *td_wire_row(unsigned number)
{
    return FIND(rows, number);
}
