/* SPDX-License-Identifier: Apache-2.0 */
/* zsocket: ZeroMQ sockets on a libuv loop.
 *
 * A ZeroMQ descriptor is edge-triggered: it is readable when the socket's events may have changed
 * since they were last read. Therefore a socket is marked (*stirred*) when its descriptor fires and
 * after each send. Stirred sockets are read before the loop waits again, a bounded number of
 * messages at a time.
 * Owns: the sockets. Invariant: the loop does not wait while a socket is stirred. */
#ifndef TD_IO_CONTROL_ZSOCKET_H
#define TD_IO_CONTROL_ZSOCKET_H

#include <stdbool.h>
#include <uv.h>
#include <zmq.h>

struct td_zsocket;

/* td_zreceive receives one message. It returns false if no message is queued. It may close any
 * socket, also its own. */
typedef bool td_zreceive(void *user, void *socket);

struct td_zloop {
    uv_loop_t *uv;
    uv_prepare_t prepare;
    uv_check_t check;
    uv_idle_t idle;
    struct td_zsocket *sockets;
    unsigned stirred; /* sockets that are: a turn of the loop without any looks at none */
};

void td_zloop_init(struct td_zloop *z, uv_loop_t *uv);
/* td_zsocket_create owns the ZeroMQ socket. On an error it closes the socket and returns NULL. */
struct td_zsocket *td_zsocket_create(struct td_zloop *z, void *socket, td_zreceive *receive,
                                     void *user);
/* td_zsocket_raw returns the ZeroMQ socket. td_zsocket_stir marks it as stirred. */
void *td_zsocket_raw(const struct td_zsocket *s);
void td_zsocket_stir(struct td_zsocket *s);
/* td_zsocket_parts receives the parts of one message, and returns their number; part[most - 1] is
 * the last of those in excess. The caller closes all of part[most]. */
int td_zsocket_parts(void *socket, zmq_msg_t *part, int most);
/* td_zsocket_monitor returns a socket that receives events of another one's connections, or NULL
 * with errno. td_zsocket_event receives one. It returns false if none is queued. */
void *td_zsocket_monitor(void *context, void *socket, const char *endpoint, int events);
bool td_zsocket_event(void *monitor, uint16_t *event, uint32_t *value);
/* td_zsocket_close accepts NULL. */
void td_zsocket_close(struct td_zsocket *s);

#endif
