/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include "core/membership/communicator.h"
#include "core/membership/epoch.h"
#include "core/membership/job.h"
#include "core/membership/waits.h"
#include "core/net/fabric.h"
#include "core/net/health.h"
#include "core/net/link.h"
#include "core/operation/operation.h"
#include "core_internal.h"
#include "inspect.h"

const struct td_sums *td_watch_sums(const struct td_core *core)
{
    return core->sums;
}

/* add_open adds the sums of a group's segment that is not closed. */
static void add_open(const struct td_core *core, const struct td_communicator *c,
                     struct td_watch_segment *segment)
{
    const struct td_core_options *options = &core->options;
    uint64_t calls = 0, ns = 0;
    for (uint32_t rank = 0; options->segment_waits && c->has_segment && rank < c->ranks; rank++)
        for (uint32_t kind = 1; kind < TD_KIND_MAX; kind++)
            if (options->segment_waits(options->driver, c->number, rank, kind, &calls, &ns)) {
                segment[kind].calls += calls;
                segment[kind].waited_ns += ns;
            }
}

void td_watch_segments(const struct td_core *core, struct td_watch_segment *segment)
{
    for (uint32_t kind = 0; kind < TD_KIND_MAX; kind++)
        segment[kind] =
            (struct td_watch_segment){.calls = core->sums->kind[kind].segment,
                                      .waited_ns = core->sums->kind[kind].segment_waited_ns};
    for (const struct td_communicator *c = core->communicators; c; c = c->next)
        add_open(core, c, segment);
}

static void add_operation(const struct td_core *core, const struct td_operation *o,
                          struct td_watch_now *now)
{
    uint64_t age = core->now - o->started_at + 1;
    bool waits = o->state < TD_OPERATION_RELEASED;
    uint64_t *oldest = waits ? &now->waiting_ns : &now->running_ns;
    if (td_operation_is_over(o))
        return;
    (*(waits ? &now->waiting : &now->running))++;
    if (age > *oldest)
        *oldest = age;
}

void td_watch_now(struct td_core *core, struct td_watch_now *now)
{
    *now = (struct td_watch_now){.joining = 0};
    td_core_usage(core, &now->usage);
    for (const struct td_join *j = core->joins->first; j; j = j->next)
        now->joining++;
    for (const struct td_communicator *c = core->communicators; c; c = c->next)
        for (int i = 0; c->recorded && i < TD_GROUP_OPERATIONS_MAX; i++)
            if (c->operation[i])
                add_operation(core, c->operation[i], now);
    for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
        enum td_peer_state state = td_health_state(core, n);
        if (n != core->node && state != TD_PEER_UP && !td_epoch_votes(core, n))
            now->absent++;
        else if (n != core->node)
            now->peers[state]++;
    }
    for (int kind = 0; kind < TD_NOTE_KINDS; kind++)
        now->noted[kind] = core->notes->noted[kind];
}

bool td_watch_link(const struct td_core *core, uint32_t *node, struct td_watch_link *to)
{
    uint32_t n = *node, nodes = core->options.topology.nodes;
    while (n < nodes && (n == core->node || !core->fabric->adjacent(core, n) ||
                         (core->link[n].state == TD_LINK_DOWN && !core->link[n].lane->since)))
        n++;
    if (n >= nodes)
        return false;
    *node = n + 1;
    const struct td_link *link = &core->link[n];
    const struct td_lane *lane = link->lane;
    uint64_t used = lane->sent - lane->freed_there, most = core->settings.link_credits;
    *to = (struct td_watch_link){.peer = n,
                                 .up = td_link_is_up(link),
                                 .packets = lane->packets,
                                 .bytes = lane->bytes,
                                 .retransmitted = lane->repeated,
                                 .resumes = lane->resumes,
                                 .unacknowledged = lane->held,
                                 .waiting = lane->queue.jobs,
                                 .credits = used < most ? most - used : 0};
    return true;
}

/* charge adds what a rank made others wait. The least of the list makes place. */
static void charge(struct td_watch_job *job, const struct td_watch_straggler *more)
{
    struct td_watch_straggler *least = job->straggler;
    for (uint32_t i = 0; i < job->stragglers; i++) {
        struct td_watch_straggler *s = &job->straggler[i];
        if (s->rank == more->rank) {
            s->last += more->last;
            s->waited_ns += more->waited_ns;
            s->longest_ns = more->longest_ns > s->longest_ns ? more->longest_ns : s->longest_ns;
            return;
        }
        least = s->waited_ns < least->waited_ns ? s : least;
    }
    if (job->stragglers < TD_WATCH_STRAGGLERS)
        job->straggler[job->stragglers++] = *more;
    else if (more->waited_ns > least->waited_ns)
        *least = *more;
}

/* charge_segment adds what the open segment of a group says. */
static void charge_segment(const struct td_core *core, const struct td_communicator *c,
                           struct td_watch_job *job)
{
    const struct td_core_options *options = &core->options;
    uint64_t last = 0, ns = 0;
    for (uint32_t rank = 0; options->segment_waits && c->has_segment && rank < c->ranks; rank++) {
        struct td_watch_straggler s = {.rank = td_communicator_job_rank(c, rank),
                                       .node = core->node,
                                       .pid = c->seat[rank].pid};
        for (uint32_t kind = 1; kind < TD_KIND_MAX; kind++)
            if (options->segment_waits(options->driver, c->number, rank, kind, &last, &ns)) {
                s.last += last;
                s.waited_ns += ns;
            }
        job->waited_ns += s.waited_ns;
        if (s.waited_ns)
            charge(job, &s);
    }
}

/* add_group adds what a group of the job waits for. */
static void add_group(const struct td_core *core, const struct td_communicator *c,
                      struct td_watch_job *job)
{
    struct td_watch_now now = {.waiting_ns = job->waiting_ns};
    for (int i = 0; c->recorded && i < TD_GROUP_OPERATIONS_MAX; i++)
        if (c->operation[i])
            add_operation(core, c->operation[i], &now);
    job->waiting_ns = now.waiting_ns;
    charge_segment(core, c, job);
}

bool td_watch_job(const struct td_core *core, uint32_t *at, struct td_watch_job *job)
{
    while (*at < TD_WAITS_JOBS_MAX && (!core->waits[*at].world || !core->waits[*at].groups))
        ++*at;
    if (*at == TD_WAITS_JOBS_MAX)
        return false;
    const struct td_waits_job *j = &core->waits[(*at)++];
    *job = (struct td_watch_job){.name = j->name,
                                 .uid = j->uid,
                                 .formed_ns = core->now - j->formed_at,
                                 .size = j->size,
                                 .operations = j->operations,
                                 .waited_ns = j->ns,
                                 .error = j->error,
                                 .text = j->text};
    for (const struct td_wait *w = j->row; w < j->row + TD_WAITS_ROWS; w++)
        if (w->kind)
            charge(job, &(struct td_watch_straggler){w->rank, w->node, w->pid, w->last, w->ns,
                                                     w->longest_ns});
    for (const struct td_communicator *c = core->communicators; c; c = c->next)
        if (c->waits == j)
            add_group(core, c, job);
    return true;
}

bool td_watch_page(struct td_core *core, uint32_t section, uint64_t cursor, struct td_reply *reply)
{
    td_core_renew(core);
    return td_inspect_page(core, core->options.uid, true, section, cursor, reply);
}
