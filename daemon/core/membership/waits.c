/* SPDX-License-Identifier: Apache-2.0 */
#include "waits.h"

#include <stdio.h>
#include <string.h>

#include "core/sums.h"

enum { NEIGHBOURS = 8 }; /* rows that one key may have */

static struct td_waits_job *find(struct td_core *core, uint64_t world)
{
    for (uint32_t i = 0; i < TD_WAITS_JOBS_MAX; i++)
        if (core->waits[i].world == world)
            return &core->waits[i];
    return NULL;
}

/* place returns a record for a new job: a free one, else that of the job that ended first, or NULL.
 */
static struct td_waits_job *place(struct td_core *core)
{
    struct td_waits_job *oldest = NULL;
    for (uint32_t i = 0; i < TD_WAITS_JOBS_MAX; i++) {
        struct td_waits_job *j = &core->waits[i];
        if (!j->world)
            return j;
        if (j->groups == 0 && (!oldest || j->ended_at < oldest->ended_at))
            oldest = j;
    }
    return oldest;
}

void td_waits_open(struct td_core *core, struct td_communicator *c)
{
    struct td_waits_job *j = find(core, c->world);
    if (!j && (j = place(core))) {
        *j = (struct td_waits_job){.world = c->world,
                                   .uid = c->uid,
                                   .size = c->group.size,
                                   .formed_at = core->now,
                                   .ended_at = TD_TIME_NEVER};
        snprintf(j->name, sizeof j->name, "%s", c->name);
        for (uint32_t s = 0; s < c->group.slots; s++)
            td_bit_set(j->nodes, c->group.node[s]);
    }
    c->waits = j;
    if (j) {
        j->groups++;
        j->ended_at = TD_TIME_NEVER;
    }
}

void td_waits_close(struct td_core *core, struct td_communicator *c)
{
    if (c->waits && --c->waits->groups == 0)
        c->waits->ended_at = core->now;
    c->waits = NULL;
}

void td_waits_unformed(struct td_core *core, const struct td_waits_unformed *u)
{
    struct td_waits_job *j = place(core);
    if (!j)
        return;
    *j = (struct td_waits_job){.world = td_core_random(core) | 1, /* no job has it */
                               .uid = u->uid,
                               .size = u->size,
                               .unformed = true,
                               .formed_at = u->begun_at,
                               .ended_at = core->now,
                               .error = u->error,
                               .failed_at = core->now,
                               .failed_rank = TD_NOTE_NONE,
                               .failed_node = TD_NOTE_NONE};
    snprintf(j->name, sizeof j->name, "%s", u->name);
    snprintf(j->text, sizeof j->text, "%s", u->text);
}

/* row_of returns the row of a rank and a kind of call. If it has none, it takes the first free one
 * of its neighbours (rows are never freed, so its row cannot follow a free one), or else the least
 * of them. With `free_only`, it returns NULL if none of them is free. */
static struct td_wait *row_of(struct td_waits_job *j, uint32_t rank, uint32_t kind, bool free_only)
{
    uint32_t at = (rank * 0x9e3779b1u + kind * 0x85ebca6bu) >> 16;
    struct td_wait *least = NULL;
    for (uint32_t i = 0; i < NEIGHBOURS && !(least && !least->kind); i++) {
        struct td_wait *row = &j->row[(at + i) % TD_WAITS_ROWS];
        if (row->kind == kind && row->rank == rank)
            return row;
        if (!least || !row->kind || row->ns < least->ns)
            least = row;
    }
    if (free_only && least->kind)
        return NULL;
    *least = (struct td_wait){.rank = rank, .kind = (uint8_t)kind, .node = UINT32_MAX};
    return least;
}

/* silence_of returns the row of a silent node (plus 1). If it has none, it takes a free one, or
 * else the least. */
static struct td_wait_silence *silence_of(struct td_waits_job *j, uint32_t silent)
{
    struct td_wait_silence *least = j->silence;
    for (struct td_wait_silence *row = j->silence; row < j->silence + TD_WAITS_SILENCES; row++) {
        if (row->wait.silent == silent)
            return row;
        if (row->wait.ns < least->wait.ns)
            least = row;
    }
    *least = (struct td_wait_silence){.wait.silent = silent};
    return least;
}

/* identify fills in the node and, on this node, the process of a rank of a group. */
static void identify(const struct td_communicator *c, uint32_t rank, struct td_wait *row)
{
    uint32_t slot = 0, local = 0;
    td_group_locate(&c->group, rank, &slot, &local);
    row->node = c->group.node[slot];
    if (slot == c->slot)
        row->pid = c->seat[local].pid;
}

