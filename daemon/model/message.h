/* SPDX-License-Identifier: Apache-2.0 */
/* message: what travels, as plain structures: requests and replies between a client and its daemon,
 * tree messages and packets between daemons. `wire` turns them into bytes and back; the core sees
 * only these. Pointers are borrowed: from the decoder for the time of one td_core_step, or from the
 * core until the next one. */
#ifndef TD_MODEL_MESSAGE_H
#define TD_MODEL_MESSAGE_H

#include "call.h"
#include "base/errors.h"
#include "layout.h"
#include "base/limits.h"
#include "counts.h"
#include "plan.h"
#include "topology.h"

/* ---- client > daemon ---- */

enum td_request_kind {
    TD_REQUEST_HELLO = 1, /* first: who the client is */
    TD_REQUEST_REGION,    /* a memfd comes along: memory the client will name */
    TD_REQUEST_UNREGION,  /* the client is done with a region */
    TD_REQUEST_JOIN,
    TD_REQUEST_LEAVE,
    TD_REQUEST_OPERATION, /* a collective; its call says which */
    TD_REQUEST_UNPLAN,
    TD_REQUEST_CANCEL, /* of an operation, a join or a plan in flight */
    TD_REQUEST_STATUS,
    TD_REQUEST_GROUP,  /* take part in a new group of ranks of a group */
    TD_REQUEST_SHRINK, /* and of those of it that are left */
};

/* struct td_place: memory of a client: bytes at an offset of one of its regions. region 0: none. */
struct td_place {
    uint32_t region; /* the client's own number, from 1 */
    uint64_t offset, bytes;
};

struct td_request {
    enum td_request_kind kind;
    uint64_t id; /* the client's; the reply carries it. 0: no reply is wanted */
    union {
        struct {
            const char *program; /* name of the process, for people */
        } hello;
        struct {
            uint32_t region;  /* the client's number for it */
            uint64_t bytes;   /* size the client says; the driver has checked the file's */
            uint32_t handle;  /* set by the driver: where it mapped the file */
            td_err error;     /* set by the driver: why it refused the file, else TD_OK */
            const char *text; /* set by the driver: the sentence of `error` */
        } region;             /* UNREGION: region alone */
        struct {
            const char *name;
            uint32_t size;
            int64_t rank;       /* -1: any */
            int64_t timeout_ns; /* -1: the daemon's setting */
        } join;
        struct {
            uint32_t group; /* the daemon's number for it, from JOINED; LEAVE: group alone */
            struct td_call call;
            struct td_description description; /* of a plan to be agreed on */
            struct td_place source, destination;
            int64_t timeout_ns; /* until all have arrived; -1: the daemon's setting */
            /* calls this rank has made in the group before, those refused not counted: a call that
             * was sent before the refusal of an earlier one was seen is known by it */
            uint64_t sequence;
            struct td_rank_counts from, to; /* of a call with parts */
        } operation;
        struct {
            uint32_t group;  /* whose ranks are the members */
            uint64_t number; /* tells groups with the same members apart; the same at all of them */
            uint32_t members;
            const uint64_t *member; /* ranks in `group`, in the order they have in the new one */
        } make;
        struct {
            uint32_t group;
            int64_t timeout_ns; /* until all have called; -1: the daemon's setting */
        } shrink;
        struct {
            uint32_t group;
            uint64_t plan;
        } unplan;
        struct {
            uint64_t request; /* id of the request to end */
        } cancel;
        struct {
            uint32_t section; /* enum td_status_section */
            uint64_t cursor;  /* 0, then `next` of the page before */
        } status;
    } u;
};

/* ---- daemon > client ---- */

enum td_reply_kind {
    TD_REPLY_ERROR = 1, /* `error` and `text`; every kind may carry them */
    TD_REPLY_WELCOME,
    TD_REPLY_DONE, /* region, unregion, leave, operation, unplan, cancel */
    TD_REPLY_JOINED,
    TD_REPLY_PLANNED,
    TD_REPLY_STATUS,
};

