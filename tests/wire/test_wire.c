/* SPDX-License-Identifier: Apache-2.0 */
/* A written message is read back unchanged; one that does not fit or exceeds a limit is refused.
 * `test_wire SEED` repeats a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "forms.h"
#include "wire/client.h"
#include "wire/packet.h"

enum { ROUNDS = 200 };

static uint64_t seed = 1;
static struct td_wire_memory memory;
static const char *why;
static uint8_t bytes[TD_DATAGRAM_MAX];

/* ---- comparing ---- */

#define SAME(field) assert_int_equal(a->field, b->field)
#define SAME_TEXT(field) assert_string_equal(a->field, b->field)

static void same_call(const struct td_call *a, const struct td_call *b)
{
    assert_int_equal(td_call_compare(a, b), 0);
}

static void same_place(const struct td_place *a, const struct td_place *b)
{
    SAME(region);
    SAME(offset);
    SAME(bytes);
    if (!a->form || !b->form) {
        assert_ptr_equal(a->form, b->form);
        return;
    }
    SAME(form->bytes);
    SAME(form->extent);
    SAME(form->loops);
    for (uint32_t i = 0; i < a->form->loops; i++) {
        SAME(form->loop[i].at);
        SAME(form->loop[i].stride);
        SAME(form->loop[i].count);
        SAME(form->loop[i].bytes);
        SAME(form->loop[i].inner);
    }
}

static void same_box(const struct td_box *a, const struct td_box *b)
{
    SAME(dimensions);
    for (uint32_t d = 0; d < a->dimensions; d++) {
        SAME(begin[d]);
        SAME(count[d]);
    }
}

static void same_numbers(const uint64_t *a, uint32_t as, const uint64_t *b, uint32_t bs)
{
    assert_int_equal(as, bs);
    for (uint32_t i = 0; i < as; i++)
        assert_int_equal(a[i], b[i]);
}

static void same_counts(const struct td_rank_counts *a, const struct td_rank_counts *b)
{
    same_numbers(a->count, a->counts, b->count, b->counts);
    same_numbers(a->at, a->ats, b->at, b->ats);
}

static void same_description(const struct td_description *a, const struct td_description *b)
{
    SAME(fft.dimensions);
    SAME(fft.type);
    SAME(fft.sign);
    SAME(fft.scale);
    SAME(fft.method);
    SAME(redist.dimensions);
    SAME(redist.schedule);
    SAME(redist.element);
    for (uint32_t d = 0; d < TD_DIMENSIONS_MAX; d++) {
        SAME(fft.size[d]);
        SAME(fft.transform[d]);
        SAME(fft.grid[d]);
        SAME(redist.size[d]);
        SAME(redist.axes[d]);
    }
    assert_string_equal(a->from ? a->from : "", b->from ? b->from : "");
    assert_string_equal(a->to ? a->to : "", b->to ? b->to : "");
}

