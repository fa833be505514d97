/* SPDX-License-Identifier: Apache-2.0 */
#include "target.h"

#include <stdio.h>
#include <string.h>

#include "io/config/address.h"
#include "io/control/peer.h"

void td_peer_bulk(const struct td_peer *p, char *bulk, size_t bytes)
{
    td_config_bulk(p->peers->loop->config->endpoints[p->node], bulk, bytes);
}

void td_peer_resolve(const struct td_peer *p, const char *endpoint, char *text, size_t bytes)
{
    const char *address = p->target.address;
    if (address[0] && strncmp(endpoint, "tcp://", 6) == 0)
        snprintf(text, bytes, strchr(address, ':') ? "tcp://[%s]%s" : "tcp://%s%s", address,
                 strrchr(endpoint, ':'));
    else
        snprintf(text, bytes, "%s", endpoint);
}

const uint8_t *td_peer_key(const struct td_peer *p)
{
    const uint8_t *key[TD_NODE_KEYS_MAX];
    uint32_t keys = td_security_keys(p->peers->security, p->node, key);
    return keys ? key[p->target.key_turn % keys] : NULL;
}

bool td_peer_turn_key(struct td_peer *p)
{
    const uint8_t *key[TD_NODE_KEYS_MAX];
    uint32_t keys = td_security_keys(p->peers->security, p->node, key);
    p->target.key_turn++;
    return keys > 1 && p->target.key_turn % keys != 0;
}

/* is_at returns true if the endpoint of a peer, or its last reply, has this numeric address. */
static bool is_at(const struct td_peer *p, const char *address)
{
    const char *endpoint = p->peers->loop->config->endpoints[p->node];
    struct td_address configured = {.host = ""};
    if (strncmp(endpoint, "tcp://", strlen("tcp://")) == 0)
        td_address_read(endpoint + strlen("tcp://"), &configured);
    return td_address_same_host(configured.host, address) ||
           (p->target.address[0] && td_address_same_host(p->target.address, address));
}

void td_peers_note_stranger(struct td_peers *peers, const char *address, const char *key)
{
    for (uint32_t n = 0; n < peers->loop->config->topology.nodes; n++) {
        struct td_peer *p = &peers->peer[n];
        if (p->state != TD_CONNECTION_IDLE && p->state != TD_CONNECTION_UP && is_at(p, address))
            snprintf(p->target.stranger, sizeof p->target.stranger, "%s", key);
    }
}
