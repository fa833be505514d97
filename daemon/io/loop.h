/* SPDX-License-Identifier: Apache-2.0 */
/* loop: the event loop of a node. It feeds events to the core, hands the core's actions to the
 * driver, and arms the core's deadline.
 *
 * The parts of the driver (clients, peers, workers) know the loop by this header. driver.c knows
 * all parts and is above them. Everything here runs on the loop's thread. Workers and ZeroMQ have
 * threads of their own, and they return their results through libuv and sockets.
 * Owns: the libuv loop, the core, the event queue. Borrows: the configuration, the parts.
 * Invariant: td_core_step is never entered twice. Events that occur while a list of actions is
 * executed wait in the queue. */
#ifndef TD_IO_LOOP_H
#define TD_IO_LOOP_H

#include <uv.h>

#include "alarm.h"
#include "busy.h"
#include "core/core.h"
#include "descriptors.h"
#include "io/clients/regions.h"
#include "io/config/config.h"

struct td_peers;
struct td_segments;
struct td_plans;

/* struct td_loop_upcalls: the functions that the loop calls in the driver above it. */
struct td_loop_upcalls {
    void (*execute)(void *driver, const struct td_action *action);
    /* A step has noted something for the log; its actions come later. lost: notes that were lost
     * before this one. */
    void (*note)(void *driver, const struct td_note *note, uint64_t lost);
    /* All actions of a step have been executed. */
    void (*executed)(void *driver);
    /* A region lost its pages, and zeroes have replaced them. The core does not know yet. */
    void (*region_lost)(void *driver);
    /* The event and all events that followed from it have been handled. */
    void (*handled)(void *driver, const struct td_event *event);
};

/* struct td_files: how the files of the configuration compare with the running one (host.c). */
struct td_files {
    td_time until; /* the result is kept */
    char keys[256], settings[256];
};

struct td_loop {
    uv_loop_t uv;
    const struct td_config *config;
    td_time began; /* when the daemon started */
    struct td_core *core;
    struct td_actions *actions;
    const struct td_loop_upcalls *upcalls;
    void *driver; /* the upcalls' first argument */
    uint64_t incarnation;

    struct td_descriptors descriptors;
    struct td_regions *regions;
    struct td_segments *segments;
    struct td_peers *peers;
    struct td_plans *plans;

    bool stepping;
    td_time stepped_at;  /* the time of the core's last step */
    td_time woken_at;    /* when the core was first woken after the last event; 0: it was not */
    struct td_busy busy; /* with what the loop was busy */
    struct td_files files;
    struct td_event *queue; /* ring */
    uint32_t queue_head, queue_count, queue_capacity;
    struct td_alarm deadline; /* wakes the core */
    struct td_log_rate pause_log;
    uv_idle_t more; /* the core has work left: run again without waiting */
    bool stopping;  /* it drains */
    bool stopped;
};

/* td_loop_init prepares the loop without a core. It logs an error and returns false if the system
 * has no memory or no descriptor. td_loop_fini follows in either case. */
bool td_loop_init(struct td_loop *loop, const struct td_config *config,
                  const struct td_loop_upcalls *upcalls, void *driver);
/* td_loop_fini frees the loop after libuv has closed all handles. */
void td_loop_fini(struct td_loop *loop);
/* td_loop_stop makes uv_run return. The core gets no event after it. */
void td_loop_stop(struct td_loop *loop);
/* td_loop_feed gives the core an event now, or after the actions that are being executed. An event
 * that occurs during the execution of actions must not contain borrowed pointers. */
void td_loop_feed(struct td_loop *loop, const struct td_event *event);
/* td_loop_post gives the core an event soon, but not before it returns. A caller uses it if the
 * core's actions could change the caller's state. The event must not contain borrowed pointers. */
void td_loop_post(struct td_loop *loop, const struct td_event *event);
/* td_loop_wake feeds TD_EVENT_WAKE. */
void td_loop_wake(struct td_loop *loop);
/* td_loop_random returns a random number from the system, never 0. */
uint64_t td_loop_random(void);
/* td_loop_now returns the monotonic clock. */
td_time td_loop_now(void);

#endif
