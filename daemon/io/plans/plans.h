/* SPDX-License-Identifier: Apache-2.0 */
/* plans: background measurement of the plans of 1-D transforms. Another process measures one shape
 * at a time and the daemon never waits for it: a service of systemd (torusd-plans.socket), which
 * gives it the lowest priority, because the daemon's own sandbox forbids that; without the service
 * a child process. The results are stored in the state directory (wisdom.h).
 *
 * The most used shape is measured first. If the process fails or exceeds its time on a shape, the
 * shape is recorded as failed and keeps its estimate.
 * Owns: the process and its pipes, and the planning thread (planner.h), which alone calls FFTW's
 * planner. Runs on the loop's thread; the file is written on a worker. */
#ifndef TD_IO_PLANS_PLANS_H
#define TD_IO_PLANS_PLANS_H

#include <uv.h>

#include "compute/fft/fft.h"
#include "model/request.h"
#include "planner.h"

struct td_plans_options {
    enum td_fft_effort effort;
    const char *directory; /* borrowed */
    unsigned seconds;      /* time limit for one shape */
    unsigned delay_ms;     /* from the first use: by then the most used shape is known */
    const char *service;   /* socket of the service, or NULL. Borrowed */
    const char *program;   /* run with the argument "--measure". Borrowed */
};

struct td_plans;

/* td_plans_create loads the stored plans. It returns NULL if memory runs out. */
struct td_plans *td_plans_create(uv_loop_t *uv, const struct td_plans_options *options);
/* td_plans_used notes that a transform was run, and starts a measurement if one is due. */
void td_plans_used(struct td_plans *plans);
/* td_plans_planner returns the planning thread. */
struct td_planner *td_plans_planner(const struct td_plans *plans);
/* td_plans_stop kills the process, and ends the planning thread. It returns false if FFTW is
 * planning: then nothing that a plan was made for is freed, nor td_fft_fini called, since the
 * thread ends with the process. td_plans_free saves; call it once the loop has closed all handles.
 * Both accept NULL. */
bool td_plans_stop(struct td_plans *plans);
void td_plans_free(struct td_plans *plans);
/* td_plans_row fills in row number `at` of the PLANS section: plans that transforms have used. It
 * returns false if there are fewer rows. */
bool td_plans_row(unsigned at, struct td_row_plan *row);

#endif
