/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/config/address.h"

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44 /* since Linux 6.15 */
#endif

enum {
    SOCKET_BUFFER = 4 << 20,
    KEEPALIVE_S = 20,
    PROBE_S = 5, /* until a host that does not answer is given up */
    BACKLOG = 128,
    LEAST_MTU = 576, /* Linux tells less for a moment after an interface was down */
};

/* read_tcp reads tcp://HOST:PORT. */
static bool read_tcp(const char *endpoint, struct td_address *address)
{
    return strncmp(endpoint, "tcp://", strlen("tcp://")) == 0 &&
           !td_address_read(endpoint + strlen("tcp://"), address);
}

const char *td_endpoint_path(const char *endpoint)
{
    return strncmp(endpoint, "ipc://", strlen("ipc://")) == 0 ? endpoint + strlen("ipc://") : NULL;
}

bool td_endpoint_has_name(const char *endpoint)
{
    struct td_address address;
    return read_tcp(endpoint, &address) && address.family == AF_UNSPEC;
}

int td_endpoint_open(uv_loop_t *uv, const char *endpoint, union td_stream *s,
                     struct sockaddr_storage *address)
{
    struct td_address at;
    if (td_endpoint_path(endpoint))
        return uv_pipe_init(uv, &s->pipe, 0);
    if (!read_tcp(endpoint, &at) || td_address_socket(&at, address) == 0)
        return UV_EINVAL;
    return uv_tcp_init_ex(uv, &s->tcp, address->ss_family);
}

void td_endpoint_hasten(int fd)
{
    static const int pause_ms = 1000; /* the least that Linux takes */
    setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &pause_ms, sizeof pause_ms);
}

/* Small buffers stall a stream while its other end does not run, and keepalive detects a host that
 * lost power. */
void td_endpoint_adjust(union td_stream *s, unsigned silence_ms, const char *congestion)
{
    int bytes = SOCKET_BUFFER, fd = -1;
    uv_send_buffer_size(&s->handle, &bytes);
    bytes = SOCKET_BUFFER;
    uv_recv_buffer_size(&s->handle, &bytes);
    if (s->handle.type != UV_TCP || uv_fileno(&s->handle, &fd) != 0)
        return;
    uv_tcp_nodelay(&s->tcp, 1);
    uv_tcp_keepalive(&s->tcp, 1, KEEPALIVE_S);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof silence_ms);
    td_endpoint_hasten(fd);
    if (congestion)
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, (socklen_t)strlen(congestion));
}

bool td_endpoint_address(const union td_stream *s, char *text, size_t bytes)
{
    struct sockaddr_storage a;
    int size = sizeof a;
    if (s->handle.type != UV_TCP || uv_tcp_getpeername(&s->tcp, (struct sockaddr *)&a, &size) != 0)
        return false;
    return a.ss_family == AF_INET6 ? uv_ip6_name((const struct sockaddr_in6 *)&a, text, bytes) == 0
                                   : uv_ip4_name((const struct sockaddr_in *)&a, text, bytes) == 0;
}

bool td_endpoint_own(const union td_stream *s, struct sockaddr_storage *address)
{
    int size = sizeof *address;
    return s->handle.type == UV_TCP &&
           uv_tcp_getsockname(&s->tcp, (struct sockaddr *)address, &size) == 0;
}

uint32_t td_endpoint_mtu(const union td_stream *s)
{
    int fd = -1, mtu = 0;
    socklen_t size = sizeof mtu;
    if (s->handle.type != UV_TCP || uv_fileno(&s->handle, &fd) != 0)
        return 0;
    if (getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &size) != 0 &&
        getsockopt(fd, IPPROTO_IPV6, IPV6_MTU, &mtu, &size) != 0)
        return 0;
    return mtu >= LEAST_MTU ? (uint32_t)mtu : 0;
}

void td_endpoint_probe(union td_stream *s)
{
    static const int idle_s = 1, interval_s = 1, probes = PROBE_S;
    static const unsigned limit_ms = PROBE_S * 1000;
    int fd = -1;
    if (s->handle.type != UV_TCP || uv_fileno(&s->handle, &fd) != 0)
        return; /* a Unix socket ends with its process */
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
}

int td_endpoint_listen(const char *endpoint)
{
    struct td_address at;
    struct sockaddr_storage tcp = {0};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    const char *path = td_endpoint_path(endpoint);
    const struct sockaddr *address = path ? (struct sockaddr *)&local : (struct sockaddr *)&tcp;
    socklen_t size = path                      ? (socklen_t)sizeof local
                     : read_tcp(endpoint, &at) ? td_address_socket(&at, &tcp)
                                               : 0;
    int one = 1;
    if (size == 0 || (path && strlen(path) >= sizeof local.sun_path)) {
        errno = EINVAL;
        return -1;
    }
    if (path)
        memcpy(local.sun_path, path, strlen(path));
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (!path) /* half-closed connections of an earlier daemon are no obstacle */
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, address, size) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

bool td_endpoint_is_ours(int fd)
{
    struct ucred other = {0};
    socklen_t length = sizeof other;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 &&
           (other.uid == geteuid() || other.uid == 0);
}
