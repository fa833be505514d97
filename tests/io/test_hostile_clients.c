/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that try to stop the daemon from serving others: they pass descriptors whose close()
 * sleeps, keep all places, read no replies, and give back memory that they have shared. */
#include "raw.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINGER_SECONDS = 8 };

/* ---- descriptors whose close() sleeps ---- */

static int far_end = -1;

/* lingering returns a socket whose last close() sleeps, because its far end reads nothing. */
static int lingering(void)
{
    static uint8_t junk[65536];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    (void)connect(fd, (struct sockaddr *)&address, sizeof address);
    far_end = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(far_end >= 0);
    while (send(fd, junk, sizeof junk, MSG_NOSIGNAL) > 0)
        continue;
    struct linger l = {.l_onoff = 1, .l_linger = LINGER_SECONDS};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l), 0);
    close(listener);
    return fd;
}

/* expect_service checks that a new client is served at once. */
static void expect_service(void)
{
    double before = seconds();
    close(raw_greeted());
    double took = seconds() - before;
    if (took > LINGER_SECONDS / 2.0)
        fail_msg("the daemon served nobody for %.1f s", took);
}

/* hold_daemon stops the daemon, so that this process can close its descriptors before the daemon
 * reads what was sent. */
static void hold_daemon(void)
{
    int status = 0;
    kill(daemon_pid[0], SIGSTOP);
    assert_int_equal(waitpid(daemon_pid[0], &status, WUNTRACED), daemon_pid[0]);
}

static void a_lingering_socket_delays_nobody(void **state)
{
    (void)state;
    const struct td_request hello = {.kind = TD_REQUEST_HELLO, .id = 1};
    const struct td_request region = {
        .kind = TD_REQUEST_REGION, .id = 2, .u.region = {.region = 1, .bytes = 4096}};
    start(1, "");
    for (int i = 0; i < 3; i++) {
        int fd = i == 1 ? raw_greeted() : raw_open(), passed = lingering();
        int many[RAW_PASS_MAX];
        for (int k = 0; k < RAW_PASS_MAX; k++)
            many[k] = passed;
        hold_daemon();
        if (i == 0)
            raw_send(fd, hello, &passed, 1);
        else if (i == 1)
            raw_send(fd, region, &passed, 1);
        else
            raw_send(fd, hello, many, RAW_PASS_MAX);
        close(passed);
        kill(daemon_pid[0], SIGCONT);
        expect_service();
        close(fd);
        close(far_end);
    }
    stop();
}

/* The connection is closed while a request with the socket is still unread. */
static void an_unread_lingering_socket_delays_nobody(void **state)
{
    (void)state;
    const struct td_request hello = {.kind = TD_REQUEST_HELLO, .id = 1};
    start(1, "");
    int fd = raw_open(), passed = lingering();
    hold_daemon();
    assert_int_equal(send(fd, "garbage", 7, 0), 7);
    raw_send(fd, hello, &passed, 1);
    close(passed);
    kill(daemon_pid[0], SIGCONT);
    expect_service();
    close(fd);
    expect_service();
    close(far_end);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_lingering_socket_delays_nobody, clean_up),
        cmocka_unit_test_teardown(an_unread_lingering_socket_delays_nobody, clean_up),
    };
    cmocka_set_test_filter(getenv("TORUS_TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
