/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_routed_carry.h"
#include "session.h"

enum {
    CARRYING_MAX = 256, /* messages of a node that are carried at a time; others wait */
    /* Unacknowledged messages on a link from which on data waits. The far end acknowledges each
     * 32 at once, so the link is never idle. */
    CARRY_WINDOW = 64,
};

bool td_routed_carry_has_room(const struct td_core *core)
{
    return core->routed->carrying < CARRYING_MAX;
}

void td_routed_carry(struct td_core *core, struct td_transfer *t)
{
    struct td_routed *routed = core->routed;
    struct td_link *link = &core->link[t->peer];
    struct td_transfer **at = &routed->carried;
    while (*at)
        at = &(*at)->next;
    *at = t;
    t->next = NULL;
    t->carried = true;
    routed->carrying++;
    link->owed = true;
    td_core_queue(core, &link->task);
}

void td_routed_carry_end(struct td_core *core, struct td_transfer *t)
{
    struct td_transfer **at = &core->routed->carried;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    core->routed->carrying--;
}

/* send_part sends the next bytes of a message. */
static void send_part(struct td_core *core, struct td_transfer *t)
{
    uint64_t left = t->bytes - t->offset;
    uint32_t bytes = left < TD_RIDE_BYTES_MAX ? (uint32_t)left : TD_RIDE_BYTES_MAX;
    struct td_packet name = {0};
    td_core_notices.packet_name(t->operation, &name);
    struct td_action *a = td_core_act(core, TD_ACTION_SEND_TREE);
    a->u.tree.node = t->peer;
    a->u.tree.message = (struct td_message){.kind = TD_MESSAGE_CARRY,
                                            .instance = name.instance,
                                            .group = name.group,
                                            .sequence = name.sequence,
                                            .u.carry = {.ticket = t->ticket,
                                                        .family = t->peer_family,
                                                        .index = t->peer_index,
                                                        .offset = t->offset}};
    td_slice_copy(&a->u.tree.payload, &t->from);
    a->u.tree.payload_offset = t->offset;
    a->u.tree.payload_bytes = bytes;
    td_core_notices.packet_view(t->operation, &a->u.tree.view);
    td_session_seal(core, a);
    td_core_notices.sent(core, t->operation, t->peer, bytes);
    td_core_notices.arriving(core, &name); /* the window moves on: it does not stand still */
    t->offset += bytes;
}

bool td_routed_carry_on(struct td_core *core, struct td_link *link, bool *left)
{
    for (struct td_transfer *t = core->routed->carried; t; t = t->next)
        while (t->peer == link->node && t->offset < t->bytes) {
            if (link->tree_sent - link->tree_acknowledged >= CARRY_WINDOW) {
                *left = true;
                return true;
            }
            if (!td_core_room(core))
                return false;
            send_part(core, t);
        }
    return true;
}

void td_routed_carried(struct td_core *core, uint32_t from, const struct td_message *m)
{
    const struct td_message_carry *carry = &m->u.carry;
    struct td_packet packet = {.kind = TD_PACKET_DATA,
                               .bytes = carry->payload.bytes,
                               .instance = m->instance,
                               .sequence = m->sequence,
                               .index = carry->index,
                               .offset = carry->offset,
                               .group = m->group,
                               .family = carry->family,
                               .origin = from,
                               .destination = core->node,
                               .ticket = carry->ticket,
                               .channel = TD_CHANNELS}; /* it occupies no slot */
    td_core_notices.carried(core, from, &packet, carry->payload.data);
}
