/* SPDX-License-Identifier: Apache-2.0 */
/* operation: the gate. One collective call of a communicator at this node, from the first arrival
 * to the last reply.
 *
 *   GATHERING  ranks and children arrive
 *   PREPARING  all below have arrived: memory is reserved, small payloads are combined
 *   ANNOUNCED  told the parent; receives are welcome
 *   RUNNING    released: the program runs
 *   ENDED      well or not; ranks that are late still get the verdict
 *
 * Owns: its arrays, its share of scratch, a use of every region it names.
 * Invariant: an operation in ANNOUNCED or later has its memory reserved, or has ended. */
#ifndef TD_CORE_OPERATION_OPERATION_H
#define TD_CORE_OPERATION_OPERATION_H

#include "core/membership/communicator.h"
#include "core/net/fabric.h"
#include "engine.h"
#include "model/counts.h"

enum td_phase {
    TD_PHASE_GATHERING,
    TD_PHASE_PREPARING,
    TD_PHASE_ANNOUNCED,
    TD_PHASE_RUNNING,
    TD_PHASE_ENDED,
};

/* struct td_arrival: a local rank's request. */
struct td_arrival {
    bool here, answered;
    uint32_t client;
    uint64_t request;
    struct td_region *source, *destination;
};

struct td_operation {
    struct td_task task;
    struct td_communicator *communicator;
    uint64_t sequence;
    enum td_phase phase;
    td_time started_at, progress_at;
    td_err error;
    char *text; /* TD_TEXT_MAX bytes, when error is not TD_OK */

    struct td_arrival *arrival;             /* [local ranks] */
    struct td_memory *source, *destination; /* [local ranks] */
    uint32_t arrived;                       /* local ranks, and those that never will */
    uint32_t children_arrived;              /* mask */
    bool has_call, mismatched;
    struct td_witness least, greatest;
    struct td_plan *plan; /* what it executes, or agrees on */
    td_time expires_at;   /* arrival limit */
    td_time verdict_at;   /* at the root: when an expired operation ends */
    bool appealed;
    td_err appeal_error;
    char *appeal;      /* its sentence, TD_TEXT_MAX bytes */
    td_time appeal_at; /* when it is repeated: the root may have had no room to hear it */
    bool doomed;       /* it cannot be prepared here: the root has been told */

    /* without the tree (flood.h) */
    struct td_flood *flood; /* NULL until something of it is known */
    bool vetoed;            /* this node has not told, and never will */
    bool free;              /* at the root: it knows of a node that has vetoed */
    td_err wanted;          /* at the root: an ending that is to be given when that is so */
    char *wanted_text;      /* TD_TEXT_MAX bytes */
    td_time ask_at;         /* when it asks for vetoes again */

    /* the payload that rides */
    uint8_t *ride; /* [children][TD_RIDE_BYTES_MAX], as it came */
    uint32_t ride_bytes[TD_TREE_CHILDREN_MAX];
    bool folded;      /* the result of what is below is in scratch, or being made */
    bool delivered;   /* it is on its way into the destinations */
    uint8_t *release; /* what came with the release */
    uint32_t release_bytes;

    /* of a call with parts */
    struct td_counts parts;
    struct td_survey survey; /* of what is below; once the root has told it, of all */
    bool surveyed;

    /* memory */
    bool compiled, reserved, no_room;
    uint64_t scratch_offset, scratch_bytes;
    td_time retry_at, no_room_since;
    uint32_t retries;

    /* telling who has arrived */
    uint8_t *known; /* ranks that have arrived, as far as others told; NULL until they do */
    uint32_t known_told;
    td_time report_at;

    bool tell_children; /* of the release or of the verdict */
    uint32_t flights;
    struct td_sender sender;   /* this operation as the fabric sees it */
    struct td_call_tree *tree; /* of a call that goes along one of its own, else NULL */
    struct td_program program;
    struct td_engine engine;
};

/* td_operation_request is a local rank's arrival. */
void td_operation_request(struct td_core *core, struct td_client *client,
                          const struct td_request *request);
void td_operation_cancel(struct td_core *core, struct td_client *client, uint64_t request);
/* td_operation_message takes ARRIVE, REPORT, FLOOD, RELEASE, VERDICT, ANNOUNCE_AGAIN, WAITING and,
 * at the root, APPEAL. */
void td_operation_message(struct td_core *core, struct td_communicator *c, uint32_t from,
                          const struct td_message *message);
/* td_operation_fail ends an operation with an error; the first error stays. */
void td_operation_fail(struct td_core *core, struct td_operation *o, td_err error,
                       const char *text);
/* td_operation_seat_lost serves the notice seat_lost for all operations of a group. */
void td_operation_seat_lost(struct td_core *core, struct td_communicator *c, uint32_t local);
/* td_operation_group_broken serves the notice group_broken. */
void td_operation_group_broken(struct td_core *core, struct td_communicator *c, td_err error,
                               const char *text, bool running_too);
/* td_operation_running returns true while the program of some operation runs on this node. */
bool td_operation_running(const struct td_core *core);
void td_operation_timers(struct td_core *core, struct td_operation *o);
/* td_operation_appeal_again repeats what this node asked of the root. */
void td_operation_appeal_again(struct td_core *core, struct td_operation *o);
/* td_operation_arrived writes the ranks known to have arrived into bits (group.size). */
void td_operation_arrived(const struct td_operation *o, uint8_t *bits);

/* For engine and link. */
void td_operation_flight_begin(struct td_operation *o);
void td_operation_flight_over(struct td_core *core, struct td_operation *o);
void td_operation_view(const struct td_operation *o, struct td_view *view);
void td_operation_name(const struct td_operation *o, struct td_packet *packet);
/* td_operation_computed: a payload computation of the gate is done. */
void td_operation_computed(struct td_core *core, struct td_operation *o, td_err error);

#endif
