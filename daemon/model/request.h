/* SPDX-License-Identifier: Apache-2.0 */
/* request: requests of a client to its daemon, and the replies, as plain structs. `wire` encodes
 * and decodes them; the core sees nothing else. Owns: nothing. Borrows: a decoded request points
 * into the decoder's memory, valid during one td_core_step; a reply of the core points into the
 * core, valid until its next step. Pure. */
#ifndef TD_MODEL_REQUEST_H
#define TD_MODEL_REQUEST_H

#include "base/bits.h"
#include "base/errors.h"
#include "call.h"
#include "counts.h"
#include "end_calls.h"
#include "form.h"
#include "plan.h"
#include "topology.h"
#include "trace.h"

/* ---- client > daemon ---- */

enum td_request_kind {
    TD_REQUEST_HELLO = 1, /* the first request: names the client */
    TD_REQUEST_REGION,    /* shares memory; its memfd travels with the request */
    TD_REQUEST_UNREGION,  /* withdraws a region */
    TD_REQUEST_JOIN,
    TD_REQUEST_LEAVE,
    TD_REQUEST_OPERATION, /* starts a collective */
    TD_REQUEST_UNPLAN,    /* frees a plan */
    TD_REQUEST_CANCEL,    /* ends an operation, a join or a plan in flight */
    TD_REQUEST_STATUS,
    TD_REQUEST_GROUP,       /* takes part in a new group of ranks of a group */
    TD_REQUEST_SHRINK,      /* takes part in a new group of the survivors of a group */
    TD_REQUEST_PEER_REGION, /* asks for a region of another rank of a group on this node */
    TD_REQUEST_END_CALLS,   /* ends calls of other processes: of a job, or one operation */
    TD_REQUEST_RELOAD,      /* the daemon reads its configuration again; of root and its own user */
};

/* struct td_place: bytes at an offset of a client's region. */
struct td_place {
    uint32_t region; /* the client's number of the region, from 1; 0: no memory */
    uint64_t offset, bytes;
    const struct td_form *form; /* of elements with gaps; NULL: the data is contiguous */
};

struct td_request {
    enum td_request_kind kind;
    uint64_t id; /* chosen by the client; the reply carries it. 0: no reply */
    union {
        struct {
            const char *program; /* name of the process, for people */
            const char *strays;  /* unknown variables of its environment (base/variables.h) */
        } hello;
        struct {
            uint32_t region;  /* the client's number for it */
            uint64_t bytes;   /* size; the driver has compared the file's size with it */
            uint32_t handle;  /* set by the driver: where it mapped the file */
            td_err error;     /* set by the driver: why it refused the file, else TD_OK */
            const char *text; /* set by the driver: the sentence of `error` */
        } region;
        struct {
            uint32_t region; /* the client's number for it */
        } unregion;
        struct {
            const char *name;   /* of the job */
            uint32_t size;      /* ranks of the job */
            int64_t rank;       /* requested rank; -1: any */
            int64_t timeout_ns; /* until all ranks have joined; -1: the daemon's setting */
        } join;
        struct {
            uint32_t group; /* the daemon's number for it, from JOINED */
        } leave;
        struct {
            uint32_t group; /* the daemon's number for it, from JOINED */
            struct td_call call;
            struct td_description description; /* of a plan to be agreed on */
            struct td_place source, destination;
            int64_t timeout_ns; /* until all ranks have arrived; -1: the daemon's setting */
            /* number of accepted calls of this rank in the group before this one. It identifies a
             * call that was sent before the client knew that an earlier one was refused */
            uint64_t sequence;
            uint64_t by_segment; /* calls before this one that went without a request; for people */
            uint64_t waited_ns;  /* that the rank waited without a request before; for people */
            struct td_rank_counts from, to; /* of a call whose counts differ by rank */
        } operation;
        struct {
            uint32_t group;  /* the parent: its ranks are the members */
            uint64_t number; /* distinguishes groups with the same members; equal on all members */
            uint32_t members;
            const uint64_t *member; /* ranks of the parent, in the order of the new group */
        } make;
        struct {
            uint32_t group;
            int64_t timeout_ns; /* until all ranks have called; -1: the daemon's setting */
        } shrink;
        struct {
            uint32_t group;
            int64_t rank;    /* of the group: the owner; below 2^32 */
            uint32_t region; /* the owner's number for it */
        } peer_region;
        struct {
            uint32_t group;
            uint64_t plan;
        } unplan;
        struct {
            uint64_t request; /* id of the request to end */
        } cancel;
        struct {
            uint32_t node;                   /* that is asked, plus 1; 0: the client's own */
            struct td_message_end_calls end; /* `user` is that of the client, whatever it says */
        } end_calls;
        struct {
            uint32_t section; /* enum td_status_section */
            uint64_t cursor;  /* 0, or `next` of the page before */
            uint32_t node;    /* that is asked, plus 1; 0: the client's own */
        } status;
    } u;
};

