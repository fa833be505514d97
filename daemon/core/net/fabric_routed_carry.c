/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_routed_carry.h"
#include "carry.h"

enum {
    CARRYING_MAX = 256, /* messages of a node that are carried at a time; others wait */
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

bool td_routed_carry_on(struct td_core *core, struct td_link *link, bool *left)
{
    for (struct td_transfer *t = core->routed->carried; t; t = t->next)
        while (t->peer == link->node && t->offset < t->bytes) {
            if (!td_carry_has_room(link)) {
                *left = true;
                return true;
            }
            if (!td_core_room(core))
                return false;
            if (!td_carry_part(core, t, TD_RIDE_BYTES_MAX)) {
                *left = true;
                return true;
            }
        }
    return true;
}
