/* SPDX-License-Identifier: Apache-2.0 */
/* How many descriptors of replies a client may leave unread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/clients/passing.h"

enum { MOST = 40 };

static struct td_passing_all all;
static struct td_passing passing, other;
static int end[2]; /* of the daemon, and of the client */

static int set_up(void **state)
{
    (void)state;
    all = (struct td_passing_all){.most = MOST};
    passing = other = (struct td_passing){.all = &all};
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end);
}

static int tear_down(void **state)
{
    (void)state;
    close(end[0]);
    close(end[1]);
    td_passing_forget(&passing);
    td_passing_forget(&other);
    return all.unread == 0 ? 0 : -1;
}

static void send_replies(int count, bool passes)
{
    static const uint8_t reply[40];
    for (int i = 0; i < count; i++) {
        assert_true(td_passing_send(end[0], reply, sizeof reply, passes ? STDIN_FILENO : -1));
        td_passing_sent(&passing, sizeof reply, passes);
    }
}

static void read_replies(int count)
{
    uint8_t bytes[64]; /* the descriptors are dropped */
    for (int i = 0; i < count; i++)
        assert_int_equal(recv(end[1], bytes, sizeof bytes, MSG_DONTWAIT), 40);
}

static void a_client_that_reads_goes_on(void **state)
{
    (void)state;
    for (int i = 0; i < 10 * TD_PASSING_MAX; i++) {
        assert_true(td_passing_may(&passing, end[0]));
        send_replies(1, true);
        read_replies(1);
    }
}

static void a_client_that_does_not_read_waits(void **state)
{
    (void)state;
    for (int i = 0; i < TD_PASSING_MAX; i++) {
        assert_true(td_passing_may(&passing, end[0]));
        send_replies(1, true);
    }
    assert_false(td_passing_may(&passing, end[0]));
    assert_int_equal(all.unread, TD_PASSING_MAX);
    read_replies(TD_PASSING_MAX);
    assert_true(td_passing_may(&passing, end[0]));
    assert_int_equal(all.unread, 0);
}

/* Replies without a descriptor may be unread, as those of calls are while a client computes. */
static void later_replies_may_be_unread(void **state)
{
    (void)state;
    send_replies(TD_PASSING_MAX, true);
    send_replies(8, false);
    assert_false(td_passing_may(&passing, end[0]));
    read_replies(TD_PASSING_MAX);
    assert_true(td_passing_may(&passing, end[0]));
    assert_in_range(passing.unread, 0, TD_PASSING_MAX / 2);
    read_replies(8);
}

static void a_reply_that_waits_is_the_last_one(void **state)
{
    (void)state;
    td_passing_waits(&passing);
    assert_false(td_passing_may(&passing, end[0]));
    td_passing_waited(&passing);
    assert_true(td_passing_may(&passing, end[0]));
}

/* When all clients together have many, one that has read its replies gets one all the same. */
static void others_leave_one_to_each_client(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++)
        td_passing_waits(&other);
    assert_true(td_passing_may(&passing, end[0]));
    send_replies(1, true);
    assert_false(td_passing_may(&passing, end[0]));
    read_replies(1);
    assert_true(td_passing_may(&passing, end[0]));
}

/* Counts stay right beyond the marks. */
static void many_unread_descriptors_are_counted(void **state)
{
    (void)state;
    send_replies(3 * TD_PASSING_MARKS, true);
    assert_int_equal(passing.unread, TD_PASSING_MARKS);
    assert_false(td_passing_may(&passing, end[0]));
    read_replies(3 * TD_PASSING_MARKS);
    assert_true(td_passing_may(&passing, end[0]));
    assert_int_equal(all.unread, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_client_that_reads_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_client_that_does_not_read_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(later_replies_may_be_unread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reply_that_waits_is_the_last_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others_leave_one_to_each_client, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_unread_descriptors_are_counted, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