/* ---- daemon > client ---- */

enum td_reply_kind {
    TD_REPLY_ERROR = 1, /* `error` and `text`; every kind may carry them */
    TD_REPLY_WELCOME,
    TD_REPLY_DONE, /* region, unregion, leave, operation, unplan, cancel; reload, with a text */
    TD_REPLY_JOINED,
    TD_REPLY_PLANNED,
    TD_REPLY_STATUS,
    TD_REPLY_NO_ROOM,     /* OPERATION: refused with TD_ERR_BUSY until this node has room */
    TD_REPLY_ROOM,        /* of no request (id 0), after NO_ROOM: there may be room now */
    TD_REPLY_PEER_REGION, /* its memfd travels with the reply, unless the daemon has none */
};

enum td_status_section {
    TD_STATUS_NODE = 1, /* one row */
    TD_STATUS_PEERS,
    TD_STATUS_CLIENTS,
    TD_STATUS_JOBS,
    TD_STATUS_OPERATIONS,
    TD_STATUS_QUEUES,     /* routed fabric: the node's row, then one row per direction of travel */
    TD_STATUS_PLANS,      /* of 1-D transforms, by shape */
    TD_STATUS_WAITS,      /* of each job, also of jobs that are over: its RECORD, then its WAITs */
    TD_STATUS_LINKS = 10, /* connections to other nodes: LINKs */
    TD_STATUS_GROUPS,     /* that have ranks on this node: GROUPs */
    TD_STATUS_SETTINGS,   /* of the daemon: FACTs, which the driver has */
    TD_STATUS_HOST,       /* what the daemon runs on, for torusctl doctor: FACTs of the driver */
    TD_STATUS_TRACE = 16, /* of the flight recorder: TRACEs */
    TD_STATUS_CLOCK,      /* one TRACE with one event, TD_TRACE_CLOCK */
    TD_STATUS_SIDES,      /* who called what, where the calls of a job differed: SIDEs */
    TD_STATUS_OUTAGES,    /* what stood still at this node while jobs ran: OUTAGEs */
};

