/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim.h"

bool memory_init(struct td_sim *sim, struct node *n)
{
    uint64_t bytes = sim->options.settings.scratch_bytes;
    if (sim->options.hollow)
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

void memory_fini(struct td_sim *sim, struct node *n)
{
    if (n->mappings && !sim->options.hollow)
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

static uint8_t *address(const struct node *n, const struct td_memory *m)
{
    if (m->handle == TD_NO_MEMORY)
        return NULL;
    assert(m->handle < n->mappings && n->mapping[m->handle].mapped);
    assert(m->offset + m->bytes <= n->mapping[m->handle].bytes);
    return n->mapping[m->handle].base + m->offset;
}

void memory_bases(const struct node *n, const struct td_view *view, uint8_t **room,
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
}

uint32_t memory_take_buffer(struct node *n, uint8_t *bytes)
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

/* touch marks the pages from the first to the last byte of each lane of a slice in scratch. */
static void touch(struct node *n, const struct td_slice *s, const struct td_lanes *lanes,
                  uint64_t scratch_offset)
{
    if (s->space != TD_SPACE_SCRATCH || td_slice_bytes(s) == 0)
        return;
    int64_t begin = (int64_t)scratch_offset + s->offset, end = begin + s->run;
    for (int l = 0; l < s->levels; l++)
        end += (s->level[l].count - 1) * s->level[l].stride;
    for (uint32_t lane = 0; lane < lanes->count; lane++) {
        int64_t shift = lanes->stride * lane;
        for (int64_t page = (begin + shift) / SIM_SCRATCH_PAGE;
             page <= (end + shift - 1) / SIM_SCRATCH_PAGE; page++) {
            n->pages_touched += !n->touched[page];
            n->touched[page] = 1;
        }
    }
}

void memory_poison(struct td_sim *sim, struct node *n)
{
    static const uint8_t poisons[] = {0xff, 0xfb, 0x7b}; /* NaN, low, high */
    struct td_usage counts;
    if (n->pages_touched == 0)
        return;
    td_core_usage(n->core, &counts);
    if (counts.scratch_used)
        return;
    int poison = poisons[td_sim_random(sim, sizeof poisons)];
    for (uint64_t page = 0; n->pages_touched; page++) {
        if (!n->touched[page])
            continue;
        memset(n->mapping[TD_SCRATCH_HANDLE].base + page * SIM_SCRATCH_PAGE, poison,
               SIM_SCRATCH_PAGE);
        n->touched[page] = 0;
        n->pages_touched--;
    }
}

td_err memory_compute(struct td_sim *sim, uint32_t node, const struct td_compute *c)
{
    struct node *n = &sim->node[node];
    uint8_t *room[2 * TD_NODE_RANKS_MAX];
    struct td_bases bases;
    memory_bases(n, &c->view, room, &bases);
    touch(n, &c->step.to, &c->step.to_lanes, c->view.scratch_offset);
    switch (c->kind) {
    case TD_COMPUTE_STEP:
        return td_step_run(&c->step, &bases);
    case TD_COMPUTE_UNPACK:
        td_compute_unpack(&c->step.to, &c->step.to_lanes, &bases, c->offset, c->bytes,
                          n->buffer[c->buffer]);
        return TD_OK;
    case TD_COMPUTE_LOAD:
        td_compute_unpack(&c->step.to, &c->step.to_lanes, &bases, 0, c->bytes, c->data);
        return TD_OK;
    case TD_COMPUTE_STORE:
        td_compute_pack(&c->step.from, &bases, 0, c->bytes, c->store);
        return TD_OK;
    }
    return TD_ERR_INTERNAL;
}

void memory_land(struct node *n, const struct td_compute *to, const uint8_t *bytes)
{
    static const struct td_lanes first = {.count = 1};
    uint8_t *room[2 * TD_NODE_RANKS_MAX];
    struct td_bases bases;
    memory_bases(n, &to->view, room, &bases);
    touch(n, &to->step.to, &first, to->view.scratch_offset);
    td_compute_unpack(&to->step.to, &first, &bases, to->offset, to->bytes, bytes);
}

void memory_pack(const struct node *n, const struct td_slice *slice, const struct td_view *view,
                 uint64_t offset, uint64_t bytes, uint8_t *out)
{
    uint8_t *room[2 * TD_NODE_RANKS_MAX];
    struct td_bases bases;
    memory_bases(n, view, room, &bases);
    td_compute_pack(slice, &bases, offset, bytes, out);
}
