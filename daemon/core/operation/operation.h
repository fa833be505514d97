/* SPDX-License-Identifier: Apache-2.0 */
/* operation: one collective call of a group at this node, from the first arrival to the last reply.
 * operation_state.h has its states.
 * Owns: its arrays, its share of scratch, a use of every region that it names.
 * Invariant: an announced operation holds its scratch memory, or has announced that it lacks it. */
#ifndef TD_CORE_OPERATION_OPERATION_H
#define TD_CORE_OPERATION_OPERATION_H

#include "core/membership/communicator.h"
#include "core/net/fabric.h"
#include "engine.h"
#include "model/counts.h"
#include "operation_state.h"
#include "scratch.h"

enum {
    TD_REPORT_NS =
        100000000, /* an operation that waits for 100 ms reports the ranks that have come */
    TD_APPEAL_NS = 1000000000, /* an appeal without a verdict is repeated after 1 s */
};

/* struct td_arrival: a local rank's request. */
struct td_arrival {
    enum td_arrival_state state;
    uint32_t client;
    uint64_t request;
    struct td_region *source, *destination;
    td_time at; /* when the rank called */
    struct td_call call;
};

/* struct td_child_payload: the payload of a child's announcement. */
struct td_child_payload {
    uint8_t *data; /* NULL: none */
    uint32_t bytes;
};

struct td_operation {
    struct td_task task;
    struct td_communicator *communicator;
    uint64_t sequence;
    uint64_t by_segment; /* calls of the group before it that went without a request */
    enum td_operation_state state;
    td_time started_at, progress_at;
    td_time released_at;
    td_err error;
    char
        *text; /* TD_TEXT_MAX bytes behind `arrival`, so that the sentence of an error has memory */

    struct td_arrival *arrival;             /* [local ranks] */
    struct td_memory *source, *destination; /* [local ranks] */
    uint32_t arrived;          /* local ranks that have arrived, and those that never will */
    uint32_t children_arrived; /* mask */
    uint32_t last;             /* the rank that arrived last, plus 1; 0: unknown */
    uint32_t silent_node; /* whose silence has delayed that arrival, as in td_message_arrive; of
                             an operation that fails, as in td_message_verdict */
    uint64_t silent_ns;
    uint64_t unheard_ns; /* the part of it until the node was heard again; 0: not known here */
    bool silence_told;   /* by the verdict */
    uint32_t witnesses;  /* calls compared so far */
    struct td_witness least, greatest; /* of them */
    struct td_plan *plan;              /* the plan that the call executes or agrees on */
    td_time expires_at;                /* arrival limit */
    td_time verdict_at;                /* at the root: when an expired or stalled operation ends */

    /* An appeal asks the root to end the operation. */
    td_err appeal_error; /* TD_OK: this node has not appealed */
    char *appeal_text;   /* TD_TEXT_MAX bytes */
    td_time appeal_at;   /* when it is repeated: the root may have had no memory for it. After the
                            release: when this node ends the operation without the root (stall.h) */
    bool cancelled;      /* a local rank has cancelled it after the release */
    char *cancel_text;   /* TD_TEXT_MAX bytes */
    uint32_t stalled_on; /* the node that the latest appeal waits for; UINT32_MAX: none */

    td_err pending_error; /* at the root: an appeal that waits (stall.h), or TD_OK */
    char *pending_text;   /* TD_TEXT_MAX bytes */

    /* the payload that travels with the announcement and the release */
    struct td_child_payload ride[TD_TREE_CHILDREN_MAX]; /* of each child */
    uint32_t gather_next, gather_end; /* runs of local ranks whose shares are still to be copied */
    uint8_t *release;                 /* payload of the release */
    uint32_t release_bytes;

    /* of a call whose counts differ by rank */
    struct td_counts counts;
    struct td_survey survey; /* of the ranks below; if it is complete, of all ranks */
    bool survey_complete;    /* the root has sent the survey of all ranks */

    /* memory */
    bool scratch_held;    /* scratch_offset is reserved */
    bool scratch_spared;  /* it is announced without scratch until all ranks have called */
    bool scratch_lacking; /* this node or one below had no room when it last announced */
    uint64_t scratch_offset, scratch_bytes;
    uint64_t tables_bytes; /* memory in which the transform plan of a plan is made */
    td_time retry_at, scratch_lacking_since;
    uint32_t retries;
    td_time spare_at; /* when the nodes below give their scratch back, if ranks are still missing */
    uint32_t spares;  /* how often they have */

    /* reports of arrived ranks */
    uint8_t *known; /* bitmap of the ranks that reports name; NULL until the first report */
    uint32_t known_sent;
    td_time report_at;
    td_time look_at;    /* when it looks for stopped ranks of this node (stopped.h), */
    uint32_t look_from; /* and from which on */