static void same_request(const struct td_request *a, const struct td_request *b)
{
    SAME(kind);
    SAME(id);
    switch (a->kind) {
    case TD_REQUEST_HELLO:
        SAME_TEXT(u.hello.program);
        SAME_TEXT(u.hello.strays);
        break;
    case TD_REQUEST_REGION:
        SAME(u.region.region);
        SAME(u.region.bytes);
        break;
    case TD_REQUEST_UNREGION:
        SAME(u.unregion.region);
        break;
    case TD_REQUEST_JOIN:
        SAME_TEXT(u.join.name);
        SAME(u.join.size);
        SAME(u.join.rank);
        SAME(u.join.timeout_ns);
        break;
    case TD_REQUEST_OPERATION:
        same_call(&a->u.operation.call, &b->u.operation.call);
        same_place(&a->u.operation.source, &b->u.operation.source);
        same_place(&a->u.operation.destination, &b->u.operation.destination);
        SAME(u.operation.timeout_ns);
        SAME(u.operation.sequence);
        SAME(u.operation.by_segment);
        SAME(u.operation.waited_ns);
        same_description(&a->u.operation.description, &b->u.operation.description);
        SAME(u.operation.group);
        same_counts(&a->u.operation.from, &b->u.operation.from);
        same_counts(&a->u.operation.to, &b->u.operation.to);
        break;
    case TD_REQUEST_LEAVE:
        SAME(u.leave.group);
        break;
    case TD_REQUEST_UNPLAN:
        SAME(u.unplan.group);
        SAME(u.unplan.plan);
        break;
    case TD_REQUEST_CANCEL:
        SAME(u.cancel.request);
        break;
    case TD_REQUEST_STATUS:
        SAME(u.status.section);
        SAME(u.status.cursor);
        SAME(u.status.node);
        break;
    case TD_REQUEST_GROUP:
        SAME(u.make.group);
        SAME(u.make.number);
        same_numbers(a->u.make.member, a->u.make.members, b->u.make.member, b->u.make.members);
        break;
    case TD_REQUEST_SHRINK:
        SAME(u.shrink.group);
        SAME(u.shrink.timeout_ns);
        break;
    case TD_REQUEST_PEER_REGION:
        SAME(u.peer_region.group);
        SAME(u.peer_region.rank);
        SAME(u.peer_region.region);
        break;
    case TD_REQUEST_END_CALLS:
        SAME(u.end_calls.node);
        SAME_TEXT(u.end_calls.end.job);
        SAME(u.end_calls.end.owner);
        SAME(u.end_calls.end.all);
        SAME(u.end_calls.end.instance);
        SAME(u.end_calls.end.number);
        SAME_TEXT(u.end_calls.end.why);
        break;
    case TD_REQUEST_RELOAD:
        break;
    }
}

static void same_set(const struct td_bitmap *a, const struct td_bitmap *b)
{
    SAME(bytes);
    if (a->bytes)
        assert_memory_equal(a->bits, b->bits, a->bytes);
}

static void same_operation(const struct td_row_operation *a, const struct td_row_operation *b)
{
    SAME_TEXT(job);
    SAME_TEXT(call);
    SAME(group);
    SAME(size);
    SAME(sequence);
    SAME(age_ns);
    SAME(running);
    SAME(steps_done);
    SAME(steps);
    same_set(&a->arrived, &b->arrived);
    SAME(instance);
    SAME(world);
    SAME(waits_for);
    SAME(nobody_waits);
    SAME(idle_ns);
    SAME(absents);
    for (uint32_t i = 0; i < a->absents; i++) {
        SAME(absent[i].rank);
        SAME(absent[i].job_rank);
        SAME(absent[i].node);
        SAME(absent[i].health);
        SAME(absent[i].silent_ns);
        SAME(absent[i].pid);
        SAME(absent[i].doing);
        SAME(absent[i].since_ns);
    }
}

static void same_record(const struct td_row_record *a, const struct td_row_record *b)
{
    SAME_TEXT(job);
    SAME(uid);
    SAME(instance);
    SAME(size);
    SAME(formed_ns);
    SAME(ended_ns);
    SAME(operations);
    SAME(waited_ns);
    SAME(error);
    SAME_TEXT(text);
    SAME(failed_ns);
    SAME(died_ns);
    SAME(died_rank);
    SAME(died_pid);
    SAME(died_paused_ns);
    SAME(unformed);
    same_set(&a->nodes, &b->nodes);
}

static void same_wait(const struct td_row_wait *a, const struct td_row_wait *b)
{
    SAME(instance);
    SAME(rank);
    SAME(node);
    SAME(kind);
    SAME(pid);
    SAME(last);
    SAME(waited_ns);
    SAME(longest_ns);
    SAME(silent_node);
    SAME(silent_ns);
    SAME(silent_longest_ns);
    SAME(longest_age_ns);
    SAME(longest_operation);
    SAME(longest_group);
    SAME(silent_ranks);
    SAME(silences);
    SAME(silence_ns);
    SAME(silence_longest_ns);
    SAME(silence_longest_age_ns);
    SAME(silence_unheard_ns);
    SAME(silence_heard_ns);
}

static void same_link(const struct td_row_link *a, const struct td_row_link *b)
{
    SAME(neighbour);
    SAME(health);
    SAME(up);
    SAME(neighbours);
    SAME(since_ns);
    SAME(packets);
    SAME(bytes);
    SAME(repeated);
    SAME(resumes);
    SAME(silent_ns);
    SAME(busy_ns);
    SAME(busy_bytes);
    SAME(messages);
    SAME(sent);
    SAME(received);
    SAME_TEXT(error);
}

