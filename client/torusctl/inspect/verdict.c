/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "absence.h"
#include "base/quantity.h"
#include "facts.h"
#include "inspect.h"
#include "links.h"

enum { HOST_BYTES = INS_HOST_BYTES, SHOWN = 4 };
/* LONG_NS: a run of this time gets a verdict, and so does a link that is busy for it. DEAD_NS: a
 * slow link over which nothing has come for this time is dead. */
#define LONG_NS 500000000LL
#define DEAD_NS 3000000000LL
#define BEAT_NS 500000000LL /* the default of [network] heartbeat */

/* struct direction: the row of the link from a node to another one. */
struct direction {
    json_int_t from, to;
    const json_t *link;
};

/* struct judge: the facts from which verdicts follow. */
struct judge {
    struct ins_machine *m;
    const json_t *peers;
    struct td_topology topology;
    json_t *links;               /* NULL: not asked for */
    struct direction *direction; /* [links], sorted; NULL: not asked for */
    bool routed;                 /* the fabric */
    json_int_t quiet_ns; /* a node that others need has sent something in this time, or is silent */
};

static bool is(const json_t *object, const char *key, const char *value)
{
    return strcmp(ins_string(object, key), value) == 0;
}

static json_t *host_of(const struct judge *j, json_int_t node)
{
    return ins_host(j->peers, node);
}

/* ---- ranks that have not called ---- */

/* cause_of returns the cause for which a rank has not called, as JSON names it. */
static const char *cause_of(const struct judge *j, const json_t *absent)
{
    char state = ins_string(absent, "process_state")[0];
    if (ins_absent_is_unknown(j->m->silent, absent))
        return "silent_node";
    if (state == 'T' || state == 't')
        return "stopped_process";
    if (state == 'Z' || state == 'X')
        return "dead_process";
    if (state == 'D')
        return "blocked_process";
    return ins_number(absent, "pid") ? "late_rank" : "unknown";
}

/* program_of returns the program of a rank, or "". */
static const char *program_of(const json_t *operation, const json_t *absent)
{
    const json_t *list = json_object_get(operation, "processes");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *c = json_array_get(list, i);
        if (ins_number(c, "pid") == ins_number(absent, "pid") &&
            ins_number(c, "node") == ins_number(absent, "node"))
            return ins_string(c, "program");
    }
    return "";
}