/* Numbers of a router: */
enum td_queues_number {
    TD_QUEUES_FABRIC, /* enum td_fabric_kind; on the direct fabric the row has this number only, and
                         is the only one */
    TD_QUEUES_PACKET_BYTES,
    TD_QUEUES_LINK_RATE,
    TD_QUEUES_SLOTS, /* limits: struct td_router_rules */
    TD_QUEUES_FIFO_SLOTS,
    TD_QUEUES_QUEUES,
    TD_QUEUES_QUEUE_SLOTS,
    TD_QUEUES_QUEUED, /* struct td_router_counts */
    TD_QUEUES_QUEUED_MAX,
    TD_QUEUES_FIFO_MAX,
    TD_QUEUES_HELD_MAX, /* of each of the three channels */
    TD_QUEUES_NUMBERS = TD_QUEUES_HELD_MAX + 3,
};
/* Numbers of a direction of travel: */
enum td_way_number {
    TD_WAY_FIFO,    /* packets in the injection FIFO */
    TD_WAY_PACKETS, /* packets sent in this direction */
    TD_WAY_BYTES,   /* bytes of their payload */
    TD_WAY_RETRIES, /* packets retransmitted after the link was lost */
    TD_WAY_RESUMES, /* number of times that a session of the link resumed */
    TD_WAY_HELD, /* packets held in each channel that packets of this direction use at this node */
    TD_WAY_CREDITS = TD_WAY_HELD + 3, /* credits of each channel of the neighbour */
    TD_WAY_NUMBERS = TD_WAY_CREDITS + 3,
};

/* Numbers of a plan (struct td_fft_record and its td_shape in compute): */
enum td_plan_number {
    TD_PLAN_LENGTH, /* points */
    TD_PLAN_BATCH,  /* number of transforms, in two loops */
    TD_PLAN_BATCH2,
    TD_PLAN_STRIDE, /* elements between points, and between transforms */
    TD_PLAN_DISTANCE,
    TD_PLAN_DISTANCE2,
    TD_PLAN_TO_STRIDE, /* the same in the result */
    TD_PLAN_TO_DISTANCE,
    TD_PLAN_TO_DISTANCE2,
    TD_PLAN_IN_PLACE,
    TD_PLAN_ALIGNMENT,
    TD_PLAN_TO_ALIGNMENT,
    TD_PLAN_EFFORT, /* enum td_fft_effort of the measurement */
    TD_PLAN_STATE,  /* enum td_fft_state */
    TD_PLAN_USES,
    TD_PLAN_ESTIMATE_NS, /* measured time of an execution by estimate; then the time that measuring
                            took */
    TD_PLAN_MEASURED_NS,
    TD_PLAN_PLANNING_NS,
    TD_PLAN_NUMBERS,
};

enum td_peer_state { TD_PEER_DOWN, TD_PEER_UP, TD_PEER_UNKNOWN /* no news of it */ };

enum { TD_STATUS_ROWS_MAX = 16, TD_ROW_ABSENTS_MAX = 4 };

/* The rows of a section, by their numbers in proto/client.proto; QUEUES has a ROUTER and then
 * DIRECTIONs, on the routed fabric. */
enum td_row_kind {
    TD_ROW_NODE = 1,
    TD_ROW_PEER,
    TD_ROW_CLIENT,
    TD_ROW_JOB,
    TD_ROW_OPERATION,
    TD_ROW_ROUTER,
    TD_ROW_DIRECTION,
    TD_ROW_PLAN,
    TD_ROW_RECORD,
    TD_ROW_WAIT,
    TD_ROW_LINK = 12,
    TD_ROW_GROUP,
    TD_ROW_FACT,
    TD_ROW_TRACE,
    TD_ROW_SIDE,
    TD_ROW_OUTAGE,
};

struct td_row_node {
    uint32_t node, operations;
    const char *endpoint;
};

struct td_row_peer {
    uint32_t node;
    enum td_peer_state state;
    const char *endpoint, *error; /* error: the last one, "" while it is up */
    uint64_t silent_ns;           /* since its last message; 0: none has come */
    uint64_t restarted_ns;        /* since another daemon was heard there; 0: none has been */
    bool died;                    /* the daemon before it ended without a goodbye */
    uint64_t restart_silent_ns;   /* how long that daemon had been silent; 0: it was heard */
};

struct td_row_client {
    uint64_t pid, uid;
    const char *program, *job; /* job: "" before it joins one */
    uint32_t seat;             /* in a group of the job: 0 for the world, TD_GROUP_MADE for any
                                  other */
    int64_t rank;              /* -1 before it joins, and while it waits for any rank */
    bool joining;              /* it waits until the job is complete */
    uint32_t process_state;    /* a letter of proc(5); 0: unknown */
};

