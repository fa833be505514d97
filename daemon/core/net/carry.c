/* SPDX-License-Identifier: Apache-2.0 */
#include "carry.h"

#include "session.h"

enum {
    /* Unacknowledged messages on a link from which on data waits. The far end acknowledges each
     * 32 at once, so the link is never idle. */
    WINDOW = 64,
};

bool td_carry_has_room(const struct td_link *link)
{
    return link->tree_sent - link->tree_acknowledged < WINDOW;
}

bool td_carry_part(struct td_core *core, struct td_transfer *t, uint32_t most)
{
    struct td_inflight *f = td_inflight_acquire(core, TD_INFLIGHT_CARRY, t->operation);
    if (!f)
        return false;
    f->node = t->peer;
    td_core_notices.in_flight_begin(t->operation);
    uint64_t left = t->bytes - t->offset;
    uint32_t bytes = left < most ? (uint32_t)left : most;
    struct td_packet name = {0};
    td_core_notices.packet_name(t->operation, &name);
    struct td_action *a = td_core_act(core, TD_ACTION_SEND_TREE);
    a->u.tree.node = t->peer;
    a->u.tree.handle = td_inflight_handle(core, f);
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
    t->offset += bytes;
    return true;
}

void td_carry_sent(struct td_core *core, struct td_inflight *f)
{
    struct td_operation *operation = f->operation;
    td_core_queue(core, &core->link[f->node].task); /* it may have lacked an inflight record */
    td_inflight_release(core, f);
    td_core_notices.in_flight_end(core, operation);
}

void td_carry_take(struct td_core *core, uint32_t from, const struct td_message *m)
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
