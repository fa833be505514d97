/* SPDX-License-Identifier: Apache-2.0 */
/* waits: which ranks of a job made others wait, and how long.
 *
 * An operation is released when its last rank has called. The time from the call of another rank to
 * the release is then charged to the last one. If an operation ends because ranks never called, the
 * time is charged to those, in equal parts. While a node was silent, its ranks may have called
 * without being heard: that time is not charged to the rank, but to the silent node. Each node
 * charges the time of its own ranks: the sums of all nodes are the sums of the job. Calls of a
 * segment are counted there (segment/segment.h); their sums are added when the segment is closed.
 *
 * A record has the name of its job, the first failure of a call, the first death of a rank, and
 * what stood still at this node while the job ran (outages). It outlives its job: a new job takes
 * the place of the one that ended first.
 *
 * Owns: TD_WAITS_JOBS_MAX records, in one allocation of fixed size. Borrows: nothing.
 *
 * Invariant: a record with groups is not replaced. A row of many is replaced by another rank's only
 * if it is the least of its neighbours, and that of a silent node, or of an outage, by another
 * one's only if it is the least of all.
 *
 * Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_WAITS_H
#define TD_CORE_MEMBERSHIP_WAITS_H

#include "communicator.h"

enum {
    TD_WAITS_JOBS_MAX = 64,
    TD_WAITS_ROWS = 128,
    TD_WAITS_SILENCES = 16,
    TD_WAITS_OUTAGES = 16,
    TD_OUTAGE_TEXT_MAX = 120
};

/* struct td_wait: what the ranks of this node waited for one rank, in calls of one kind; or while
 * that rank could not be heard because a node was silent. */
struct td_wait {
    uint32_t rank;       /* in the job */
    uint32_t node;       /* of the rank */
    uint32_t silent;     /* the node that was silent, plus 1; 0: none was */
    uint8_t kind;        /* of call; 0: the row is free */
    uint64_t pid;        /* of the rank, if it is on this node; else 0 */
    uint64_t last;       /* calls that it was the last to make, if it is on this node; else 0 */
    uint64_t ns;         /* sum over the ranks of this node */
    uint64_t longest_ns; /* the longest time of one rank in one call; 0: unknown (by segment) */
    td_time longest_at;  /* when that one ended; 0: unknown */
    uint64_t longest_operation; /* the number of that call in its group, as ranks count */
    uint32_t longest_group;     /* the index of the group */
};

/* struct td_wait_silence: the silences of a node that ranks of this node waited in. A silence may
 * hold up several calls, and begin before any of them. */
struct td_wait_silence {
    struct td_wait wait;     /* with the rank and kind that were waited for last */
    uint32_t count;          /* silences */
    uint32_t ranks;          /* the most ranks of this node that one call has kept waiting */
    td_time from, to;        /* the latest silence, as far as calls tell */
    uint64_t ns, longest_ns; /* the length of all, and of the longest one */
    td_time longest_to;
    uint64_t unheard_ns, longest_unheard_ns; /* the part of the latest and of the longest one until
                                                the node was heard again; 0: not known here */
    uint64_t longest_heard_ns; /* the length of the longest one until the node was heard again, if
                                  its calls had failed before; else 0 */
};

/* struct td_wait_outage: times in which something of this node stood still, as far as this node saw
 * it. */
struct td_wait_outage {
    enum td_outage kind;     /* TD_OUTAGE_NONE: the row is free */
    uint32_t rank;           /* of a process: in the job; else 0 */
    uint64_t pid;            /* of a process; else 0 */
    uint32_t count;          /* outages */
    td_time from, to;        /* the latest one */
    uint64_t ns, longest_ns; /* the length of all, and of the longest one */
    td_time longest_to;
    char text[TD_OUTAGE_TEXT_MAX]; /* the fault of an interface; else empty */
};

/* struct td_waits_side: a call that ranks of this node made where others made another one. */
enum { TD_WAITS_SIDES = 3 };
struct td_waits_side {
    struct td_call call;              /* its kind is 0 if the place is free */
    uint32_t ranks;                   /* how many ranks of this node made it */
    uint32_t rank[TD_SIDE_RANKS_MAX]; /* in the job; the first of them */
};

