/* SPDX-License-Identifier: Apache-2.0 */
/* peers: the connections to other daemons.
 *
 * Each daemon listens with a ROUTER for tree messages and with a listener for channels (streams of
 * packets). It opens a DEALER and a channel to each daemon that it sends to. A link is one-way: the
 * far end sends only the replies to the two handshakes. Tree messages are few and use ZeroMQ with
 * its thread; between tree neighbours most take a channel of their own (traffic/express.h). Packets
 * go directly to the socket, because a second thread would cost more than the transmission
 * (docs/architecture.md). Each connection has a number. ZeroMQ does not reconnect; this module
 * does, with a new number. When one connection of a link ends, the other is closed too. Owns:
 * sockets, received payloads until RELEASE_BUFFER, tree messages until FORGET_TREE. */
#ifndef TD_IO_CONTROL_PEERS_H
#define TD_IO_CONTROL_PEERS_H

#include "io/loop.h"

struct td_peers *td_peers_create(struct td_loop *loop);
/* td_peers_bind begins to listen. On an error it returns false with a sentence in `why`. */
bool td_peers_bind(struct td_peers *peers, char *why, size_t why_bytes);
/* td_peers_start connects to the neighbours in the node tree; on the routed fabric to the torus
 * neighbours. */
void td_peers_start(struct td_peers *peers);
/* td_peers_close ends all connections. td_peers_free frees the memory, after the loop has closed
 * all handles. */
void td_peers_close(struct td_peers *peers);
void td_peers_free(struct td_peers *peers);
/* td_peers_settle moves payloads that are arriving to other memory if the core does not expect them
 * at their place any more. It is called before a region is unmapped. */
void td_peers_settle(struct td_peers *peers);
/* td_peers_region_lost: the region with the lost pages is known, and zeros have replaced them.
 * Payloads may be lent and placed again. */
void td_peers_region_lost(struct td_peers *peers);
/* td_peers_bulk_reads counts how often streams of packets have been read. */
uint64_t td_peers_bulk_reads(const struct td_peers *peers);
/* td_peers_up counts the links that are up, td_peers_wanted those that the daemon keeps open, and
 * td_peers_most those that it may need. */
uint32_t td_peers_up(const struct td_peers *peers);
uint32_t td_peers_wanted(const struct td_peers *peers);
uint32_t td_peers_most(const struct td_peers *peers);
/* td_peers_own_fault writes what is wrong with the interface of this host that the link to a node
 * uses. It returns false if it runs, or is not known. */
bool td_peers_own_fault(const struct td_peers *peers, uint32_t node, char *text, size_t bytes);
/* td_peers_mtu returns the least MTU of the paths to peers that are connected over TCP, in bytes,
 * and sets *node to that peer; 0: none is. */
uint32_t td_peers_mtu(const struct td_peers *peers, uint32_t *node);
/* td_peers_security returns the keys in use; they are all zeros without keys. */
const struct td_security *td_peers_security(const struct td_peers *peers);
/* td_peers_reload takes up this node's key and the list of peers, which a daemon with keys has read
 * again, and empties *fresh. Links of keys that are not in the list any more end. With a new key of
 * this node, its peers connect again; its own links to them stay. It returns false if the keys are
 * the same as before. */
bool td_peers_reload(struct td_peers *peers, struct td_security *fresh);

#endif
