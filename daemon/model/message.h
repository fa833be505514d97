/* SPDX-License-Identifier: Apache-2.0 */
/* message: tree messages and packets between daemons, as plain structs. `wire` encodes and decodes
 * them; the core sees nothing else.
 * Owns: nothing. Borrows: a decoded message points into the decoder's memory, valid during one
 * td_core_step; a message of the core points into the core, valid until its next step. Pure. */
#ifndef TD_MODEL_MESSAGE_H
#define TD_MODEL_MESSAGE_H

#include "base/bits.h"
#include "base/errors.h"
#include "base/limits.h"
#include "call.h"
#include "counts.h"
#include "end_calls.h"
#include "terms.h"
#include "topology.h"

/* ---- daemon > daemon, tree messages ---- */

/* TD_MESSAGE_KINDS lists every kind of tree message: its number, which is also its number on the
 * wire (proto/peer.proto), its name, and the member of the union with its fields. A kind X has
 * `struct td_message_x` below, and a list of fields in wire/peer_table.c; the compiler or a test
 * names a kind that lacks one of them. Numbers are never reused. */
#define TD_MESSAGE_KINDS(X)                                                                        \
    X(1, HEARTBEAT, heartbeat)                                                                     \
    X(2, JOIN, join)                                                                               \
    X(3, UNJOIN, unjoin)                                                                           \
    X(4, REFUSE, refuse)                                                                           \
    X(5, MEMBERS, members)                                                                         \
    X(6, ARRIVE, arrive)                                                                           \
    X(7, RELEASE, release)                                                                         \
    X(8, WAITING, waiting)                                                                         \
    X(9, APPEAL, appeal)                                                                           \
    X(10, RANK_LOST, rank_lost)                                                                    \
    X(11, NODE_LOST, node_lost)                                                                    \
    X(12, SYNC, sync)                                                                              \
    X(13, DELIVERED, delivered)                                                                    \
    X(14, RESUME, resume)                                                                          \
    X(16, SHRINK_ASK, shrink_ask)                                                                  \
    X(17, SHRINK_VOTE, shrink_vote)                                                                \
    X(18, SHRINK_ACCEPTED_BEFORE, shrink_accepted_before)                                          \
    X(19, SHRINK_PROPOSE, shrink_propose)                                                          \
    X(20, SHRINK_ACCEPT, shrink_accept)                                                            \
    X(21, SHRINK_DECIDED, shrink_decided)                                                          \
    X(22, SHRINK_NOBODY, shrink_nobody)                                                            \
    X(23, RANK_LEFT, rank_left)                                                                    \
    X(24, REPORT, report)                                                                          \
    X(25, VERDICT, verdict)                                                                        \
    X(26, ANNOUNCE_AGAIN, announce_again)                                                          \
    X(27, RANK_GONE, rank_gone)                                                                    \
    X(28, NEIGHBOUR_LOST, neighbour_lost)                                                          \
    X(29, NEIGHBOUR_BACK, neighbour_back)                                                          \
    X(30, EPOCH_POLL, epoch_poll)                                                                  \
    X(31, EPOCH_VOTE, epoch_vote)                                                                  \
    X(32, EPOCH_PROPOSE, epoch_propose)                                                            \
    X(33, EPOCH_ACCEPT, epoch_accept)                                                              \
    X(34, EPOCH_KNOWN, epoch_known)                                                                \
    X(35, SHRINK_PARTITIONED, shrink_partitioned)                                                  \
    X(36, REGISTRY_ASK, registry_ask)                                                              \
    X(37, REGISTRY_ANSWER, registry_answer)                                                        \
    X(38, GRANT, grant)                                                                            \
    X(39, GRANTED, granted)                                                                        \
    X(40, PARTING, parting)                                                                        \
    X(41, LOOK, look)                                                                              \
    X(42, SEEN, seen)                                                                              \
    X(43, END_CALLS, end_calls)                                                                    \
    X(44, GOODBYE, goodbye)                                                                        \
    X(45, CARRY, carry)

enum td_message_kind {
#define TD_MESSAGE_KIND_VALUE(number, NAME, name) TD_MESSAGE_##NAME = (number),
    TD_MESSAGE_KINDS(TD_MESSAGE_KIND_VALUE)
#undef TD_MESSAGE_KIND_VALUE
};

/* struct td_witness: a call and a rank that made it. */
struct td_witness {
    struct td_call call;
    uint32_t rank;
};

/* struct td_member_run: ranks first .. first + count - 1 run on `node`. */
struct td_member_run {
    uint32_t first, count, node;
    uint64_t token; /* of the join that got rank `first`; the next ranks have the next tokens */
};

