/* SPDX-License-Identifier: Apache-2.0 */
/* rejections: the log of rejected connections of peers. It names each reason once, at a bounded
 * rate, and counts all: whoever can reach a port could fill the log otherwise. What comes again is
 * told after 5 s, then after twice as long each time, up to once an hour. */
#ifndef TD_IO_CONTROL_DOOR_REJECTIONS_H
#define TD_IO_CONTROL_DOOR_REJECTIONS_H

#include <stdbool.h>
#include <uv.h>

enum { TD_REJECTIONS_KEPT = 16, TD_REJECTION_TEXT = 320 };

/* struct td_rejection: a line of the log, and how often the same came since it was told. */
struct td_rejection {
    char line[TD_REJECTION_TEXT]; /* address, key and reason */
    uint64_t delay_ms;            /* 0: the record is free */
    uint64_t due_ms;              /* when `unlogged` is told, or the record is freed */
    uint64_t unlogged;
};

struct td_rejections {
    uv_timer_t timer; /* runs while a record is kept */
    uint64_t total;
    uint64_t refilled_ms; /* when a line was added to `lines` last */
    unsigned lines;       /* that may be logged now */
    struct td_rejection kept[TD_REJECTIONS_KEPT];
    struct td_rejection others; /* those that have no record; `line` is the last of them */
};

void td_rejections_init(struct td_rejections *r, uv_loop_t *uv);
/* td_reject counts a rejection. `address` is the other end's, `key` the first digits of its key or
 * "". */
void td_reject(struct td_rejections *r, const char *address, const char *key, const char *why);
/* td_rejections_tick tells what is due at the time of the loop; the timer calls it. */
void td_rejections_tick(struct td_rejections *r);
/* td_rejections_close logs what has not been told. */
void td_rejections_close(struct td_rejections *r);

#endif
