/* SPDX-License-Identifier: Apache-2.0 */
/* trace_chrome: a timeline as Chrome's trace events, for Perfetto and chrome://tracing. A process
 * of the timeline is a node; a thread is a rank, or a part of its daemon. Intervals of a part that
 * overlap without one being in the other take further threads of that part.
 * Owns: the events until they are handed out. */
#ifndef TORUSCTL_INSPECT_TRACE_CHROME_H
#define TORUSCTL_INSPECT_TRACE_CHROME_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of a node. Rank r has part CHROME_RANKS + r. */
enum chrome_part { CHROME_GATE, CHROME_STEPS, CHROME_OUT, CHROME_IN, CHROME_LINKS, CHROME_RANKS };

/* struct chrome_span: an interval with its events inside, in ns on the axis. */
struct chrome_span {
    uint32_t node, part;
    int64_t begin, end;
    json_t *event;    /* owned */
    json_t *children; /* owned: spans inside of it, or NULL */
};

struct chrome {
    int64_t zero; /* of the axis */
    size_t spans, room;
    struct chrome_span *span;
    json_t *list; /* instants, then everything */
    bool failed;  /* no memory */
};

/* chrome_begin prepares a timeline; all times are at or after `zero`. */
void chrome_begin(struct chrome *c, int64_t zero);
/* chrome_span adds an interval and takes over `arguments`. It returns the event, which is the
 * timeline's, or NULL. */
json_t *chrome_span(struct chrome *c, uint32_t node, uint32_t part, int64_t begin, int64_t end,
                    const char *name, json_t *arguments);
/* chrome_inside adds an interval inside of the one that was added last. */
void chrome_inside(struct chrome *c, int64_t begin, int64_t end, const char *name,
                   json_t *arguments);
/* chrome_instant adds an event without a length. */
void chrome_instant(struct chrome *c, uint32_t node, uint32_t part, int64_t at, const char *name,
                    json_t *arguments);
/* chrome_end returns the list of all events in the order of time, after the names of nodes and
 * threads. The caller owns it. NULL: no memory. */
json_t *chrome_end(struct chrome *c);

#endif
