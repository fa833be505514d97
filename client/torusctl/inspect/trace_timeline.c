/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "absence.h"
#include "inspect.h"
#include "merge.h"
#include "model/call.h"
#include "model/program.h"
#include "model/request.h"
#include "trace_chrome.h"
#include "trace_nodes.h"

/* A rank that has given its daemon up is known to be gone in this time after the daemon runs again.
 */
#define GIVEN_UP_NS 1000000000LL
#define SILENCE_NS 10000000LL /* shorter waits are not told as those for a silent node */

/* struct maker: a timeline that is being made. */
struct maker {
    const struct ins_rings *r;
    const struct ins_selection *s;
    struct chrome c;
    size_t deaths;
    const struct ins_event **death; /* of ranks that have given up a daemon that did not run */
};

typedef const struct ins_event *event;

/* ---- finding ---- */

static bool is_same_operation(event a, event b)
{
    return a->e.world == b->e.world && a->e.group == b->e.group && a->e.sequence == b->e.sequence;
}

/* same returns true if two events are of one operation, on one node. */
static bool same(event a, event b)
{
    return a->node == b->node && is_same_operation(a, b);
}

/* find_after returns the next event of the same operation and node after `from` with a kind and a
 * subject (TD_TRACE_NOBODY: any), or NULL. find_before returns the one before. */
static event find_after(const struct maker *k, event from, enum td_trace_kind kind,
                        uint32_t subject)
{
    for (event e = from + 1; e < k->r->event + k->r->count && e->node == from->node; e++)
        if (e->e.kind == kind && same(e, from) &&
            (subject == TD_TRACE_NOBODY || e->e.subject == subject))
            return e;
    return NULL;
}

static event find_before(const struct maker *k, event from, enum td_trace_kind kind,
                         uint32_t subject)
{
    for (event e = from; e-- > k->r->event && e->node == from->node;)
        if (e->e.kind == kind && same(e, from) &&
            (subject == TD_TRACE_NOBODY || e->e.subject == subject))
            return e;
    return NULL;
}

/* find_deaths finds the ranks that have given up their daemon. It returns false without memory. */
static bool find_deaths(struct maker *k)
{
    event end = k->r->event + k->r->count;
    size_t all = 0;
    for (event e = k->r->event; e < end; e++)
        all += e->e.kind == TD_TRACE_DIED;
    k->death = calloc(all + 1, sizeof(event));
    for (event e = k->r->event; k->death && e < end; e++)
        if (e->e.kind == TD_TRACE_DIED && e->e.a > 1)
            k->death[k->deaths++] = e;
    return k->death != NULL;
}

/* ---- names ---- */

/* call_of returns the kind of call of an event's operation; 0: the node did not know it. */
static uint8_t call_of(const struct maker *k, event e)
{
    event call = e->e.call ? e : find_before(k, e, TD_TRACE_CALL, TD_TRACE_NOBODY);
    if (!call)
        call = find_after(k, e, TD_TRACE_CALL, TD_TRACE_NOBODY);
    return call ? call->e.call : 0;
}

/* name writes e.g. "barrier 131" after `before`. */
static const char *name(const struct maker *k, event e, const char *before, char *text,
                        size_t bytes)
{
    uint8_t call = call_of(k, e);
    snprintf(text, bytes, "%s%s %llu", before, call ? td_kind_name(call) : "operation",
             (unsigned long long)e->e.sequence);
    return text;
}

static json_t *arguments(const struct maker *k, event e)
{
    json_t *a = json_pack("{s:o s:I s:I}", "job", ins_text(k->s->job), "operation",
                          (json_int_t)e->e.sequence, "group", (json_int_t)e->e.group);
    if (e->e.error)
        json_object_set_new(a, "error", json_string(torus_strerror(-(int)e->e.error)));
    return a;
}

static void add_number(json_t *a, const char *key, uint64_t value)
{
    json_object_set_new(a, key, json_integer((json_int_t)value));
}

