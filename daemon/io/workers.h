/* SPDX-License-Identifier: Apache-2.0 */
/* workers: execution of COMPUTE actions: small ones on the loop's thread, large ones on threads of
 * their own (pool.h).
 *
 * Jobs take turns (base/shares.h). The loop computes a few MiB, or for a millisecond, then it looks
 * at its sockets before it goes on. A copy or reduction is executed in parts, of 64 KiB on the loop
 * and of a few MiB on a thread; a transform has no parts. A transform whose plan was not made yet
 * waits for it without a thread (io/plans/waiting.h). Owns: the tasks. Borrows: regions and
 * buffers, which the core keeps until COMPUTED. */
#ifndef TD_IO_WORKERS_H
#define TD_IO_WORKERS_H

#include "loop.h"
#include "pool.h"

/* td_workers_create uses [compute] workers threads, and one more. It returns NULL if memory runs
 * out. */
struct td_workers *td_workers_create(struct td_loop *loop);
/* td_workers_compute executes a small computation. A large one begins with td_workers_start, which
 * follows when no other action is due: threads that wake up take processors from the loop. */
void td_workers_compute(struct td_workers *workers, const struct td_compute *compute);
void td_workers_start(struct td_workers *workers);
/* td_workers_prepare starts the threads, and has the plans of a transform made that will be
 * executed later, out of place, on aligned memory. `ranks`: local ones of the transform's group,
 * `uid`: its user. */
void td_workers_prepare(struct td_workers *workers, const struct td_step *step, uint32_t ranks,
                        uint64_t uid);
/* td_workers_wait returns true if computations of the loop wait for their turn. */
bool td_workers_wait(const struct td_workers *workers);
/* td_workers_stalled returns true if tasks are in progress and none of them has ended for `ns`. */
bool td_workers_stalled(const struct td_workers *workers, uint64_t ns);
/* td_workers_look counts the threads for large computations, and their tasks. */
void td_workers_look(const struct td_workers *workers, struct td_pool_counts *counts);
/* td_workers_drain waits for the tasks in progress and discards the others. */
void td_workers_drain(struct td_workers *workers);
void td_workers_destroy(struct td_workers *workers);

#endif
