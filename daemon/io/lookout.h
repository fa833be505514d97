/* SPDX-License-Identifier: Apache-2.0 */
/* lookout: keeps the loop awake for a short while after an event of a short call, because the next
 * one comes soon: the loop then looks at its sockets and at the letters of clients, and lets other
 * threads run in between (base/awake.h).
 * Owns: a handle of the loop. Borrows: the loop and its parts. */
#ifndef TD_IO_LOOKOUT_H
#define TD_IO_LOOKOUT_H

#include <uv.h>

#include "base/awake.h"
#include "core/event.h"

struct td_clients;
struct td_loop;
struct td_workers;

struct td_lookout {
    uv_idle_t idle;
    struct td_awake awake;
    struct td_loop *loop;
    struct td_clients *clients; /* NULL: not started, or stopped */
    struct td_workers *workers;
    bool is_long;  /* the last call of a local rank is long */
    uint64_t bulk; /* how often packets had been read when the loop last let others run */
};

void td_lookout_init(struct td_lookout *lookout, struct td_loop *loop);
void td_lookout_start(struct td_lookout *lookout, struct td_clients *clients,
                      struct td_workers *workers);
void td_lookout_stop(struct td_lookout *lookout);
/* td_lookout_note takes an event that the loop has handled now. */
void td_lookout_note(struct td_lookout *lookout, const struct td_event *event, td_time now);
/* td_lookout_packet takes a packet that this daemon sends or has received: a long call is in
 * progress if that is long, so that the loop should sleep when it has nothing to do. */
void td_lookout_packet(struct td_lookout *lookout, const struct td_packet *packet);

#endif