/* struct td_message_payload: data of an operation that travels inside a tree message. */
struct td_message_payload {
    const uint8_t *data;
    uint32_t bytes;
};

/* Parent and child in the node tree, both ways: which nodes are up. Sent without a number. */
struct td_message_heartbeat {
    struct td_bitmap up; /* the nodes that the sender knows to be up */
    /* the nodes that are not up, and whose last daemon has said goodbye; no set: none */
    struct td_bitmap stopped;
    uint64_t sent; /* numbered messages of its session so far; 0: none */
};

/* Node > registry: a process of the sender asks to join a job. With an instance in the envelope it
 * reports that the process is that rank of a job that has formed. */
struct td_message_join {
    uint64_t token; /* names the join at its node */
    uint64_t uid;   /* user of the process */
    uint64_t pid;
    int64_t timeout_ns;    /* until all ranks have joined */
    const char *name;      /* of the job */
    uint32_t size;         /* ranks of the job */
    uint32_t rank;         /* that the process asks for; UINT32_MAX: any */
    bool is_reminder;      /* the join was sent before, over a link that did not fail since */
    uint64_t epoch;        /* the latest that the node knows; 0: none */
    uint64_t granted;      /* the instance that the join was granted to last; 0: none */
    uint32_t granter;      /* the node that kept the list of jobs then */
    struct td_terms terms; /* of the node */
    td_err refused;        /* not TD_OK: the node does not admit the rank, and all ranks of the job
                            * are to hear why. */
    const char *refusal;   /* the sentence that goes with it */
};

/* Node > registry: a process withdraws its join; the job has not formed yet. */
struct td_message_unjoin {
    uint64_t token; /* of the join */
};

/* Registry > node: a join failed. */
struct td_message_refuse {
    uint64_t token; /* of the join */
    td_err error;
    const char *text; /* the sentence that goes with error */
};

/* Registry > node: report your ranks, and then answer. */
struct td_message_registry_ask {
    uint64_t round;
};

/* Node > registry: all ranks of the sender are reported. */
struct td_message_registry_answer {
    uint64_t round;   /* of the question */
    bool is_draining; /* the sender drains: it is not the registry, whether it was asked or not */
};

/* Registry > node: may these joins of the receiver become ranks of the instance that the envelope
 * names? */
struct td_message_grant {
    uint32_t first; /* the rank of the first one; the others have the next ranks */
    uint32_t count;
    uint64_t token; /* of the first one; the others have the next tokens */
};

/* Node > registry: the answer, for a part of these joins. */
struct td_message_granted {
    uint32_t first, count; /* ranks */
    bool is_granted;       /* the joins are of no other instance until they are granted again */
};

/* Registry > node of slot 0 > along the job's tree: one piece of the membership of a new job. */
struct td_message_members {
    uint64_t uid;       /* of the job's user */
    const char *name;   /* of the job */
    uint32_t size;      /* ranks of the job */
    bool is_last_piece; /* the membership is complete with this message */
    uint64_t epoch;     /* exclusions up to this ballot do not concern the job */
    uint32_t runs;
    const struct td_member_run *run; /* at most TD_MEMBERS_PER_MESSAGE */
};

/* Child > parent: all ranks below have arrived at the operation. */
struct td_message_arrive {
    struct td_witness least, greatest; /* of the calls below, in the order of td_call_compare */
    bool no_room;                      /* some node below has no scratch memory for it */
    struct td_survey survey;           /* sum over the ranks below; zero without counts by rank */
    uint32_t last; /* the rank below that arrived last, plus 1; 0: unknown. For people */
    /* For people: node silent_node - 1 was silent until shortly before the last arrival became
     * known, and the silence had begun silent_ns before. 0: no silence has delayed it */
    uint32_t silent_node;
    uint64_t silent_ns;
    struct td_message_payload
        payload; /* contributions of the ranks below. In an action the slice holds it */
};

/* Child > parent: not all ranks below have arrived yet. */
struct td_message_report {
    struct td_bitmap arrived; /* the ranks that the sender knows to have arrived */
};

/* Parent > child: all ranks have arrived; the operation runs. */
struct td_message_release {
    uint32_t last;        /* the rank that arrived last, plus 1; 0: unknown. For people */
    uint32_t silent_node; /* as in td_message_arrive */
    uint64_t silent_ns;
    struct td_message_payload payload; /* the combined result. In an action the slice holds it */
};