    uint32_t flights, packets; /* what the driver or a link has of it; of these, packets */
    struct td_sender sender;   /* this operation as the fabric sees it */
    struct td_call_tree *tree; /* the tree of a call that uses a tree of its own, else NULL */
    struct td_program program;
    struct td_engine engine;
};

struct td_operations {
    uint32_t count; /* on record */
    struct td_scratch scratch;
    struct td_operation *starved, *last_starved; /* in order (engine.h) */
};

/* td_operation_compiled returns true if the operation has its program. */
static inline bool td_operation_compiled(const struct td_operation *o)
{
    return o->program.method != NULL;
}
/* td_operation_is_over returns true if an operation has ended here, and is kept to answer ranks
 * that call late. */
static inline bool td_operation_is_over(const struct td_operation *o)
{
    return o->state >= TD_OPERATION_ENDING;
}
/* td_operation_number returns the number of an operation as its ranks count their calls. */
static inline uint64_t td_operation_number(const struct td_operation *o)
{
    return o->sequence + o->by_segment;
}
/* td_operation_at_root returns true if this node is the root of the group's tree. */
bool td_operation_at_root(const struct td_operation *o);
/* td_operation_keep keeps the sentence of an ending that is asked for; without memory, in the place
 * of `text`. */
void td_operation_keep(struct td_operation *o, char **kept, const char *text);
/* td_operation_record_bytes returns the bytes of a record of an operation of a group. */
uint64_t td_operation_record_bytes(const struct td_communicator *c);
/* td_operation_has_room returns true if the user of a group may have one more record. The oldest
 * operation of a group has a record in any case: so the groups cannot block each other. */
bool td_operation_has_room(const struct td_core *core, const struct td_communicator *c,
                           uint64_t sequence);
/* td_operation_obtain returns the record of an operation, and begins one if none exists. It
 * returns NULL without room or memory, or if the sequence number is over or beyond the window. */
struct td_operation *td_operation_obtain(struct td_core *core, struct td_communicator *c,
                                         uint64_t sequence);

/* td_operation_take_scratch reserves the scratch of an operation, if it has none. It returns false
 * if too little is left, or too little for its user. td_operation_give_scratch gives it back. */
bool td_operation_take_scratch(struct td_core *core, struct td_operation *o);
void td_operation_give_scratch(struct td_core *core, struct td_operation *o);

/* ---- endings ---- */

/* td_operation_fail ends an operation with an error on this node; the first error stays. An error
 * of this node alone goes by td_stall_break, so that all ranks read it. */
void td_operation_fail(struct td_core *core, struct td_operation *o, td_err error,
                       const char *text);
/* td_operation_fail_busy ends it because this node has no free in-flight record. */
void td_operation_fail_busy(struct td_core *core, struct td_operation *o);
/* td_operation_verdict ends it with an error that the root has decided, and sends the error to the
 * children. It does nothing after the release. */
void td_operation_verdict(struct td_core *core, struct td_operation *o, td_err error,
                          const char *text);
/* td_operation_appeal asks the root to end the operation; at the root it is a verdict. Only the
 * first appeal of a node counts, but for one because of calls that differ. */
void td_operation_appeal(struct td_core *core, struct td_operation *o, td_err error,
                         const char *text);
/* td_operation_appeal_again repeats the appeal of this node. */
void td_operation_appeal_again(struct td_core *core, struct td_operation *o);
/* td_operation_seat_lost serves the notice seat_lost for all operations of a group. */
void td_operation_seat_lost(struct td_core *core, struct td_communicator *c, uint32_t local);
/* td_operation_group_broken serves the notice group_broken. */
void td_operation_group_broken(struct td_core *core, struct td_communicator *c, td_err error,
                               const char *text, bool running_too);
/* td_operation_running returns true while an operation is released and has not ended on this node.
 */
bool td_operation_running(const struct td_core *core);

/* ---- for messages, packets and computations ---- */

/* td_operation_start_message fills in the names of the operation in a message of one kind. */
void td_operation_start_message(const struct td_operation *o, enum td_message_kind kind,
                                struct td_message *m);
/* td_operation_describe returns e.g. "barrier, operation 7 of job x", valid until the next step. */
const char *td_operation_describe(struct td_core *core, const struct td_operation *o);
/* td_operation_in_flight_begin and _end count computations. */
void td_operation_in_flight_begin(struct td_operation *o);
void td_operation_in_flight_end(struct td_core *core, struct td_operation *o);
/* These four serve the notices in_flight_begin, in_flight_end, packet_view and packet_name. */
void td_operation_packet_begin(struct td_operation *o);
void td_operation_packet_end(struct td_core *core, struct td_operation *o);
void td_operation_view(const struct td_operation *o, struct td_view *view);
void td_operation_name(const struct td_operation *o, struct td_packet *packet);

#endif
