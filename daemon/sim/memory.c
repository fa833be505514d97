/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "checker.h"
#include "clock.h"
#include "collectives/planner.h"
#include "compute/compute.h"
#include "compute/fft/step.h"
#include "cores.h"
#include "faults.h"
#include "trace.h"

bool memory_init(struct td_sim *sim, struct node *n)
{
    uint64_t bytes = sim->options.settings.scratch_bytes;
    if (sim->options.timing_only)
        return memory_map(n, NULL, bytes) == TD_SCRATCH_HANDLE;
    void *scratch = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    n->touched = calloc(bytes / SIM_SCRATCH_PAGE + 1, 1);
    if (scratch == MAP_FAILED || !n->touched)
        return false;
    uint32_t handle = memory_map(n, scratch, bytes);
    assert(handle == TD_SCRATCH_HANDLE);
    return true;
}

void memory_return_scratch(struct node *n, uint64_t offset, uint64_t bytes)
{
    for (uint64_t page = offset / SIM_SCRATCH_PAGE; page * SIM_SCRATCH_PAGE < offset + bytes;
         page++) {
        uint64_t begin = page * SIM_SCRATCH_PAGE;
        uint64_t from = begin > offset ? begin : offset, end = begin + SIM_SCRATCH_PAGE;
        end = end < offset + bytes ? end : offset + bytes;
        if (n->touched[page])
            memset(n->mapping[TD_SCRATCH_HANDLE].base + from, 0, end - from);
    }
}

void memory_fini(struct td_sim *sim, struct node *n)
{
    if (n->mappings && !sim->options.timing_only)
        munmap(n->mapping[TD_SCRATCH_HANDLE].base, sim->options.settings.scratch_bytes);
    for (uint32_t i = 0; i < n->buffers; i++)
        free(n->buffer[i]);
    free(n->buffer);
    free(n->mapping);
    free(n->touched);
}

uint32_t memory_map(struct node *n, uint8_t *base, uint64_t bytes)
{
    /* handles are not reused, so that a late use of an old one is found */
    n->mapping = realloc(n->mapping, (n->mappings + 1) * sizeof *n->mapping);
    assert(n->mapping);
    n->mapping[n->mappings] = (struct mapping){base, bytes, true};
    return n->mappings++;
}

void memory_unmap(struct node *n, uint32_t handle)
{
    assert(handle != TD_SCRATCH_HANDLE && handle < n->mappings && n->mapping[handle].mapped);
    n->mapping[handle].mapped = false;
}

uint32_t memory_store_buffer(struct node *n, uint8_t *bytes)
{
    uint32_t i = 0;
    while (i < n->buffers && n->buffer[i])
        i++;
    if (i == n->buffers) {
        n->buffer = realloc(n->buffer, ++n->buffers * sizeof *n->buffer);
        assert(n->buffer);
    }
    n->buffer[i] = bytes;
    n->buffers_held++;
    return i;
}

void memory_release_buffer(struct node *n, uint32_t handle)
{
    assert(handle < n->buffers && n->buffer[handle]);
    free(n->buffer[handle]);
    n->buffer[handle] = NULL;
    n->buffers_held--;
}

/* ---- access ---- */

static uint8_t *address(const struct node *n, const struct td_memory *m)
{
    if (m->handle == TD_NO_MEMORY)
        return NULL;
    assert(m->handle < n->mappings && n->mapping[m->handle].mapped);
    assert(m->offset + m->bytes <= n->mapping[m->handle].bytes);
    return n->mapping[m->handle].base + m->offset;
}

/* find_bases writes the addresses of a view; room has 2 * view->ranks. */
static void find_bases(const struct node *n, const struct td_view *view, uint8_t **room,
                       struct td_bases *bases)
{
    for (uint32_t i = 0; i < view->ranks; i++) {
        room[i] = address(n, &view->source[i]);
        room[view->ranks + i] = address(n, &view->destination[i]);
    }
    *bases =
        (struct td_bases){.source = room,
                          .destination = room + view->ranks,
                          .scratch = n->mapping[TD_SCRATCH_HANDLE].base + view->scratch_offset};
    td_bases_forms(bases, view);
}

void memory_pack(const struct node *n, const struct td_slice *slice, const struct td_view *view,
                 uint64_t offset, uint64_t bytes, uint8_t *out)
{
    uint8_t *room[2 * TD_NODE_RANKS_MAX];
    struct td_bases bases;
    find_bases(n, view, room, &bases);
    td_compute_pack(slice, &bases, offset, bytes, out);
}