static void same_group(const struct td_row_group *a, const struct td_row_group *b)
{
    SAME_TEXT(job);
    SAME(uid);
    SAME(instance);
    SAME(world);
    SAME(index);
    SAME(size);
    SAME(condition);
    SAME(error);
    SAME_TEXT(text);
    SAME(done);
    SAME(in_flight);
    SAME(age_ns);
    same_set(&a->job_ranks, &b->job_ranks);
    same_set(&a->nodes, &b->nodes);
}

static void same_row(const struct td_status_row *a, const struct td_status_row *b)
{
    SAME(kind);
    switch (a->kind) {
    case TD_ROW_NODE:
        SAME(u.node.node);
        SAME(u.node.operations);
        SAME_TEXT(u.node.endpoint);
        break;
    case TD_ROW_PEER:
        SAME(u.peer.node);
        SAME(u.peer.health);
        SAME_TEXT(u.peer.endpoint);
        SAME_TEXT(u.peer.error);
        SAME(u.peer.silent_ns);
        SAME(u.peer.restarted_ns);
        SAME(u.peer.died);
        SAME(u.peer.restart_silent_ns);
        break;
    case TD_ROW_CLIENT:
        SAME(u.client.pid);
        SAME(u.client.uid);
        SAME_TEXT(u.client.program);
        SAME_TEXT(u.client.job);
        SAME(u.client.group);
        SAME(u.client.rank);
        SAME(u.client.joining);
        SAME(u.client.doing);
        break;
    case TD_ROW_JOB:
        SAME_TEXT(u.job.name);
        SAME(u.job.uid);
        SAME(u.job.size);
        SAME(u.job.joined);
        SAME(u.job.forming_ns);
        same_set(&a->u.job.ranks, &b->u.job.ranks);
        same_set(&a->u.job.gone_nodes, &b->u.job.gone_nodes);
        break;
    case TD_ROW_OPERATION:
        same_operation(&a->u.operation, &b->u.operation);
        break;
    case TD_ROW_ROUTER:
        SAME(u.router.node);
        SAME(u.router.numbers);
        for (uint32_t i = 0; i < a->u.router.numbers; i++)
            SAME(u.router.number[i]);
        break;
    case TD_ROW_DIRECTION:
        SAME(u.direction.direction);
        SAME(u.direction.neighbour);
        SAME(u.direction.up);
        for (uint32_t i = 0; i < TD_WAY_NUMBERS; i++)
            SAME(u.direction.number[i]);
        break;
    case TD_ROW_PLAN:
        SAME_TEXT(u.plan.kind);
        SAME_TEXT(u.plan.precision);
        SAME(u.plan.sign);
        SAME(u.plan.age_ns);
        for (uint32_t i = 0; i < TD_PLAN_NUMBERS; i++)
            SAME(u.plan.number[i]);
        break;
    case TD_ROW_RECORD:
        same_record(&a->u.record, &b->u.record);
        break;
    case TD_ROW_WAIT:
        same_wait(&a->u.wait, &b->u.wait);
        break;
    case TD_ROW_LINK:
        same_link(&a->u.link, &b->u.link);
        break;
    case TD_ROW_GROUP:
        same_group(&a->u.group, &b->u.group);
        break;
    case TD_ROW_FACT:
        SAME_TEXT(u.fact.name);
        SAME_TEXT(u.fact.value);
        SAME_TEXT(u.fact.unit);
        SAME(u.fact.is_set);
        SAME(u.fact.reloads);
        break;
    case TD_ROW_TRACE:
        SAME_TEXT(u.trace.text);
        SAME(u.trace.events);
        for (uint32_t i = 0; i < a->u.trace.events * TD_TRACE_NUMBERS; i++)
            SAME(u.trace.number[i]);
        break;
    case TD_ROW_SIDE:
        SAME(u.side.instance);
        SAME_TEXT(u.side.call);
        SAME(u.side.count);
        SAME(u.side.ranks);
        for (uint32_t i = 0; i < a->u.side.ranks; i++)
            SAME(u.side.rank[i]);
        break;
    case TD_ROW_OUTAGE:
        SAME(u.outage.instance);
        SAME(u.outage.kind);
        SAME(u.outage.rank);
        SAME(u.outage.pid);
        SAME(u.outage.count);
        SAME(u.outage.ns);
        SAME(u.outage.longest_ns);
        SAME(u.outage.longest_age_ns);
        SAME_TEXT(u.outage.text);
        break;
    }
}

