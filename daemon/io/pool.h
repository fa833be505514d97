/* SPDX-License-Identifier: Apache-2.0 */
/* pool: threads that execute the tasks of all jobs in turn (base/shares.h).
 *
 * A thread that becomes free takes the next task itself, so it never waits for the loop, and the
 * choice is made as late as possible. A divisible task is executed in parts: after each part the
 * thread returns the task if another job waits. A task that is not divisible may keep its thread
 * for long: when all threads have such tasks, one more thread serves the others. A job alone is
 * served in order. Owns: the threads and the queues. Borrows: tasks, from td_pool_add until
 * `ended` or td_pool_stop. */
#ifndef TD_IO_POOL_H
#define TD_IO_POOL_H

#include <stdbool.h>
#include <uv.h>

#include "base/shares.h"

enum {
    TD_POOL_TURN_BYTES = 4 << 20,  /* touched in a part, and in a turn of a job */
    TD_POOL_LONG_BYTES = 16 << 20, /* touched by an indivisible task that a job may wait for */
};

struct td_pool_task {
    struct td_turn turn; /* the first member */
    struct td_pool_task *next;
    uint64_t job, cost_bytes; /* touched by the whole task */
    bool divisible;
};

/* struct td_pool_calls: the owner's functions. */
struct td_pool_calls {
    /* On a thread of the pool: execute the next part. It returns true if more parts follow. */
    bool (*run)(struct td_pool_task *task);
    /* On the loop: the task has ended and is the owner's again. */
    void (*ended)(struct td_pool_task *task);
};

struct td_pool;

/* td_pool_create returns NULL if memory or descriptors run out. The threads, `threads` and one
 * more, start with the first task, or with td_pool_prepare. */
struct td_pool *td_pool_create(uv_loop_t *uv, uint32_t threads, const struct td_pool_calls *calls);
void td_pool_prepare(struct td_pool *pool);
/* td_pool_add adds a task, which waits for td_pool_start. td_pool_start gives the tasks added to
 * the threads; the loop executes them if the system has no thread. */
void td_pool_add(struct td_pool *pool, struct td_pool_task *task);
void td_pool_start(struct td_pool *pool);
/* td_pool_stalled returns true if tasks are in progress and no part of any has ended for `ns`. */
bool td_pool_stalled(struct td_pool *pool, uint64_t ns);
/* struct td_pool_counts: its threads, and the tasks that they execute or that wait for one. */
struct td_pool_counts {
    uint32_t threads, running, waiting;
};
void td_pool_look(struct td_pool *pool, struct td_pool_counts *counts);
/* td_pool_stop ends the threads after their present parts. It returns the list of all tasks that
 * the pool still had; no `ended` follows. */
struct td_pool_task *td_pool_stop(struct td_pool *pool);
/* td_pool_free frees a stopped pool after libuv has closed all handles. NULL is accepted. */
void td_pool_free(struct td_pool *pool);

#endif