void memory_land(struct node *n, const struct td_compute *to, const uint8_t *bytes)
{
    static const struct td_lanes first = {.count = 1};
    uint8_t *room[2 * TD_NODE_RANKS_MAX];
    struct td_bases bases;
    find_bases(n, &to->view, room, &bases);
    checker_touch(n, &to->step.to, &first, to->view.scratch_offset);
    td_compute_unpack(&to->step.to, &first, &bases, to->offset, to->bytes, bytes);
}

/* ---- computations ---- */

struct computation {
    struct td_compute compute;
    bool done;
    td_err error;
};

static td_err make_plan(const struct td_compute *c)
{
    return td_collectives_planner.make(&c->plan, c->tables) ? TD_OK : TD_ERR_NO_MEMORY;
}

static td_err run_computation(struct td_sim *sim, uint32_t node, const struct td_compute *c)
{
    if (c->kind == TD_COMPUTE_PLAN)
        return make_plan(c);
    struct node *n = &sim->node[node];
    uint8_t *room[2 * TD_NODE_RANKS_MAX];
    struct td_bases bases;
    find_bases(n, &c->view, room, &bases);
    checker_touch(n, &c->step.to, &c->step.to_lanes, c->view.scratch_offset);
    switch (c->kind) {
    case TD_COMPUTE_STEP:
        return td_step_run(&c->step, &bases);
    case TD_COMPUTE_UNPACK:
        td_compute_unpack(&c->step.to, &c->step.to_lanes, &bases, c->offset, c->bytes,
                          n->buffer[c->buffer]);
        return TD_OK;
    case TD_COMPUTE_LOAD:
        td_compute_unpack(&c->step.to, &c->step.to_lanes, &bases, c->offset, c->bytes, c->data);
        return TD_OK;
    case TD_COMPUTE_STORE:
        td_compute_pack(&c->step.from, &bases, 0, c->bytes, c->store);
        return TD_OK;
    case TD_COMPUTE_PLAN:
        break;
    }
    return TD_ERR_INTERNAL;
}

static const char *compute_name(const struct td_compute *c)
{
    return c->kind == TD_COMPUTE_STEP   ? td_step_kind_name(c->step.kind)
           : c->kind == TD_COMPUTE_PLAN ? "plan"
                                        : "unpack, load or store";
}

void memory_compute(struct td_sim *sim, uint32_t node, const struct td_compute *c)
{
    if (sim->instant && c->kind != TD_COMPUTE_PLAN) {
        trace_line(sim, node, '<', "compute %s", compute_name(c));
        cores_complete(sim, TD_EVENT_COMPUTED, c->handle);
        return;
    }
    struct computation *k = calloc(1, sizeof *k);
    assert(k);
    k->compute = *c;
    bool modelled = sim->options.modelled;
    td_time later = 0;
    k->error = faults_slow_worker(sim, node, c, &later);
    bool only_time = sim->options.timing_only && c->kind != TD_COMPUTE_PLAN;
    if (only_time || k->error != TD_OK) {
        k->done = true;
    } else if (modelled || c->kind == TD_COMPUTE_LOAD || c->kind == TD_COMPUTE_STORE ||
               td_sim_random(sim, 2)) {
        k->error = run_computation(sim, node, c);
        k->done = true;
    }
    sim->node[node].under_way++;
    trace_line(sim, node, '<', "compute %s", compute_name(c));
    td_time end = modelled ? sim->now : clock_delay(sim, sim->options.compute_ns_max) + later;
    struct event *e = queue_put(&sim->queue, end, COMPUTED, node);
    e->epoch = sim->node[node].starts;
    e->handle = c->handle;
    e->object = k;
}

void memory_computed(struct td_sim *sim, const struct event *e)
{
    struct computation *k = e->object;
    if (e->epoch != sim->node[e->node].starts)
        return; /* an earlier daemon began it */
    sim->node[e->node].under_way--;
    if (!k->done)
        k->error = run_computation(sim, e->node, &k->compute);
    trace_line(sim, e->node, '>', "computed");
    cores_feed(sim, e->node,
               &(struct td_event){.kind = TD_EVENT_COMPUTED,
                                  .u.computed = {.handle = e->handle, .error = k->error}});
}
