/* SPDX-License-Identifier: Apache-2.0 */
/* plans: has the plans of 1-D transforms measured, one after another, by a process that the daemon
 * starts and never waits for; keeps what it learns in the state directory (wisdom.h).
 *
 * What is used most is measured first. A shape that the process dies of, or that takes too long, is
 * noted as failed and left at its estimate.
 * Owns: the process and its pipes. Runs on the loop's thread; only the file is written elsewhere.
 */
#ifndef TD_IO_PLANS_PLANS_H
#define TD_IO_PLANS_PLANS_H

#include <uv.h>

#include "compute/fft/fft.h"
#include "model/message.h"

struct td_plans_options {
    enum td_fft_effort effort;
    const char *directory; /* borrowed */
    unsigned seconds;      /* that a shape may take */
    unsigned delay_ms;     /* from its first use on: what is used most shows by then */
    const char *program;   /* "--measure" is its argument. Borrowed */
};

struct td_plans;

/* td_plans_create loads what there is. NULL: no memory. */
struct td_plans *td_plans_create(uv_loop_t *uv, const struct td_plans_options *options);
/* td_plans_used: a transform was run; there may be something to measure. */
void td_plans_used(struct td_plans *plans);
/* td_plans_stop ends the process. td_plans_free saves; the loop has closed all handles by then.
 * Both accept NULL. */
void td_plans_stop(struct td_plans *plans);
void td_plans_free(struct td_plans *plans);
/* td_plans_row fills in row number `at` of the PLANS section; false: there are no more. */
bool td_plans_row(unsigned at, struct td_status_row *row);

#endif
