/* SPDX-License-Identifier: Apache-2.0 */
#include "departure.h"

#include <string.h>

#include "core/net/session.h"

static struct td_departure **place_of(const struct td_core *core, uint64_t instance)
{
    return &core->groups->departure[instance % TD_DEPARTURE_LISTS];
}

static struct td_departure **find(const struct td_core *core, uint64_t instance)
{
    struct td_departure **at = place_of(core, instance);
    while (*at && (*at)->instance != instance)
        at = &(*at)->next;
    return at;
}

const struct td_departure *td_departure_find(const struct td_core *core, uint64_t instance)
{
    return *find(core, instance);
}

struct td_message td_departure_word(struct td_core *core, uint64_t instance, const char *why)
{
    return (struct td_message){
        .kind = TD_MESSAGE_RANK_LOST,
        .instance = instance,
        .group = TD_GROUP_MADE,
        .u.rank_lost = {.rank = UINT32_MAX,
                        .error = TD_ERR_RANK_FAILED,
                        .text = why ? why
                                    : td_core_format(core, "all ranks on %s have left or died",
                                                     td_core_node_name(core, core->node))}};
}

static void end(struct td_core *core, struct td_departure **at)
{
    struct td_departure *d = *at;
    struct td_account *account = d->account;
    *at = d->next;
    td_core_free(core, d->text);
    td_core_free(core, d);
    td_account_close(core, account);
}

/* why_left returns why a group without local ranks is over here. */
static const char *why_left(const struct td_communicator *c)
{
    if (c->error == TD_ERR_RANK_FAILED)
        return c->text;
    return c->losing_error == TD_ERR_RANK_FAILED ? c->losing_text : NULL;
}

/* keep records the departure for the neighbours that may not have left. A neighbour whose node or
 * ranks are lost never calls again. */
static void keep(struct td_core *core, struct td_communicator *c, const uint32_t *node,
                 uint32_t nodes, const char *why)
{
    struct td_departure *d = c->departure;
    c->departure = NULL;
    *d = (struct td_departure){.instance = c->instance, .world = c->world};
    for (uint32_t i = 0; i < nodes; i++)
        if (!td_communicator_all_lost(c, node[i]))
            d->node[d->neighbours++] = node[i];
    if (d->neighbours == 0 || !td_communicator_find(core, c->world, 0)) {
        td_core_free(core, d);
        return;
    }
    d->account = td_account_open(core, c->uid); /* the group has it open */
    d->text = why ? td_core_copy_text(d->account->lasting, why) : NULL;
    struct td_departure **first = place_of(core, c->instance);
    d->next = *first;
    *first = d;
}

bool td_departure_begin(struct td_core *core, struct td_communicator *c)
{
    uint32_t node[TD_TREE_CHILDREN_MAX + 1], nodes = 0;
    for (uint32_t i = 0; i < c->children; i++)
        node[nodes++] = c->child[i];
    if (c->has_parent)
        node[nodes++] = c->parent;
    for (uint32_t i = 0; i < nodes; i++)
        if (!td_session_has_room(core, node[i]))
            return false;
    const char *why = why_left(c);
    const struct td_message word =
        td_departure_word(core, c->instance, why ? td_core_format(core, "%s", why) : NULL);
    for (uint32_t i = 0; i < nodes; i++)
        td_session_send(core, node[i], &word);
    keep(core, c, node, nodes, why);
    return true;
}

void td_departure_hear(struct td_core *core, uint32_t from, const struct td_message *m)
{
    struct td_departure **at = find(core, m->instance), *d = *at;
    uint32_t i = 0;
    while (d && i < d->neighbours && d->node[i] != from)
        i++;
    if (!d || i == d->neighbours)
        return;
    d->node[i] = d->node[--d->neighbours];
    /* the neighbour may have made the group after the word came to it */
    const struct td_message word =
        td_departure_word(core, m->instance, d->text ? td_core_format(core, "%s", d->text) : NULL);
    td_session_send(core, from, &word);
    if (d->neighbours == 0)
        end(core, at);
}

void td_departure_end_job(struct td_core *core, uint64_t world)
{
    for (uint32_t i = 0; i < TD_DEPARTURE_LISTS; i++)
        for (struct td_departure **at = &core->groups->departure[i]; *at;)
            if ((*at)->world == world)
                end(core, at);
            else
                at = &(*at)->next;
}
