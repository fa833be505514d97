/* SPDX-License-Identifier: Apache-2.0 */
/* peers_reload: exchange of keys while the daemon runs. */
#ifndef TD_IO_CONTROL_PEERS_RELOAD_H
#define TD_IO_CONTROL_PEERS_RELOAD_H

#include "peers.h"

/* td_peers_reload takes up this node's key and the list of peers, which a daemon with keys has read
 * again, and empties *fresh. Links of keys that are not in the list any more end. With a new key of
 * this node, its peers connect again; its own links to them stay. It returns false if the keys are
 * the same as before. */
bool td_peers_reload(struct td_peers *peers, struct td_security *fresh);

#endif
