/* SPDX-License-Identifier: Apache-2.0 */
#include "workers.h"

#include <stddef.h>
#include <stdlib.h>

#include "collectives/planner.h"
#include "compute/compute.h"
#include "compute/fft/step.h"
#include "io/control/traffic/payloads.h"
#include "io/plans/plans.h"
#include "io/plans/waiting.h"
#include "pool.h"

enum {
    INLINE_BYTES = 1 << 19,          /* touched by a computation that the loop does itself, */
    INLINE_PART_BYTES = 1 << 16,     /* in parts of these bytes: their pages may have to be made */
    TURN_BYTES = TD_POOL_TURN_BYTES, /* touched by the loop in a turn of a job */
    TURN_NS = 1000000,               /* until the loop looks at its sockets again */
    GRAIN = 1 << 14, /* the target of a part has a multiple of these bytes: whole elements */
    SPARE_MAX = 64,
};
/* Where the buffers of ranks would begin, for plans that are made before there are any: all offsets
 * are less. */
static const uintptr_t STAND_IN = (uintptr_t)1 << 44;

/* struct task: a computation that is under way or waits. */
struct task {
    struct td_pool_task pooled; /* the first member */
    struct td_workers *workers;
    struct task *next;
    struct td_waiter waiter; /* for the plans of a transform */
    struct td_compute compute;
    struct td_bases bases;
    const uint8_t *in;
    td_err error;
    uint64_t done, all; /* bytes of the target, if the computation has parts; else 0 */
    uint64_t part;      /* bytes of a part */
    uint32_t addresses_ranks;
    uint8_t **addresses;
};

struct td_workers {
    struct td_loop *loop;
    struct td_waiting *waiting_plans;
    struct task *spare;
    struct td_shares_table table;
    struct td_shares small; /* for the loop */
    struct td_pool *pool;
    uint32_t spares;
    uint64_t small_bytes; /* touched by the loop since it last looked at its sockets */
    uv_prepare_t prepare; /* runs before the loop looks at its sockets */
    uv_idle_t more;       /* runs while `small` has tasks */
    bool closing;
};

static void on_prepare(uv_prepare_t *prepare)
{
    ((struct td_workers *)prepare->data)->small_bytes = 0;
}

/* ---- tasks ---- */

static struct task *acquire(struct td_workers *w, uint32_t ranks)
{
    struct task *task = w->spare;
    if (task) {
        w->spare = task->next;
        w->spares--;
    } else if (!(task = calloc(1, sizeof *task))) {
        return NULL;
    }
    if (task->addresses_ranks < ranks || !task->addresses) {
        uint8_t **addresses = realloc(task->addresses, (2 * (size_t)ranks + 1) * sizeof *addresses);
        if (!addresses) {
            free(task->addresses);
            free(task);
            return NULL;
        }
        task->addresses = addresses;
        task->addresses_ranks = ranks;
    }
    task->workers = w;
    task->waiter.plans = task->waiter.shapes = 0;
    return task;
}

static void release(struct td_workers *w, struct task *task)
{
    td_waiting_done(&task->waiter);
    if (w->spares >= SPARE_MAX || w->closing) {
        free(task->addresses);
        free(task);
        return;
    }
    task->next = w->spare;
    w->spare = task;
    w->spares++;
}

/* begin fills in a task. */
static void begin(struct task *task, const struct td_compute *compute)
{
    const struct td_loop *loop = task->workers->loop;
    bool small = compute->cost_bytes <= INLINE_BYTES;
    uint64_t parts = compute->cost_bytes / (small ? INLINE_PART_BYTES : TURN_BYTES) + 1;
    task->compute = *compute;
    task->error = TD_OK;
    task->done = 0;
    task->all = compute->kind == TD_COMPUTE_STEP     ? td_step_divisible(&compute->step)
                : compute->kind == TD_COMPUTE_UNPACK ? compute->bytes
                                                     : 0;
    task->part = (task->all / parts / GRAIN + 1) * GRAIN;
    task->pooled.job = compute->view.job;
    task->pooled.cost_bytes = compute->cost_bytes;
    task->pooled.divisible = task->all != 0;
    task->in = compute->kind == TD_COMPUTE_UNPACK ? td_peers_buffer(loop->peers, compute->buffer)
                                                  : compute->data;
    td_regions_bases(loop->regions, &compute->view, task->addresses, &task->bases);
}