static void same_reply(const struct td_reply *a, const struct td_reply *b)
{
    SAME(kind);
    SAME(id);
    SAME(error);
    SAME(refused);
    SAME_TEXT(text);
    switch (a->kind) {
    case TD_REPLY_WELCOME:
        SAME(u.welcome.node);
        SAME(u.welcome.incarnation);
        SAME(u.welcome.packet_bytes);
        SAME(u.welcome.region_bytes_max);
        SAME(u.welcome.form_loops_max);
        SAME(u.welcome.peer_regions);
        SAME(u.welcome.peers_known);
        SAME(u.welcome.topology.dimensions);
        SAME(u.welcome.topology.nodes);
        for (uint32_t d = 0; d < a->u.welcome.topology.dimensions; d++) {
            SAME(u.welcome.topology.size[d]);
            SAME(u.welcome.topology.wrap[d]);
        }
        break;
    case TD_REPLY_JOINED:
        SAME(u.joined.has_segment);
        SAME(u.joined.has_letters);
        SAME(u.joined.group);
        SAME(u.joined.rank);
        SAME(u.joined.size);
        SAME(u.joined.instance);
        SAME(u.joined.lost_bytes);
        if (a->u.joined.lost_bytes)
            assert_memory_equal(a->u.joined.lost, b->u.joined.lost, a->u.joined.lost_bytes);
        break;
    case TD_REPLY_PLANNED:
        SAME(u.planned.plan);
        same_box(&a->u.planned.source, &b->u.planned.source);
        same_box(&a->u.planned.destination, &b->u.planned.destination);
        break;
    case TD_REPLY_STATUS:
        SAME(u.status.section);
        SAME(u.status.next);
        SAME(u.status.rows);
        for (uint32_t i = 0; i < a->u.status.rows; i++)
            same_row(&a->u.status.row[i], &b->u.status.row[i]);
        break;
    case TD_REPLY_ERROR:
    case TD_REPLY_DONE:
    case TD_REPLY_NO_ROOM:
    case TD_REPLY_ROOM:
    case TD_REPLY_PEER_REGION:
        break;
    }
}

/* ---- round trips ---- */

static void every_request_comes_back_as_it_was(void **unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++)
        for (unsigned kind = TD_REQUEST_HELLO; kind <= TD_REQUEST_RELOAD; kind++) {
            struct td_request q = some_request((enum td_request_kind)kind), back;
            size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
            assert_true(size >= TD_WIRE_HEADER_BYTES);
            assert_int_equal(td_wire_decode_request(bytes, size, &memory, &back, &why), TD_OK);
            same_request(&q, &back);
        }
}

static void every_reply_comes_back_as_it_was(void **unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++)
        for (unsigned kind = TD_REPLY_ERROR; kind <= TD_REPLY_PEER_REGION; kind++) {
            struct td_reply r = some_reply((enum td_reply_kind)kind), back;
            size_t size = td_wire_encode_reply(&r, bytes, sizeof bytes);
            assert_true(size >= TD_WIRE_HEADER_BYTES);
            assert_int_equal(td_wire_decode_reply(bytes, size, &memory, &back, &why), TD_OK);
            same_reply(&r, &back);
        }
}

