/* SPDX-License-Identifier: Apache-2.0 */
/* endpoint: the sockets of streams: tcp://ADDRESS:PORT with a numeric address (io/config/address),
 * or ipc://PATH. */
#ifndef TD_IO_BULK_ENDPOINT_H
#define TD_IO_BULK_ENDPOINT_H

#include <stdbool.h>
#include <uv.h>

/* union td_stream: TCP or a Unix socket. */
union td_stream {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

/* td_endpoint_path returns the path of an ipc:// endpoint, or NULL. */
const char *td_endpoint_path(const char *endpoint);
/* td_endpoint_has_name returns true if the address of a tcp:// endpoint is not numeric. */
bool td_endpoint_has_name(const char *endpoint);
/* td_endpoint_open creates a socket of the endpoint's kind; `address` receives that of TCP. It
 * returns 0 or libuv's error. */
int td_endpoint_open(uv_loop_t *uv, const char *endpoint, union td_stream *s,
                     struct sockaddr_storage *address);
/* td_endpoint_listen returns a listening descriptor, or -1 with errno. */
int td_endpoint_listen(const char *endpoint);
/* td_endpoint_adjust sets the options of a connected socket. `silence_ms` ends a TCP connection
 * without acknowledgements. `congestion` names TCP's congestion control; NULL: the kernel's
 * default. A refused option is not an error. */
void td_endpoint_adjust(union td_stream *s, unsigned silence_ms, const char *congestion);
/* td_endpoint_hasten limits TCP's pauses before it tries again, which grow while a cable is out, to
 * a second; on Linux before 6.15 it does nothing. */
void td_endpoint_hasten(int fd);
/* td_endpoint_probe makes the system find out within some seconds whether the other end of a TCP
 * connection still exists; otherwise the connection ends. */
void td_endpoint_probe(union td_stream *s);
/* td_endpoint_address writes the address of the other end; false: a Unix socket. */
bool td_endpoint_address(const union td_stream *s, char *text, size_t bytes);
/* td_endpoint_own returns the address of this end; false: a Unix socket. */
bool td_endpoint_own(const union td_stream *s, struct sockaddr_storage *address);
/* td_endpoint_mtu returns the MTU of the path to the other end, in bytes; 0: not known, or a Unix
 * socket. */
uint32_t td_endpoint_mtu(const union td_stream *s);
/* td_endpoint_is_ours returns true if the other end of a Unix socket runs as this user or root. */
bool td_endpoint_is_ours(int fd);

#endif