/* add adds waiting to the row of a rank of a group, and returns the row. */
static struct td_wait *add(const struct td_communicator *c, uint32_t rank, struct td_wait *row,
                           uint64_t ns, uint64_t longest_ns, const struct td_charge *charge)
{
    if (row->node == UINT32_MAX)
        identify(c, rank, row);
    row->ns += ns;
    if (longest_ns > row->longest_ns) {
        row->longest_ns = longest_ns;
        row->longest_at = charge->at;
        row->longest_operation = charge->operation;
        row->longest_group = c->index;
    }
    return row;
}

/* add_silence adds a silence to those of its node, or makes the latest one longer: several calls
 * may have waited in it. A job did not wait before it formed. */
static void add_silence(const struct td_waits_job *j, struct td_wait_silence *row,
                        const struct td_charge *charge)
{
    td_time age = charge->at - j->formed_at,
            from = charge->at - (charge->silence_ns < age ? charge->silence_ns : age);
    if (row->count == 0 || from > row->to) {
        row->count++;
        row->from = row->to = from;
        row->unheard_ns = 0;
    }
    if (charge->unheard_ns > row->unheard_ns)
        row->unheard_ns = charge->unheard_ns;
    td_time earlier = from < row->from ? row->from - from : 0; /* as another node tells */
    row->from -= earlier;
    row->ns += earlier + charge->at - row->to;
    row->to = charge->at;
    if (row->to - row->from > row->longest_ns) {
        row->longest_ns = row->to - row->from;
        row->longest_to = row->to;
        row->longest_unheard_ns = row->unheard_ns;
        row->longest_heard_ns = 0;
    }
    if (charge->silent_ranks > row->ranks)
        row->ranks = charge->silent_ranks;
}

void td_waits_heard(struct td_core *core, uint32_t node, td_time since)
{
    for (struct td_waits_job *j = core->waits; j < core->waits + TD_WAITS_JOBS_MAX; j++)
        for (struct td_wait_silence *s = j->silence; s < j->silence + TD_WAITS_SILENCES; s++)
            if (s->wait.silent == node + 1 && s->count && s->to == s->longest_to && since < s->to &&
                s->to < core->now)
                s->longest_heard_ns = core->now - s->from;
}

/* outage_of returns the row of an outage's subject. If it has none, it takes a free one, or else
 * the least. */
static struct td_wait_outage *outage_of(struct td_waits_job *j, const struct td_outage_seen *seen)
{
    struct td_wait_outage *least = j->outage;
    for (struct td_wait_outage *row = j->outage; row < j->outage + TD_WAITS_OUTAGES; row++) {
        if (row->kind == seen->kind && row->rank == seen->rank && row->pid == seen->pid)
            return row;
        if (least->kind && (!row->kind || row->ns < least->ns))
            least = row;
    }
    *least = (struct td_wait_outage){.kind = seen->kind, .rank = seen->rank, .pid = seen->pid};
    return least;
}

void td_waits_outage(struct td_waits_job *j, const struct td_outage_seen *seen)
{
    struct td_wait_outage *row = j ? outage_of(j, seen) : NULL;
    if (!row)
        return;
    if (row->count == 0 || seen->from > row->to) {
        row->count++;
        row->from = row->to = seen->from;
    }
    if (seen->to > row->to) {
        row->ns += seen->to - row->to;
        row->to = seen->to;
    }
    if (row->to - row->from >= row->longest_ns) {
        row->longest_ns = row->to - row->from;
        row->longest_to = row->to;
    }
    snprintf(row->text, sizeof row->text, "%s", seen->text);
}

void td_waits_charge(struct td_communicator *c, uint32_t rank, uint32_t kind,
                     const struct td_charge *charge)
{
    struct td_waits_job *j = c->waits;
    if (!j || rank >= c->group.size || kind == 0 || kind >= TD_KIND_MAX)
        return;
    if (charge->ns || charge->last || !charge->silent_node) {
        add(c, rank, row_of(j, td_communicator_job_rank(c, rank), kind, false), charge->ns,
            charge->longest_ns, charge)
            ->last += charge->last;
        j->ns += charge->ns;
    }
    if (!charge->silent_node || !charge->silent_ns)
        return;
    struct td_wait_silence *silence = silence_of(j, charge->silent_node);
    struct td_wait *wait = &silence->wait;
    wait->rank = td_communicator_job_rank(c, rank);
    wait->kind = (uint8_t)kind;
    wait->pid = 0;
    wait->node = UINT32_MAX; /* that of the rank */
    add(c, rank, wait, charge->silent_ns, charge->silent_longest_ns, charge);
    add_silence(j, silence, charge);
}

