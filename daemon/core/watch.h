/* SPDX-License-Identifier: Apache-2.0 */
/* watch: what the driver reads of a core for metrics, between two steps. It changes nothing.
 * Owns: nothing. Borrows: the core. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_WATCH_H
#define TD_CORE_WATCH_H

#include "core.h"
#include "model/request.h"
#include "sums.h"

enum { TD_WATCH_STRAGGLERS = 8 };

/* td_watch_sums returns the sums of a core. */
const struct td_sums *td_watch_sums(const struct td_core *core);

/* struct td_watch_segment: calls that ranks of this node made in shared memory, by kind. */
struct td_watch_segment {
    uint64_t calls, waited_ns;
};
/* td_watch_segments adds up the sums of all segments, open and closed: segment[TD_KIND_MAX]. What
 * open segments say are words of their processes. */
void td_watch_segments(const struct td_core *core, struct td_watch_segment *segment);

/* struct td_watch_now: the work under way at the last step. */
struct td_watch_now {
    struct td_usage usage;
    uint64_t joining;                    /* processes that wait until their job is complete */
    uint64_t waiting, running;           /* operations that wait for ranks, and the others */
    uint64_t waiting_ns, running_ns;     /* ages of the oldest of each; 0: none */
    uint64_t peers[TD_PEER_UNKNOWN + 1]; /* other nodes, by enum td_peer_state */
    uint64_t absent;                     /* other nodes of [peers] absent that are not up, which
                                            `peers` does not count */
    uint64_t noted[TD_NOTE_KINDS];       /* by enum td_note_kind, since the start */
};
void td_watch_now(struct td_core *core, struct td_watch_now *now);

/* struct td_watch_link: a connection to another node. */
struct td_watch_link {
    uint32_t peer;
    bool up;
    uint64_t packets, bytes; /* sent; bytes: of payload */
    uint64_t retransmitted, resumes;
    uint64_t unacknowledged; /* packets sent that are not settled */
    uint64_t waiting;        /* direct fabric: jobs whose messages wait for credits */
    uint64_t credits;        /* direct fabric: packets that may be sent now */
};
/* td_watch_link fills in the first link in use to a node from *node on, and sets *node behind it.
 * It returns false without one. */
bool td_watch_link(const struct td_core *core, uint32_t *node, struct td_watch_link *link);

/* struct td_watch_straggler: a rank of a job for which the ranks of this node waited. */
struct td_watch_straggler {
    uint32_t rank, node;
    uint64_t pid;        /* on this node, else 0 */
    uint64_t last;       /* calls that it was the last to make, if it is on this node */
    uint64_t waited_ns;  /* sum over the ranks of this node */
    uint64_t longest_ns; /* of one rank in one call by request */
};

/* struct td_watch_job: a job with ranks on this node, whose groups are not over. */
struct td_watch_job {
    const char *name; /* valid until the next step */
    uint64_t uid, formed_ns;
    uint32_t size;
    uint64_t operations,
        waited_ns;       /* by request; the time that its ranks here waited for a last one */
    uint64_t waiting_ns; /* age of its oldest operation that waits for ranks; 0: none */
    td_err error;        /* of its first call that failed, or TD_OK; text: the sentence */
    const char *text;
    uint32_t stragglers; /* the ranks that the others waited for longest */
    struct td_watch_straggler straggler[TD_WATCH_STRAGGLERS];
};
/* td_watch_job fills in the first job from record *at on, and sets *at behind it. It returns false
 * if there is none. */
bool td_watch_job(const struct td_core *core, uint32_t *at, struct td_watch_job *job);

/* td_watch_page fills in a page of a section of the status, as the daemon's own user sees it, from
 * `cursor` on. The reply is valid until the next call or step. It returns false if the section is
 * unknown. */
bool td_watch_page(struct td_core *core, uint32_t section, uint64_t cursor, struct td_reply *reply);

#endif
