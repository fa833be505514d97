/* SPDX-License-Identifier: Apache-2.0 */
#include "tcp_bytes.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

uint64_t td_tcp_bytes(int fd, uint64_t otherwise)
{
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
        size < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received)
        return otherwise;
    return info.tcpi_bytes_received;
}
