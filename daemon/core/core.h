/* SPDX-License-Identifier: Apache-2.0 */
/* core: all decisions of a node as one state machine. Events and the time go in, actions come out.
 * See docs/architecture.md.
 * Owns: an arena of settings.arena_bytes. Borrows: nothing.
 * Pure: no I/O, clock, threads or globals; randomness comes from options.seed alone. After create
 * it cannot fail: our own bug asserts, a peer's or client's fault becomes an action. */
#ifndef TD_CORE_CORE_H
#define TD_CORE_CORE_H

#include "action.h"
#include "base/arena.h"
#include "base/span.h"
#include "core/net/router.h"
#include "event.h"
#include "notes.h"
#include "options.h"

struct td_core;

/* td_core_create creates a core with all links down. On TD_ERR_NO_MEMORY *core is NULL. */
td_err td_core_create(struct td_core **core, const struct td_core_options *options);
/* td_core_step handles one event at time `now`, which never decreases, and fills in *actions. */
void td_core_step(struct td_core *core, td_time now, const struct td_event *event,
                  struct td_actions *actions);
/* td_core_steps handles events of the same time, in order, and runs the work list after the last.
 * It returns the number of events handled: at least one, and all if their actions fit. */
uint32_t td_core_steps(struct td_core *core, td_time now, const struct td_event *const *event,
                       uint32_t count, struct td_actions *actions);
/* td_core_landing fills in where the payload of an incoming packet from a node would be unpacked:
 * step.to, offset, bytes and view of *landing. It returns false if no step expects the packet, or
 * it is not the next packet of that link. While it returns the same place, nothing else reads or
 * writes that memory, so the driver may receive the bytes there directly. */
bool td_core_landing(struct td_core *core, uint32_t node, const struct td_packet *packet,
                     struct td_compute *landing);
/* td_core_needs returns false if the operation of a COMPUTE, which is not answered yet, has ended:
 * a driver that has not begun the computation may answer at once. */
bool td_core_needs(const struct td_core *core, uint64_t handle);
/* td_core_unused calls `give` for memory of the core whose content is of no use, some milliseconds'
 * work at a time. The driver calls it after a RETURN_SCRATCH that is the last. It returns true if
 * more is left: another RETURN_SCRATCH follows. */
bool td_core_unused(struct td_core *core, void (*give)(void *memory, size_t bytes));
/* td_core_has_user returns true if a process, group, join or job of the user is here. */
bool td_core_has_user(const struct td_core *core, uint64_t uid);
/* td_core_deadline returns when the core needs a WAKE; at most `now` while work is waiting. */
td_time td_core_deadline(const struct td_core *core);
/* td_core_late returns how late a step at `now` would be, in ns, if it would be so late that the
 * daemon did not run meanwhile: it was stopped, or waited for a processor or for memory. Else it
 * returns 0. The core does not count this time when it judges how long others have been silent. */
td_time td_core_late(const struct td_core *core, td_time now);
void td_core_destroy(struct td_core *core);

/* td_core_take_note removes the oldest note for the log (notes.h), and sets *lost to the number of
 * notes that were lost before it. It returns false if there is none. */
bool td_core_take_note(struct td_core *core, struct td_note *note, uint64_t *lost);

/* td_core_daemon_end returns how the daemon ended that was on a node last, if another one is there
 * now: it was stopped; it died, as it was heard to its end and said no goodbye; or it was not heard
 * at its end, since the link worked in one direction at most. */
enum td_daemon_end { TD_DAEMON_UNKNOWN, TD_DAEMON_STOPPED, TD_DAEMON_DIED };
enum td_daemon_end td_core_daemon_end(const struct td_core *core, uint32_t node);

/* td_core_daemon_silence returns for how long that daemon had not been heard, or 0 if it was heard
 * until its end. */
td_time td_core_daemon_silence(const struct td_core *core, uint32_t node);

/* td_core_router returns the node's router, for inspection; NULL on the direct fabric. */
const struct td_router *td_core_router(const struct td_core *core);

/* td_core_spans fills in spans[TD_SPANS_MAX] with the memory that nearly every step of a core
 * reads, and returns their number. The spans stay valid, so a driver of many cores can prefetch
 * them. */
enum { TD_SPANS_MAX = 2 + TD_ROUTER_SPANS + 2 * TD_DIRECTIONS_MAX };
unsigned td_core_spans(const struct td_core *core, struct td_span *spans);

/* struct td_usage: what the core holds now, for tests and status. An idle core holds nothing but
 * arena memory. */
struct td_usage {
    uint64_t clients, regions, jobs, groups, operations, plans;
    uint64_t arena_used, scratch_used, packets_unacknowledged, computing;
};
void td_core_usage(const struct td_core *core, struct td_usage *counts);
/* td_core_refuse_memory begins or ends a simulated shortage of a core's state and of its scratch,
 * each by itself. */
void td_core_refuse_memory(struct td_core *core, struct td_refusals refusals);

#endif
