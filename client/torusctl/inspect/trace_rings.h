/* SPDX-License-Identifier: Apache-2.0 */
/* trace_rings: the flight recorders of all nodes, read and put on one time axis. */
#ifndef TORUSCTL_INSPECT_TRACE_RINGS_H
#define TORUSCTL_INSPECT_TRACE_RINGS_H

#include "machine.h"
#include "model/trace.h"

/* struct ins_clock_of: what is known of the clock of a node. */
struct ins_clock_of {
    bool known;
    int64_t offset_ns;      /* of the node's clock to this host's CLOCK_MONOTONIC */
    int64_t uncertainty_ns; /* half of the shortest round trip */
    int64_t read_at;        /* on the axis, when its events were read; unfinished calls end there */
    uint64_t recorded;      /* events since its start, and size of its ring; 0: no recorder */
    uint64_t size;
    uint64_t latest; /* number of the latest event that was read; 0: none was */
    int64_t
        first_at; /* on the axis, the first event that the ring still has, of any job; 0: none */
};

/* struct ins_event: an event of a node. at, since: ns on the axis, CLOCK_MONOTONIC of this host. */
struct ins_event {
    struct td_trace_event e;
    uint32_t node;
    int64_t at, since;
    const char *text; /* of a failure, or "" */
};

struct ins_rings {
    uint32_t nodes;
    struct ins_clock_of *clock; /* [nodes] */
    size_t count;
    struct ins_event *event; /* [count], by node and number */
    json_t *rows;            /* which own the texts */
};

/* ins_rings_read asks the clocks of all nodes several times, and then for their events. It keeps
 * the events of a job (its instance), and those of links. false: the connection is lost, or there
 * is no memory; ins_rings_free follows in either case. */
bool ins_rings_read(struct ins_machine *m, uint64_t world, struct ins_rings *rings);
void ins_rings_free(struct ins_rings *rings);

#endif