/* ---- missing ranks ---- */

#define LATE_NS 100000000LL /* who calls sooner is not called late */

/* is_wanted returns true if an operation in flight is shown, on an axis that begins at `zero`. */
static bool is_wanted(const struct maker *k, const json_t *operation, int64_t zero)
{
    const struct ins_selection *s = k->s;
    return (!s->one || (uint64_t)ins_number(operation, "sequence") == s->number) &&
           s->late_at - ins_number(operation, "age_ns") >= zero &&
           ins_is_operation_of(operation, s->job, (json_int_t)s->world);
}

/* silence_of_absent returns how long ago the node of a missing rank was heard, 0: not known. */
static json_int_t silence_of_absent(const struct maker *k, const json_t *absent)
{
    json_int_t ns = ins_number(absent, "silent_ns");
    return ns ? ns
              : ins_number(ins_find(k->s->silent, "node", ins_number(absent, "node")), "silent_ns");
}

/* ---- calls of ranks ---- */

/* struct silence: the part of a call in which its rank waited to hear from a node. */
struct silence {
    int64_t begin, end; /* the same: there was none */
    uint32_t node;
    bool goes_on;
};

/* release_of returns the release of a call that ends at `end`, or NULL. */
static event release_of(const struct maker *k, event call, int64_t end)
{
    event release = find_after(k, call, TD_TRACE_RELEASE, TD_TRACE_NOBODY);
    return release && release->at <= end ? release : NULL;
}

/* silence_now returns the silence that a call waits for which is not over, if all ranks that are
 * missing are those of one node that does not answer. */
static struct silence silence_now(const struct maker *k, event call, int64_t end)
{
    struct silence s = {.begin = end, .end = end};
    const json_t *absent = NULL, *o = NULL;
    for (size_t i = 0; call->e.group == 0 && i < json_array_size(k->s->late); i++) {
        o = json_array_get(k->s->late, i);
        if (ins_number(o, "group") == 0 && is_wanted(k, o, INT64_MIN) &&
            (uint64_t)ins_number(o, "sequence") == call->e.sequence)
            absent = json_object_get(o, "absent");
    }
    json_int_t least = INT64_MAX;
    for (size_t i = 0; i < json_array_size(absent); i++) {
        const json_t *row = json_array_get(absent, i);
        json_int_t ns = silence_of_absent(k, row);
        if (!ins_absent_is_unknown(k->s->silent, row) || (i && ins_number(row, "node") != s.node))
            return s;
        s.node = (uint32_t)ins_number(row, "node");
        least = ns < least ? ns : least;
    }
    if (json_array_size(absent) == 0 || least < INS_SHORT_NS)
        return s;
    s.begin = end - least > call->since ? end - least : call->since;
    s.goes_on = true;
    return s;
}

/* silence_of returns the silence that a call waited for: until its release, or until now. A call
 * that began when the silence was over, or nearly, waited for what comes after a silence. */
static struct silence silence_of(const struct maker *k, event call, event release, int64_t end,
                                 bool is_over)
{
    struct silence s = {.begin = end, .end = end};
    int64_t waited = release ? release->at - call->since : 0;
    if (!release)
        return is_over ? s : silence_now(k, call, end);
    if (release->e.a == 0 || waited <= SILENCE_NS)
        return s;
    bool whole = release->e.b >= (uint64_t)waited;
    s.end = release->at;
    s.begin = whole ? call->since : release->at - (int64_t)release->e.b;
    s.node = (uint32_t)release->e.a - 1;
    return s;
}

/* did_not_run returns true if the daemon of a call did not run for a part of a silence. */
static bool did_not_run(const struct maker *k, event call, const struct silence *s)
{
    for (event e = k->r->event; e < k->r->event + k->r->count; e++)
        if (e->node == call->node && e->e.kind == TD_TRACE_PAUSED && e->since < s->end &&
            e->at > s->begin)
            return true;
    return false;
}