struct td_row_job {
    const char *name;
    uint64_t uid;
    uint32_t size, joined;  /* ranks; those that have joined, as far as this node knows (its own,
                               if it does not keep the list of jobs): */
    struct td_bitmap ranks; /* which */
    /* the nodes where ranks were that have left, died or are lost, as the node knows that keeps the
     * list; no set: it knows of none */
    struct td_bitmap gone_nodes;
    uint64_t forming_ns; /* since the first of its joins that this node knows; 0: it has formed */
};

/* struct td_row_absent: a rank that has not called. */
struct td_row_absent {
    uint32_t rank, job_rank; /* in the group, in the job */
    uint32_t node;
    enum td_peer_state node_state;
    uint64_t silent_ns;     /* since a message came from a node that is not up */
    uint64_t pid;           /* on this node; else 0 */
    uint32_t process_state; /* a letter of proc(5), X: no such process, 0: unknown */
    uint64_t since_ns;      /* since its last request, or its join; 0: unknown */
};

struct td_row_operation {
    const char *job, *kind; /* kind: a sentence fragment for people */
    uint32_t group, size;   /* size of the group, in ranks */
    uint64_t sequence, age_ns;
    bool running;             /* else it waits for ranks */
    uint64_t step, steps;     /* of the program */
    struct td_bitmap arrived; /* ranks, as far as this node knows */
    uint64_t instance;        /* of the group */
    uint64_t job_instance;    /* the instance of its job */
    uint32_t absents;         /* missing ranks that are described, at most TD_ROW_ABSENTS_MAX: */
    const struct td_row_absent *absent; /* those on this node before others */
    uint32_t waits_for; /* running: the node whose message it waits for, this one if it computes,
                           plus 1; 0: none */
    uint64_t idle_ns;   /* running: since a step was done, or a packet came */
    bool nobody_waits;  /* a shrink that no live rank has called, as far as this node knows */
};

/* struct td_row_record: a job that this node has or had ranks of. */
struct td_row_record {
    const char *job;
    uint64_t uid, instance;
    uint32_t size;
    bool unformed;                /* it did not form; formed_ns: since its first rank joined */
    uint64_t formed_ns, ended_ns; /* ages; ended_ns 0: it is not over on this node */
    uint64_t operations;          /* by request */
    uint64_t waited_ns;           /* sum over the ranks of this node */
    td_err error;                 /* of the first call that failed, or TD_OK */
    const char *text;
    uint64_t failed_ns; /* age */
    uint64_t died_ns;   /* age of the first death of a rank of this node; 0: none has died */
    uint32_t died_rank; /* in the job */
    uint64_t died_pid;
    uint64_t died_paused_ns; /* how long its daemon had not run just before the death: the rank may
                                have given it up; 0: the daemon had run */
    struct td_bitmap nodes;  /* where its ranks are or were; no set: unknown */
};

/* struct td_row_wait: what the ranks of this node waited for a rank (core/membership/waits.h), or
 * while that rank could not be heard because a node was silent. */
struct td_row_wait {
    uint64_t instance; /* of the job */
    uint32_t rank, node, kind;
    uint64_t pid, last, waited_ns, longest_ns;
    uint32_t silent_node; /* plus 1; 0: no node was, and the other fields of silences are 0 */
    uint64_t silent_ns, silent_longest_ns;
    /* The longest wait, also in a silence: how long ago it ended (0: unknown), and in which call.
     */
    uint64_t longest_age_ns, longest_operation;
    uint32_t longest_group;
    uint32_t silent_ranks; /* the most that one call has kept waiting */
    uint32_t silences;     /* that ranks of this node waited in; then the length of all, of the
                              longest one, and how long ago that one ended */
    uint64_t silence_ns, silence_longest_ns, silence_longest_age_ns;
    uint64_t silence_unheard_ns; /* the part of the longest one until the node was heard again; 0:
                                    not known at this node */
    uint64_t silence_heard_ns;   /* the length of the longest one until the node was heard again, if
                                    its calls had failed before; else 0 */
};

