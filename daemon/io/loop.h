/* SPDX-License-Identifier: Apache-2.0 */
/* loop: driver 1. Feeds events to the core, executes its actions, arms its deadline.
 *
 * Everything here runs on the loop's thread, but for computations on workers, which hand their
 * results over (workers.c), and ZeroMQ's own thread. While a list of actions is
 * executed, events that it causes wait in a queue: td_core_step is never entered twice. Owns: the
 * core and all parts of the driver. */
#ifndef TD_IO_LOOP_H
#define TD_IO_LOOP_H

#include <uv.h>

#include "alarm.h"
#include "io/config/config.h"
#include "core/core.h"
#include "io/clients/regions.h"

struct td_clients;
struct td_peers;
struct td_plans;
struct td_workers;

struct td_loop {
    uv_loop_t uv;
    const struct td_config *config;
    struct td_core *core;
    struct td_actions *actions;
    struct td_regions *regions;
    struct td_clients *clients;
    struct td_peers *peers;
    struct td_workers *workers;
    struct td_plans *plans;
    uint64_t incarnation, digest;

    bool stepping;
    struct td_event *queue; /* ring */
    uint32_t queue_head, queue_count, queue_room;
    struct td_alarm deadline; /* the core is woken by it */
    uv_timer_t watchdog, status;
    td_time status_at; /* when it was told last */
    uv_idle_t more;    /* the core has work left: come by without waiting */
    uv_signal_t term, interrupt, hangup;
    uv_poll_t watch; /* end of file there: stop at once */
    bool stopping, stopped;
};

/* td_loop_run serves until it is told to stop; returns the exit code. watch_fd is -1 or a pipe
 * whose end of file means to stop at once. */
int td_loop_run(const struct td_config *config, int watch_fd);
/* td_loop_feed gives the core an event now, or after the actions under way. Only events without
 * borrowed pointers may come while actions are executed. */
void td_loop_feed(struct td_loop *loop, const struct td_event *event);
/* td_loop_post gives the core an event soon, but not now: for who is in the middle of something
 * that the core's actions may change. As above. */
void td_loop_post(struct td_loop *loop, const struct td_event *event);
/* td_loop_random returns a number of the system's randomness, never 0. */
uint64_t td_loop_random(void);
td_time td_loop_now(void);

#endif