/* name_silence writes for which node a call waited. Its own daemon may have been the one that did
 * not run. If that ran, another node did not hear it: the network between the two was cut. */
static void name_silence(const struct maker *k, event call, const struct silence *s, char *text,
                         size_t bytes)
{
    char node[INS_NODE_NAME_BYTES];
    if (s->node == call->node && did_not_run(k, call, s))
        snprintf(text, bytes, "torusd here, which did not run");
    else if (s->node == call->node)
        snprintf(text, bytes, "messages of this node, which did not reach other nodes");
    else
        snprintf(text, bytes, "%s, which %s silent",
                 ins_node_name(node, sizeof node, k->s->peers, s->node), s->goes_on ? "is" : "was");
}

/* inside_call adds the wait of a rank until the gate opens, and its run after it. The last part of
 * the wait may be for a node that was silent. */
static void inside_call(struct maker *k, event call, event release, const struct silence *silence,
                        int64_t end, bool is_over)
{
    bool silent = silence->begin < silence->end;
    int64_t until = silent ? silence->begin : release ? release->at : end;
    json_t *wait = json_object();
    char text[INS_NODE_NAME_BYTES + 40] = "wait for ranks", node[INS_NODE_NAME_BYTES + 24];
    if (release && release->e.subject != TD_TRACE_NOBODY) {
        add_number(wait, "last_rank", release->e.subject);
        if (release->e.subject == call->e.subject)
            snprintf(text, sizeof text, "gate");
        else
            snprintf(text, sizeof text, "wait for rank %u", release->e.subject);
    }
    if (silent && until <= call->since)
        json_decref(wait);
    else
        chrome_inside(&k->c, call->since, until, text, wait);
    if (silent) {
        name_silence(k, call, silence, node, sizeof node);
        snprintf(text, sizeof text, "wait for %s", node);
        chrome_inside(&k->c, silence->begin, silence->end, text,
                      json_pack("{s:i, s:I}", "silent_node", (int)silence->node, "silent_ns",
                                (json_int_t)(silence->end - silence->begin)));
    }
    if (release)
        chrome_inside(&k->c, release->at, end, is_over ? "run" : "run, not over", NULL);
}

/* has_given_up returns true if the rank of a call had given its daemon up, because that did not
 * run, before the call ended here: the reply has reached nobody. */
static bool has_given_up(const struct maker *k, event over)
{
    for (size_t i = 0; i < k->deaths; i++) {
        event e = k->death[i];
        if (e->node == over->node && e->e.subject == over->e.subject &&
            over->at > e->at - GIVEN_UP_NS)
            return true;
    }
    return false;
}

/* ending_of returns what follows the name of a call that is over. */
static const char *ending_of(event over, bool given_up)
{
    if (given_up)
        return ": abandoned, the rank gave torusd up";
    if (over->e.error)
        return over->e.a ? ": abandoned" : ": failed";
    return "";
}

/* is_read_late returns true if a call is the first one of its rank that the daemon has read after a
 * pause. The rank may have called at any time in the pause. */
static bool is_read_late(const struct maker *k, event call)
{
    for (event e = call;
         e-- > k->r->event && e->node == call->node && call->at - e->at < GIVEN_UP_NS;) {
        bool mine = e->e.world == call->e.world && e->e.subject == call->e.subject;
        if (e->e.kind == TD_TRACE_PAUSED && e->at - e->since >= INS_PAUSE_NS)
            return true;
        if (mine && (e->e.kind == TD_TRACE_CALL || e->e.kind == TD_TRACE_RETURN))
            return false;
    }
    return false;
}

static void add_silence(const struct maker *k, event call, const struct silence *s, json_t *a)
{
    char node[INS_NODE_NAME_BYTES + 24];
    name_silence(k, call, s, node, sizeof node);
    json_object_set_new(a, "waited_for", ins_text(node));
    add_number(a, "silent_node", s->node);
    add_number(a, "silent_ns", (uint64_t)(s->end - s->begin));
}