void td_waits_place(struct td_communicator *c, uint32_t rank, uint32_t kind)
{
    struct td_waits_job *j = c->waits;
    struct td_wait *row =
        j && kind ? row_of(j, td_communicator_job_rank(c, rank), kind, true) : NULL;
    if (row)
        identify(c, rank, row);
}

void td_waits_failed(struct td_core *core, struct td_communicator *c,
                     const struct td_waits_failure *failure)
{
    struct td_waits_job *j = c->waits;
    if (!j || j->error != TD_OK)
        return;
    j->error = failure->error;
    j->failed_at = core->now;
    j->failed_rank = failure->rank;
    j->failed_node = failure->node;
    snprintf(j->text, sizeof j->text, "%s", failure->text);
}

void td_waits_differ(const struct td_core *core, struct td_communicator *c, uint64_t sequence)
{
    struct td_waits_job *j = c->waits;
    if (!j || j->side_instance || j->error != TD_ERR_MISMATCH || j->failed_at != core->now)
        return;
    j->side_instance = c->instance;
    j->side_sequence = sequence;
}

/* has_side returns true if a rank's call is kept: a rank may repeat a call that was refused. */
static bool has_side(const struct td_waits_job *j, uint32_t rank)
{
    for (const struct td_waits_side *s = j->side; s < j->side + TD_WAITS_SIDES; s++)
        for (uint32_t i = 0; i < s->ranks && i < TD_SIDE_RANKS_MAX; i++)
            if (s->rank[i] == rank)
                return true;
    return false;
}

void td_waits_side(struct td_communicator *c, uint64_t sequence, uint32_t rank,
                   const struct td_call *call)
{
    struct td_waits_job *j = c->waits;
    uint32_t job_rank = td_communicator_job_rank(c, rank);
    if (!j || j->side_instance != c->instance || j->side_sequence != sequence ||
        has_side(j, job_rank))
        return;
    for (struct td_waits_side *s = j->side; s < j->side + TD_WAITS_SIDES; s++) {
        struct td_call same = *call;
        td_call_adopt(&same, &s->call); /* without data it agrees with any type */
        if (s->call.kind && td_call_compare(&same, &s->call) != 0)
            continue;
        if (!s->call.kind)
            s->call = *call;
        if (s->ranks < TD_SIDE_RANKS_MAX)
            s->rank[s->ranks] = job_rank;
        s->ranks++;
        return;
    }
}

void td_waits_died(struct td_core *core, struct td_communicator *c, const struct td_seat *seat,
                   uint64_t paused_ns)
{
    struct td_waits_job *j = c->waits;
    if (!j || j->died_at)
        return;
    j->died_at = core->now;
    j->died_rank = td_communicator_job_rank(c, seat->rank);
    j->died_pid = seat->pid;
    j->died_paused_ns = paused_ns;
}

const char *td_waits_death(struct td_core *core, uint64_t world)
{
    const struct td_waits_job *j = find(core, world);
    if (!j || !j->died_at)
        return NULL;
    if (j->died_paused_ns == 0)
        return td_core_format(core, "rank %u died first: process %llu", j->died_rank,
                              (unsigned long long)j->died_pid);
    return td_core_format(core,
                          "torusd there did not run for %llu.%llu s, and rank %u gave it up or "
                          "died: process %llu",
                          (unsigned long long)j->died_paused_ns / 1000000000,
                          (unsigned long long)j->died_paused_ns / 100000000 % 10, j->died_rank,
                          (unsigned long long)j->died_pid);
}

void td_waits_segment(struct td_core *core, struct td_communicator *c)
{
    struct td_charge charge = {0};
    for (uint32_t rank = 0; core->options.segment_waits && rank < c->group.size; rank++)
        for (uint32_t kind = 1; kind < TD_KIND_MAX; kind++)
            if (core->options.segment_waits(core->options.driver, c->number, rank, kind,
                                            &charge.last, &charge.ns)) {
                td_waits_charge(c, rank, kind, &charge);
                core->sums->kind[kind].segment += charge.last;
                core->sums->kind[kind].segment_waited_ns += charge.ns;
            }
}