/* Parent > child: the operation ends with an error. */
struct td_message_verdict {
    td_err error;
    const char *text;     /* the sentence that goes with error */
    bool is_running;      /* the operation was released (stall.h) */
    uint32_t silent_node; /* which kept ranks from being heard that had not called, plus 1; 0: none
                             did */
    uint64_t silent_ns;   /* for how long it had not been heard */
};

/* Parent > child, or refusing node > sender: announce the operation again. */
struct td_message_announce_again {
    bool is_surveyed; /* compile with `survey` and announce at once; otherwise memory was short, and
                         the operation is announced after a pause, or */
    bool
        without_scratch; /* at once, but without scratch: the operation has waited long for ranks */
    struct td_survey survey; /* sum over all ranks */
};

/* Parent > child: which ranks have arrived at the operation so far. */
struct td_message_waiting {
    struct td_bitmap arrived; /* the ranks that the sender knows to have arrived */
    bool reply_requested;     /* send a REPORT now */
};

/* Node > root, along the tree: request to end this operation. */
struct td_message_appeal {
    td_err error; /* of the requested ending */
    const char *text;
    bool is_running;    /* the operation was released, and stands still (stall.h): */
    uint32_t node;      /* on this node, */
    uint32_t waits_for; /* for this one; for itself: it cannot go on */
};

/* Node > root, along the tree: a rank of the sender's subtree left or died. */
struct td_message_rank_gone {
    uint32_t rank;
    td_err error; /* error of the operations that need the rank */
    bool of_job;  /* the whole job has lost the rank: it died, or left the job */
    const char *text;
};

/* Root > all, along the tree: no operation is released any more, because a rank left or died. */
struct td_message_rank_lost {
    uint32_t rank; /* UINT32_MAX: unknown */
    td_err error;  /* error of the operations that need the rank */
    bool of_job;   /* the whole job has lost the rank: all its groups have */
    const char *text;
};

/* Along the tree of a group, to all nodes: a node of the group is lost. */
struct td_message_node_lost {
    uint32_t node;
    bool notify_all; /* the lost node has no neighbours in the tree that notify the others: the
                        receiver notifies every node of the group */
    bool is_proven;  /* its ranks are gone: it says so itself, or another daemon runs there, or an
                        epoch excludes it. Otherwise it is silent */
    const char *text;
    uint64_t silent_ns; /* for how long it had not been heard before */
};

/* enum td_parting_step: what a PARTING message says (membership/parting.h). */
enum td_parting_step {
    TD_PARTING_END = 1, /* node > all: the group is parted: end its operations with PARTITIONED */
    TD_PARTING_HEARD,   /* child > parent: the sender's group is parted, and it hears all nodes */
    TD_PARTING_ASK,     /* parent > child: end all operations, and hold later calls */
    TD_PARTING_READY,   /* child > parent: the sender and all nodes below hold their calls */
    TD_PARTING_UNREADY, /* child > parent: it does not, or one below does not */
    TD_PARTING_CANCEL,  /* parent > child: the round has failed: calls end with PARTITIONED again */
    TD_PARTING_RESUME,  /* parent > child: the group goes on with operation `sequence` */
    TD_PARTING_DOUBT,   /* node > first node that is heard: a call here waits for a silent node */
};

/* Between the nodes of a group whose nodes have not all heard each other. */
struct td_message_parting {
    uint32_t step;     /* enum td_parting_step */
    uint64_t round;    /* ASK to RESUME: of the round; END, HEARD: of the sender's last RESUME */
    uint64_t sequence; /* READY: of the operation that follows all calls below; RESUME: of all */
    const char *text;  /* END, HEARD, ASK: the sentence of PARTITIONED */
};

/* Among the nodes of a SYNC step: the sender, and all nodes that it has heard from, have reached
 * the step. */
struct td_message_sync {
    uint32_t family;     /* of the step in the program */
    uint32_t round;      /* of the dissemination, from 0 */
    uint64_t step_index; /* of the step in its family */
};

/* Destination > origin: a message of the routed fabric is complete. A node that passes packets on >
 * origin: one of the message is lost. */
struct td_message_delivered {
    uint64_t ticket; /* the origin's name of the message */
    bool is_lost;    /* a packet of the message is lost, */
    uint32_t with;   /* with the session of the sender and this neighbour */
};

/* End > end of a link: the counts of the sender's received messages and packets. Sent without a
 * number; the count of messages is in the envelope. */