static void put_call(struct maker *k, event call)
{
    event over = find_after(k, call, TD_TRACE_RETURN, call->e.subject);
    int64_t end = over ? over->at : k->r->clock[call->node].read_at;
    event release = release_of(k, call, end);
    struct silence silence = silence_of(k, call, release, end, over != NULL);
    bool gave_up = over && has_given_up(k, over);
    json_t *a = arguments(k, over ? over : call);
    char text[100];
    add_number(a, "rank", call->e.subject);
    add_number(a, "pid", call->e.b);
    add_number(a, "calls_in_segment_before", call->e.a);
    json_object_set_new(a, "is_over", json_boolean(over != NULL));
    name(k, call, "", text, sizeof text);
    if (over)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s", ending_of(over, gave_up));
    if (gave_up)
        json_object_set_new(a, "gave_up", json_true());
    else if (silence.begin < silence.end)
        add_silence(k, call, &silence, a);
    if (is_read_late(k, call))
        json_object_set_new(a, "after_pause", json_true());
    chrome_span(&k->c, call->node, CHROME_RANKS + call->e.subject, call->since, end, text, a);
    inside_call(k, call, release, &silence, end, over != NULL);
}

/* put_return adds a call whose beginning was overwritten. */
static void put_return(struct maker *k, event e)
{
    char text[100];
    if (!find_before(k, e, TD_TRACE_CALL, e->e.subject))
        chrome_span(&k->c, e->node, CHROME_RANKS + e->e.subject, e->since, e->at,
                    name(k, e, "", text, sizeof text), arguments(k, e));
}

/* ---- the gate ---- */

static void put_gate(struct maker *k, event e, int64_t begin, int64_t end, const char *before)
{
    char text[100];
    json_t *a = arguments(k, e);
    if (e->e.kind == TD_TRACE_RELEASE && e->e.subject != TD_TRACE_NOBODY)
        add_number(a, "last_rank", e->e.subject);
    chrome_span(&k->c, e->node, CHROME_GATE, begin, end, name(k, e, before, text, sizeof text), a);
}

/* put_closed adds the gate of an operation that is neither released nor over. `call`: of a rank. */
static void put_closed(struct maker *k, event call)
{
    if (!find_after(k, call, TD_TRACE_RELEASE, TD_TRACE_NOBODY) &&
        !find_after(k, call, TD_TRACE_FAILED, TD_TRACE_NOBODY) &&
        !find_before(k, call, TD_TRACE_CALL, TD_TRACE_NOBODY))
        put_gate(k, call, call->since, k->r->clock[call->node].read_at, "gate closed: ");
}

static void put_moment(struct maker *k, event e, const char *what)
{
    char text[100];
    chrome_instant(&k->c, e->node, CHROME_GATE, e->at, name(k, e, what, text, sizeof text),
                   arguments(k, e));
}

/* ---- failures ---- */

/* is_told returns true if an earlier event has the failure of the same operation. */
static bool is_told(const struct maker *k, event e)
{
    for (event f = k->r->event; f < e; f++)
        if (f->e.kind == TD_TRACE_FAILED && is_same_operation(f, e) && f->e.subject == e->e.subject)
            return true;
    return false;
}

/* begin_of_operation returns when the first rank called an operation that failed, on any node. */
static int64_t begin_of_operation(const struct maker *k, event failed)
{
    int64_t begin = failed->since;
    for (event e = k->r->event; e < k->r->event + k->r->count; e++)
        if ((e->e.kind == TD_TRACE_CALL || e->e.kind == TD_TRACE_FAILED) &&
            is_same_operation(e, failed) && e->since < begin)
            begin = e->since;
    return begin;
}

/* remembers returns true if the recorders of all nodes have all events since a time: each recorded
 * before it, and no ring has overwritten an event after that time. A recorder that is off has none,
 * and one whose daemon has started since does not have those of the earlier daemon. */