struct td_row_router {
    uint32_t node;
    uint32_t numbers; /* on the direct fabric 1, TD_QUEUES_FABRIC */
    uint64_t number[TD_QUEUES_NUMBERS];
};

struct td_row_direction {
    uint32_t direction, neighbour; /* direction: of travel */
    bool up;                       /* the link to the neighbour */
    uint64_t number[TD_WAY_NUMBERS];
};

struct td_row_plan {
    const char *kind, *precision;
    int32_t sign; /* of the exponent */
    uint64_t age_ns;
    uint64_t number[TD_PLAN_NUMBERS];
};

/* struct td_row_link: the way from this node to one that it connects to. */
struct td_row_link {
    uint32_t to; /* the neighbour */
    enum td_peer_state state;
    bool up;           /* the connection */
    bool neighbours;   /* the two nodes are neighbours in the torus */
    uint64_t since_ns; /* since it came up, or went down; 0: neither has happened */
    uint64_t packets, bytes, repeated_packets,
        resumes;         /* sent to the neighbour; bytes: of payload */
    uint64_t messages;   /* sent to it along trees: short calls, and control of all */
    uint64_t silent_ns;  /* since its last message; 0: none has come */
    uint64_t busy_ns;    /* some packet has always been unacknowledged for so long; 0: none is */
    uint64_t busy_bytes; /* sent since then */
    /* of the session, to and from the neighbour: */
    uint64_t session_sent_packets, session_received_packets;
    const char *error; /* why it is not up; or, while it is up, that the node is silent */
};

/* enum td_group_state: of a row, as users see it. */
enum td_group_state { TD_GROUP_ACTIVE, TD_GROUP_PARTED, TD_GROUP_BROKEN };

/* struct td_row_group: a group that has ranks on this node. */
struct td_row_group {
    const char *job;
    uint64_t uid, instance, job_instance;
    uint32_t index, size; /* index: 0 for the job, TD_GROUP_MADE for any other */
    enum td_group_state state;
    td_err error; /* of a broken group: */
    const char *text;
    uint64_t calls_done;    /* operations by request that are over */
    uint32_t in_flight;     /* operations on record */
    uint64_t age_ns;        /* since its job formed; 0: not known */
    struct td_bitmap ranks; /* the ranks in the job, [TD_JOB_RANKS_MAX] at most */
    struct td_bitmap
        member_nodes; /* the nodes of all ranks; no set: too many for a page, or not told */
};

/* struct td_row_fact: something that the driver of a node knows, by name. */
struct td_row_fact {
    const char *name, *value, *unit; /* unit: such as bytes or ns, or "" */
    bool is_set;                     /* a setting: by the configuration, else it is the default */
    bool reloads;                    /* a setting: a reload changes it, else a restart does */
};

/* struct td_row_trace: events, or one failure with its sentence. */
struct td_row_trace {
    const char *text;       /* "": there is none */
    uint32_t numbers;       /* TD_TRACE_NUMBERS for each of at most TD_TRACE_EVENTS_MAX events */
    const uint64_t *number; /* [numbers] (td_trace_unpack) */
};

/* struct td_row_side: a call that ranks of this node made where others made another one. */
enum { TD_SIDE_RANKS_MAX = 32 };
struct td_row_side {
    uint64_t instance; /* of the job */
    const char *call;
    uint32_t count;                   /* ranks of this node that made it */
    uint32_t ranks;                   /* the first of them, in the job: */
    uint32_t rank[TD_SIDE_RANKS_MAX]; /* [ranks] */
};

