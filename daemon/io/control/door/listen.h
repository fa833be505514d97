/* SPDX-License-Identifier: Apache-2.0 */
/* listen: the two endpoints of a daemon: the ROUTER, whose messages are read here, and the listener
 * for channels. */
#ifndef TD_IO_CONTROL_DOOR_LISTEN_H
#define TD_IO_CONTROL_DOOR_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

struct td_peers;

/* td_peers_listen opens both. On an error it returns false with a sentence in `why`. */
bool td_peers_listen(struct td_peers *peers, char *why, size_t why_bytes);
/* td_peers_replace_router opens another ROUTER at the endpoint, with this node's present key, when
 * ZeroMQ's thread has closed the old listener. All peers then connect again, and their sessions
 * continue. */
void td_peers_replace_router(struct td_peers *peers);
/* td_peers_stop_listening closes both, and removes the files of their Unix sockets. */
void td_peers_stop_listening(struct td_peers *peers);

#endif