static bool remembers(const struct maker *k, int64_t since)
{
    event e = k->r->event, end = e + k->r->count;
    for (uint32_t n = 0; n < k->r->nodes; n++) {
        const struct ins_clock_of *c = &k->r->clock[n];
        /* events up to this number are gone, except failures, which are kept apart */
        uint64_t gone = c->recorded > c->size ? c->recorded - c->size : 0;
        bool reaches = false;
        for (; e < end && e->node == n; e++)
            reaches = reaches || (e->e.number > gone && (gone ? e->at : e->since) <= since);
        if (!c->known || !c->size || !reaches)
            return false;
    }
    return true;
}

/* enum had_called: whether a rank had called an operation when it failed. */
enum had_called {
    HAD_NOT,
    HAD_CALLED,
    HAD_GIVEN_UP, /* its daemon did not run, and it gave that up: it had called, perhaps */
    HAD_UNKNOWN,  /* its daemon did not run, and has read its call later */
};

/* note_given_up marks the ranks whose daemon did not run when an operation failed, and which have
 * given it up, before or after. */
static void note_given_up(const struct maker *k, event failed, uint8_t *had)
{
    for (size_t i = 0; i < k->deaths; i++) {
        event e = k->death[i];
        bool paused = e->at - (int64_t)e->e.a - GIVEN_UP_NS < failed->at && failed->at < e->at;
        if (e->e.subject < k->s->size && had[e->e.subject] != HAD_CALLED && paused)
            had[e->e.subject] = HAD_GIVEN_UP;
    }
}

/* add_ranks adds the ranks of one answer to the arguments of a failure, if there are any, or if
 * `always`. */
static void add_ranks(json_t *a, const char *key, const uint8_t *had, uint32_t size,
                      enum had_called answer, bool always)
{
    json_t *list = json_array();
    for (uint32_t r = 0; r < size; r++)
        if (had[r] == answer)
            json_array_append_new(list, json_integer(r));
    if (always || json_array_size(list))
        json_object_set(a, key, list);
    json_decref(list);
}

/* add_missing adds the ranks of the job that had not called an operation of all of them, which
 * began at `begin`, when it failed on a node, and those of which that is not known. It adds nothing
 * if events are gone. A call that waited in the segment of a node is recorded after the failure: it
 * counts from when the rank began to wait. */
static void add_missing(const struct maker *k, event failed, int64_t begin, json_t *a)
{
    uint32_t size = k->s->size;
    if (failed->e.group || !k->s->is_whole || !remembers(k, begin))
        return;
    uint8_t *had = calloc(size + 1, 1);
    for (event e = k->r->event; had && e < k->r->event + k->r->count; e++) {
        if (e->e.kind != TD_TRACE_CALL || !is_same_operation(e, failed) || e->e.subject >= size)
            continue;
        had[e->e.subject] = e->since <= failed->at ? HAD_CALLED
                            : is_read_late(k, e)   ? HAD_UNKNOWN
                                                   : HAD_NOT;
    }
    if (!had)
        return;
    note_given_up(k, failed, had);
    add_ranks(a, "missing", had, size, HAD_NOT, true);
    add_ranks(a, "missing_gave_up", had, size, HAD_GIVEN_UP, false);
    add_ranks(a, "missing_unknown", had, size, HAD_UNKNOWN, false);
    free(had);
}

