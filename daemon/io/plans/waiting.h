/* SPDX-License-Identifier: Apache-2.0 */
/* waiting: transforms that wait for their plans. They take no worker, and the loop goes on: the
 * planning thread makes the plan (planner.h). A transform whose operation ends meanwhile stops
 * waiting; its plan is made nevertheless, for the next one. Plans whose users are gone are given
 * up. Owns: the shapes whose plans are being made. Borrows: the waiters, until `ready`. */
#ifndef TD_IO_PLANS_WAITING_H
#define TD_IO_PLANS_WAITING_H

#include "compute/fft/step.h"
#include "io/loop.h"

/* struct td_waiter: a part of a transform that the driver has not begun. */
struct td_waiter {
    struct td_waiter *next;
    uint64_t handle; /* of the computation */
    uint64_t uid;    /* of its user */
    struct td_shape shape[TD_STEP_SHAPES_MAX];
    unsigned shapes, plans;                       /* needed, and there */
    struct td_fft_plan *plan[TD_STEP_SHAPES_MAX]; /* in use; td_waiting_done ends the use */
    /* All plans are there. TD_ERR_NO_MEMORY: FFTW makes none; TD_ERR_CANCELLED: the operation has
     * ended. */
    void (*ready)(struct td_waiter *waiter, td_err error);
};

struct td_waiting;

/* td_waiting_create returns NULL if memory runs out. The plans of the loop may be made later. */
struct td_waiting *td_waiting_create(struct td_loop *loop);
/* td_waiting_find finds the plans of the waiter's shapes. It returns TD_OK, TD_ERR_BUSY if a plan
 * is being made and `ready` follows, or TD_ERR_NO_MEMORY. */
td_err td_waiting_find(struct td_waiting *waiting, struct td_waiter *waiter);
/* td_waiting_prepare begins to make the plan of a shape that nobody waits for yet, if there is
 * none. If memory runs out, or TD_PREPARED_MAX plans of the user are being made, it is made when it
 * is needed. */
enum { TD_PREPARED_MAX = 64 };
void td_waiting_prepare(struct td_waiting *waiting, const struct td_shape *shape, uint64_t uid);
/* td_waiting_done ends the use of the waiter's plans. */
void td_waiting_done(struct td_waiter *waiter);
/* td_waiting_drop forgets all waiters and returns them as a list. */
struct td_waiter *td_waiting_drop(struct td_waiting *waiting);
/* td_waiting_free frees the record, after the planning thread has ended. NULL is accepted. */
void td_waiting_free(struct td_waiting *waiting);

#endif
