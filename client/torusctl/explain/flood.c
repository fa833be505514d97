/* SPDX-License-Identifier: Apache-2.0 */
#include "flood.h"

#include "model/group.h"
#include "base/quantity.h"

/* dimension_of returns the machine's dimension of a ring. */
static uint32_t dimension_of(const struct explain_machine *m, const struct td_program *p,
                             uint32_t ring)
{
    uint32_t here[TD_DIMENSIONS_MAX], there[TD_DIMENSIONS_MAX], d = 0;
    td_topology_coordinates(&m->topology, p->group->node[p->slot], here);
    td_topology_coordinates(&m->topology,
                            p->group->node[td_ring_along(&p->ring[ring], p->slot, 0, 1)], there);
    while (d + 1 < m->topology.dimensions && here[d] == there[d])
        d++;
    return d;
}

static uint64_t block_bytes(const struct td_program *p, uint32_t ring)
{
    uint64_t share = (uint64_t)p->ride_bytes / p->group->size;
    return share * td_group_slot_ranks(p->group, p->slot) * td_ring_block(p, ring);
}

uint32_t explain_flood_hops(const struct td_program *p)
{
    uint32_t hops = 0;
    for (uint32_t r = 0; r < p->rings; r++)
        hops += td_ring_hops(&p->ring[r], 0);
    return hops;
}

static void print_way(const struct explain_machine *m, const struct td_program *p, uint32_t r,
                      uint32_t sign)
{
    char place[80], size[32];
    uint32_t blocks = td_ring_hops(&p->ring[r], sign);
    uint32_t to = p->group->node[td_ring_along(&p->ring[r], p->slot, sign, 1)];
    uint32_t from = p->group->node[td_ring_along(&p->ring[r], p->slot, 1 - sign, 1)];
    if (blocks == 0)
        return;
    printf("    %u block%s", blocks, explain_plural(blocks));
    if (block_bytes(p, r))
        printf(" of %s", td_quantity_print(block_bytes(p, r), size, sizeof size));
    printf(" to node %s", explain_place(place, sizeof place, &m->topology, to));
    printf(", as many from node %s", explain_place(place, sizeof place, &m->topology, from));
    putchar('\n');
}

uint32_t explain_flood_blocks(const struct td_program *p, uint64_t *bytes)
{
    uint32_t blocks = 0;
    *bytes = 0;
    for (uint32_t r = 0; r < p->rings; r++) {
        uint32_t here = td_ring_hops(&p->ring[r], 0) + td_ring_hops(&p->ring[r], 1);
        blocks += here;
        *bytes += here * block_bytes(p, r);
    }
    return blocks;
}

void explain_flood_print(const struct explain_machine *m, const struct td_program *p)
{
    puts("\nPhases");
    for (uint32_t r = 0; r < p->rings; r++) {
        uint32_t far = td_ring_hops(&p->ring[r], 0), shares = td_ring_block(p, r);
        printf("  %u. rings of %u in dimension %u, %u hop%s; a block has the data of %u node%s\n",
               r + 1, p->ring[r].size, dimension_of(m, p, r), far, explain_plural(far), shares,
               explain_plural(shares));
        print_way(m, p, r, 0);
        print_way(m, p, r, 1);
    }
}

json_t *explain_flood_json(const struct explain_machine *m, const struct td_program *p)
{
    json_t *phases = json_array();
    for (uint32_t r = 0; r < p->rings; r++) {
        json_t *ways = json_array();
        for (uint32_t sign = 0; sign < 2; sign++) {
            uint32_t blocks = td_ring_hops(&p->ring[r], sign);
            uint32_t to = p->group->node[td_ring_along(&p->ring[r], p->slot, sign, 1)];
            uint32_t from = p->group->node[td_ring_along(&p->ring[r], p->slot, 1 - sign, 1)];
            if (blocks)
                json_array_append_new(ways,
                                      json_pack("{s:i s:i s:i s:i}", "sign", sign ? -1 : 1, "to",
                                                (int)to, "from", (int)from, "blocks", (int)blocks));
        }
        json_array_append_new(phases,
                              json_pack("{s:i s:i s:i s:I s:o}", "dimension",
                                        (int)dimension_of(m, p, r), "ring", (int)p->ring[r].size,
                                        "hops", (int)td_ring_hops(&p->ring[r], 0), "block_bytes",
                                        (json_int_t)block_bytes(p, r), "ways", ways));
    }
    return json_pack("{s:i s:o}", "hops", (int)explain_flood_hops(p), "phases", phases);
}
