/* SPDX-License-Identifier: Apache-2.0 */
#include "group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "component.h"
#include "membership.h"

enum state {
    WAITING, /* for the job */
    MAKING,
    READY, /* or failed: `error` */
};

struct tm_group {
    struct tm_group *next; /* in the list of those that wait for the job */
    enum state state;
    unsigned holds;
    bool is_world;
    uint32_t tag, count;
    uint32_t *ranks;
    torus_group *group, *made;
    int error;
    char text[512];
    struct tm_event event; /* it was made */
    struct tm_start *queue, **queue_last;
};

static uint32_t persistent; /* groups of persistent calls */
static struct tm_group *waiting, **waiting_last = &waiting;

/* ---- holds ---- */

struct tm_group *tm_group_hold(struct tm_group *g)
{
    tm_lock();
    g->holds++;
    tm_unlock();
    return g;
}

void tm_group_release(struct tm_group *g)
{
    if (!g)
        return;
    tm_lock();
    bool last = --g->holds == 0;
    if (last && g->tag >= TM_PERSISTENT_TAG)
        persistent--;
    tm_unlock();
    if (!last)
        return;
    if (g->group && !g->is_world && tm_context)
        torus_group_free(g->group); /* calls in flight complete */
    free(g->ranks);
    free(g);
}

uint32_t tm_groups_persistent(void)
{
    tm_lock();
    uint32_t count = persistent;
    tm_unlock();
    return count;
}

/* ---- making ---- */

/* drain starts the queued calls in order; afterwards calls start at once. */
static void drain(struct tm_group *g)
{
    for (;;) {
        tm_lock();
        struct tm_start *start = g->queue;
        if (start) {
            g->queue = start->next;
            if (!g->queue)
                g->queue_last = &g->queue;
        } else {
            g->state = READY;
        }
        tm_unlock();
        if (!start)
            return;
        start->run(start->user, g->group, g->error, g->text);
    }
}

/* after_made runs when the group was made, or could not be made. */
static void after_made(void *user)
{
    struct tm_group *g = user;
    g->group = g->error == TORUS_OK ? g->made : NULL;
    drain(g);
    tm_group_release(g);
}

static void fail(struct tm_group *g, int error, const char *text)
{
    g->error = error;
    snprintf(g->text, sizeof g->text, "%s", text);
}

static void on_made(torus_request *request, int error, void *user)
{
    struct tm_group *g = user;
    if (error != TORUS_OK)
        fail(g, error, torus_request_error(request));
    tm_post(&g->event);
}

/* make starts the creation, or finds the reason why it is impossible. The job is complete. */
static void make(struct tm_group *g)
{
    int error = TORUS_OK;
    const char *text = NULL;
    torus_request *request = NULL;
    torus_group *world = tm_membership_world(&error, &text);
    tm_expect();
    if (error == TORUS_OK && g->is_world) {
        g->made = world;
    } else if (error == TORUS_OK) {
        error = torus_igroup_create(world, g->ranks, g->count, g->tag, &g->made, &request);
        if (error == TORUS_OK)
            error = torus_set_callback(request, on_made, g);
        text = torus_last_error(tm_context);
    }
    if (error != TORUS_OK)
        fail(g, error, text);
    if (error != TORUS_OK || g->is_world)
        tm_post(&g->event);
}

/* is_joined returns true if the join of the job has ended. */
static bool is_joined(void)
{
    int error = TORUS_OK;
    const char *text = NULL;
    return tm_membership_world(&error, &text) || error != TORUS_OK;
}

/* next_to_make takes the first group that waits for the job; NULL: none, or another thread makes
 * them. One thread at a time makes groups, so that their creations start in the order of the list.
 */
static struct tm_group *next_to_make(bool *makes)
{
    static bool taken;
    tm_lock();
    struct tm_group *g = *makes || !taken ? waiting : NULL;
    if (g) {
        waiting = g->next;
        if (!waiting)
            waiting_last = &waiting;
        g->state = MAKING;
    }
    if (g || *makes)
        taken = g != NULL;
    *makes = g != NULL;
    tm_unlock();
    return g;
}

void tm_groups_advance(void)
{
    struct tm_group *g = NULL;
    bool makes = false;
    while (is_joined() && (g = next_to_make(&makes)))
        make(g);
}

struct tm_group *tm_group_new(const uint32_t *ranks, uint32_t count, uint32_t tag, bool is_world)
{
    struct tm_group *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->ranks = malloc(count * sizeof *ranks);
    if (!g->ranks) {
        free(g);
        return NULL;
    }
    memcpy(g->ranks, ranks, count * sizeof *ranks);
    g->count = count;
    g->tag = tag;
    g->is_world = is_world;
    g->queue_last = &g->queue;
    g->holds = 2; /* the caller's, and that of after_made */
    g->event.run = after_made;
    g->event.user = g;
    tm_lock();
    persistent += tag >= TM_PERSISTENT_TAG;
    *waiting_last = g;
    waiting_last = &g->next;
    tm_unlock();
    tm_groups_advance();
    return g;
}

/* ---- calls ---- */

void tm_group_start(struct tm_group *g, struct tm_start *start)
{
    tm_lock();
    bool ready = g->state == READY;
    start->next = NULL;
    if (!ready) {
        *g->queue_last = start;
        g->queue_last = &start->next;
    }
    tm_unlock();
    if (ready)
        start->run(start->user, g->group, g->error, g->text);
}

static bool is_ready(void *user)
{
    const struct tm_group *g = user;
    return __atomic_load_n(&g->state, __ATOMIC_ACQUIRE) == READY;
}

torus_group *tm_group_await(struct tm_group *g, int *error, const char **text)
{
    if (!is_ready(g))
        tm_wait_until(is_ready, g);
    *error = g->error;
    *text = g->text;
    return g->group;
}
