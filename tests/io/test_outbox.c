/* SPDX-License-Identifier: Apache-2.0 */
/* The replies that wait for a client to read: io/clients/outbox.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/clients/outbox.h"

enum { CLIENTS = 3, BYTES = 8192, ALICE = 1000, BOB = 1001, SHARE = 75 };

static struct td_outbox_all all;
static struct td_outbox box[CLIENTS];
static int client[CLIENTS];
static uint8_t reply[BYTES];

static void begin(void)
{
    static const uint64_t uid[CLIENTS] = {ALICE, ALICE, BOB};
    memset(&all, 0, sizeof all);
    all.passing.most = 1000;
    for (int i = 0; i < CLIENTS; i++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        client[i] = pair[1];
        assert_true(td_outbox_init(&box[i], &all, uid[i], pair[0]));
    }
}

static void end(void)
{
    for (int i = 0; i < CLIENTS; i++) {
        td_outbox_fini(&box[i]);
        td_outbox_fini(&box[i]); /* it is over */
        close(box[i].socket);
        close(client[i]);
    }
    assert_int_equal(all.bytes + all.passing.unread, 0);
    for (int i = 0; i < TD_OUTBOX_BUCKETS; i++)
        assert_null(all.user[i]);
}

static int put(int i, uint8_t number)
{
    reply[0] = number;
    return td_outbox_put(&box[i], reply, sizeof reply, -1, false);
}

/* fill sends replies to a client until one waits, and returns how many its socket has accepted. */
static uint8_t fill(int i)
{
    uint8_t sent = 0;
    int error = 0;
    while (!(error = put(i, sent)))
        sent++;
    assert_int_equal(error, EAGAIN);
    assert_true(sent > 0 && td_outbox_waits(&box[i]));
    return sent;
}

/* hear returns the number of the next reply that a client reads; -1: there is none. */
static int hear(int i)
{
    uint8_t bytes[BYTES];
    ssize_t got = recv(client[i], bytes, sizeof bytes, MSG_DONTWAIT);
    assert_true(got == BYTES || (got < 0 && errno == EAGAIN));
    return got == BYTES ? bytes[0] : -1;
}

static void replies_arrive_in_order(void **state)
{
    (void)state;
    begin();
    uint8_t next = fill(0), heard = 0;
    assert_int_equal(put(0, (uint8_t)(next + 1)), EAGAIN); /* the socket may have room again */
    assert_int_equal(box[0].count, 2);
    for (int got; (got = hear(0)) >= 0 || td_outbox_waits(&box[0]);) {
        if (got >= 0)
            assert_int_equal(got, heard++);
        assert_int_equal(td_outbox_flush(&box[0]), 0);
    }
    assert_int_equal(heard, next + 2);
    assert_int_equal(all.bytes, 0);
    end();
}

static void a_user_has_the_room_that_others_leave(void **state)
{
    enum { MOST = 12 * BYTES };
    (void)state;
    begin();
    assert_true(td_outbox_has_room(&box[0], MOST, SHARE));
    fill(0);
    fill(1);
    for (uint8_t n = 0; td_outbox_has_room(&box[0], MOST, SHARE); n++)
        assert_int_equal(put(0, n), EAGAIN);
    assert_false(td_outbox_has_room(&box[1], MOST, SHARE)); /* of the same user */
    assert_in_range(all.bytes, MOST / 2, MOST * SHARE / 100 + BYTES);
    assert_true(td_outbox_has_room(&box[2], MOST, SHARE));
    fill(2);
    assert_true(td_outbox_has_room(&box[2], MOST, SHARE));
    td_outbox_fini(&box[0]);
    assert_true(td_outbox_has_room(&box[1], MOST, SHARE));
    end();
}

static void a_client_that_reads_nothing_is_given_up(void **state)
{
    (void)state;
    begin();
    uint32_t kept = 0;
    int error = 0;
    fill(0);
    while ((error = put(0, 0)) == EAGAIN)
        kept++;
    assert_int_equal(error, ENOSPC);
    assert_in_range(kept, 1000, 4000);
    close(client[1]);
    assert_int_equal(put(1, 0), EPIPE);
    end();
}

static void a_reply_waits_with_a_copy_of_its_descriptor(void **state)
{
    (void)state;
    begin();
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    fill(0);
    assert_int_equal(td_outbox_put(&box[0], reply, sizeof reply, fd, false), EMFILE);
    assert_int_equal(box[0].passing.waiting, 0);
    assert_int_equal(td_outbox_put(&box[0], reply, sizeof reply, fd, true), EAGAIN);
    close(fd);
    assert_int_equal(box[0].passing.waiting, 1);
    assert_false(td_passing_may(&box[0].passing, box[0].socket));
    while (hear(0) >= 0)
        assert_int_equal(td_outbox_flush(&box[0]), 0);
    assert_int_equal(box[0].passing.waiting, 0);
    assert_int_equal(box[0].passing.unread, 1);
    assert_true(td_passing_may(&box[0].passing, box[0].socket));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_arrive_in_order),
        cmocka_unit_test(a_user_has_the_room_that_others_leave),
        cmocka_unit_test(a_client_that_reads_nothing_is_given_up),
        cmocka_unit_test(a_reply_waits_with_a_copy_of_its_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
