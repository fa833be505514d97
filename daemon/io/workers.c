/* SPDX-License-Identifier: Apache-2.0 */
#include "workers.h"

#include <stdlib.h>

#include "compute/compute.h"
#include "compute/fft/step.h"
#include "io/control/peers_buffers.h"
#include "io/plans/plans.h"

enum { INLINE_BYTES = 1 << 19, SPARE_MAX = 64 };

struct job {
    uv_work_t work;
    struct td_workers *workers;
    struct job *next;
    struct td_compute compute;
    struct td_bases bases;
    const uint8_t *in;
    td_err error;
    uint32_t addresses_ranks;
    uint8_t **addresses;
};

struct td_workers {
    struct td_loop *loop;
    struct job *spare;
    uint32_t spares, running;
    td_time ended_at; /* when a job in progress last ended, or the first of them began */
    bool closing;
};

struct td_workers *td_workers_create(struct td_loop *loop)
{
    struct td_workers *w = calloc(1, sizeof *w);
    if (w)
        w->loop = loop;
    return w;
}

static void run(struct job *job)
{
    const struct td_compute *c = &job->compute;
    job->error = TD_OK;
    if (c->kind == TD_COMPUTE_STEP)
        job->error = td_step_run(&c->step, &job->bases);
    else if (c->kind == TD_COMPUTE_STORE)
        td_compute_pack(&c->step.from, &job->bases, 0, c->bytes, c->store);
    else
        td_compute_unpack(&c->step.to, &c->step.to_lanes, &job->bases,
                          c->kind == TD_COMPUTE_UNPACK ? c->offset : 0, c->bytes, job->in);
    if (td_regions_any_lost() && job->error == TD_OK)
        job->error = TD_ERR_SYSTEM; /* a page may have been in this region: this is not a result */
}

static struct job *acquire_job(struct td_workers *w, uint32_t ranks)
{
    struct job *job = w->spare;
    if (job) {
        w->spare = job->next;
        w->spares--;
    } else if (!(job = calloc(1, sizeof *job))) {
        return NULL;
    }
    if (job->addresses_ranks < ranks || !job->addresses) {
        uint8_t **addresses = realloc(job->addresses, (2 * (size_t)ranks + 1) * sizeof *addresses);
        if (!addresses) {
            free(job->addresses);
            free(job);
            return NULL;
        }
        job->addresses = addresses;
        job->addresses_ranks = ranks;
    }
    job->workers = w;
    return job;
}

static void release_job(struct td_workers *w, struct job *job)
{
    if (w->spares >= SPARE_MAX || w->closing) {
        free(job->addresses);
        free(job);
        return;
    }
    job->next = w->spare;
    w->spare = job;
    w->spares++;
}

static void feed_computed(struct td_workers *w, uint64_t handle, td_err error)
{
    td_loop_feed(w->loop, &(struct td_event){.kind = TD_EVENT_COMPUTED,
                                             .u.computed = {.handle = handle, .error = error}});
}

static void note_transform(const struct job *job)
{
    if (job->compute.kind == TD_COMPUTE_STEP && job->compute.step.kind == TD_TRANSFORM)
        td_plans_used(job->workers->loop->plans);
}

static void on_worker(uv_work_t *work)
{
    run(work->data);
}

static void on_done(uv_work_t *work, int status)
{
    struct job *job = work->data;
    struct td_workers *w = job->workers;
    uint64_t handle = job->compute.handle;
    td_err error = status < 0 ? TD_ERR_SYSTEM : job->error;
    note_transform(job);
    release_job(w, job);
    w->running--;
    w->ended_at = td_loop_now();
    if (!w->loop->stopped)
        feed_computed(w, handle, error);
}

void td_workers_compute(struct td_workers *w, const struct td_compute *compute)
{
    struct job *job = acquire_job(w, compute->view.ranks);
    if (!job) {
        feed_computed(w, compute->handle, TD_ERR_NO_MEMORY);
        return;
    }
    job->compute = *compute;
    job->in = compute->kind == TD_COMPUTE_UNPACK ? td_peers_buffer(w->loop->peers, compute->buffer)
                                                 : compute->data;
    td_regions_bases(w->loop->regions, &compute->view, job->addresses, &job->bases);
    bool run_inline = compute->kind == TD_COMPUTE_LOAD || compute->kind == TD_COMPUTE_STORE ||
                      compute->cost_bytes <= INLINE_BYTES;
    job->work.data = job;
    if (!run_inline && uv_queue_work(&w->loop->uv, &job->work, on_worker, on_done) == 0) {
        if (w->running++ == 0)
            w->ended_at = td_loop_now();
        return;
    }
    run(job);
    td_err error = job->error;
    note_transform(job);
    release_job(w, job);
    feed_computed(w, compute->handle, error);
}

bool td_workers_stalled(const struct td_workers *w, uint64_t ns)
{
    return w->running && td_loop_now() - w->ended_at > ns;
}

void td_workers_drain(struct td_workers *w)
{
    while (w && w->running)
        uv_run(&w->loop->uv, UV_RUN_ONCE);
}

void td_workers_destroy(struct td_workers *w)
{
    if (!w)
        return;
    while (w->spare) {
        struct job *job = w->spare;
        w->spare = job->next;
        free(job->addresses);
        free(job);
    }
    free(w);
}