struct td_message_resume {
    uint64_t packets_received; /* in the session that the envelope names */
    bool reply_requested;      /* answer with a RESUME */
    uint64_t incarnation;      /* the sender's */
    /* The numbers from which the sender goes on in its session. What came before is acknowledged,
     * or was for an earlier daemon of the receiver. */
    uint64_t first, first_packet;
    uint32_t given_up; /* the receiver's session that the sender gave up last; 0: none */
    /* A question goes on until it is answered. A daemon that did not run for long asks one: what
     * it reads first may have been sent before the far end gave it up. */
    uint64_t question; /* 0: none */
    uint64_t answers;  /* the receiver's latest question; 0: none */
};

/* Messages of a shrink travel between its coordinator and the other nodes of the group, without the
 * tree (shrink.h). All begin with `shrink`, so it can be read whatever the kind. In all of them:
 *   shrink   counts the shrinks of the group, from 0
 *   view     a hash of the set of ranks that the sender knows to be lost: equal for equal sets */

/* struct td_outcome: the result of a shrink. */
struct td_outcome {
    td_err error;          /* TD_OK: the survivors form a group */
    const char *text;      /* the sentence that goes with error */
    struct td_bitmap lost; /* the ranks that are not in the new group */
};

/* Coordinator > node: vote. */
struct td_message_shrink_ask {
    uint64_t shrink, view;
    struct td_bitmap lost; /* the ranks that the sender knows to be lost */
    bool is_last_call;     /* a rank that has not called by now is reported as missing */
    bool gave_up_receiver; /* the sender counts all ranks of the receiver as lost */
};

/* Node > coordinator: a vote. */
struct td_message_shrink_vote {
    uint64_t shrink, view;
    struct td_bitmap lost;    /* the ranks that the sender knows to be lost */
    struct td_bitmap missing; /* the sender's local ranks that have not called; no set: all have */
    td_err error;             /* the reason why a local rank stopped waiting; TD_OK: all wait */
    const char *text;         /* the sentence that goes with error */
    bool is_deaf;             /* a node with live ranks is silent to the sender */
};

/* Node > coordinator, before its vote: the outcome that it accepted in an earlier round. */
struct td_message_shrink_accepted_before {
    uint64_t shrink;
    uint32_t round; /* in which it was accepted, from 1 */
    struct td_outcome outcome;
};

/* Coordinator > node: accept this outcome. */
struct td_message_shrink_propose {
    uint64_t shrink, view;
    struct td_outcome outcome;
};

/* Node > coordinator: the outcome proposed for this view is accepted. */
struct td_message_shrink_accept {
    uint64_t shrink, view;
};

/* Coordinator > node, or any node > a late voter: the outcome is decided. */
struct td_message_shrink_decided {
    uint64_t shrink;
    uint64_t made; /* instance of the new group; 0: none */
    struct td_outcome outcome;
};

/* Node > sender: this node has no rank of the group left, or none that can take part. */
struct td_message_shrink_nobody {
    uint64_t shrink;
};

/* Coordinator > node: a node of the group is silent, and this side of the network has no quorum. */
struct td_message_shrink_partitioned {
    uint64_t shrink;
};

/* Messages of epochs travel between the node that polls and the others (epoch.h). All begin with
 * `ballot`. Exclusions are packed: node (2 bytes), daemon (4), ballot (8), little-endian. */

/* Poller > node: vote for this ballot. */
struct td_message_epoch_poll {
    uint64_t ballot;
};

/* Node > poller: the answer to a poll, or to a proposal that the node does not accept. */
struct td_message_epoch_vote {
    uint64_t ballot;
    bool is_vote;                /* the sender votes for the ballot */
    uint64_t seen;               /* the largest ballot that the sender knows */
    uint64_t accepted;           /* the ballot whose exclusions it has accepted last; 0: none */
    struct td_bitmap exclusions; /* these */
    uint64_t age_ns;             /* since the sender's daemon started */
};

/* Poller > node: accept these exclusions. */
struct td_message_epoch_propose {
    uint64_t ballot;
    struct td_bitmap exclusions;
};

/* Node > poller: the exclusions of the ballot are accepted. */
struct td_message_epoch_accept {
    uint64_t ballot;
};

/* Node > node: a quorum has accepted these exclusions. */
struct td_message_epoch_known {
    uint64_t ballot;
    struct td_bitmap exclusions;
};

/* Node > registry: a rank of a job that has formed left or died. */
struct td_message_rank_left {
    uint32_t rank; /* in the job's world */
};

/* Node > all nodes of the routed fabric: a torus neighbour of the sender is lost. */
struct td_message_neighbour_lost {
    uint32_t node; /* the neighbour */
    bool never_up; /* it was not up since the sender began, and may be starting */
};

