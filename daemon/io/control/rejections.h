/* SPDX-License-Identifier: Apache-2.0 */
/* rejections: the log of rejected connections of peers. It names each one, at a bounded rate, and
 * counts all: whoever can reach a port could fill the log otherwise. */
#ifndef TD_IO_CONTROL_REJECTIONS_H
#define TD_IO_CONTROL_REJECTIONS_H

#include <stdbool.h>
#include <uv.h>

struct td_rejections {
    uv_timer_t timer; /* runs while rejections wait for a summary */
    uint64_t total, unlogged;
    uint64_t refilled_ms; /* when a line was added to `lines` last */
    unsigned lines;       /* that may be logged now */
    char last[160];       /* why, in the last line: the same reason goes to the summary */
};

void td_rejections_init(struct td_rejections *r, uv_loop_t *uv);
/* td_reject counts a rejection. `address` is the other end's, `key` the first digits of its key or
 * "". `news`: it deserves a line of its own. */
void td_reject(struct td_rejections *r, const char *address, const char *key, const char *why,
               bool news);
/* td_rejections_close logs the last summary. */
void td_rejections_close(struct td_rejections *r);

#endif