/* run executes the next part, or a task without parts. */
static void run(struct task *task)
{
    const struct td_compute *c = &task->compute;
    uint64_t left = task->all - task->done, bytes = task->part < left ? task->part : left;
    if (c->kind == TD_COMPUTE_PLAN)
        task->error = td_collectives_planner.make(&c->plan, c->tables) ? TD_OK : TD_ERR_NO_MEMORY;
    else if (c->kind == TD_COMPUTE_STEP && task->all == 0)
        task->error = td_step_run_by(&c->step, &task->bases, task->waiter.plan);
    else if (c->kind == TD_COMPUTE_STEP)
        td_step_run_part(&c->step, &task->bases, task->done, bytes);
    else if (c->kind == TD_COMPUTE_STORE)
        td_compute_pack(&c->step.from, &task->bases, 0, c->bytes, c->store);
    else if (c->kind == TD_COMPUTE_LOAD)
        td_compute_unpack(&c->step.to, &c->step.to_lanes, &task->bases, c->offset, c->bytes,
                          task->in);
    else if (task->in) /* NULL: all bytes were received at their places */
        td_compute_unpack(&c->step.to, &c->step.to_lanes, &task->bases, c->offset + task->done,
                          bytes, task->in + task->done);
    task->done += bytes;
    if (td_regions_any_lost() && task->error == TD_OK && c->kind != TD_COMPUTE_PLAN)
        task->error = TD_ERR_SYSTEM; /* a page may have been in this region: this is not a result */
}

static bool has_more(const struct task *task)
{
    return task->error == TD_OK && task->done < task->all;
}

static void feed_computed(struct td_workers *w, uint64_t handle, td_err error)
{
    td_loop_feed(w->loop, &(struct td_event){.kind = TD_EVENT_COMPUTED,
                                             .u.computed = {.handle = handle, .error = error}});
}

/* finish ends a task and tells the core. */
static void finish(struct td_workers *w, struct task *task)
{
    uint64_t handle = task->compute.handle;
    td_err error = task->error;
    if (task->compute.kind == TD_COMPUTE_STEP && task->compute.step.kind == TD_TRANSFORM)
        td_plans_used(w->loop->plans);
    release(w, task);
    if (!w->loop->stopped)
        feed_computed(w, handle, error);
}

/* ---- on the loop ---- */

/* run_until executes parts of a task until the time, one at least. It returns true if none is
 * left. */
static bool run_until(struct task *task, td_time until)
{
    do
        run(task);
    while (has_more(task) && td_loop_now() < until);
    return !has_more(task);
}

static void on_more(uv_idle_t *more)
{
    struct td_workers *w = more->data;
    w->small_bytes = 0;
    td_time until = td_busy_begin(&w->loop->busy, "small computations") + TURN_NS;
    while (w->small.first && w->small_bytes < TURN_BYTES && td_loop_now() < until &&
           !w->loop->stopped) {
        struct task *task = (struct task *)w->small.first;
        bool ended = run_until(task, until);
        uint64_t cost = ended ? task->compute.cost_bytes : 0; /* of all parts, after the last one */
        w->small_bytes += cost;
        td_shares_served(&w->small, cost, ended);
        if (ended)
            finish(w, task);
    }
    if (!w->small.first)
        uv_idle_stop(more);
    td_busy_end(&w->loop->busy);
}

/* compute_here executes a small task now. What the loop has no time for in this event is done after
 * others, while the loop looks at its sockets between them. */
static void compute_here(struct td_workers *w, struct task *task)
{
    td_time until = w->loop->busy.began + TURN_NS;
    bool now = !w->small.first && w->small_bytes < TURN_BYTES && td_loop_now() < until;
    if (now && run_until(task, until)) {
        w->small_bytes += task->compute.cost_bytes;
        finish(w, task);
        return;
    }
    td_shares_add(&w->small, &task->pooled.turn, task->compute.view.job);
    uv_idle_start(&w->more, on_more);
}

/* ---- on the threads of the pool ---- */

static bool run_part(struct td_pool_task *pooled)
{
    struct task *task = (struct task *)pooled;
    run(task);
    return has_more(task);
}

static void on_ended(struct td_pool_task *pooled)
{
    struct task *task = (struct task *)pooled;
    finish(task->workers, task);
}

/* ---- all ---- */

/* execute begins a task that has what it needs. */
static void execute(struct td_workers *w, struct task *task)
{
    const struct td_compute *c = &task->compute;
    if (c->kind == TD_COMPUTE_LOAD || c->kind == TD_COMPUTE_STORE) { /* of a packet */
        (void)run_until(task, UINT64_MAX);
        finish(w, task);
    } else if (c->cost_bytes <= INLINE_BYTES) {
        compute_here(w, task);
    } else {
        td_pool_add(w->pool, &task->pooled);
    }
}