static void put_failure(struct maker *k, event e)
{
    json_t *a = arguments(k, e);
    char text[200], operation[80];
    bool known = e->e.subject != TD_TRACE_NOBODY;
    int64_t begin = begin_of_operation(k, e);
    name(k, e, "", operation, sizeof operation);
    if (e->text[0])
        json_object_set_new(a, "sentence", ins_text(e->text));
    add_number(a, "failed_after_ns", (uint64_t)(e->at - begin));
    if (e->at > e->since)
        add_missing(k, e, begin, a);
    if (known)
        add_number(a, "culprit_rank", e->e.subject);
    if (e->e.a)
        add_number(a, "culprit_node", e->e.a - 1);
    if (known)
        snprintf(text, sizeof text, "ERROR: %s failed because of rank %u: %s", operation,
                 e->e.subject, torus_strerror(-(int)e->e.error));
    else
        snprintf(text, sizeof text, "ERROR: %s failed: %s", operation,
                 torus_strerror(-(int)e->e.error));
    if (!find_before(k, e, TD_TRACE_RELEASE, TD_TRACE_NOBODY))
        put_gate(k, e, e->since, e->at, "gate, failed: ");
    chrome_instant(&k->c, e->node, CHROME_GATE, e->at, text, a);
    if (known && e->e.a && e->e.a <= k->r->nodes && !is_told(k, e)) {
        snprintf(text, sizeof text, "CULPRIT of %s: %s", operation,
                 torus_strerror(-(int)e->e.error));
        json_t *blame = json_deep_copy(a);
        add_number(blame, "rank", e->e.subject);
        chrome_instant(&k->c, (uint32_t)(e->e.a - 1), CHROME_RANKS + e->e.subject, e->at, text,
                       blame);
    }
}

/* ---- steps and packets ---- */

static void put_steps(struct maker *k, event e, int64_t from, int64_t end)
{
    json_t *a = arguments(k, e);
    const char *kind = td_step_kind_name((enum td_step_kind)e->e.b);
    char text[100];
    if (e->e.kind == TD_TRACE_STEPS_LEFT)
        snprintf(text, sizeof text, "%s: only %llu done", kind, (unsigned long long)e->e.a);
    else
        snprintf(text, sizeof text, "%llu x %s", (unsigned long long)e->e.a, kind);
    add_number(a, "family", e->e.subject);
    add_number(a, e->e.kind == TD_TRACE_STEPS_LEFT ? "steps_done" : "steps", e->e.a);
    chrome_span(&k->c, e->node, CHROME_STEPS, from, end, text, a);
}

/* put_family adds the steps of a family, which ends with `e`. Receives begin with the release. */
static void put_family(struct maker *k, event e)
{
    event begin = find_before(k, e, TD_TRACE_STEPS_BEGIN, e->e.subject);
    if (!begin)
        begin = find_before(k, e, TD_TRACE_RELEASE, TD_TRACE_NOBODY);
    put_steps(k, e, begin ? begin->at : e->at, e->at);
}

static void put_begun(struct maker *k, event e)
{
    if (!find_after(k, e, TD_TRACE_STEPS_END, e->e.subject) &&
        !find_after(k, e, TD_TRACE_STEPS_LEFT, e->e.subject))
        put_steps(k, e, e->at, k->r->clock[e->node].read_at);
}

static void put_packets(struct maker *k, event e)
{
    bool out = e->e.kind == TD_TRACE_SENT;
    json_t *a = arguments(k, e);
    char text[60];
    snprintf(text, sizeof text, "%s node %u", out ? "to" : "from", e->e.subject);
    add_number(a, out ? "to_node" : "from_node", e->e.subject);
    add_number(a, "bytes", e->e.a);
    add_number(a, "packets", e->e.b);
    chrome_span(&k->c, e->node, out ? CHROME_OUT : CHROME_IN, e->since, e->at, text, a);
}

static void put_death(struct maker *k, event e)
{
    char text[120], paused[32];
    bool gave_up = e->e.a > 1;
    json_t *a = json_pack("{s:o s:i s:I}", "job", ins_text(k->s->job), "rank", (int)e->e.subject,
                          "pid", (json_int_t)e->e.b);
    ins_duration(paused, sizeof paused, (json_int_t)e->e.a);
    if (gave_up) {
        add_number(a, "paused_ns", e->e.a);
        snprintf(text, sizeof text,
                 "ERROR: torusd did not run for %s, and rank %u gave it up or died meanwhile",
                 paused, e->e.subject);
    } else {
        snprintf(text, sizeof text,
                 e->e.a ? "rank %u ended after its call had failed" : "ERROR: rank %u died",
                 e->e.subject);
    }
    chrome_instant(&k->c, e->node, CHROME_RANKS + e->e.subject, e->at, text, a);
}

