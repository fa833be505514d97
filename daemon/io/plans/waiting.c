/* SPDX-License-Identifier: Apache-2.0 */
#include "waiting.h"

#include <stdlib.h>
#include <string.h>

#include "plans.h"
#include "system/heap.h"
#include "system/limits.h"

enum {
    LOOK_MS = 100,   /* between two looks whether the waiters are needed */
    DROP_MS = 10000, /* between two looks whether the users of plans are there */
};

/* struct making: a shape whose plan is being made. */
struct making {
    struct td_planner_task task;
    struct making *next;
    struct td_waiting *waiting;
    struct td_shape shape;
    uint64_t uid; /* of the user who needs the plan first */
    td_err error;
    struct td_waiter *first, **last;
};

struct td_waiting {
    struct td_loop *loop;
    struct making *making;
    uv_timer_t look; /* runs while there are waiters */
    uv_timer_t drop; /* runs while there are plans */
    struct td_planner_task sweep;
    bool sweeping;
    bool unswept; /* plans were made since the last sweep */
    bool made;    /* and since the last look */
};

/* ---- plans whose users are gone ---- */

static void sweep(void *waiting)
{
    (void)waiting;
    td_fft_sweep();
    td_heap_return();
}

static void swept(void *waiting)
{
    ((struct td_waiting *)waiting)->sweeping = false;
}

static bool is_there(void *loop, uint64_t uid)
{
    return td_core_has_user(((struct td_loop *)loop)->core, uid);
}

static void on_drop(uv_timer_t *timer)
{
    struct td_waiting *w = timer->data;
    bool due = td_fft_drop(is_there, w->loop) || (w->unswept && !w->made);
    bool waits = w->made;
    w->made = false;
    if (due && !w->sweeping) {
        w->sweeping = true;
        w->unswept = false;
        td_planner_post_idle(td_plans_planner(w->loop->plans), &w->sweep);
    } else if (!due && !waits && td_fft_bytes(UINT64_MAX) == 0) {
        uv_timer_stop(timer);
    }
}

/* ---- waiting ---- */

struct td_waiting *td_waiting_create(struct td_loop *loop)
{
    struct td_waiting *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->loop = loop;
    uv_timer_init(&loop->uv, &w->look);
    w->look.data = w;
    uv_timer_init(&loop->uv, &w->drop);
    w->drop.data = w;
    w->sweep = (struct td_planner_task){
        .owner = w, .user = TD_PLANNER_NOBODY, .work = sweep, .done = swept};
    return w;
}

void td_waiting_done(struct td_waiter *waiter)
{
    while (waiter->plans > 0)
        td_fft_release(waiter->plan[--waiter->plans]);
}

/* on_look ends the waiting of transforms whose operations have ended. */
static void on_look(uv_timer_t *timer)
{
    struct td_waiting *w = timer->data;
    bool any = false;
    for (struct making *m = w->making; m && !w->loop->stopped; m = m->next)
        for (struct td_waiter **at = &m->first; *at && !w->loop->stopped;) {
            struct td_waiter *waiter = *at;
            if (td_core_needs(w->loop->core, waiter->handle)) {
                at = &waiter->next;
                any = true;
                continue;
            }
            if (!(*at = waiter->next))
                m->last = at;
            waiter->ready(waiter, TD_ERR_CANCELLED);
        }
    if (!any)
        uv_timer_stop(timer);
}

static void make(void *making)
{
    enum { LARGE_BYTES = 64 << 20 };
    struct making *m = making;
    bool large = td_fft_expected_bytes(&m->shape) >= LARGE_BYTES;
    m->error =
        td_fft_make_plan_within(&m->shape, m->uid, large ? td_limit_memory_left() : UINT64_MAX);
}

static void made(void *making)
{
    struct making *m = making, **at = &m->waiting->making;
    struct td_loop *loop = m->waiting->loop;
    if (loop->stopped)
        return;
    m->waiting->made = m->waiting->unswept = true;
    if (!uv_is_active((uv_handle_t *)&m->waiting->drop))
        uv_timer_start(&m->waiting->drop, on_drop, DROP_MS, DROP_MS);
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    while (m->first && !loop->stopped) {
        struct td_waiter *waiter = m->first;
        m->first = waiter->next;
        td_err error = m->error == TD_OK ? td_waiting_find(m->waiting, waiter) : m->error;
        if (error != TD_ERR_BUSY)
            waiter->ready(waiter, error);
    }
    if (!m->first) {
        free(m);
        return;
    }
    m->next = m->waiting->making; /* the loop has stopped: td_waiting_drop finds the others */
    m->waiting->making = m;
}

/* making_of returns the making of a plan, and begins it if it is not under way; NULL if memory runs
 * out. `idle`: no rank waits for the plan, so the planner makes others first. A rank does not wait
 * for the turn of another user: whoever comes second finds the plan made. */
static struct making *making_of(struct td_waiting *w, const struct td_shape *shape, uint64_t uid,
                                bool idle)
{
    struct td_planner *planner = td_plans_planner(w->loop->plans);
    struct making *m = w->making;
    while (m && (memcmp(&m->shape, shape, sizeof *shape) != 0 || (!idle && m->uid != uid)))
        m = m->next;
    if (m && !idle)
        td_planner_hurry(planner, &m->task);
    if (m || !(m = calloc(1, sizeof *m)))
        return m;
    m->task = (struct td_planner_task){.owner = m, .user = uid, .work = make, .done = made};
    m->waiting = w;
    m->shape = *shape;
    m->uid = uid;
    m->last = &m->first;
    m->next = w->making;
    w->making = m;
    if (idle)
        td_planner_post_idle(planner, &m->task);
    else
        td_planner_post(planner, &m->task);
    return m;
}

td_err td_waiting_find(struct td_waiting *w, struct td_waiter *waiter)
{
    bool improvable = false;
    for (; waiter->plans < waiter->shapes; waiter->plans++) {
        const struct td_shape *shape = &waiter->shape[waiter->plans];
        struct td_fft_plan *plan = td_fft_acquire(shape, waiter->uid, &improvable);
        struct making *m = !plan || improvable ? making_of(w, shape, waiter->uid, false) : NULL;
        waiter->plan[waiter->plans] = plan;
        if (plan)
            continue;
        if (!m)
            return TD_ERR_NO_MEMORY;
        waiter->next = NULL;
        *m->last = waiter;
        m->last = &waiter->next;
        if (!uv_is_active((uv_handle_t *)&w->look))
            uv_timer_start(&w->look, on_look, LOOK_MS, LOOK_MS);
        return TD_ERR_BUSY;
    }
    return TD_OK;
}

void td_waiting_prepare(struct td_waiting *w, const struct td_shape *shape, uint64_t uid)
{
    unsigned count = 0;
    for (const struct making *m = w->making; m; m = m->next)
        count += m->uid == uid;
    if (count < TD_PREPARED_MAX && !td_fft_is_planned(shape))
        (void)making_of(w, shape, uid, true);
}

struct td_waiter *td_waiting_drop(struct td_waiting *w)
{
    struct td_waiter *list = NULL;
    for (struct making *m = w->making; m; m = m->next) {
        *m->last = list;
        list = m->first;
        m->first = NULL;
        m->last = &m->first;
    }
    return list;
}

void td_waiting_free(struct td_waiting *w)
{
    if (!w)
        return;
    while (w->making) {
        struct making *m = w->making;
        w->making = m->next;
        free(m);
    }
    free(w);
}
