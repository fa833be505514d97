/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of received packets that travel alone: which of them are sent, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "io/control/peer.h"
#include "io/control/traffic/packets.h"
#include "until.h"

enum { HANDSHAKE_MS = 5000, PACKETS_MAX = 16, BYTES = 1000 };

static struct td_loop loop;
static struct td_peers peers;
static struct td_peer peer; /* the other end of a stream to this process */
static struct td_listener *listener;
static uv_timer_t deadline;
static char directory[64], endpoint[96];
static struct td_channel *accepted;
static bool answered;
static struct td_packet got[PACKETS_MAX];
static uint32_t packets;
static uint64_t reply; /* freed counts to keep when a packet arrives; 0: none */

static void keep(uint64_t freed);

/* ---- what channels call ---- */

static void on_packet(void *user, struct td_channel *c, const struct td_packet *packet,
                      struct td_payload *payload)
{
    (void)user;
    (void)c;
    assert_true(packets < PACKETS_MAX);
    got[packets++] = *packet;
    if (payload)
        td_payload_drop(payload);
    if (reply)
        keep(reply);
    reply = 0;
}

static void on_ended(void *user, struct td_channel *c, bool breach, const char *why)
{
    (void)user;
    (void)c;
    assert_false(breach);
    (void)why;
}

static const struct td_channel_calls of_sender = {.packet = on_packet, .ended = on_ended};

static void on_handshake(void *user, struct td_channel *c, const uint8_t *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    (void)size;
    accepted = c;
    assert_true(td_channel_send_handshake(c, (const uint8_t *)"welcome", 7));
    td_channel_belongs(c, &of_sender, NULL, NULL);
}

static void on_answer(void *user, struct td_channel *c, const uint8_t *bytes, size_t size)
{
    (void)user;
    (void)c;
    (void)bytes;
    (void)size;
    answered = true;
}

static const struct td_channel_calls of_strangers = {.handshake = on_handshake, .ended = on_ended};
static const struct td_channel_calls of_peer = {.handshake = on_answer, .ended = on_ended};

/* ---- life ---- */

#define UNTIL(condition) UNTIL_IN(&loop.uv, &deadline, condition)

static int setup(void **unused)
{
    (void)unused;
    packets = 0;
    reply = 0;
    answered = false;
    snprintf(directory, sizeof directory, "/tmp/torus-counts-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(endpoint, sizeof endpoint, "ipc://%s/s", directory);
    loop = (struct td_loop){.peers = &peers};
    uv_loop_init(&loop.uv);
    uv_timer_init(&loop.uv, &deadline);
    peers = (struct td_peers){.loop = &loop};
    peer = (struct td_peer){.peers = &peers, .state = TD_CONNECTION_UP};
    td_payload_pool_init(&peers.pool, BYTES);
    peers.channels = (struct td_channels){.uv = &loop.uv,
                                          .pool = &peers.pool,
                                          .descriptors = &loop.descriptors,
                                          .handshake_ms = HANDSHAKE_MS};
    td_peers_counts_init(&peers);
    listener = td_listener_create(&peers.channels, endpoint, &of_strangers, NULL);
    assert_non_null(listener);
    peer.out.channel = td_channel_open(&peers.channels, endpoint, (const uint8_t *)"hello", 5, NULL,
                                       &of_peer, NULL);
    assert_non_null(peer.out.channel);
    UNTIL(answered);
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    td_channels_close(&peers.channels);
    td_listener_close(listener);
    if (!uv_is_closing((uv_handle_t *)&peers.counts_check))
        td_peers_counts_close(&peers);
    uv_close((uv_handle_t *)&deadline, NULL);
    while (uv_run(&loop.uv, UV_RUN_DEFAULT) != 0)
        continue;
    td_payload_pool_fini(&peers.pool);
    return uv_loop_close(&loop.uv) || rmdir(directory);
}

/* ---- */

static void keep(uint64_t freed)
{
    const struct td_packet counts = {.kind = TD_PACKET_CREDIT, .freed = freed};
    td_peer_keep_counts(&peer, &counts);
}

/* send_counts sends counts that may not wait. */
static void send_counts(uint64_t freed)
{
    const struct td_packet counts = {.kind = TD_PACKET_CREDIT, .freed = freed};
    td_peer_transmit(&peer, &counts, NULL);
}

static void send_data(uint64_t freed)
{
    const struct td_packet data = {.kind = TD_PACKET_DATA, .bytes = BYTES, .freed = freed};
    struct td_payload *payload = td_payload_new(&peers.pool, BYTES);
    assert_non_null(payload);
    memset(payload->data, 1, BYTES);
    td_peer_transmit(&peer, &data, payload);
}

/* expect runs the loop until the packets have come whose `freed` is in the list, and no others. */
static void expect(uint32_t count, const uint64_t freed[])
{
    keep(100); /* it comes last */
    UNTIL(packets > 0 && got[packets - 1].freed == 100);
    assert_int_equal(packets, count + 1);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(got[i].freed, freed[i]);
}

static void turn(void)
{
    uv_run(&loop.uv, UV_RUN_NOWAIT);
}

static void the_last_counts_of_a_turn_are_sent(void **unused)
{
    (void)unused;
    for (uint64_t i = 1; i <= 5; i++)
        keep(i);
    turn();
    for (uint64_t i = 6; i <= 8; i++)
        keep(i);
    turn();
    turn();
    expect(2, (const uint64_t[]){5, 8});
}

static void data_takes_counts_along(void **unused)
{
    (void)unused;
    keep(1);
    send_data(2);
    send_data(2);
    turn();
    send_data(3);
    keep(4);
    turn();
    expect(4, (const uint64_t[]){2, 2, 3, 4});
}

static void counts_that_may_not_wait_leave_at_once(void **unused)
{
    (void)unused;
    keep(1);
    send_counts(2);
    send_counts(3);
    turn();
    expect(2, (const uint64_t[]){2, 3});
}

static void counts_that_wait_are_sent_at_the_end(void **unused)
{
    (void)unused;
    keep(7);
    td_peers_counts_close(&peers);
    UNTIL(packets > 0);
    assert_int_equal(packets, 1);
    assert_int_equal(got[0].freed, 7);
}

/* Counts of packets that the loop has just read do not wait until it has slept. */
static void counts_leave_in_the_turn_that_made_them(void **unused)
{
    (void)unused;
    send_data(1);
    reply = 9;
    while (reply)
        uv_run(&loop.uv, UV_RUN_ONCE);
    assert_false(peer.owed.due);
    expect(2, (const uint64_t[]){1, 9});
}

static void counts_of_a_link_that_is_down_are_dropped(void **unused)
{
    (void)unused;
    struct td_channel *channel = peer.out.channel;
    peer.state = TD_CONNECTION_PAUSING;
    peer.out.channel = NULL;
    keep(1);
    turn();
    peer.state = TD_CONNECTION_UP;
    peer.out.channel = channel;
    expect(0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_counts_of_a_turn_are_sent, setup, teardown),
        cmocka_unit_test_setup_teardown(data_takes_counts_along, setup, teardown),
        cmocka_unit_test_setup_teardown(counts_that_may_not_wait_leave_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(counts_that_wait_are_sent_at_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(counts_leave_in_the_turn_that_made_them, setup, teardown),
        cmocka_unit_test_setup_teardown(counts_of_a_link_that_is_down_are_dropped, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
