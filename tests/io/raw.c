/* SPDX-License-Identifier: Apache-2.0 */
#include "raw.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static uint8_t bytes[TD_DATAGRAM_MAX];
static struct td_wire_memory wire_memory;

int raw_open(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/s0", folder);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

bool raw_reply(int fd, struct td_reply *reply)
{
    const char *why = NULL;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 10000), 1);
    ssize_t size = 0;
    do /* ECONNRESET comes once, before what the daemon said */
        size = recv(fd, bytes, sizeof bytes, 0);
    while (size < 0 && errno == ECONNRESET);
    if (size <= 0)
        return false;
    assert_int_equal(td_wire_decode_reply(bytes, (size_t)size, &wire_memory, reply, &why), TD_OK);
    return true;
}

int raw_reply_with(int fd, struct td_reply *reply)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof control};
    const char *why = NULL;
    int passed = -1;
    ssize_t size = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
    assert_true(size > 0);
    assert_int_equal(td_wire_decode_reply(bytes, (size_t)size, &wire_memory, reply, &why), TD_OK);
    const struct cmsghdr *rights = CMSG_FIRSTHDR(&m);
    if (rights)
        memcpy(&passed, CMSG_DATA(rights), sizeof passed);
    return passed;
}

void raw_send(int fd, struct td_request q, const int *pass, uint32_t count)
{
    struct iovec part = {.iov_base = bytes,
                         .iov_len = td_wire_encode_request(&q, bytes, sizeof bytes)};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(RAW_PASS_MAX * sizeof(int))] = {0};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    assert_true(count <= RAW_PASS_MAX);
    if (count > 0) {
        m.msg_control = control;
        m.msg_controllen = CMSG_SPACE(count * sizeof *pass);
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN(count * sizeof *pass);
        memcpy(CMSG_DATA(h), pass, count * sizeof *pass);
    }
    assert_true(sendmsg(fd, &m, MSG_NOSIGNAL) > 0);
}

struct td_reply raw_ask(int fd, struct td_request q, int pass)
{
    struct td_reply reply = {0};
    raw_send(fd, q, &pass, pass >= 0);
    assert_true(raw_reply(fd, &reply));
    return reply;
}

int raw_greeted(void)
{
    int fd = raw_open();
    struct td_request q = {.kind = TD_REQUEST_HELLO, .id = 1};
    assert_int_equal(raw_ask(fd, q, -1).kind, TD_REPLY_WELCOME);
    return fd;
}