/* enum td_outage: what stood still at a node. The numbers are on the wire and never change. */
enum td_outage {
    TD_OUTAGE_NONE,
    TD_OUTAGE_STOPPED,   /* the process of a rank: SIGSTOP */
    TD_OUTAGE_TRACED,    /* the process of a rank: a debugger */
    TD_OUTAGE_PAUSED,    /* the daemon */
    TD_OUTAGE_INTERFACE, /* the interface of the host that leads to another node */
    TD_OUTAGES
};

/* struct td_row_outage: what stood still at this node while a job ran (core/membership/waits.h). */
struct td_row_outage {
    uint64_t instance; /* of the job */
    uint32_t kind;     /* enum td_outage */
    uint32_t rank;     /* STOPPED, TRACED: in the job */
    uint64_t pid;      /* STOPPED, TRACED */
    uint32_t count;    /* outages; then the length of all, of the longest one, and how long ago that
                          one ended, or was last seen */
    uint64_t ns, longest_ns, longest_age_ns;
    const char *text; /* the fault of an interface; else "" */
};

/* struct td_status_row: one line of a section. */
struct td_status_row {
    enum td_row_kind kind;
    union {
        struct td_row_node node;
        struct td_row_peer peer;
        struct td_row_client client;
        struct td_row_job job;
        struct td_row_operation operation;
        struct td_row_router router;
        struct td_row_direction direction;
        struct td_row_plan plan;
        struct td_row_record record;
        struct td_row_wait wait;
        struct td_row_link link;
        struct td_row_group group;
        struct td_row_fact fact;
        struct td_row_trace trace;
        struct td_row_side side;
        struct td_row_outage outage;
    } u;
};

/* struct td_failed_call: the call that an error is of, for the log. */
struct td_failed_call {
    const char *job;
    uint32_t group;    /* 0: the job's world */
    int64_t operation; /* its number, as ranks count their calls; -1: it has none */
};

struct td_reply {
    enum td_reply_kind kind;
    uint64_t id; /* of the request */
    td_err error;
    const char *text;    /* "" when there is no error */
    bool refused;        /* OPERATION: the call does not count, and may be repeated */
    bool is_of_question; /* an error of a question about a node: no call has failed; only inside the
                            daemon */
    const struct td_failed_call *failed; /* NULL: not known; only inside the daemon */
    union {
        struct {
            uint32_t node;
            uint64_t incarnation;
            struct td_topology topology;
            uint64_t packet_bytes;
            uint64_t region_bytes_max; /* limit on the shared memory of one user's processes */
            uint32_t form_loops_max;   /* loops of a form that the daemon accepts; 0: no forms */
            bool peer_regions;         /* the daemon knows PEER_REGION */
            bool peers_known;          /* it has keys, no peers, or peers on Unix sockets only */
        } welcome;
        struct {
            uint32_t handle; /* of the region, only inside the daemon; 0: it has none to pass on */
        } peer_region;
        struct {
            uint32_t group, rank, size;
            uint64_t instance;
            struct td_bitmap lost; /* SHRINK: the ranks that are not in the group */
            bool is_local;   /* all ranks of the group are on this node; only inside the daemon */
            const char *job; /* its name, and the group's index in it; only inside the daemon */
            uint32_t index;
            /* set by the driver: the group has a segment, whose memfd travels with the reply */
            bool has_segment;
            /* set by the driver: the memory of this connection's letters travels with it instead */
            bool has_letters;
        } joined;
        struct {
            uint64_t plan;
            struct td_box source, destination; /* this rank's parts */
        } planned;
        struct {
            uint32_t section;
            uint64_t next; /* cursor of the next page, 0 when this is the last */
            uint32_t rows;
            struct td_status_row row[TD_STATUS_ROWS_MAX];
            /* a page of another node, encoded, instead of all of these; only inside the daemon */
            const uint8_t *page;
            uint32_t page_bytes;
            uint64_t took_ns; /* until the page of another node was here; 0: it is of this node */
        } status;
    } u;
};

#endif
