/* SPDX-License-Identifier: Apache-2.0 */
/* busy: how long the loop works on one event, such as a request of a client, before it looks at the
 * next one. Work longer than a few milliseconds belongs on a thread: every user waits for the loop.
 *
 * Two clocks: the time that passed, in which the thread may have waited for a processor, and the
 * processor's time of the thread. The second one takes a system call, so it is read only at the end
 * of an event of more than TD_BUSY_LONG_NS, and before events that may be so long
 * (td_busy_may_last). It is known of an event if the reading before it was at most TD_BUSY_LONG_NS
 * old, which is how much too large it may be.
 * Owns: nothing. */
#ifndef TD_IO_BUSY_H
#define TD_IO_BUSY_H

#include "base/time.h"

#define TD_BUSY_LONG_NS UINT64_C(1000000)
#define TD_BUSY_TOO_LONG_NS UINT64_C(5000000)
#define TD_BUSY_MINUTE_NS UINT64_C(60000000000)

/* struct td_busy_event: an event that took long. */
struct td_busy_event {
    uint64_t ns;      /* that passed */
    uint64_t cpu_ns;  /* the processor's time of the thread in it, at most; 0: unknown */
    const char *what; /* the kind of event */
};

/* struct td_busy_longest: the event that took the longest, and the one that took the most of the
 * processor. */
struct td_busy_longest {
    struct td_busy_event passed, cpu;
};

/* struct td_busy: zeroed: no event has been handled. */
struct td_busy {
    unsigned depth; /* of td_busy_begin: an event may cause others */
    td_time began;
    const char *what;
    uint64_t cpu_ns;     /* at the last reading */
    td_time cpu_read_at; /* time of that reading */
    uint64_t too_long;   /* events that used the processor for more than TD_BUSY_TOO_LONG_NS */
    struct td_busy_longest ever;
    struct td_busy_longest minute[2]; /* this minute's and the one before it */
    td_time minute_began;
};

/* td_busy_begin begins an event and returns the time. Events may nest: the outermost one counts. */
td_time td_busy_begin(struct td_busy *busy, const char *what);
/* td_busy_may_last reads the processor's time if the last reading is old. `what` (NULL: the same)
 * says more precisely what the event is. */
void td_busy_may_last(struct td_busy *busy, const char *what);
/* td_busy_end ends an event, and returns how many ns it took. */
uint64_t td_busy_end(struct td_busy *busy);
/* td_busy_note counts an event that ended at `now`. */
void td_busy_note(struct td_busy *busy, td_time now, struct td_busy_event event);
/* td_busy_recent returns the longest of the last one to two minutes. */
struct td_busy_longest td_busy_recent(const struct td_busy *busy, td_time now);

#endif