enum td_status_section {
    TD_STATUS_NODE = 1, /* one row */
    TD_STATUS_PEERS,
    TD_STATUS_CLIENTS,
    TD_STATUS_JOBS,
    TD_STATUS_OPERATIONS,
    TD_STATUS_QUEUES, /* routed fabric: the node's row, then one a direction of travel */
    TD_STATUS_PLANS,  /* of 1-D transforms, by shape: name is the kind, text the precision */
};

/* What the numbers of the QUEUES section are: those of the node, */
enum td_queues_number {
    TD_QUEUES_FABRIC, /* enum td_fabric_kind; on the direct one the row ends here and is the only one */
    TD_QUEUES_PACKET_BYTES,
    TD_QUEUES_LINK_RATE,
    TD_QUEUES_SLOTS, /* bounds: struct td_router_rules */
    TD_QUEUES_FIFO_SLOTS,
    TD_QUEUES_QUEUES,
    TD_QUEUES_QUEUE_SLOTS,
    TD_QUEUES_QUEUED, /* struct td_router_counts */
    TD_QUEUES_QUEUED_MAX,
    TD_QUEUES_FIFO_MAX,
    TD_QUEUES_HELD_MAX, /* of each of the three channels */
    TD_QUEUES_NUMBERS = TD_QUEUES_HELD_MAX + 3,
};
/* and those of a direction: its row has it as `group`, the neighbour there as `node`. */
enum td_way_number {
    TD_WAY_FIFO,                      /* packets in the injection FIFO */
    TD_WAY_PACKETS,                   /* sent that way, with their */
    TD_WAY_BYTES,                     /* bytes of payload */
    TD_WAY_RETRIES,                   /* packets sent again after the link was lost */
    TD_WAY_RESUMES,                   /* times that its sessions went on where they had stopped */
    TD_WAY_HELD,                      /* of each channel that packets of this direction fill here */
    TD_WAY_CREDITS = TD_WAY_HELD + 3, /* for each channel of the neighbour */
    TD_WAY_NUMBERS = TD_WAY_CREDITS + 3,
};

/* and those of a plan (struct td_fft_record and its td_shape in compute): */
enum td_plan_number {
    TD_PLAN_LENGTH, /* points, */
    TD_PLAN_BATCH,  /* and how many such rows, in two loops */
    TD_PLAN_BATCH2,
    TD_PLAN_STRIDE, /* elements between points, and between rows */
    TD_PLAN_DISTANCE,
    TD_PLAN_DISTANCE2,
    TD_PLAN_TO_STRIDE, /* of the result */
    TD_PLAN_TO_DISTANCE,
    TD_PLAN_TO_DISTANCE2,
    TD_PLAN_IN_PLACE,
    TD_PLAN_ALIGNMENT,
    TD_PLAN_TO_ALIGNMENT,
    TD_PLAN_EFFORT, /* enum td_fft_effort of the measurement */
    TD_PLAN_STATE,  /* enum td_fft_state */
    TD_PLAN_USES,
    TD_PLAN_ESTIMATE_NS, /* an execution by estimate, as measured, and how long measuring took */
    TD_PLAN_MEASURED_NS,
    TD_PLAN_PLANNING_NS,
    TD_PLAN_NUMBERS,
};

enum td_peer_state { TD_PEER_DOWN, TD_PEER_UP, TD_PEER_UNKNOWN /* no news of it */ };

enum { TD_STATUS_ROWS_MAX = 16, TD_STATUS_NUMBERS_MAX = 18 };
_Static_assert((int)TD_QUEUES_NUMBERS <= (int)TD_STATUS_NUMBERS_MAX &&
                   (int)TD_WAY_NUMBERS <= (int)TD_STATUS_NUMBERS_MAX &&
                   (int)TD_PLAN_NUMBERS <= (int)TD_STATUS_NUMBERS_MAX,
               "a row has room for its numbers");