static void handshakes_and_packets_come_back_as_they_were(void **unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        struct td_handshake one = some_handshake(), two, *a = &one, *b = &two;
        size_t size = td_wire_encode_handshake(a, bytes, sizeof bytes);
        assert_int_equal(td_wire_decode_handshake(bytes, size, &memory, b, &why), TD_OK);
        SAME(major);
        SAME(minor);
        SAME(node);
        SAME(incarnation);
        SAME(peer_incarnation);
        SAME(session);
        SAME(bulk);
        SAME(accepted);
        SAME(busy);
        SAME(seals);
        SAME(ciphers);
        SAME(has_random);
        assert_memory_equal(a->random, b->random, sizeof a->random);
        SAME_TEXT(shape);
        SAME_TEXT(text);
        SAME(terms.count);
        if (a->terms.count)
            assert_memory_equal(a->terms.value, b->terms.value,
                                a->terms.count * sizeof *a->terms.value);
    }
    for (int i = 0; i < ROUNDS; i++) {
        struct td_packet one = some_packet(), two, *a = &one, *b = &two;
        td_wire_encode_packet(a, bytes);
        assert_int_equal(td_wire_decode_packet(bytes, TD_WIRE_PACKET_BYTES, b, &why), TD_OK);
        SAME(kind);
        SAME(session);
        SAME(counts_session);
        SAME(link_sequence);
        SAME(received);
        SAME(freed);
        SAME(instance);
        SAME(group);
        SAME(sequence);
        SAME(family);
        SAME(index);
        SAME(offset);
        SAME(bytes);
        SAME(direction);
        SAME(channel);
        SAME(origin);
        SAME(destination);
        SAME(ticket);
        for (int d = 0; d < TD_DIMENSIONS_MAX; d++)
            SAME(left[d]);
        for (int c = 0; c < 3; c++)
            SAME(channel_freed[c]);
    }
}

static void largest_forms_fit(void **unused)
{
    (void)unused;
    char name[TD_NAME_MAX], sentence[TD_TEXT_MAX];
    struct td_reply r = {.kind = TD_REPLY_STATUS, .text = ""}, r_back;
    memset(name, 'n', sizeof name - 1);
    memset(sentence, 's', sizeof sentence - 1);
    name[sizeof name - 1] = sentence[sizeof sentence - 1] = '\0';
    r.u.status.rows = TD_STATUS_ROWS_MAX;
    for (uint32_t i = 0; i < TD_STATUS_ROWS_MAX; i++)
        r.u.status.row[i] = (struct td_status_row){
            .kind = TD_ROW_OPERATION,
            .u.operation = {.job = name,
                            .call = sentence,
                            .size = TD_JOB_RANKS_MAX,
                            .arrived = {blob(TD_BITMAP_BYTES_MAX), TD_BITMAP_BYTES_MAX}}};
    size_t size = td_wire_encode_reply(&r, bytes, sizeof bytes);
    assert_true(size > 0);
    assert_int_equal(td_wire_decode_reply(bytes, size, &memory, &r_back, &why), TD_OK);
    assert_int_equal(r_back.u.status.rows, TD_STATUS_ROWS_MAX);
}

/* ---- what does not fit ---- */

static void encoding_stops_at_the_end_of_the_buffer(void **unused)
{
    (void)unused;
    static uint8_t small[TD_DATAGRAM_MAX];
    for (unsigned kind = TD_REQUEST_HELLO; kind <= TD_REQUEST_RELOAD; kind++) {
        struct td_request q = some_request((enum td_request_kind)kind);
        size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
        for (size_t room = 0; room < size; room++) {
            small[room] = 0xa5;
            assert_int_equal(td_wire_encode_request(&q, small, room), 0);
            assert_int_equal(small[room], 0xa5);
        }
        assert_int_equal(td_wire_encode_request(&q, small, size), size);
    }
}

static void what_is_beyond_a_limit_is_refused(void **unused)
{
    (void)unused;
    struct td_reply r = {.kind = TD_REPLY_ERROR, .id = 1}, r_back;
    size_t size = td_wire_encode_reply(&r, bytes, sizeof bytes); /* an error code that is none */
    assert_int_equal(td_wire_decode_reply(bytes, size, &memory, &r_back, &why), TD_ERR_PROTOCOL);
    r = (struct td_reply){.kind = TD_REPLY_STATUS, .id = 1};
    r.u.status.rows = 1;
    r.u.status.row[0].kind = TD_ROW_PEER;
    r.u.status.row[0].u.peer.health = (enum td_peer_state)(TD_PEER_UNKNOWN + 1);
    size = td_wire_encode_reply(&r, bytes, sizeof bytes);
    assert_int_equal(td_wire_decode_reply(bytes, size, &memory, &r_back, &why), TD_ERR_PROTOCOL);
}

