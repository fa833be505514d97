/* SPDX-License-Identifier: Apache-2.0 */
#include "denials.h"

#include <sys/socket.h>

#include "wire/client.h"

void td_denials_close(struct td_denials *r, struct td_closer *closer)
{
    for (uint32_t i = 0; i < r->count; i++)
        td_closer_close(closer, r->connection[i].uid, r->connection[i].fd);
    r->count = 0;
}

void td_denials_tell(struct td_denials *r, struct td_closer *closer, int listener, const char *text)
{
    const struct td_reply refusal = {.kind = TD_REPLY_ERROR, .error = TD_ERR_BUSY, .text = text};
    uint8_t bytes[TD_DATAGRAM_MAX];
    size_t size = td_wire_encode_reply(&refusal, bytes, sizeof bytes);
    td_denials_close(r, closer);
    while (r->count < TD_DENIALS_MAX) {
        struct ucred peer = {0};
        socklen_t length = sizeof peer;
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
        (void)send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)shutdown(fd, SHUT_WR);
        r->connection[r->count++] = (struct td_denied){fd, peer.uid};
    }
}