/* struct td_status_row: one line of a section; fields outside the section are zero. Rank sets are
 * bitmaps, rank r is bit r % 8 of byte r / 8. */
struct td_status_row {
    uint32_t node;         /* PEERS */
    uint32_t state;        /* PEERS: enum td_peer_state */
    const char *name;      /* CLIENTS, JOBS, OPERATIONS: the job; "" for none */
    const char *text;      /* CLIENTS: program; OPERATIONS: the call; PEERS: last error */
    uint64_t pid, uid;     /* CLIENTS; JOBS: uid */
    int64_t rank;          /* CLIENTS: -1 before it has joined; PLANS: sign of the exponent */
    uint32_t size, joined; /* JOBS; OPERATIONS: size */
    uint32_t group;        /* OPERATIONS */
    uint64_t generation, sequence, age_ns;
    uint32_t phase;             /* OPERATIONS: 0 waiting for ranks, 1 running */
    uint64_t steps_done, steps; /* OPERATIONS */
    const uint8_t *arrived;     /* JOBS: joined; OPERATIONS: arrived; as far as this node knows */
    uint32_t arrived_bytes;
    uint32_t numbers; /* QUEUES, PLANS */
    uint64_t number[TD_STATUS_NUMBERS_MAX];
};

struct td_reply {
    enum td_reply_kind kind;
    uint64_t id; /* of the request */
    td_err error;
    const char *text; /* "" when there is no error */
    bool refused;     /* OPERATION: the call was not made, and may be made again */
    union {
        struct {
            uint32_t node;
            uint64_t incarnation;
            struct td_topology topology;
            uint64_t packet_bytes;
            uint64_t region_bytes_max; /* of one user's processes together */
        } welcome;
        struct {
            uint32_t group, rank, size;
            uint64_t instance;
            const uint8_t *lost; /* SHRINK: bitmap of the ranks that are not in the group */
            uint32_t lost_bytes;
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
        } status;
    } u;
};

/* ---- daemon > daemon, over the combining tree ---- */

enum td_message_kind {
    TD_MESSAGE_HEARTBEAT = 1, /* parent <> child: who is up */
    TD_MESSAGE_JOIN,          /* node > node 0: a process wants to join */
    TD_MESSAGE_UNJOIN,        /* node > node 0: it changed its mind, left or died */
    TD_MESSAGE_REFUSE,        /* node 0 > node: a join failed */
    TD_MESSAGE_MEMBERS,       /* node 0 > slot 0 > tree: a piece of a formed job's membership */
    TD_MESSAGE_ARRIVE,        /* child > parent: all below have arrived (or, partial, who has) */
    TD_MESSAGE_RELEASE,       /* parent > child: the verdict */
    TD_MESSAGE_WAITING,       /* parent > child: who has arrived so far */
    TD_MESSAGE_APPEAL,        /* node > root: end this operation (cancel, time limit, lost rank) */
    TD_MESSAGE_RANK_LOST,     /* root > children: a rank left or died */
    TD_MESSAGE_NODE_LOST, /* flooded in a group: a node of it is gone; of instance 0, to all nodes:
                             a neighbour of the sender in the torus is lost, or (last) back */
    TD_MESSAGE_SYNC,      /* among the nodes of a SYNC step: this one has come so far */
    TD_MESSAGE_DELIVERED, /* destination > origin: a message of the torus is complete */
    TD_MESSAGE_RESUME, /* end > end of a link: what has come in the sessions there are; poll: answer
                        */
    TD_MESSAGE_FLOOD,  /* to the next in a ring: a block of an operation that is flooded */
    TD_MESSAGE_SHRINK, /* of those that are left of a group, who make a new one (shrink.h) */
};

/* struct td_witness: a call and a rank that made it. */
struct td_witness {
    struct td_call call;
    uint32_t rank;
};

struct td_member_run { /* ranks first .. first + count - 1 are on `node` */
    uint32_t first, count, node;
    uint64_t token; /* a join with rank "any" that got rank `first`; else 0 */
};