/* put_stop adds that the process of a rank is stopped, or runs again. */
static void put_stop(struct maker *k, event e)
{
    bool over = e->e.kind == TD_TRACE_GOES_ON, traced = e->e.a == TD_OUTAGE_TRACED;
    json_t *a = arguments(k, e);
    char text[160], operation[80], time[32];
    add_number(a, "rank", e->e.subject);
    add_number(a, "pid", e->e.b);
    if (over)
        add_number(a, "stopped_ns", (uint64_t)(e->at - e->since));
    name(k, e, "", operation, sizeof operation);
    ins_duration(time, sizeof time, e->at - e->since);
    if (over)
        snprintf(text, sizeof text, "process %llu runs again, stopped for about %s",
                 (unsigned long long)e->e.b, time);
    else
        snprintf(text, sizeof text, "process %llu is stopped%s, and %s waits for it",
                 (unsigned long long)e->e.b, traced ? " by a debugger" : " (SIGSTOP)", operation);
    chrome_instant(&k->c, e->node, CHROME_RANKS + e->e.subject, e->at, text, a);
}

/* ---- all ---- */

static void put(struct maker *k, event e)
{
    switch ((enum td_trace_kind)e->e.kind) {
    case TD_TRACE_CALL:
        put_call(k, e);
        put_closed(k, e);
        return;
    case TD_TRACE_RETURN:
        put_return(k, e);
        return;
    case TD_TRACE_COMPLETE:
        put_moment(k, e, "all below have called: ");
        return;
    case TD_TRACE_AGAIN:
        put_moment(k, e, "once more: ");
        return;
    case TD_TRACE_APPEAL:
        put_moment(k, e, "this node asks for the end of ");
        return;
    case TD_TRACE_RELEASE:
        put_gate(k, e, e->since, e->at, "gate: ");
        return;
    case TD_TRACE_STEPS_BEGIN:
        put_begun(k, e);
        return;
    case TD_TRACE_STEPS_END:
    case TD_TRACE_STEPS_LEFT:
        put_family(k, e);
        return;
    case TD_TRACE_SENT:
    case TD_TRACE_RECEIVED:
        put_packets(k, e);
        return;
    case TD_TRACE_FAILED:
        put_failure(k, e);
        return;
    case TD_TRACE_DIED:
        put_death(k, e);
        return;
    case TD_TRACE_STOPPED:
    case TD_TRACE_GOES_ON:
        put_stop(k, e);
        return;
    case TD_TRACE_LINK_UP: /* ins_trace_nodes adds these */
    case TD_TRACE_LINK_DOWN:
    case TD_TRACE_SILENT:
    case TD_TRACE_HEARD:
    case TD_TRACE_NODE_LOST:
    case TD_TRACE_RESTARTED:
    case TD_TRACE_PAUSED:
    case TD_TRACE_DONE:
    case TD_TRACE_CLOCK:
    case TD_TRACE_KINDS:
        return;
    }
}

/* name_absent writes what is known of a rank that is missing. */
static void name_absent(const struct maker *k, const json_t *row, json_int_t operation, char *text,
                        size_t bytes)
{
    const json_t *silent = ins_find(k->s->silent, "node", ins_number(row, "node"));
    char node[INS_NODE_NAME_BYTES], time[32], since[48] = "does not answer";
    json_int_t ns = silence_of_absent(k, row), rank = ins_number(row, "job_rank");
    if (!ins_absent_is_unknown(k->s->silent, row)) {
        snprintf(text, bytes, "LATE: rank %lld has not called operation %lld", (long long)rank,
                 (long long)operation);
        return;
    }
    ins_duration(time, sizeof time, ns);
    if (ns >= INS_SHORT_NS) /* else another node hears it */
        snprintf(since, sizeof since, "has been silent for %s", time);
    if (json_is_true(json_object_get(silent, "stopped")))
        snprintf(since, sizeof since, "was stopped by its operator");
    snprintf(text, bytes,
             "SILENT: %s %s, and whether rank %lld has called operation %lld is not known",
             ins_node_name(node, sizeof node, k->s->peers, ins_number(row, "node")), since,
             (long long)rank, (long long)operation);
}