/* struct td_waits_job: the record of a job. */
struct td_waits_job {
    uint64_t world; /* instance of the job; 0: the record is free */
    uint64_t uid;
    uint32_t size, groups;           /* groups: on this node, not over yet */
    bool unformed;                   /* it did not form: formed_at is when its first rank joined */
    uint8_t nodes[TD_NODES_MAX / 8]; /* that have ranks of the job */
    char name[TD_NAME_MAX];
    td_time formed_at, ended_at;
    uint64_t operations; /* released or ended with an error on this node */
    uint64_t ns;         /* of all rows, and of rows that were replaced */
    td_err error;        /* of the first operation that failed, or TD_OK */
    td_time failed_at;
    char text[TD_TEXT_MAX];
    int64_t failed_rank, failed_node; /* the culprit (notes.h) */
    /* if calls differed there: the group (0: they did not), the operation, and who called what */
    uint64_t side_instance, side_sequence;
    struct td_waits_side side[TD_WAITS_SIDES];
    td_time died_at; /* when the first rank of this node died; 0: none has */
    uint32_t died_rank;
    uint64_t died_pid;
    uint64_t died_paused_ns; /* how long this daemon had not run just before the death: the rank may
                                have given it up; 0: the daemon had run */
    struct td_wait row[TD_WAITS_ROWS];
    struct td_wait_silence silence[TD_WAITS_SILENCES]; /* one for each silent node */
    struct td_wait_outage outage[TD_WAITS_OUTAGES];    /* one for each process, and so on */
};

/* struct td_charge: the waiting of one operation at this node, which ends at `at`. */
struct td_charge {
    td_time at;
    uint64_t operation; /* its number, as ranks count */
    uint64_t ns, longest_ns;
    uint64_t last; /* calls that the charged rank was the last to make */
    /* the waiting in a silence, which is not part of ns, and the silent node plus 1 (0: none) */
    uint64_t silent_ns, silent_longest_ns;
    uint32_t silent_node;
    uint32_t silent_ranks; /* ranks that have waited in it */
    uint64_t silence_ns;   /* the length of the silence itself, until `at` */
    uint64_t unheard_ns;   /* the part of it until the node was heard again; 0: not known here */
};

/* td_waits_open makes the record of a new group's job the group's; td_waits_close: the group is
 * over. Without a free record the job has none. */
void td_waits_open(struct td_core *core, struct td_communicator *c);
void td_waits_close(struct td_core *core, struct td_communicator *c);
/* struct td_waits_unformed: a job that did not form. begun_at: when its first rank joined. */
struct td_waits_unformed {
    const char *name;
    uint64_t uid;
    uint32_t size;
    td_time begun_at;
    td_err error;
    const char *text;
};

/* td_waits_unformed makes the record of a job that did not form and is over. */
void td_waits_unformed(struct td_core *core, const struct td_waits_unformed *unformed);
/* td_waits_charge charges a rank of a group. It ignores a rank that the group does not have: a peer
 * may have named it. */
void td_waits_charge(struct td_communicator *c, uint32_t rank, uint32_t kind,
                     const struct td_charge *charge);
/* td_waits_heard: a silence of a node that began at `since` has ended. Calls that waited in it may
 * have failed before. */
void td_waits_heard(struct td_core *core, uint32_t node, td_time since);
/* td_waits_place notes where a rank of this node runs, which a sentence may name. It takes free
 * rows only. */
void td_waits_place(struct td_communicator *c, uint32_t rank, uint32_t kind);
/* struct td_waits_failure: how an operation ended; rank, node: of the culprit, or TD_NOTE_NONE. */
struct td_waits_failure {
    td_err error;
    const char *text;
    int64_t rank, node;
};

/* td_waits_failed notes an operation that ended with an error; the first one stays. */
void td_waits_failed(struct td_core *core, struct td_communicator *c,
                     const struct td_waits_failure *failure);
/* td_waits_differ notes that the ranks' calls differed in the operation that has just failed, if it
 * is the first one. td_waits_side adds the call of a rank of this node to that operation; it
 * ignores those of other operations. */
void td_waits_differ(const struct td_core *core, struct td_communicator *c, uint64_t sequence);
void td_waits_side(struct td_communicator *c, uint64_t sequence, uint32_t rank,
                   const struct td_call *call);
/* struct td_outage_seen: an outage, as far as this node has seen it. It may be seen again later,
 * with the same begin. */
struct td_outage_seen {
    enum td_outage kind;
    uint32_t rank; /* STOPPED, TRACED: in the job; else 0 */
    uint64_t pid;  /* STOPPED, TRACED; else 0 */
    td_time from, to;
    const char *text; /* the fault of an interface; else "" */
};

/* td_waits_outage notes an outage in the record of a job (NULL: it has none). */
void td_waits_outage(struct td_waits_job *job, const struct td_outage_seen *seen);
/* td_waits_died notes that the process of a rank of this node has ended without leaving the job,
 * and not because a call of it had failed; the first death stays. paused_ns: for how long the
 * daemon had not run just before, or 0. */
void td_waits_died(struct td_core *core, struct td_communicator *c, const struct td_seat *seat,
                   uint64_t paused_ns);
/* td_waits_death tells of the first death among the ranks of a job on this node, without the node;
 * in memory of this step. NULL: none has died, or the job has no record. */
const char *td_waits_death(struct td_core *core, uint64_t world);
/* td_waits_segment adds the sums of a group's segment, which is about to be closed. */
void td_waits_segment(struct td_core *core, struct td_communicator *c);

#endif