struct td_message {
    enum td_message_kind kind;
    uint64_t instance; /* of the job */
    uint32_t group;    /* within the job; 0 is the world */
    uint64_t sequence; /* of the operation */
    td_err error;      /* REFUSE, RELEASE, APPEAL, RANK_LOST */
    const char *text;  /* sentence that goes with error; "" if none */
    uint32_t rank;     /* RANK_LOST, APPEAL, JOIN (UINT32_MAX: any), UNJOIN; SYNC: the round;
                          SHRINK: that of an ending; FLOOD: twice the ring's number, plus 1
                          backwards */
    uint32_t node;     /* NODE_LOST: which; JOIN, UNJOIN: whose client */
    /* the link's, as in a packet (link.h). number: place in the session from 1; 0: outside of it */
    uint32_t session, counts_session;
    uint64_t number, received;
    uint64_t packets_received; /* RESUME */
    /* JOIN, UNJOIN, REFUSE, MEMBERS */
    uint64_t token; /* names the join at its node; SYNC: the step's index; DELIVERED: the ticket;
                       SHRINK: names the round, DECIDED: the instance of what is made */
    uint64_t uid, pid;
    uint32_t size; /* SYNC: the step's family; FLOOD: hops that the block has come with this one;
                      SHRINK: enum td_shrink_stage */
    int64_t timeout_ns;
    const char *name;
    bool last; /* MEMBERS: the final piece; NODE_LOST: it is back, or has no part of the group;
                  SHRINK: shrink.h; APPEAL: the sender has not told its neighbours, and never will
                  (flood.h) */
    uint32_t members;
    const struct td_member_run *member; /* at most TD_MEMBERS_PER_MESSAGE */
    /* ARRIVE, FLOOD */
    struct td_witness least, greatest;
    bool partial;            /* only a report of who has arrived below */
    bool no_room;            /* memory could not be reserved; RELEASE: announce again, later */
    bool surveyed;           /* RELEASE: announce again, now that this is known: */
    struct td_survey survey; /* ARRIVE, RELEASE: of a call with parts */
    bool poll; /* WAITING: report at once; RESUME: answer; JOIN: asked after; SHRINK: shrink.h */
    /* bitmap: HEARTBEAT nodes up; ARRIVE, WAITING ranks arrived; SHRINK ranks lost */
    const uint8_t *bitmap;
    uint32_t bitmap_bytes;
    /* ARRIVE, RELEASE, FLOOD: the payload that rides along; of the first two in an action it is a
     * slice */
    const uint8_t *payload;
    uint32_t payload_bytes;
};

/* ---- daemon > daemon, bulk ---- */

enum td_packet_kind { TD_PACKET_DATA = 1, TD_PACKET_CREDIT = 2 };

/* struct td_packet: header of a packet; on the wire it is fixed-size, little-endian (wire/packet).
 */
struct td_packet {
    enum td_packet_kind kind;
    uint32_t bytes; /* payload */
    uint64_t instance;
    uint64_t sequence;
    uint64_t index;
    uint64_t offset; /* bytes of the message before this packet */
    uint32_t group;
    uint32_t family; /* at the receiver: the RECV step, with `index` */
    /* the routed fabric */
    uint32_t origin, destination; /* nodes */
    uint32_t ticket;              /* the origin's name of the message */
    uint8_t direction, channel;   /* of travel on this link; the input channel it is for */
    /* what follows is of a link */
    uint64_t link_sequence;    /* DATA: its place in the session, from 1 */
    uint64_t received, freed;  /* cumulative counts of what came in that session */
    uint32_t session;          /* of the sender's way out; a new one starts again at 1 */
    uint32_t counts_session;   /* of the receiver's way out, which the counts are about */
    uint32_t channel_freed[3]; /* routed: of the input channels that the opposite direction fills */
    int16_t left[TD_DIMENSIONS_MAX]; /* routed: hops to go from there, signed */
};

#endif
