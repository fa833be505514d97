/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_nodes.h"

#include <stdio.h>
#include <stdlib.h>

#include "inspect.h"

typedef const struct ins_event *event;

/* struct maker: events of nodes that are being added. begin: of the time that is shown. */
struct maker {
    struct chrome *c;
    const struct ins_rings *r;
    const json_t *peers;
    int64_t begin;
};

/* about returns the arguments of an event about a node. key: of a time in ns, NULL: none. */
static json_t *about(event e, const char *key, int64_t ns)
{
    json_t *a = json_pack("{s:i}", "about_node", (int)e->e.subject);
    if (key)
        json_object_set_new(a, key, json_integer(ns));
    return a;
}

/* is_heard returns true if the node of an event SILENT was heard again. */
static bool is_heard(const struct maker *k, event silent)
{
    for (event e = silent + 1; e < k->r->event + k->r->count && e->node == silent->node; e++)
        if (e->e.kind == TD_TRACE_HEARD && e->e.subject == silent->e.subject)
            return true;
    return false;
}

/* put_silence adds a silence, from its begin until it ended, or until the events were read. */
static void put_silence(const struct maker *k, event e, const char *node)
{
    bool over = e->e.kind == TD_TRACE_HEARD;
    int64_t end = over ? e->at : k->r->clock[e->node].read_at,
            begin = e->since > k->begin ? e->since : k->begin;
    char text[INS_NODE_NAME_BYTES + 80], time[32];
    if (!over && is_heard(k, e))
        return; /* the event HEARD tells all */
    ins_duration(time, sizeof time, end - e->since);
    snprintf(text, sizeof text, over ? "%s was silent for %s" : "%s is silent, for %s so far", node,
             time);
    chrome_span(k->c, e->node, CHROME_LINKS, begin, end, text,
                about(e, "silent_ns", end - e->since));
    if (!over)
        return;
    snprintf(text, sizeof text, "%s is heard again after %s", node, time);
    chrome_instant(k->c, e->node, CHROME_LINKS, e->at, text,
                   about(e, "silent_ns", e->at - e->since));
}

static void put_link(const struct maker *k, event e, const char *node)
{
    bool up = e->e.kind == TD_TRACE_LINK_UP, was = e->since < e->at;
    char text[INS_NODE_NAME_BYTES + 80], time[32];
    ins_duration(time, sizeof time, e->at - e->since);
    snprintf(text, sizeof text, "link to %s is %s%s%s", node, up ? "up" : "down",
             up && was ? " again after " : "", up && was ? time : "");
    /* nobody asks why a link has come up for the first time */
    chrome_instant(k->c, e->node, CHROME_LINKS, e->at, text,
                   up && !was ? json_pack("{s:i}", "to_node", (int)e->e.subject)
                              : about(e, up ? "down_ns" : NULL, e->at - e->since));
}

/* A loss so soon after a message has another cause than silence: others gave the node up, or its
 * daemon was restarted. */
enum { KNOWN_NS = 1000000 };

static void put_loss(const struct maker *k, event e, const char *node)
{
    char text[INS_NODE_NAME_BYTES + 80], time[32];
    ins_duration(time, sizeof time, e->at - e->since);
    if (e->e.a)
        snprintf(text, sizeof text, "%s was stopped by its operator", node);
    else if (e->at - e->since < KNOWN_NS)
        snprintf(text, sizeof text, "%s is given up", node);
    else
        snprintf(text, sizeof text, "%s is given up, not heard for %s", node, time);
    chrome_instant(k->c, e->node, CHROME_LINKS, e->at, text,
                   about(e, "silent_ns", e->at - e->since));
}

static void put_restart(const struct maker *k, event e, const char *node)
{
    char text[INS_NODE_NAME_BYTES + 120], how[80] = "", time[32];
    bool silent = e->since < e->at;
    ins_duration(time, sizeof time, e->at - e->since);
    if (silent)
        snprintf(how, sizeof how, "; the earlier one had been silent for %s", time);
    snprintf(text, sizeof text, "the daemon of %s was restarted%s", node,
             e->e.a ? "; the earlier one crashed or was killed" : how);
    chrome_instant(k->c, e->node, CHROME_LINKS, e->at, text,
                   about(e, silent ? "silent_ns" : NULL, e->at - e->since));
}

static void put_pause(const struct maker *k, event e)
{
    int64_t ns = e->at - e->since;
    char text[80], time[32];
    ins_duration(time, sizeof time, ns);
    snprintf(text, sizeof text, "torusd did not run for %s", time);
    chrome_span(k->c, e->node, CHROME_LINKS, e->since > k->begin ? e->since : k->begin, e->at, text,
                ns < INS_PAUSE_NS ? NULL : about(e, "paused_ns", ns));
}

static void put(const struct maker *k, event e)
{
    char node[INS_NODE_NAME_BYTES];
    ins_node_name(node, sizeof node, k->peers, e->e.subject);
    if (e->e.kind == TD_TRACE_SILENT || e->e.kind == TD_TRACE_HEARD)
        put_silence(k, e, node);
    else if (e->e.kind == TD_TRACE_LINK_UP || e->e.kind == TD_TRACE_LINK_DOWN)
        put_link(k, e, node);
    else if (e->e.kind == TD_TRACE_NODE_LOST)
        put_loss(k, e, node);
    else if (e->e.kind == TD_TRACE_RESTARTED)
        put_restart(k, e, node);
    else if (e->e.kind == TD_TRACE_PAUSED)
        put_pause(k, e);
}

void ins_trace_nodes(struct chrome *c, const struct ins_rings *r, const json_t *peers,
                     int64_t begin, int64_t end)
{
    struct maker k = {.c = c, .r = r, .peers = peers, .begin = begin};
    bool *has = calloc(r->nodes, sizeof *has);
    event last = r->event + r->count;
    for (event e = r->event; has && e < last; e++)
        has[e->node] = has[e->node] || e->e.world;
    for (event e = r->event; has && e < last; e++)
        if (!e->e.world && e->e.subject < r->nodes && (has[e->node] || has[e->e.subject]) &&
            e->at >= begin && e->since <= end)
            put(&k, e);
    free(has);
}
