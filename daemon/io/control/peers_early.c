/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_early.h"

#include <stdlib.h>

#include "peers_internal.h"
#include "peers_link.h"
#include "wire/peer.h"

/* The link comes up again, and its session is asked for the message. */
static const char no_memory[] = "no memory here for a tree message from it";

/* struct taken: a message that the core has taken and that is not fed yet. */
struct taken {
    struct taken *next;
    struct td_early_message *message;
    uint32_t node;
};

void td_peers_keep_early(struct td_peers *peers, const struct td_action *a)
{
    uint32_t node = a->u.early.node;
    uint8_t bytes[TD_TREE_MESSAGE_MAX];
    size_t size = td_wire_encode_message(a->u.early.message, bytes, sizeof bytes);
    if (size == 0 ||
        !td_early_messages_keep(&peers->peer[node].early, a->u.early.number, bytes, size))
        td_peers_drop(peers, node, no_memory);
}

void td_peers_take_early(struct td_peers *peers, uint32_t node, uint64_t number)
{
    struct td_early_message *m = td_early_messages_take(&peers->peer[node].early, number);
    struct taken *t = m ? malloc(sizeof *t) : NULL;
    if (!t) {
        free(m);
        td_peers_drop(peers, node, no_memory);
        return;
    }
    *t = (struct taken){.message = m, .node = node};
    struct taken **last = &peers->taken;
    while (*last)
        last = &(*last)->next;
    *last = t;
}

void td_peers_forget_early(struct td_peers *peers, uint32_t node)
{
    td_early_messages_forget(&peers->peer[node].early);
}

struct td_early_message *td_peers_next_early(struct td_peers *peers, uint32_t *node)
{
    struct taken *t = peers->taken;
    if (!t)
        return NULL;
    struct td_early_message *m = t->message;
    *node = t->node;
    peers->taken = t->next;
    free(t);
    return m;
}

void td_peers_free_early(struct td_peers *peers)
{
    uint32_t node = 0;
    for (struct td_early_message *m; (m = td_peers_next_early(peers, &node));)
        free(m);
    for (uint32_t n = 0; n < peers->loop->config->topology.nodes; n++)
        td_peers_forget_early(peers, n);
}
