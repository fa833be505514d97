/* SPDX-License-Identifier: Apache-2.0 */
/* facts: what the metrics and the page tell of this node, read on the loop between two steps.
 * Owns: copies. Borrows: the sums of the core, until the next step. */
#ifndef TD_IO_METRICS_FACTS_H
#define TD_IO_METRICS_FACTS_H

#include "core/watch.h"
#include "io/clients/clients.h"
#include "io/loop.h"
#include "io/workers.h"

enum { TD_FACTS_JOBS_MAX = 64 };

/* struct td_metrics_sources: the parts of the driver that are asked. */
struct td_metrics_sources {
    struct td_loop *loop;
    const struct td_workers *workers;
    const struct td_clients *clients;
    uint64_t started_ns; /* when the daemon started, since 1970 */
};

/* enum td_missing: what a rank that others wait for does, by the state of its process. Only the
 * node of the rank knows that; silent nodes are counted by each node that misses them. */
enum td_missing {
    TD_MISSING_RUNNING,
    TD_MISSING_SLEEPING,
    TD_MISSING_BLOCKED, /* in the kernel */
    TD_MISSING_STOPPED, /* by a signal or a debugger */
    TD_MISSING_DEAD,
    TD_MISSING_SILENT_NODE,
    TD_MISSING_STATES
};

struct td_facts {
    const struct td_metrics_sources *sources;
    const struct td_sums *sums;
    struct td_watch_now now;
    struct td_watch_segment segment[TD_KIND_MAX];
    struct td_watch_link *link; /* [links] */
    uint32_t links;
    struct td_row_router router; /* routed fabric */
    struct td_row_direction direction[TD_DIRECTIONS_MAX];
    uint32_t directions;
    uint64_t missing[TD_MISSING_STATES];
    struct td_watch_job job[TD_FACTS_JOBS_MAX];
    uint32_t jobs;
    uint32_t measured_plans;
    struct td_pool_counts pool;
};

/* td_facts_collect returns NULL without memory. td_facts_free accepts NULL. */
struct td_facts *td_facts_collect(const struct td_metrics_sources *sources);
void td_facts_free(struct td_facts *facts);
/* td_facts_missing returns what a missing rank does, or TD_MISSING_STATES if this node does not
 * know. */
enum td_missing td_facts_missing(const struct td_row_absent *absent);
const char *td_facts_missing_name(enum td_missing missing);
/* td_facts_rows passes the rows of a section to `row`, at most `most`. */
void td_facts_rows(struct td_core *core, uint32_t section, uint32_t most,
                   void (*row)(void *user, const struct td_status_row *), void *user);

#endif
