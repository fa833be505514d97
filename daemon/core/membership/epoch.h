/* SPDX-License-Identifier: Apache-2.0 */
/* epoch: which silent nodes the machine goes on without (docs/adr/0013-epochs.md).
 *
 * An epoch is a set of exclusions that a quorum of the electorate has accepted. The electorate is
 * all nodes but those that [peers] absent lists. A quorum is more than half of its nodes, or
 * exactly half with node 0. Epochs form a chain: each has all exclusions of those before it. So of
 * two parts of a machine that do not hear each other, at most one excludes the other.
 *
 * Sweep 1 (poll): a node that needs a silent node excluded polls the electorate with a ballot, a
 * number that is larger than all it has seen and that no other node uses. A node votes for a ballot
 * only if it has voted for no larger one; its vote carries the exclusions that it has accepted.
 * Sweep 2 (propose): with a quorum of votes, the poller adds the nodes that it was asked for and
 * that have not answered to the exclusions of the latest ballot among the votes. When a quorum has
 * accepted them, they are an epoch, and the poller tells all nodes.
 *
 * The protocol is Paxos for one register that only grows. A daemon that was started less than one
 * progress_timeout ago does not vote, because an earlier daemon of its node may have voted.
 *
 * A daemon that did not run for a while may be excluded before it hears of that. Others may have
 * gone on without it, and their daemons may have been restarted since: then nobody of the group
 * knows. So before it relies on the proof that such daemons are dead, it *confirms* its place: a
 * poll with votes of a quorum of daemons that have lived since before the pause. Whoever excluded
 * it had a quorum, too, and the two have a daemon in common.
 *
 * An exclusion counts for the groups that formed before it: a group knows the epoch of its time
 * (`epoch`), and a node's exclusion has the ballot that it was proposed with.
 *
 * Owns: its sets. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_EPOCH_H
#define TD_CORE_MEMBERSHIP_EPOCH_H

#include "core/core_internal.h"
#include "epoch_state.h"

/* struct td_exclusion: a node whose daemon was silent. */
struct td_exclusion {
    uint32_t node, daemon; /* daemon: the low half of its incarnation; 0: not known */
    uint64_t ballot;       /* that it was proposed with */
};

struct td_exclusions {
    uint32_t count;
    struct td_exclusion of[TD_EXCLUSIONS_MAX];
};

/* enum td_ballot_answer: what the poller has from a node. */
enum td_ballot_answer {
    TD_BALLOT_NONE,
    TD_BALLOT_HEARD, /* it has answered, but does not vote for this ballot */
    TD_BALLOT_VOTED,
    TD_BALLOT_ACCEPTED,
};

struct td_epochs {
    struct td_task task;
    enum td_epoch_state state; /* of this node as the poller */
    td_time votes_from;        /* this daemon votes from then on; 0: it has not begun to count */
    uint64_t promised;         /* the largest ballot that this node has voted for */
    uint64_t accepted;         /* the ballot that `acceptances` came with */
    uint64_t known;            /* the latest epoch that this node knows; 0: none */

    uint64_t ballot, seen; /* seen: the largest of all */
    uint64_t outside;      /* the ballot that had excluded this node, as it knew then; 0: none */
    uint64_t latest;       /* the largest ballot accepted by a node that has voted for this one */
    td_time until;         /* when the sweep, or the pause, ends */
    uint32_t next;         /* the node that is sent the next message of the sweep */
    uint32_t telling;      /* the node that is told the epoch next; nodes: all have been */

    td_time began_at;   /* this daemon's first step */
    td_time away_since; /* it did not run from then on; NEVER: it ran, or has confirmed its place */
    bool confirming;    /* the poll is to confirm it */
    uint8_t young[TD_NODES_MAX / 8]; /* nodes whose daemon has started since away_since */

    uint8_t wanted[TD_NODES_MAX / 8]; /* nodes to be excluded if they are silent */
    uint8_t told[TD_NODES_MAX / 8];   /* nodes that know `known` */
    uint8_t answer[TD_NODES_MAX];     /* enum td_ballot_answer */
    struct td_exclusions exclusions;  /* of the latest epoch */
    struct td_exclusions acceptances, proposal;
};

void td_epoch_init(struct td_core *core);
/* td_epoch_votes returns true if a node is in the electorate. */
bool td_epoch_votes(const struct td_core *core, uint32_t node);
/* td_epoch_excluded returns true if an epoch after `since` has excluded the node. */
bool td_epoch_excluded(const struct td_core *core, uint32_t node, uint64_t since);
/* td_epoch_excluded_by returns the ballot that a node was excluded with, or 0. */
uint64_t td_epoch_excluded_by(const struct td_core *core, uint32_t node);
/* td_epoch_sweep_ns returns how long a poll waits for nodes that have a link and do not answer. */
td_time td_epoch_sweep_ns(const struct td_core *core);
/* td_epoch_want asks for an epoch without a node, unless the node answers. The notice `epoch`
 * follows, or the notice `no_quorum`; or the notice `all_answer`, if the node answers. */
void td_epoch_want(struct td_core *core, uint32_t node);
/* td_epoch_resumed takes the time in which this daemon did not run. It returns true if other nodes
 * may have excluded this one meanwhile. */
bool td_epoch_resumed(struct td_core *core, td_time late);
/* td_epoch_confirm finds out whether they have. The notice `epoch` or `confirmed` follows. */
void td_epoch_confirm(struct td_core *core);
/* td_epoch_tell tells a node the latest epoch, unless it knows that: before each message that
 * follows from an exclusion. */
void td_epoch_tell(struct td_core *core, uint32_t node);
/* td_epoch_node_lost and td_epoch_node_back: what a node was told may be lost. */
void td_epoch_node_lost(struct td_core *core, uint32_t node);
void td_epoch_node_back(struct td_core *core, uint32_t node);
/* td_epoch_message handles the kinds EPOCH_POLL to EPOCH_KNOWN. */
void td_epoch_message(struct td_core *core, uint32_t from, const struct td_message *message);
void td_epoch_timers(struct td_core *core);

#endif
