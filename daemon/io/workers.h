/* SPDX-License-Identifier: Apache-2.0 */
/* workers: execution of COMPUTE actions: small ones at once, large ones on libuv's threads.
 * Owns: the jobs in progress. Borrows: regions and buffers, which the core keeps until COMPUTED. */
#ifndef TD_IO_WORKERS_H
#define TD_IO_WORKERS_H

#include "loop.h"

struct td_workers *td_workers_create(struct td_loop *loop);
void td_workers_compute(struct td_workers *workers, const struct td_compute *compute);
/* td_workers_stalled returns true if jobs are in progress and none of them has ended for `ns`. */
bool td_workers_stalled(const struct td_workers *workers, uint64_t ns);
/* td_workers_drain waits for all jobs in progress. */
void td_workers_drain(struct td_workers *workers);
void td_workers_destroy(struct td_workers *workers);

#endif