static struct task *task_of(struct td_waiter *waiter)
{
    return (struct task *)((char *)waiter - offsetof(struct task, waiter));
}

static void on_plan(struct td_waiter *waiter, td_err error)
{
    struct task *task = task_of(waiter);
    task->error = error;
    if (error != TD_OK) {
        finish(task->workers, task);
        return;
    }
    execute(task->workers, task);
    td_pool_start(task->workers->pool);
}

/* find_plans returns true if the task has the plans that it needs. */
static bool find_plans(struct td_workers *w, struct task *task)
{
    struct td_waiter *waiter = &task->waiter;
    if (task->compute.kind != TD_COMPUTE_STEP)
        return true;
    waiter->shapes = td_step_shapes(&task->compute.step, &task->bases, waiter->shape);
    waiter->handle = task->compute.handle;
    waiter->uid = task->compute.view.uid;
    waiter->ready = on_plan;
    td_err error = td_waiting_find(w->waiting_plans, waiter);
    if (error == TD_ERR_NO_MEMORY)
        on_plan(&task->waiter, error);
    return error == TD_OK;
}

void td_workers_compute(struct td_workers *w, const struct td_compute *compute)
{
    struct task *task = acquire(w, compute->view.ranks);
    if (!task) {
        feed_computed(w, compute->handle, TD_ERR_NO_MEMORY);
        return;
    }
    begin(task, compute);
    if (find_plans(w, task))
        execute(w, task);
}

void td_workers_prepare(struct td_workers *w, const struct td_step *step, uint32_t ranks,
                        uint64_t uid)
{
    uint8_t *addresses[2 * TD_NODE_RANKS_MAX];
    struct td_shape shape[TD_STEP_SHAPES_MAX];
    struct td_view scratch_only = {0};
    struct td_bases bases;
    td_regions_bases(w->loop->regions, &scratch_only, addresses, &bases);
    for (uint32_t i = 0; i < 2 * ranks; i++) {
        uintptr_t at = i < ranks ? STAND_IN : 2 * STAND_IN;
        addresses[i] = (uint8_t *)at; /* NOLINT(performance-no-int-to-ptr): never read */
    }
    bases.source = addresses;
    bases.destination = addresses + ranks;
    unsigned shapes = td_step_shapes(step, &bases, shape);
    for (unsigned i = 0; i < shapes; i++)
        td_waiting_prepare(w->waiting_plans, &shape[i], uid);
    td_pool_prepare(w->pool);
}

void td_workers_start(struct td_workers *w)
{
    td_pool_start(w->pool);
}

bool td_workers_wait(const struct td_workers *w)
{
    return w->small.first != NULL;
}

bool td_workers_stalled(const struct td_workers *w, uint64_t ns)
{
    return td_pool_stalled(w->pool, ns);
}

void td_workers_look(const struct td_workers *w, struct td_pool_counts *counts)
{
    td_pool_look(w->pool, counts);
}

void td_workers_drain(struct td_workers *w)
{
    if (!w)
        return;
    w->closing = true;
    while (w->small.first) {
        struct task *task = (struct task *)w->small.first;
        td_shares_served(&w->small, 0, true);
        release(w, task);
    }
    for (struct td_waiter *waiter = td_waiting_drop(w->waiting_plans); waiter;) {
        struct task *task = task_of(waiter);
        waiter = waiter->next;
        release(w, task);
    }
    for (struct td_pool_task *pooled = td_pool_stop(w->pool); pooled;) {
        struct task *task = (struct task *)pooled;
        pooled = pooled->next;
        release(w, task);
    }
}

struct td_workers *td_workers_create(struct td_loop *loop)
{
    static const struct td_pool_calls calls = {run_part, on_ended};
    struct td_workers *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->waiting_plans = td_waiting_create(loop);
    w->pool = w->waiting_plans ? td_pool_create(&loop->uv, loop->config->workers, &calls) : NULL;
    if (!w->pool) {
        td_waiting_free(w->waiting_plans);
        free(w);
        return NULL;
    }
    w->loop = loop;
    td_shares_init(&w->small, &w->table, TURN_BYTES);
    uv_prepare_init(&loop->uv, &w->prepare);
    uv_idle_init(&loop->uv, &w->more);
    w->prepare.data = w->more.data = w;
    uv_prepare_start(&w->prepare, on_prepare);
    return w;
}

void td_workers_destroy(struct td_workers *w)
{
    if (!w)
        return;
    while (w->spare) {
        struct task *task = w->spare;
        w->spare = task->next;
        free(task->addresses);
        free(task);
    }
    td_waiting_free(w->waiting_plans);
    td_pool_free(w->pool);
    free(w);
}
