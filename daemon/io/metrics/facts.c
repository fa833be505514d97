/* SPDX-License-Identifier: Apache-2.0 */
#include "facts.h"

#include <stdlib.h>

#include "io/plans/plans.h"

enum { OPERATIONS_MAX = 256 }; /* rows that are looked at: each page begins with the first row */

void td_facts_rows(struct td_core *core, uint32_t section, uint32_t most,
                   void (*row)(void *user, const struct td_status_row *), void *user)
{
    struct td_reply *reply = malloc(sizeof *reply);
    uint64_t cursor = 0;
    do {
        if (!reply || !td_watch_page(core, section, cursor, reply))
            break;
        for (uint32_t i = 0; i < reply->u.status.rows && most > 0; i++, most--)
            row(user, &reply->u.status.row[i]);
        cursor = reply->u.status.next;
    } while (cursor && most > 0);
    free(reply);
}

enum td_missing td_facts_missing(const struct td_row_absent *a)
{
    if (a->node_state == TD_PEER_DOWN)
        return TD_MISSING_SILENT_NODE;
    switch (a->process_state) {
    case 'R':
        return TD_MISSING_RUNNING;
    case 'D':
        return TD_MISSING_BLOCKED;
    case 'T':
    case 't':
        return TD_MISSING_STOPPED;
    case 'X':
    case 'Z':
        return TD_MISSING_DEAD;
    case 0:
        return TD_MISSING_STATES;
    default:
        return TD_MISSING_SLEEPING;
    }
}

const char *td_facts_missing_name(enum td_missing missing)
{
    static const char *const names[] = {"running", "sleeping", "blocked",
                                        "stopped", "dead",     "silent_node"};
    return missing < TD_MISSING_STATES ? names[missing] : "unknown";
}

static void add_queue(void *facts, const struct td_status_row *row)
{
    struct td_facts *f = facts;
    if (row->kind == TD_ROW_ROUTER)
        f->router = row->u.router;
    else if (row->kind == TD_ROW_DIRECTION && f->directions < TD_DIRECTIONS_MAX)
        f->direction[f->directions++] = row->u.direction;
}

static void add_operation(void *facts, const struct td_status_row *row)
{
    struct td_facts *f = facts;
    const struct td_row_operation *o = &row->u.operation;
    if (o->running)
        return;
    for (uint32_t i = 0; i < o->absents; i++) {
        enum td_missing missing = td_facts_missing(&o->absent[i]);
        if (missing < TD_MISSING_STATES)
            f->missing[missing]++;
    }
}

static void add_links(struct td_facts *f, const struct td_core *core)
{
    uint32_t node = 0;
    while (f->link && td_watch_link(core, &node, &f->link[f->links]))
        f->links++;
}

struct td_facts *td_facts_collect(const struct td_metrics_sources *sources)
{
    struct td_loop *loop = sources->loop;
    struct td_core *core = loop->core;
    struct td_row_plan plan;
    struct td_facts *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    td_loop_wake(loop); /* ages count from the last step */
    f->sources = sources;
    f->sums = td_watch_sums(core);
    f->link = calloc(loop->config->topology.nodes, sizeof *f->link);
    td_watch_now(core, &f->now);
    td_watch_segments(core, f->segment);
    add_links(f, core);
    td_facts_rows(core, TD_STATUS_QUEUES, UINT32_MAX, add_queue, f);
    for (uint32_t at = 0; f->jobs < TD_FACTS_JOBS_MAX && td_watch_job(core, &at, &f->job[f->jobs]);)
        f->jobs++;
    td_facts_rows(core, TD_STATUS_OPERATIONS, OPERATIONS_MAX, add_operation, f);
    while (td_plans_row(f->measured_plans, &plan))
        f->measured_plans++;
    td_workers_look(sources->workers, &f->pool);
    return f;
}

void td_facts_free(struct td_facts *f)
{
    if (f)
        free(f->link);
    free(f);
}
