/* SPDX-License-Identifier: Apache-2.0 */
#include "passing.h"

#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* The system counts at least so many bytes for a reply besides its own: struct sk_buff, and struct
 * skb_shared_info. */
enum { OVERHEAD_BYTES = 448 };

void td_passing_read(struct td_passing *p, uint64_t unread_bytes)
{
    /* replies are read in order: one that is unread, and all after it, count */
    while (p->unread > 0 &&
           p->sent - p->mark[(p->marks - p->unread) % TD_PASSING_MARKS] > unread_bytes) {
        p->unread--;
        p->all->unread--;
    }
}

bool td_passing_may(struct td_passing *p, int socket)
{
    int bytes = 0;
    if (p->waiting > 0)
        return false;
    if (p->unread == 0 || (p->unread < TD_PASSING_MAX && p->all->unread < p->all->most))
        return true;
    if (ioctl(socket, SIOCOUTQ, &bytes) == 0 && bytes >= 0)
        td_passing_read(p, (uint64_t)bytes);
    return p->unread == 0 || (p->unread < TD_PASSING_MAX && p->all->unread < p->all->most);
}

void td_passing_sent(struct td_passing *p, size_t size, bool passes)
{
    if (passes) {
        p->mark[p->marks++ % TD_PASSING_MARKS] = p->sent;
        if (p->unread < TD_PASSING_MARKS) { /* otherwise it takes the place of the oldest one */
            p->unread++;
            p->all->unread++;
        }
    }
    p->sent += OVERHEAD_BYTES + size;
}

void td_passing_waits(struct td_passing *p)
{
    p->waiting++;
    p->all->unread++;
}

void td_passing_waited(struct td_passing *p)
{
    p->waiting--;
    p->all->unread--;
}

void td_passing_forget(struct td_passing *p)
{
    p->all->unread -= p->unread + p->waiting;
    p->unread = p->waiting = 0;
}

bool td_passing_send(int socket, const uint8_t *bytes, size_t size, int fd)
{
    if (fd < 0)
        return send(socket, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}
