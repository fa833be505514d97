/* SPDX-License-Identifier: Apache-2.0 */
#include "own.h"

#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "libtorus/status.h"
#include "model/request.h"
#include "torus/torus.h"

/* take_setting takes one setting of the daemon. */
static void take_setting(struct explain_machine *m, const struct td_row_fact *fact)
{
    bool taken = false;
    if (!m->has_fabric && strcmp(fact->name, "torus.fabric") == 0)
        (void)explain_take(m, "--fabric", fact->value, &taken);
    if (!m->has_packet && strcmp(fact->name, "network.packet") == 0)
        (void)explain_take(m, "--packet", fact->value, &taken);
    if (strcmp(fact->name, "network.message_overhead") == 0)
        (void)td_quantity_parse(fact->value, &m->settings.tuning.message_bytes);
    if (m->link_rate == 0 && strcmp(fact->name, "torus.link_rate") == 0)
        (void)td_quantity_parse_rate(fact->value, &m->link_rate);
    if (!m->shape_text && strcmp(fact->name, "torus.shape") == 0) {
        snprintf(m->own_shape, sizeof m->own_shape, "%s", fact->value);
        m->shape_text = m->own_shape;
    }
}

void explain_own(struct explain_machine *m)
{
    static struct td_reply reply;
    struct tl_listing listing = {0};
    torus_context *c = NULL;
    bool more = (!m->shape_text || !m->has_fabric) && torus_open(&c, NULL) == TORUS_OK;
    while (more && tl_status_next(c, TD_STATUS_SETTINGS, &listing, &reply) == TORUS_OK) {
        for (uint32_t i = 0; i < reply.u.status.rows; i++)
            if (reply.u.status.row[i].kind == TD_ROW_FACT)
                take_setting(m, &reply.u.status.row[i].u.fact);
        more = listing.cursor != 0;
    }
    torus_close(c);
}