/* put_absent adds the ranks that an operation in flight misses, as the operating system sees them.
 * A job that works has such ranks at any moment. */
static void put_absent(struct maker *k, const json_t *operation)
{
    const json_t *absent = json_object_get(operation, "absent"), *row = NULL;
    size_t i = 0;
    if (ins_number(operation, "age_ns") < LATE_NS)
        return;
    json_array_foreach(absent, i, row)
    {
        char text[INS_NODE_NAME_BYTES + 160];
        name_absent(k, row, ins_number(operation, "sequence"), text, sizeof text);
        json_t *a = json_pack("{s:o s:I s:I s:O s:O s:I}", "job", ins_text(k->s->job), "operation",
                              ins_number(operation, "sequence"), "rank",
                              ins_number(row, "job_rank"), "pid", json_object_get(row, "pid"),
                              "process_state", json_object_get(row, "process_state"), "silent_ns",
                              silence_of_absent(k, row));
        chrome_span(&k->c, (uint32_t)ins_number(row, "node"),
                    CHROME_RANKS + (uint32_t)ins_number(row, "job_rank"),
                    k->s->late_at - ins_number(operation, "age_ns"), k->s->late_at, text, a);
    }
}

static bool is_selected(const struct maker *k, event e)
{
    return e->e.world != 0 && (!k->s->one || e->e.sequence == k->s->number);
}

/* end_of returns the end of the time that is shown: a selected operation may be over. */
static int64_t end_of(const struct maker *k, int64_t zero)
{
    int64_t end = zero;
    for (size_t i = 0; i < json_array_size(k->s->late); i++)
        if (is_wanted(k, json_array_get(k->s->late, i), zero))
            return INT64_MAX;
    for (event e = k->r->event; k->s->one && e < k->r->event + k->r->count; e++)
        if (is_selected(k, e) && e->at > end)
            end = e->at;
    return k->s->one ? end : INT64_MAX;
}

/* is_of_nodes returns true if an event of no job happened to the nodes while the job was there. A
 * daemon keeps these events longer than calls. */
static bool is_of_nodes(const struct maker *k, event e)
{
    return e->e.world == 0 && !k->s->one && k->s->formed_at && e->since > k->s->formed_at;
}

/* begin_of returns the time of the first event that is shown: the job has some in any case. */
static int64_t begin_of(const struct maker *k)
{
    int64_t zero = INT64_MAX;
    bool any = false;
    for (event e = k->r->event; e < k->r->event + k->r->count; e++) {
        any = any || is_selected(k, e);
        if ((is_selected(k, e) || is_of_nodes(k, e)) && e->since < zero)
            zero = e->since;
    }
    return any ? zero : 0;
}

json_t *ins_timeline(const struct ins_rings *r, const struct ins_selection *s, int64_t *zero)
{
    struct maker k = {.r = r, .s = s};
    const json_t *operation = NULL;
    size_t i = 0;
    if (!find_deaths(&k))
        return NULL;
    *zero = begin_of(&k);
    chrome_begin(&k.c, *zero);
    for (event e = r->event; e < r->event + r->count; e++)
        if (is_selected(&k, e) && e->at >= *zero)
            put(&k, e);
    ins_trace_nodes(&k.c, r, s->peers, *zero, end_of(&k, *zero));
    json_array_foreach(s->late, i, operation) if (is_wanted(&k, operation, *zero))
        put_absent(&k, operation);
    free(k.death);
    return chrome_end(&k.c);
}
