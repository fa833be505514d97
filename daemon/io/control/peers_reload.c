/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_reload.h"

#include <string.h>

#include "peers_internal.h"
#include "peers_link.h"
#include "peers_listen.h"
#include "peers_zap.h"

/* has returns true if a key may be a node. */
static bool has(const struct td_security *s, const uint8_t key[TD_KEY_BYTES], uint32_t node)
{
    return td_security_node(s, key) == node;
}

/* end_revoked ends both ways of a link, if the peer's key is not in the list any more. */
static void end_revoked(struct td_peer *p)
{
    static const char why[] = "its key was revoked";
    const struct td_security *s = p->peers->security;
    if (p->in.session && !has(s, p->in.terms.public_key[0], p->node))
        td_peer_end_in(p);
    if (p->out.dealer && !has(s, p->out.terms.public_key[1], p->node))
        td_peer_end(p, why, RETRY_MS);
}

bool td_peers_reload(struct td_peers *peers, struct td_security *fresh)
{
    char digits[TD_KEY_TEXT];
    bool changed =
        memcmp(fresh->public_key, peers->security->public_key, sizeof fresh->public_key) != 0;
    bool same = td_security_same(fresh, peers->security);
    td_security_free(&peers->reloaded);
    peers->reloaded = *fresh;
    peers->security = &peers->reloaded;
    td_key_wipe(fresh->secret, sizeof fresh->secret);
    *fresh = (struct td_security){.keyed = false};
    td_key_print(peers->security->public_key, digits);
    td_log(TD_LOG_INFO, "the keys were read again: %u key%s of peers; this node has %s%.*s",
           peers->security->peers, peers->security->peers == 1 ? "" : "s",
           changed ? "a new one, " : "", TD_KEY_PREFIX, digits);
    if (changed)
        td_peers_replace_router(peers);
    td_peers_renew_holders(peers);
    for (uint32_t n = 0; n < peers->loop->config->topology.nodes; n++)
        end_revoked(&peers->peer[n]);
    return !same;
}
