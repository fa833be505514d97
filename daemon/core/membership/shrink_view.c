/* SPDX-License-Identifier: Apache-2.0 */
#include "shrink_view.h"

#include <string.h>

#include "base/hash.h"
#include "core/net/link.h"

bool td_shrink_view_has_rank_besides(const struct td_communicator *c, uint32_t slot,
                                     const uint8_t *bits)
{
    const struct td_group *g = &c->group;
    for (uint32_t i = g->slot_run[slot]; i < g->slot_run[slot + 1]; i++)
        for (uint32_t k = 0; k < g->run[i].count; k++)
            if (!td_bit(bits, g->run[i].first + k * g->run[i].step))
                return true;
    return false;
}

bool td_shrink_view_lives(const struct td_communicator *c, uint32_t slot)
{
    return td_shrink_view_has_rank_besides(c, slot, c->lost_rank);
}

uint32_t td_shrink_view_coordinator(const struct td_communicator *c)
{
    uint32_t slot = 0;
    while (slot < c->group.slots && !td_shrink_view_lives(c, slot))
        slot++;
    return slot < c->group.slots ? slot : UINT32_MAX;
}

bool td_shrink_view_silent(const struct td_core *core, const struct td_communicator *c,
                           uint32_t slot)
{
    return slot != c->slot && td_link_is_given_up(&core->link[c->group.node[slot]]) &&
           td_shrink_view_lives(c, slot);
}

uint32_t td_shrink_view_head(const struct td_core *core, const struct td_communicator *c)
{
    uint32_t slot = 0;
    while (slot < c->group.slots &&
           (!td_shrink_view_lives(c, slot) || td_shrink_view_silent(core, c, slot)))
        slot++;
    return slot < c->group.slots ? slot : UINT32_MAX;
}

uint32_t td_shrink_view_count_lost(const struct td_communicator *c)
{
    return td_bits_count(c->lost_rank, c->group.size);
}

uint32_t td_shrink_view_round(const struct td_communicator *c)
{
    return 1 + td_shrink_view_count_lost(c);
}

uint64_t td_shrink_view_hash(const struct td_communicator *c)
{
    uint64_t h = TD_HASH_START;
    for (uint32_t i = 0; i < td_bit_bytes(c->group.size); i++)
        h = td_hash_byte(h, c->lost_rank[i]);
    return h;
}

bool td_shrink_view_lose(struct td_communicator *c, uint32_t rank)
{
    bool news = !td_bit(c->lost_rank, rank);
    td_bit_set(c->lost_rank, rank);
    return news;
}

bool td_shrink_view_lose_slot(struct td_communicator *c, uint32_t slot)
{
    bool news = false;
    for (uint32_t i = 0; i < td_group_slot_ranks(&c->group, slot); i++)
        news |= td_shrink_view_lose(c, td_group_rank(&c->group, slot, i));
    return news;
}

bool td_shrink_view_learn(struct td_communicator *c, const struct td_bitmap *lost)
{
    bool news = false;
    if (lost->bytes == td_bit_bytes(c->group.size) &&
        memcmp(lost->bits, c->lost_rank, lost->bytes) == 0)
        return false; /* the common case */
    for (uint32_t rank = 0; rank < c->group.size && rank / 8 < lost->bytes; rank++)
        if (td_bit(lost->bits, rank))
            news |= td_shrink_view_lose(c, rank);
    return news;
}
