/* SPDX-License-Identifier: Apache-2.0 */
/* peers_listen: the two endpoints of a daemon: the ROUTER, and the listener for channels. */
#ifndef TD_IO_CONTROL_PEERS_LISTEN_H
#define TD_IO_CONTROL_PEERS_LISTEN_H

#include "peers.h"

/* td_peers_listen opens both. On an error it returns false with a sentence in `why`. */
bool td_peers_listen(struct td_peers *peers, char *why, size_t why_bytes);
/* td_peers_replace_router opens another ROUTER at the endpoint, with this node's present key, when
 * ZeroMQ's thread has closed the old listener and td_peers_router_unbound is called. All peers then
 * connect again, and their sessions continue. */
void td_peers_replace_router(struct td_peers *peers);
void td_peers_router_unbound(struct td_peers *peers);
/* td_peers_stop_listening closes both, and removes the files of their Unix sockets. */
void td_peers_stop_listening(struct td_peers *peers);

#endif
