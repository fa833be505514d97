/* SPDX-License-Identifier: Apache-2.0 */
#include "departure.h"

#include <string.h>

#include "core/net/session.h"

static struct td_departure **list_of(const struct td_core *core, uint64_t instance)
{
    return &core->groups->departure[instance % TD_DEPARTURE_LISTS];
}

struct td_departure *td_departure_find(struct td_core *core, uint64_t instance)
{
    struct td_departure *d = *list_of(core, instance);
    while (d && d->instance != instance)
        d = d->next;
    return d && td_communicator_find(core, d->world, 0) ? d : NULL;
}

static bool have_room(const struct td_core *core, const uint32_t *node, uint32_t nodes)
{
    uint32_t i = 0;
    while (i < nodes && td_session_has_room(core, node[i]))
        i++;
    return i == nodes;
}

/* tell tells nodes the word of this one about a group; `why` may be NULL. */
static void tell(struct td_core *core, uint64_t instance, const uint32_t *node, uint32_t nodes,
                 td_err error, const char *why)
{
    const struct td_message word = {
        .kind = TD_MESSAGE_RANK_LOST,
        .instance = instance,
        .group = TD_GROUP_MADE,
        .u.rank_lost = {.rank = UINT32_MAX,
                        .error = error,
                        .text = why ? td_core_format(core, "%s", why)
                                    : td_core_format(core, "all ranks on %s have left or died",
                                                     td_core_node_name(core, core->node))}};
    for (uint32_t i = 0; i < nodes; i++)
        td_session_send(core, node[i], &word);
}

/* end frees a departure of the ring at *ring. */
static void end(struct td_core *core, struct td_departure **ring, struct td_departure *d)
{
    struct td_account *account = d->account;
    *d->link = d->next;
    if (d->next)
        d->next->link = d->link;
    d->older->newer = d->newer;
    d->newer->older = d->older;
    if (*ring == d)
        *ring = d->older == d ? NULL : d->older;
    td_core_free(core, d->text);
    td_core_free(core, d);
    td_account_close(core, account);
}

/* join makes one ring of two. */
static void join(struct td_departure **ring, struct td_departure *other)
{
    struct td_departure *newest = *ring, *oldest = newest ? newest->newer : NULL;
    *ring = other;
    if (!newest)
        return;
    newest->newer = other->newer;
    other->newer->older = newest;
    other->newer = oldest;
    oldest->older = other;
}

/* why_left returns why a group without local ranks is over here. */
static const char *why_left(const struct td_communicator *c)
{
    if (c->error == TD_ERR_RANK_FAILED)
        return c->text;
    return c->losing_error == TD_ERR_RANK_FAILED ? c->losing_text : NULL;
}

/* end_unneeded ends a departure that nobody will ask about. */
static void end_unneeded(struct td_core *core, struct td_departure *d)
{
    if (d->neighbours == 0 && d->ranks == 0)
        end(core, &td_communicator_find(core, d->world, 0)->departure, d);
}

/* keep records a departure, given what it is of and why. A neighbour whose node or ranks are lost
 * to `group` never calls again. */
static void keep(struct td_core *core, struct td_departure *d, const struct td_communicator *group,
                 const uint32_t *node, uint32_t nodes, const char *why)
{
    for (uint32_t i = 0; i < nodes; i++)
        if (!td_communicator_all_lost(group, node[i]))
            d->node[d->neighbours++] = node[i];
    d->world = group->world;
    struct td_communicator *job = td_communicator_find(core, d->world, 0);
    if ((d->neighbours == 0 && d->ranks == 0) || !job) {
        td_core_free(core, d);
        return;
    }
    d->account = td_account_open(core, group->uid); /* the group has it open */
    d->text = why ? td_core_copy_text(d->account->lasting, why) : NULL;
    d->link = list_of(core, d->instance);
    d->next = *d->link;
    if (d->next)
        d->next->link = &d->next;
    *d->link = d;
    d->older = d->newer = d;
    join(&job->departure, d);
}

bool td_departure_begin(struct td_core *core, struct td_communicator *c)
{
    uint32_t node[TD_TREE_CHILDREN_MAX + 1], nodes = 0;
    for (uint32_t i = 0; i < c->children; i++)
        node[nodes++] = c->child[i];
    if (c->has_parent)
        node[nodes++] = c->parent;
    if (!have_room(core, node, nodes))
        return false;
    const char *why = why_left(c);
    tell(core, c->instance, node, nodes, TD_ERR_RANK_FAILED, why);
    *c->departure = (struct td_departure){.instance = c->instance, .error = TD_ERR_RANK_FAILED};
    keep(core, c->departure, c, node, nodes, why);
    c->departure = NULL;
    return true;
}

bool td_departure_refuse(struct td_core *core, const struct td_communicator *parent,
                         uint64_t instance, const uint32_t *node, uint32_t nodes, uint32_t ranks,
                         td_err error, const char *text)
{
    struct td_departure *d = td_arena_alloc(parent->account->lasting, sizeof *d);
    for (uint32_t i = 0; i < nodes; i++)
        if (td_core_room(core) && td_session_has_room(core, node[i])) /* else it will ask */
            tell(core, instance, &node[i], 1, error, text);
    if (!d)
        return false;
    *d = (struct td_departure){.instance = instance, .ranks = ranks, .error = error};
    keep(core, d, parent, node, nodes, text);
    return true;
}

void td_departure_asked(struct td_core *core, uint64_t instance)
{
    struct td_departure *d = td_departure_find(core, instance);
    if (!d || d->ranks == 0)
        return;
    d->ranks--;
    end_unneeded(core, d);
}

void td_departure_hear(struct td_core *core, uint32_t from, const struct td_message *m)
{
    struct td_departure *d = td_departure_find(core, m->instance);
    uint32_t i = 0;
    while (d && i < d->neighbours && d->node[i] != from)
        i++;
    if (!d || i == d->neighbours)
        return;
    d->node[i] = d->node[--d->neighbours];
    /* the neighbour may have made the group after the word came to it */
    tell(core, m->instance, &from, 1, d->error, d->text);
    end_unneeded(core, d);
}

/* advance ends departures of jobs that are over. */
static bool advance(struct td_core *core, struct td_task *task)
{
    enum { AT_ONCE = 32 }; /* TD_ENDS_MAX times as many are no more than the arena settles */
    struct td_departure **ending = &core->groups->ending;
    (void)task;
    while (*ending) {
        if (!td_core_room(core))
            return false;
        for (int i = 0; i < AT_ONCE && *ending; i++)
            end(core, ending, *ending);
        core->ends++;
    }
    return true;
}

void td_departure_end_job(struct td_core *core, struct td_communicator *job)
{
    if (!job->departure)
        return;
    join(&core->groups->ending, job->departure);
    job->departure = NULL;
    core->groups->end.advance = advance;
    td_core_queue(core, &core->groups->end);
}