/* One client's call travels between daemons as a witness, where a number out of range costs the
 * link: it must be refused at the local socket. */
static void call_of_unknown_numbers_is_refused_at_the_local_socket(void **unused)
{
    (void)unused;
    static const struct td_call wrong[] = {
        {.kind = 0},
        {.kind = TD_KIND_MAX},
        {.kind = TD_KIND_BARRIER, .type = TD_TYPE_MAX},
        {.kind = TD_KIND_BROADCAST, .type = TD_TYPE_BYTE, .op = TD_OP_END},
        {.kind = TD_KIND_FFT, .type = 255},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = 7}, back;
        q.u.operation.call = wrong[i];
        size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
        assert_int_equal(td_wire_decode_request(bytes, size, &memory, &back, &why),
                         TD_ERR_PROTOCOL);
    }
}

static void other_major_version_is_refused_with_both_numbers(void **unused)
{
    (void)unused;
    struct td_request q = some_request(TD_REQUEST_HELLO), back;
    struct td_reply r;
    size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
    bytes[4] = 9;
    bytes[5] = 3;
    char ours[16];
    snprintf(ours, sizeof ours, "%d.%d", TD_WIRE_MAJOR, TD_WIRE_MINOR);
    assert_int_equal(td_wire_decode_request(bytes, size, &memory, &back, &why), TD_ERR_VERSION);
    assert_non_null(strstr(why, "9.3"));
    assert_non_null(strstr(why, ours));
    assert_int_equal(td_wire_decode_reply(bytes, size, &memory, &r, &why), TD_ERR_VERSION);
    assert_non_null(strstr(why, "9.3"));
    assert_non_null(strstr(why, ours));
    bytes[4] = TD_WIRE_MAJOR; /* a later minor version is understood */
    assert_int_equal(td_wire_decode_request(bytes, size, &memory, &back, &why), TD_OK);
}

static void wrong_magic_and_wrong_type_are_refused(void **unused)
{
    (void)unused;
    struct td_request q = some_request(TD_REQUEST_STATUS), back;
    struct td_reply r;
    struct td_packet p = some_packet(), p_back;
    size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
    assert_int_equal(td_wire_decode_reply(bytes, size, &memory, &r, &why), TD_ERR_PROTOCOL);
    for (unsigned i = 0; i < 4; i++) {
        bytes[i] ^= 1;
        assert_int_equal(td_wire_decode_request(bytes, size, &memory, &back, &why),
                         TD_ERR_PROTOCOL);
        bytes[i] ^= 1;
    }
    bytes[6] = TD_REQUEST_RELOAD + 1;
    assert_int_equal(td_wire_decode_request(bytes, size, &memory, &back, &why), TD_ERR_PROTOCOL);
    td_wire_encode_packet(&p, bytes);
    for (unsigned i = 0; i < 8; i++) { /* magic, then kind */
        bytes[i] ^= 0x80;
        assert_int_equal(td_wire_decode_packet(bytes, TD_WIRE_PACKET_BYTES, &p_back, &why),
                         TD_ERR_PROTOCOL);
        bytes[i] ^= 0x80;
    }
    assert_int_equal(td_wire_decode_packet(bytes, TD_WIRE_PACKET_BYTES - 1, &p_back, &why),
                     TD_ERR_PROTOCOL);
}

static int reseed(void **unused)
{
    (void)unused;
    forms_seed(seed);
    return 0;
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : seed;
    printf("seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_request_comes_back_as_it_was, reseed),
        cmocka_unit_test_setup(every_reply_comes_back_as_it_was, reseed),
        cmocka_unit_test_setup(handshakes_and_packets_come_back_as_they_were, reseed),
        cmocka_unit_test_setup(largest_forms_fit, reseed),
        cmocka_unit_test_setup(encoding_stops_at_the_end_of_the_buffer, reseed),
        cmocka_unit_test_setup(what_is_beyond_a_limit_is_refused, reseed),
        cmocka_unit_test_setup(call_of_unknown_numbers_is_refused_at_the_local_socket, reseed),
        cmocka_unit_test_setup(other_major_version_is_refused_with_both_numbers, reseed),
        cmocka_unit_test_setup(wrong_magic_and_wrong_type_are_refused, reseed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