/* process_cause describes a process of an operation as a cause. */
static json_t *process_cause(const struct judge *j, const json_t *operation, const json_t *process,
                             const char *cause)
{
    json_t *c =
        json_pack("{s:s s:o s:O}", "cause", cause, "host", host_of(j, ins_number(process, "node")),
                  "waited_ns", json_object_get(operation, "age_ns"));
    static const char *const keys[] = {"rank", "job_rank", "node",
                                       "pid",  "program",  "process_state"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        json_object_set(c, keys[i], json_object_get(process, keys[i]));
    return c;
}

/* add_stopped adds, from `at` on, the missing ranks that are stopped, and that no daemon describes:
 * each describes some of many only. */
static void add_stopped(const struct judge *j, const json_t *operation, json_t *causes, size_t at)
{
    const json_t *list = json_object_get(operation, "processes"), *p = NULL;
    size_t i = 0;
    json_array_foreach(list, i, p)
    {
        if (ins_is_stopped(p) && !json_is_true(json_object_get(p, "arrived")) &&
            !ins_find(json_object_get(operation, "absent"), "rank", ins_number(p, "rank")))
            json_array_insert_new(causes, at++, process_cause(j, operation, p, "stopped_process"));
    }
}

static void judge_absent(const struct judge *j, json_t *operation, json_t *causes)
{
    json_t *list = json_object_get(operation, "absent"), *a = NULL;
    size_t i = 0, stopped = 0; /* these come first: they do not call by themselves */
    json_array_foreach(list, i, a)
    {
        const json_t *silent = ins_find(j->m->silent, "node", ins_number(a, "node"));
        json_object_set_new(a, "cause", json_string(cause_of(j, a)));
        if (ins_number(a, "since_ns") == 0)
            json_object_del(a, "since_ns");
        if (ins_number(silent, "silent_ns")) /* others may have heard the node later */
            json_object_set(a, "silent_ns", json_object_get(silent, "silent_ns"));
        json_t *c = json_copy(a);
        json_object_del(c, "since_ns");
        if (json_object_get(a, "since_ns"))
            json_object_set(c, "last_call_ns", json_object_get(a, "since_ns"));
        json_object_set_new(c, "program", json_string(program_of(operation, a)));
        json_object_set_new(c, "host", host_of(j, ins_number(a, "node")));
        json_object_set(c, "waited_ns", json_object_get(operation, "age_ns"));
        if (ins_is_stopped(a))
            json_array_insert_new(causes, stopped++, c);
        else
            json_array_append_new(causes, c);
    }
    add_stopped(j, operation, causes, stopped);
}

/* judge_callers adds the stopped ranks that have called: the next call will wait for them. */
static void judge_callers(const struct judge *j, const json_t *operation, json_t *causes)
{
    const json_t *list = json_object_get(operation, "processes"), *p = NULL;
    size_t i = 0;
    json_array_foreach(list, i, p)
    {
        if (ins_is_stopped(p) && json_is_true(json_object_get(p, "arrived")))
            json_array_append_new(causes, process_cause(j, operation, p, "stopped_caller"));
    }
}

/* ---- operations that run ---- */

/* may_have_node returns true if a node does not answer, and ranks of the operation run on nodes
 * that do not: unless the group has told its nodes, nobody says then which those are. */
static bool may_have_node(const struct judge *j, const json_t *operation, json_int_t node)
{
    size_t ranks = json_array_size(json_object_get(operation, "arrived")) +
                   json_array_size(json_object_get(operation, "missing"));
    return ins_find(j->m->silent, "node", node) && ins_may_have_node(operation, node) &&
           json_array_size(json_object_get(operation, "processes")) < ranks;
}

/* read_shape reads the shape of the machine from the state that torusctl has collected. */
static void read_shape(struct td_topology *t, const json_t *all)
{
    const json_t *shape = json_object_get(all, "shape"), *wrap = json_object_get(all, "wrap");
    *t = (struct td_topology){.nodes = 1};
    for (; t->dimensions < json_array_size(shape) && t->dimensions < TD_DIMENSIONS_MAX;
         t->dimensions++) {
        json_int_t size = json_integer_value(json_array_get(shape, t->dimensions));
        t->size[t->dimensions] = (uint32_t)size;
        t->wrap[t->dimensions] = json_is_true(json_array_get(wrap, t->dimensions));
        t->nodes *= (uint32_t)size;
    }
}

/* is_between returns true if a node is on a shortest way between two nodes of an operation, which
 * packets take on the routed fabric. */
static bool is_between(const struct judge *j, const json_t *operation, json_int_t node)
{
    const json_t *members = json_object_get(operation, "member_nodes");
    for (size_t i = 0; j->routed && i < json_array_size(members); i++)
        for (size_t k = 0; k < i; k++) {
            uint32_t a = (uint32_t)json_integer_value(json_array_get(members, i)),
                     b = (uint32_t)json_integer_value(json_array_get(members, k)),
                     n = (uint32_t)node;
            if (td_topology_distance(&j->topology, a, n) +
                    td_topology_distance(&j->topology, n, b) ==
                td_topology_distance(&j->topology, a, b))
                return true;
        }
    return false;
}

/* has_node returns true if a node has ranks of an operation, or is on the way between such nodes.
 */
static bool has_node(const struct judge *j, const json_t *operation, json_int_t node)
{
    if (json_object_get(operation, "member_nodes"))
        return ins_may_have_node(operation, node) || is_between(j, operation, node);
    return may_have_node(j, operation, node) ||
           ins_find(json_object_get(operation, "processes"), "node", node) ||
           ins_find(json_object_get(operation, "absent"), "node", node) ||
           ins_find(json_object_get(operation, "waits"), "waits_for", node);
}

/* concerns returns true if a link joins two nodes of an operation. */
static bool concerns(const struct judge *j, const json_t *operation, const json_t *link)
{
    return has_node(j, operation, ins_number(link, "from")) &&
           has_node(j, operation, ins_number(link, "to"));
}

static json_t *link_cause(const struct judge *j, const char *cause, const json_t *link)
{
    return json_pack("{s:s s:O s:o s:O s:o}", "cause", cause, "from", json_object_get(link, "from"),
                     "from_host", host_of(j, ins_number(link, "from")), "to",
                     json_object_get(link, "to"), "to_host", host_of(j, ins_number(link, "to")));
}

/* same_pair returns true if two links join the same nodes. */
static bool same_pair(const json_t *a, const json_t *b)
{
    json_int_t from = ins_number(a, "from"), to = ins_number(a, "to");
    return (ins_number(b, "from") == from && ins_number(b, "to") == to) ||
           (ins_number(b, "from") == to && ins_number(b, "to") == from);
}

/* is_named returns true if a cause is a link between the nodes of this one. */
static bool is_named(const json_t *causes, const json_t *link)
{
    for (size_t i = 0; i < json_array_size(causes); i++)
        if (same_pair(json_array_get(causes, i), link))
            return true;
    return false;
}

static int by_nodes(const void *a, const void *b)
{
    const struct direction *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* sort_links makes the index of the links by their nodes. */
static void sort_links(struct judge *j)
{
    size_t count = json_array_size(j->links);
    j->direction = calloc(count + 1, sizeof *j->direction);
    for (size_t i = 0; j->direction && i < count; i++) {
        const json_t *l = json_array_get(j->links, i);
        j->direction[i] = (struct direction){ins_number(l, "from"), ins_number(l, "to"), l};
    }
    if (j->direction)
        qsort(j->direction, count, sizeof *j->direction, by_nodes);
}

/* way_back returns the row of the link from the far end of a link to its near end, or NULL. */
static const json_t *way_back(const struct judge *j, const json_t *link)
{
    const struct direction key = {.from = ins_number(link, "to"), .to = ins_number(link, "from")},
                           *found = j->direction
                                        ? bsearch(&key, j->direction, json_array_size(j->links),
                                                  sizeof key, by_nodes)
                                        : NULL;
    return found ? found->link : NULL;
}

/* is_deaf returns true if the near end of a link has not heard the far end for long, and another
 * node has just now: then the network between the two is cut, and the far end lives. If no node has
 * heard it just now, the far end itself is silent. */
static bool is_deaf(const struct judge *j, const json_t *link)
{
    json_int_t silent = ins_number(link, "silent_ns");
    for (size_t i = 0; silent >= DEAD_NS && i < json_array_size(j->links); i++) {
        const json_t *l = json_array_get(j->links, i);
        if (ins_number(l, "to") == ins_number(link, "to") && is(l, "state", "up") &&
            ins_number(l, "silent_ns") < j->quiet_ns && 2 * ins_number(l, "silent_ns") < silent)
            return true;
    }
    return false;
}

/* deaf_cause describes a link that is up, but brings nothing. */
static json_t *deaf_cause(const struct judge *j, const json_t *link)
{
    const json_t *back = way_back(j, link);
    char text[120];
    json_t *c = link_cause(j, "dead_link", link);
    json_object_set(c, "since_ns", json_object_get(link, "silent_ns"));
    json_object_set(c, "silent_ns", json_object_get(link, "silent_ns"));
    if (*ins_string(link, "error")) { /* its daemon knows more */
        json_object_set(c, "error", json_object_get(link, "error"));
        return c;
    }
    snprintf(text, sizeof text,
             back && is_deaf(j, back) ? "the nodes do not hear each other, but others hear them"
                                      : "node %lld hears nothing from node %lld, but others do",
             (long long)ins_number(link, "from"), (long long)ins_number(link, "to"));
    json_object_set_new(c, "error", json_string(text));
    return c;
}

/* judge_dead adds the links that are down (with `down`) or deaf, each pair of nodes once. */
static void judge_dead(const struct judge *j, const json_t *operation, bool down, json_t *causes)
{
    for (size_t i = 0; i < json_array_size(j->links); i++) {
        const json_t *l = json_array_get(j->links, i);
        bool dead = down && ins_link_is_dead(l);
        if (!concerns(j, operation, l) || is_named(causes, l) || !(dead || is_deaf(j, l)))
            continue;
        json_t *c = dead ? link_cause(j, "dead_link", l) : deaf_cause(j, l);
        if (dead) {
            json_object_set(c, "since_ns", json_object_get(l, "since_ns"));
            json_object_set(c, "error", json_object_get(l, "error"));
        }
        json_array_append_new(causes, c);
    }
}

/* add_slow adds a slow link, the slowest ones first. Of the two directions between a pair of nodes
 * only the slower one is kept: the other one suffers, as its acknowledgements take that way. */
static void add_slow(json_t *causes, json_t *c)
{
    json_int_t rate = ins_number(c, "bytes_per_s");
    for (size_t i = json_array_size(causes); i-- > 0;) {
        const json_t *other = json_array_get(causes, i);
        if (!same_pair(other, c))
            continue;
        if (ins_number(other, "bytes_per_s") <= rate) {
            json_decref(c);
            return;
        }
        json_array_remove(causes, i);
    }
    size_t at = 0;
    while (at < json_array_size(causes) &&
           ins_number(json_array_get(causes, at), "bytes_per_s") < rate)
        at++;
    json_array_insert_new(causes, at, c);
}

/* is_heard returns true if a node answers, or was heard just now, and while a link was busy for
 * `ns`. What is sent to a daemon that has stopped stays in flight, too. */
static bool is_heard(const struct judge *j, json_int_t node, json_int_t ns)
{
    const json_t *peer = ins_find(j->peers, "node", node);
    json_int_t silent = peer ? ins_number(peer, "silent_ns") : 0;
    return !ins_find(j->m->silent, "node", node) ||
           (peer && is(peer, "state", "up") && silent < j->quiet_ns && 2 * silent < ns);
}

/* is_mute returns true if a link has data in flight, and nothing comes back: not even the
 * heartbeats of the far end, whose daemon may be stopped, or the link cut. */
static bool is_mute(const struct judge *j, const json_t *operation, const json_t *link)
{
    return concerns(j, operation, link) && is(link, "state", "up") &&
           ins_number(link, "busy_ns") >= LONG_NS && ins_number(link, "silent_ns") >= j->quiet_ns;
}

/* has_arrived returns true if the far end has all packets of a link: only the acknowledgements are
 * late, since the way back is slow. */
static bool has_arrived(const struct judge *j, const json_t *link)
{
    const json_t *back = way_back(j, link);
    return back &&
           ins_number(back, "session_received_packets") >= ins_number(link, "session_sent_packets");
}

/* is_slow returns true if a link has had data in flight for at least `ns`, and its nodes live. */
static bool is_slow(const struct judge *j, const json_t *operation, const json_t *link,
                    json_int_t ns)
{
    json_int_t busy = ins_number(link, "busy_ns");
    return concerns(j, operation, link) && busy >= ns && busy >= LONG_NS && !has_arrived(j, link) &&
           is_heard(j, ins_number(link, "from"), busy) && is_heard(j, ins_number(link, "to"), busy);
}

/* idle_of returns how long nothing has come to a node that waits for the far end of a link. */
static json_int_t idle_of(const json_t *operation, const json_t *link)
{
    const json_t *waits = json_object_get(operation, "waits");
    for (size_t i = 0; i < json_array_size(waits); i++) {
        const json_t *w = json_array_get(waits, i);
        if (ins_number(w, "node") == ins_number(link, "to") &&
            ins_number(w, "waits_for") == ins_number(link, "from"))
            return ins_number(w, "idle_ns");
    }
    return 0;
}

/* slow_cause describes a slow link, or one over which nothing comes. */
static json_t *slow_cause(const struct judge *j, const json_t *operation, const json_t *link)
{
    json_int_t idle = idle_of(operation, link), busy = ins_number(link, "busy_ns");
    bool dead = idle >= DEAD_NS && 2 * idle >= busy;
    json_t *c = link_cause(j, dead ? "dead_link" : "throttled_link", link);
    double rate = (double)ins_number(link, "busy_bytes") / (1e-9 * (double)busy);
    json_object_set(c, "busy_ns", json_object_get(link, "busy_ns"));
    json_object_set(c, "bytes", json_object_get(link, "busy_bytes"));
    json_object_set_new(c, "bytes_per_s", json_integer(dead ? 0 : (json_int_t)rate));
    if (!dead)
        return c;
    json_object_set_new(c, "since_ns", json_integer(idle));
    json_object_set_new(c, "error", json_string("the connection is up, but no data comes"));
    return c;
}

/* drop_fast removes links that are much faster than the slowest one: they are about to rest. */
static void drop_fast(json_t *causes)
{
    enum { TIMES = 4 };
    json_int_t least = INT64_MAX;
    for (size_t i = 0; i < json_array_size(causes); i++) {
        const json_t *rate = json_object_get(json_array_get(causes, i), "bytes_per_s");
        if (rate && json_integer_value(rate) < least)
            least = json_integer_value(rate);
    }
    for (size_t i = json_array_size(causes); i-- > 0;)
        if (ins_number(json_array_get(causes, i), "bytes_per_s") / TIMES > least)
            json_array_remove(causes, i);
}

/* judge_slow adds the links that have had data in flight all the time, while others of the
 * operation rested. If none rests, the operation has much data, and no link is to blame. While a
 * link is mute, others may wait for what it does not bring, and no link is called slow. */
static void judge_slow(const struct judge *j, const json_t *operation, json_t *causes)
{
    json_int_t most = 0;
    size_t up = 0, resting = 0, i = 0;
    json_t *l = NULL;
    json_array_foreach(j->links, i, l)
    {
        if (is_mute(j, operation, l))
            return;
        up += concerns(j, operation, l) && is(l, "state", "up");
        if (is_slow(j, operation, l, 0) && ins_number(l, "busy_ns") > most)
            most = ins_number(l, "busy_ns");
    }
    json_array_foreach(j->links, i, l) resting +=
        concerns(j, operation, l) && is(l, "state", "up") && ins_number(l, "busy_ns") < most / 2;
    if (most < LONG_NS || (resting == 0 && up > 1))
        return;
    json_array_foreach(j->links, i, l)
    {
        if (is_slow(j, operation, l, most / 2))
            add_slow(causes, slow_cause(j, operation, l));
    }
    drop_fast(causes);
}

/* names returns true if a cause of a list is a link from or to a node. */
static bool names(const json_t *causes, json_int_t node)
{
    return ins_find(causes, "from", node) || ins_find(causes, "to", node);
}

/* judge_silent adds the nodes without an answer that others wait for, unless the link to them
 * explains that; with `perhaps`, also those that may have ranks of the operation. */
static void judge_silent(const struct judge *j, const json_t *operation, bool perhaps,
                         json_t *causes)
{
    const json_t *waits = json_object_get(operation, "waits");
    for (size_t i = 0; i < json_array_size(j->m->silent); i++) {
        const json_t *s = json_array_get(j->m->silent, i);
        json_int_t node = ins_number(s, "node");
        bool awaited =
            ins_find(waits, "waits_for", node) || (perhaps && may_have_node(j, operation, node));
        if (awaited && !names(causes, node))
            json_array_append_new(causes, json_pack("{s:s s:I s:o s:I}", "cause", "silent_node",
                                                    "node", node, "host", host_of(j, node),
                                                    "silent_ns", ins_number(s, "silent_ns")));
    }
}

/* judge_waits adds what the nodes of an operation wait for, if nothing better is known. */
static void judge_waits(const struct judge *j, const json_t *operation, json_t *causes)
{
    const json_t *waits = json_object_get(operation, "waits");
    for (size_t i = 0; i < json_array_size(waits); i++) {
        const json_t *w = json_array_get(waits, i);
        json_int_t node = ins_number(w, "waits_for");
        bool computes = node == ins_number(w, "node");
        if (ins_number(w, "idle_ns") < LONG_NS)
            continue;
        json_array_append_new(causes, json_pack("{s:s s:O s:o s:I s:O}", "cause",
                                                computes ? "computing_node" : "waiting_node",
                                                "node", json_object_get(w, "node"), "host",
                                                host_of(j, ins_number(w, "node")), "waits_for",
                                                node, "idle_ns", json_object_get(w, "idle_ns")));
    }
}

/* judge_quiet adds the links that are mute, or over which nothing has come for long, though nobody
 * else says whether their far ends live: the daemons have not judged them yet. Each pair of nodes
 * is named once. */
static void judge_quiet(const struct judge *j, const json_t *operation, json_t *causes)
{
    for (size_t i = 0; i < json_array_size(j->links); i++) {
        const json_t *l = json_array_get(j->links, i);
        if (!concerns(j, operation, l) || is_named(causes, l) || !is(l, "state", "up") ||
            (ins_number(l, "silent_ns") < DEAD_NS && !is_mute(j, operation, l)))
            continue;
        json_t *c = link_cause(j, "silent_link", l);
        json_object_set(c, "silent_ns", json_object_get(l, "silent_ns"));
        json_array_append_new(causes, c);
    }
}

/* replace_silent puts dead links in the place of the silent nodes that they explain. */
static void replace_silent(json_t *causes, const json_t *links)
{
    for (size_t i = json_array_size(causes); i-- > 0;) {
        const json_t *c = json_array_get(causes, i);
        if (is(c, "cause", "silent_node") && names(links, ins_number(c, "node")))
            json_array_remove(causes, i);
    }
    json_array_extend(causes, (json_t *)(uintptr_t)links);
}

/* judge_gate judges an operation that has not been released. A rank whose node is silent has
 * called, perhaps, and so have all ranks if none is missing: then the way to a node may be cut. */
static void judge_gate(const struct judge *j, const json_t *operation, json_t *causes)
{
    bool missing = json_array_size(causes) > 0;
    json_t *links = json_array();
    judge_dead(j, operation, !missing, links);
    if (!missing && json_array_size(links) == 0)
        judge_silent(j, operation, true, links);
    if (!missing && json_array_size(links) == 0)
        judge_quiet(j, operation, links);
    replace_silent(causes, links);
    json_decref(links);
}

/* judge_run judges an operation whose data travels. */
static void judge_run(const struct judge *j, const json_t *operation, json_t *causes)
{
    judge_dead(j, operation, true, causes);
    if (json_array_size(causes) == 0) /* else other links wait for the data that does not come */
        judge_slow(j, operation, causes);
    judge_silent(j, operation, false, causes);
    if (json_array_size(causes) == 0)
        judge_silent(j, operation, true, causes);
    if (json_array_size(causes) == 0)
        judge_quiet(j, operation, causes);
    if (json_array_size(causes) == 0)
        judge_waits(j, operation, causes);
}

/* has_only_silent returns true if no process is known to hold an operation up. */
static bool has_only_silent(const json_t *causes)
{
    for (size_t i = 0; i < json_array_size(causes); i++)
        if (!is(json_array_get(causes, i), "cause", "silent_node"))
            return false;
    return true;
}

/* quiet_of returns two and a half heartbeats: a node with data in flight has sent something by
 * then, though it sends no heartbeat at a tick soon after a message (td_silence_now). */
static json_int_t quiet_of(struct ins_machine *m)
{
    json_int_t beat = ins_setting(m, "network.heartbeat");
    return (beat ? beat : BEAT_NS) * 5 / 2;
}

void ins_verdicts(struct ins_machine *m, json_t *all)
{
    json_t *operations = json_object_get(all, "operations"), *o = NULL;
    struct judge j = {.m = m, .peers = json_object_get(all, "peers")};
    char fabric[16];
    read_shape(&j.topology, all);
    size_t i = 0;
    json_array_foreach(operations, i, o)
    {
        json_t *causes = json_array();
        judge_absent(&j, o, causes);
        bool runs = is(o, "phase", "running");
        if (ins_number(o, "age_ns") >= LONG_NS && (runs || has_only_silent(causes))) {
            if (!j.links) {
                j.links = ins_links(m);
                sort_links(&j);
                ins_setting_text(m, "torus.fabric", fabric, sizeof fabric);
                j.routed = strcmp(fabric, "routed") == 0;
                j.quiet_ns = quiet_of(m);
            }
            if (runs)
                judge_run(&j, o, causes);
            else
                judge_gate(&j, o, causes);
        }
        judge_callers(&j, o, causes);
        json_object_set_new(o, "causes", causes);
    }
    free(j.direction);
    json_decref(j.links);
}

/* ---- text ---- */

/* state_text returns what a process does, for people. */
static const char *state_text(char state)
{
    switch (state) {
    case 'T':
        return "is stopped (SIGSTOP; SIGCONT continues it)";
    case 't':
        return "is stopped by a debugger";
    case 'Z':
    case 'X':
        return "is dead";
    case 'D':
        return "is blocked in the kernel (state D: a disk or a network file system)";
    case 'R':
        return "runs and has not called";
    case 'S':
    case 'I':
        return "sleeps outside of torusd and has not called";
    default:
        return "has not called";
    }
}

/* node_text writes "node 3 (host c)", or "node 3" if the host is not known. */
static const char *node_text(char *text, size_t bytes, const json_t *c, const char *node,
                             const char *host)
{
    const char *name = ins_string(c, host);
    snprintf(text, bytes, name[0] ? "node %lld (host %.100s)" : "node %lld",
             (long long)ins_number(c, node), name);
    return text;
}

static void print_silent(const json_t *c, const char *rank_key)
{
    char age[32], since[40], node[HOST_BYTES + 40], rank[40] = "";
    json_int_t silent_ns = ins_number(c, "silent_ns");
    node_text(node, sizeof node, c, "node", "host");
    if (json_object_get(c, "rank"))
        snprintf(rank, sizeof rank, "rank %lld: ", (long long)ins_number(c, rank_key));
    if (silent_ns == 0) {
        printf("  cause     %s%s does not answer\n", rank, node);
        return;
    }
    ins_duration(age, sizeof age, silent_ns);
    ins_clock(since, sizeof since, silent_ns);
    if (silent_ns < INS_SHORT_NS)
        printf("  cause     %s%s does not answer, though it was heard %s ago\n"
               "            its daemon stands still, or what is sent to it is lost\n",
               rank, node, age);
    else
        printf("  cause     %s%s has been silent for %s, since %s\n", rank, node, age, since);
}

static void print_rank(const json_t *c, const char *rank_key)
{
    char waited[32], since[32], called[64] = "", age[32], node[HOST_BYTES + 40];
    json_int_t wait = ins_number(c, "waited_ns");
    ins_duration(waited, sizeof waited, wait);
    ins_clock(since, sizeof since, wait);
    node_text(node, sizeof node, c, "node", "host");
    if (ins_number(c, "pid") == 0) {
        printf("  cause     rank %lld on %s has not called\n", (long long)ins_number(c, rank_key),
               node);
        return;
    }
    if (ins_number(c, "last_call_ns")) {
        ins_duration(age, sizeof age, ins_number(c, "last_call_ns"));
        snprintf(called, sizeof called, "; its last call was %s ago", age);
    }
    printf("  cause     rank %lld on %s, process %lld (%s), %s\n"
           "            the others have waited for %s, since %s%s\n",
           (long long)ins_number(c, rank_key), node, (long long)ins_number(c, "pid"),
           ins_string(c, "program"), state_text(ins_string(c, "process_state")[0]), waited, since,
           called);
}

static void print_link(const json_t *c)
{
    char from[HOST_BYTES + 40], to[HOST_BYTES + 40], age[32], since[32], bytes[32], rate[32];
    bool dead = is(c, "cause", "dead_link");
    json_int_t ns = ins_number(c, dead ? "since_ns" : "busy_ns");
    ins_duration(age, sizeof age, ns);
    ins_clock(since, sizeof since, ns);
    node_text(from, sizeof from, c, "from", "from_host");
    node_text(to, sizeof to, c, "to", "to_host");
    printf("  cause     the link from %s\n            to %s ", from, to);
    if (dead) {
        printf(ins_number(c, "silent_ns") ? "is up, but has brought nothing for %s, since %s: %s\n"
               : ns                       ? "has been down for %s, since %s: %s\n"
                                          : "is down%.0s%.0s: %s\n",
               age, since, ins_string(c, "error"));
        return;
    }
    td_quantity_print((uint64_t)ins_number(c, "bytes"), bytes, sizeof bytes);
    td_quantity_print_rate((double)ins_number(c, "bytes_per_s"), rate, sizeof rate);
    printf("is slow: %s in %s, since %s (%s), while others rest\n", bytes, age, since, rate);
}

static void print_quiet(const json_t *c)
{
    char from[HOST_BYTES + 40], to[HOST_BYTES + 40], age[32], since[32];
    ins_duration(age, sizeof age, ins_number(c, "silent_ns"));
    ins_clock(since, sizeof since, ins_number(c, "silent_ns"));
    node_text(from, sizeof from, c, "from", "from_host");
    node_text(to, sizeof to, c, "to", "to_host");
    printf("  cause     %s has heard nothing\n            from %s for %s, since %s\n", from, to,
           age, since);
}

static void print_wait(const json_t *c)
{
    char age[32], since[32], node[HOST_BYTES + 40];
    ins_duration(age, sizeof age, ins_number(c, "idle_ns"));
    ins_clock(since, sizeof since, ins_number(c, "idle_ns"));
    node_text(node, sizeof node, c, "node", "host");
    if (is(c, "cause", "computing_node"))
        printf("  cause     %s has computed for %s, since %s\n", node, age, since);
    else
        printf("  cause     %s has waited for node %lld for %s, since %s\n", node,
               (long long)ins_number(c, "waits_for"), age, since);
}

/* print_caller prints a stopped rank that has called. */
static void print_caller(const json_t *c, const char *rank_key)
{
    char node[HOST_BYTES + 40];
    node_text(node, sizeof node, c, "node", "host");
    printf("  later     rank %lld on %s, process %lld (%s), %s\n"
           "            it has called: the next call will wait for it\n",
           (long long)ins_number(c, rank_key), node, (long long)ins_number(c, "pid"),
           ins_string(c, "program"), state_text(ins_string(c, "process_state")[0]));
}

/* print_cause prints one cause. */
static void print_cause(const json_t *c, const char *rank_key)
{
    if (is(c, "cause", "stopped_caller"))
        print_caller(c, rank_key);
    else if (is(c, "cause", "silent_node"))
        print_silent(c, rank_key);
    else if (is(c, "cause", "dead_link") || is(c, "cause", "throttled_link"))
        print_link(c);
    else if (is(c, "cause", "silent_link"))
        print_quiet(c);
    else if (json_object_get(c, "idle_ns"))
        print_wait(c);
    else
        print_rank(c, rank_key);
}

/* print_some prints the first causes from `from` up to `to`, and counts the others. */
static void print_some(const json_t *causes, size_t from, size_t to, const char *rank_key)
{
    for (size_t i = from; i < to && i < from + SHOWN; i++)
        print_cause(json_array_get(causes, i), rank_key);
    if (to > from + SHOWN)
        printf("            and %zu other%s\n", to - from - SHOWN,
               to - from - SHOWN == 1 ? "" : "s");
}

void ins_verdicts_print(const json_t *operation, bool of_job)
{
    const char *rank_key = of_job ? "job_rank" : "rank";
    const json_t *causes = json_object_get(operation, "causes");
    size_t count = json_array_size(causes), callers = count;
    while (callers > 0 && is(json_array_get(causes, callers - 1), "cause", "stopped_caller"))
        callers--; /* they come last */
    print_some(causes, 0, callers, rank_key);
    print_some(causes, callers, count, rank_key);
}
