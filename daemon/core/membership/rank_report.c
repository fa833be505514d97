/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_report.h"

#include "communicator.h"
#include "core/net/link.h"
#include "core/net/session.h"
#include "succession.h"

static bool report(struct td_core *core, struct td_task *task);

void td_rank_report_init(struct td_core *core)
{
    struct td_rank_reports *reports = core->rank_reports;
    reports->task.advance = report;
    reports->asker = core->options.topology.nodes;
    reports->at = TD_TIME_NEVER;
}

void td_rank_report_ask(struct td_core *core, uint32_t from, uint64_t round)
{
    struct td_rank_reports *reports = core->rank_reports;
    reports->round[from] = round;
    td_succession_note_told(core, from);
    if (!td_bit(reports->asked, from)) {
        td_bit_set(reports->asked, from);
        reports->count++;
    }
    td_core_queue(core, &reports->task);
}

/* report_group reports the ranks of a job. It returns false if there is no room. */
static bool report_group(struct td_core *core, const struct td_communicator *c)
{
    struct td_rank_reports *reports = core->rank_reports;
    for (; reports->next_seat < c->ranks; reports->next_seat++) {
        const struct td_seat *seat = &c->seat[reports->next_seat];
        if (!td_seat_occupied(seat))
            continue;
        if (!td_core_room(core) || !td_session_has_room(core, reports->asker))
            return false;
        struct td_message m = {.kind = TD_MESSAGE_JOIN,
                               .instance = c->instance,
                               .u.join = {.token = core->options.incarnation << 32,
                                          .uid = c->uid,
                                          .pid = seat->client ? seat->client->pid : 0,
                                          .name = c->name,
                                          .size = c->group.size,
                                          .rank = seat->rank}};
        td_session_send(core, reports->asker, &m);
    }
    reports->next_seat = 0;
    return true;
}

/* report_all reports all ranks here to a node, newest job first, and then answers. */
static bool report_all(struct td_core *core)
{
    struct td_rank_reports *reports = core->rank_reports;
    for (const struct td_communicator *c = core->communicators; c; c = c->next) {
        if (c->index != 0 || c->number > reports->next_number)
            continue;
        if (c->number != reports->next_number)
            reports->next_seat = 0;
        reports->next_number = c->number;
        if (!report_group(core, c))
            return false;
        reports->next_number = c->number - 1;
    }
    if (!td_core_room(core))
        return false;
    struct td_message m = {.kind = TD_MESSAGE_REGISTRY_ANSWER,
                           .u.registry_answer = {.round = reports->round[reports->asker],
                                                 .is_draining = core->stopping}};
    td_session_send(core, reports->asker, &m);
    return true;
}

/* report answers the nodes that have asked, one after the other. */
static bool report(struct td_core *core, struct td_task *task)
{
    struct td_rank_reports *reports = core->rank_reports;
    uint32_t nodes = core->options.topology.nodes;
    (void)task;
    reports->at = TD_TIME_NEVER;
    while (reports->count > 0) {
        if (reports->asker == nodes) {
            reports->asker = 0;
            while (!td_bit(reports->asked, reports->asker))
                reports->asker++;
            reports->next_number = UINT32_MAX;
            reports->next_seat = 0;
        }
        if (!report_all(core)) {
            if (!td_core_room(core))
                return false;
            reports->at = td_core_after(core, TD_LINK_PATIENCE_NS);
            td_core_alarm(core, reports->at);
            return true;
        }
        td_bit_clear(reports->asked, reports->asker);
        reports->asker = nodes;
        reports->count--;
    }
    return true;
}

void td_rank_report_node_lost(struct td_core *core, uint32_t node)
{
    struct td_rank_reports *reports = core->rank_reports;
    if (!td_bit(reports->asked, node))
        return;
    td_bit_clear(reports->asked, node);
    reports->count--;
    if (reports->asker == node)
        reports->asker = core->options.topology.nodes;
}

void td_rank_report_node_back(struct td_core *core, uint32_t node)
{
    if (td_succession_is_told(core, node)) /* the earlier report may be lost */
        td_rank_report_ask(core, node, core->rank_reports->round[node]);
}

void td_rank_report_timers(struct td_core *core)
{
    if (core->now >= core->rank_reports->at)
        td_core_queue(core, &core->rank_reports->task);
    td_core_alarm(core, core->rank_reports->at);
}
