/* SPDX-License-Identifier: Apache-2.0 */
/* planner: the thread that calls FFTW's planner, which may take minutes and cannot be interrupted.
 * Tasks are done one by one, idle ones after all others. The next task is one of the user whose
 * tasks have taken the least time lately; half of that is forgotten every TD_PLANNER_HALF_S. The
 * loop hears of the end of each task and never waits. Owns: the thread and its queue. Borrows:
 * tasks, from td_planner_post until `done`. */
#ifndef TD_IO_PLANS_PLANNER_H
#define TD_IO_PLANS_PLANNER_H

#include <stdbool.h>
#include <uv.h>

enum { TD_PLANNER_HALF_S = 10 };

/* the user of tasks that no user waits for */
#define TD_PLANNER_NOBODY UINT64_MAX

struct td_planner_task {
    struct td_planner_task *next;
    uint64_t user; /* whose time it takes */
    void *owner;
    void (*work)(void *owner); /* on the planning thread */
    void (*done)(void *owner); /* on the loop */
};

struct td_planner;

/* td_planner_create starts the thread. It returns NULL if memory or threads run out. */
struct td_planner *td_planner_create(uv_loop_t *uv);
void td_planner_post(struct td_planner *planner, struct td_planner_task *task);
/* td_planner_post_idle adds a task that is done only when no other task is waiting.
 * td_planner_hurry puts such a task behind those of td_planner_post, unless it has begun or is
 * there already. */
void td_planner_post_idle(struct td_planner *planner, struct td_planner_task *task);
void td_planner_hurry(struct td_planner *planner, struct td_planner_task *task);
/* td_planner_stop ends the thread; no `done` follows. It returns false if a task is being done: the
 * thread goes on with it until the process ends, and its owner must not be freed. */
bool td_planner_stop(struct td_planner *planner);
/* td_planner_free frees the planner after libuv has closed all handles, unless its thread still
 * works. NULL is accepted. */
void td_planner_free(struct td_planner *planner);

#endif