/* Node > all nodes of the routed fabric: a torus neighbour that was lost is back. */
struct td_message_neighbour_back {
    uint32_t node; /* the neighbour */
};

/* Node > node: a page of the status, for a user. */
struct td_message_look {
    uint64_t ticket; /* the sender's name of the question */
    uint64_t uid;    /* the user sees the own jobs, or */
    bool sees_all;   /* those of all users */
    uint32_t section;
    uint64_t cursor;
};

/* Node > node: the page. */
struct td_message_seen {
    uint64_t ticket;
    struct td_bitmap
        page; /* bytes of a reply of the local protocol; none: the section is unknown */
};

/* End > end of a link: the sender's daemon stops, and its ranks are gone. It is the last message of
 * the session. */
struct td_message_goodbye {
    uint64_t incarnation; /* the sender's */
};

/* Origin > destination of a SEND step: bytes of a short step (direct fabric), or of a step whose
 * packets would pass a lost node (routed fabric; core/net/carry.h). */
struct td_message_carry {
    uint32_t ticket; /* these four are as in a packet */
    uint32_t family;
    uint64_t index;
    uint64_t offset;
    struct td_message_payload payload; /* In an action the slice holds it */
};

/* struct td_relay: the route of a message between two nodes of the routed fabric that are no
 * neighbours. It hops from neighbour to neighbour. The session fields of its envelope belong to its
 * two ends. */
struct td_relay {
    bool is_relayed; /* false: the message uses one connection, and the other fields are 0 */
    uint8_t avoids;
    uint16_t origin, destination;       /* nodes */
    uint16_t hops;                      /* so far */
    uint16_t avoid[TD_RELAY_AVOID_MAX]; /* [avoids] lost nodes that the route avoids */
};

/* struct td_message: an envelope, and the fields of its kind. A field of the envelope that a
 * message does not need is 0. SYNC and DELIVERED are sent far more often than the others: the
 * envelope and their fields fill one cache line. */
struct td_message {
    enum td_message_kind kind;
    /* the link's, as in a packet (link.h) */
    uint32_t session;        /* the sender's session of the link */
    uint32_t counts_session; /* the receiver's session, which `received` is about */
    uint32_t group;          /* within the job: 0 is the world, TD_GROUP_MADE any other */
    uint64_t number;         /* the message's place in the session, from 1; 0: outside of it */
    uint64_t received;       /* messages that the sender has received in counts_session */
    uint64_t instance;       /* of the group that the message is about */
    uint64_t sequence;       /* of the group's operation that the message is about */
    struct td_relay relay;
    union {
#define TD_MESSAGE_KIND_MEMBER(number, NAME, name) struct td_message_##name name;
        TD_MESSAGE_KINDS(TD_MESSAGE_KIND_MEMBER)
#undef TD_MESSAGE_KIND_MEMBER
    } u;
};

/* td_message_load sets the payload of an ARRIVE, a RELEASE or a CARRY. */
static inline void td_message_load(struct td_message *m, const uint8_t *data, uint32_t bytes)
{
    struct td_message_payload payload = {data, bytes};
    if (m->kind == TD_MESSAGE_ARRIVE)
        m->u.arrive.payload = payload;
    else if (m->kind == TD_MESSAGE_RELEASE)
        m->u.release.payload = payload;
    else
        m->u.carry.payload = payload;
}

/* td_message_is_frequent returns true for the messages that short operations consist of. */
static inline bool td_message_is_frequent(enum td_message_kind kind)
{
    return kind == TD_MESSAGE_ARRIVE || kind == TD_MESSAGE_RELEASE || kind == TD_MESSAGE_CARRY;
}

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
    uint32_t family; /* family of the RECV step at the receiver; `index` is its index */
    /* Routed fabric: */
    uint32_t origin, destination; /* nodes */
    uint32_t ticket;              /* the origin's name of the message */
    uint8_t direction,
        channel; /* direction of travel on this link; the input channel at the receiver */
    /* The following fields belong to the link: */
    uint64_t link_sequence; /* DATA: its place in the session, from 1 */
    uint64_t received,
        freed;               /* cumulative counts of received and freed packets in counts_session */
    uint32_t session;        /* the sender's outgoing session; a new session starts at 1 */
    uint32_t counts_session; /* the receiver's outgoing session, which the counts refer to */
    uint32_t channel_freed[3];       /* routed: of the input channels that packets of the opposite
                                        direction fill */
    int16_t left[TD_DIMENSIONS_MAX]; /* routed: hops left in each dimension, signed */
};

#endif
