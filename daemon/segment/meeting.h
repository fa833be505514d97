/* SPDX-License-Identifier: Apache-2.0 */
/* meeting: one rank's part in one call that all ranks of a group make in its segment, as a machine
 * that makes one access to shared memory per step.
 *
 * The state of a slot is one word: the number of a call, its phase, and how many ranks have
 * arrived. A call ends once, DONE or REQUESTED, and all ranks read the same ending. REQUESTED: each
 * rank makes the call by a request to the daemon, which then knows of it. Any rank may end a call
 * so at any time: because the call waits too long, because its own call is another one, or because
 * it does not wait for the outcome. So time limits, cancellation, lost ranks and reports of errors
 * stay with the daemon.
 *
 * A rank writes its line and arrives. The last one to arrive compares the calls, computes the
 * result into its own line, and ends the call. If it is stopped meanwhile, a rank that waits does
 * the same. Whoever ends a call wakes the sleepers.
 *
 * A long call has *rounds* between the last arrival and the end. In a round each rank does a part
 * of the work: it reads memory of the others and writes its own. The last rank that has done its
 * part begins the next round, or ends the call as DONE. Until then each rank may end the call as
 * REQUESTED, so no rank may change, before the end, what it needs to make the call by request.
 *
 * A slot holds a later call if all ranks have left the earlier one, which a DONE later than it
 * proves, or if the earlier one was REQUESTED. So a rank that finds a later call in the slot of its
 * own call knows that its own was REQUESTED, or never began: it goes by request.
 *
 * The arrival of the last rank tells its number, for the sums of waiting (waits.h): whoever
 * compares the calls notes in the slot, before the end, where the others add how long they waited.
 * Nothing depends on it.
 *
 * Invariant: a rank has at most one call in the segment at a time, in the order of their numbers.
 * Then an arrival shows that the rank has left all earlier calls. Pure. */
#ifndef TD_SEGMENT_MEETING_H
#define TD_SEGMENT_MEETING_H

#include "segment.h"

/* What the caller does before the next step. */
enum td_meeting_next {
    TD_MEETING_STEP,    /* nothing */
    TD_MEETING_WRITE,   /* it writes its call and data to its line */
    TD_MEETING_COMBINE, /* all lines are written: it compares the calls, sets `agree`, and writes
                           the result to its own line */
    TD_MEETING_WORK,    /* it does its part of round `round`, and clears `agree` if it cannot */
    TD_MEETING_WAIT,    /* ranks are missing: it sets `wish` */
    TD_MEETING_SLEEP,   /* it sleeps (FUTEX_WAIT) while *gate is gate_value, or for a while */
    TD_MEETING_WAKE,    /* it wakes all sleepers of *gate */
    TD_MEETING_DONE,    /* the end: the result is in the line of rank `by` */
    TD_MEETING_REQUEST, /* the end: the call goes by request */
};

/* What a rank that waits does next. */
enum td_meeting_wish {
    TD_MEETING_LOOK,   /* look again */
    TD_MEETING_REST,   /* sleep until the call ends */
    TD_MEETING_EXPIRE, /* end the call as REQUESTED, unless all ranks of a short call have arrived
                        */
};

struct td_meeting {
    const struct td_segment *segment;
    struct td_segment_slot *slot; /* of the call */
    uint64_t number;              /* of the call, from 0 */
    uint32_t rank;
    uint32_t at;    /* the next step */
    uint64_t state; /* of the slot, as last read */
    uint32_t rounds;
    uint32_t round; /* rounds in which this rank has done its part */
    uint32_t look;  /* slots before this one that were searched */
    uint32_t by;
    bool agree;
    bool is_last;   /* this rank was the last to arrive */
    bool closed;    /* the segment was, when this rank was to sleep: it wishes EXPIRE next */
    bool withdraws; /* td_meeting_withdraw */
    enum td_meeting_wish wish;
    _Atomic uint32_t *gate;
    uint32_t gate_value;
    enum td_meeting_next ending;
};

/* td_meeting_start begins the part of a rank in a call. The number of its rounds, at most
 * TD_SEGMENT_ROUNDS_MAX, is the same on all ranks; a short call has none. */
void td_meeting_start(struct td_meeting *m, const struct td_segment *s, uint32_t rank,
                      uint64_t number, uint32_t rounds);
/* td_meeting_withdraw begins the part of a rank that makes the call by request in any case: it
 * tells the ranks that wait. */
void td_meeting_withdraw(struct td_meeting *m, const struct td_segment *s, uint32_t rank,
                         uint64_t number);
/* td_meeting_last returns the rank that arrived last, at TD_MEETING_COMBINE; another rank if the
 * segment is corrupt. */
uint32_t td_meeting_last(const struct td_meeting *m);
/* td_meeting_step makes the next access. */
enum td_meeting_next td_meeting_step(struct td_meeting *m);

#endif
