/* SPDX-License-Identifier: Apache-2.0 */
#include "outages.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "inspect.h"
#include "rows.h"

enum { SHOWN = 8 /* stopped ranks */ };

static const char *const whats[TD_OUTAGES] = {[TD_OUTAGE_STOPPED] = "stopped",
                                              [TD_OUTAGE_TRACED] = "traced",
                                              [TD_OUTAGE_PAUSED] = "paused",
                                              [TD_OUTAGE_INTERFACE] = "interface"};

static bool is_of_rank(const json_t *outage)
{
    const char *what = ins_string(outage, "what");
    return strcmp(what, "stopped") == 0 || strcmp(what, "traced") == 0;
}

/* ---- rows ---- */

static json_t *row_json(const struct td_status_row *row)
{
    const struct td_row_outage *r = &row->u.outage;
    if (row->kind != TD_ROW_OUTAGE || r->kind >= TD_OUTAGES || !whats[r->kind])
        return NULL; /* of a later release */
    json_t *o = ins_row(row, TD_ROW_OUTAGE);
    json_object_set_new(o, "what", json_string(whats[r->kind]));
    json_object_del(o, "kind");
    if (!is_of_rank(o)) {
        json_object_set_new(o, "rank", json_null());
        json_object_set_new(o, "pid", json_null());
    }
    return o;
}

json_t *ins_outages_of(const json_t *rows, json_int_t instance, json_int_t unix_ns,
                       json_int_t now_ns)
{
    json_t *outages = json_array(), *row = NULL;
    size_t i = 0;
    json_array_foreach(rows, i, row)
    {
        json_int_t age = ins_number(row, "longest_age_ns") - (now_ns - unix_ns);
        if (ins_number(row, "instance") != instance)
            continue;
        json_t *o = json_copy(row);
        json_object_del(o, "instance");
        json_object_del(o, "at");
        json_object_set(o, "node", json_object_get(row, "at"));
        json_object_set_new(o, "longest_age_ns", json_integer(age > 0 ? age : 0));
        json_array_append_new(outages, o);
    }
    return outages;
}

json_t *ins_outages(struct ins_machine *m, json_int_t instance, json_int_t unix_ns)
{
    json_t *rows = ins_machine_rows(m, TD_STATUS_OUTAGES, row_json);
    json_t *outages = ins_outages_of(rows, instance, unix_ns, ins_unix_ns());
    json_decref(rows);
    return outages;
}

/* ---- silences ---- */

/* is_cause returns true if an outage explains the longest silence of a node: for at least half of
 * it the node's daemon did not run, or an interface of its host was at fault, or one of the only
 * node that has not heard it. */
static bool is_cause(const json_t *outage, const json_t *silence)
{
    json_int_t length = ins_number(silence, "silence_longest_ns"),
               end = ins_number(silence, "silence_longest_age_ns"), begin = end + length,
               to = ins_number(outage, "longest_age_ns"),
               from = to + ins_number(outage, "longest_ns"); /* all are ages */
    json_int_t both = (from < begin ? from : begin) - (to > end ? to : end);
    bool own = ins_number(outage, "node") == ins_number(silence, "node"),
         interface = strcmp(ins_string(outage, "what"), "interface") == 0,
         far = interface &&
               json_equal(json_object_get(outage, "node"), json_object_get(silence, "told_by"));
    return !is_of_rank(outage) && (own || far) && both > 0 && 2 * both >= length;
}

void ins_outages_explain(json_t *silences, const json_t *outages)
{
    json_t *s = NULL;
    const json_t *o = NULL;
    size_t i = 0, k = 0;
    json_array_foreach(silences, i, s)
    {
        json_object_set_new(s, "cause", json_null());
        json_array_foreach(outages, k, o)
        {
            if (is_cause(o, s))
                json_object_set_new(s, "cause",
                                    json_pack("{s:O s:O}", "what", json_object_get(o, "what"),
                                              "text", json_object_get(o, "text")));
        }
    }
}

/* ---- text ---- */

/* is_stopped_now returns true if a call in flight waits for a rank that is stopped. */
static bool is_stopped_now(const json_t *record, json_int_t rank)
{
    const json_t *o = NULL, *c = NULL;
    size_t i = 0, k = 0;
    json_array_foreach(json_object_get(record, "in_flight"), i, o)
    {
        json_array_foreach(json_object_get(o, "causes"), k, c)
        {
            if (json_object_get(c, "job_rank") && ins_number(c, "job_rank") == rank &&
                ins_is_stopped(c))
                return true;
        }
    }
    return false;
}

/* print_time writes how often and for how long something stood still, and since when. */
static void print_time(char *text, size_t bytes, const json_t *o, json_int_t unix_ns)
{
    json_int_t count = ins_number(o, "count"), most = ins_number(o, "longest_ns");
    char all[32], longest[32], since[32];
    ins_duration(all, sizeof all, ins_number(o, "ns"));
    ins_duration(longest, sizeof longest, most);
    ins_moment(since, sizeof since, unix_ns - ins_number(o, "longest_age_ns") - most, 0);
    if (most == 0) /* the call that waited failed at once */
        snprintf(text, bytes, "at %s", since);
    else if (count == 1)
        snprintf(text, bytes, "for about %s, since %s", longest, since);
    else
        snprintf(text, bytes, "%lld times, for about %s in all; the longest time was %s, since %s",
                 (long long)count, all, longest, since);
}

const char *ins_outages_rank(char *text, size_t bytes, const json_t *record, json_int_t rank)
{
    const json_t *o = NULL;
    size_t i = 0;
    text[0] = '\0';
    if (is_stopped_now(record, rank))
        return text;
    json_array_foreach(json_object_get(record, "outages"), i, o)
    {
        char time[160];
        if (!is_of_rank(o) || ins_number(o, "rank") != rank)
            continue;
        print_time(time, sizeof time, o, ins_number(record, "unix_ns"));
        snprintf(text, bytes, "was stopped meanwhile (%s) %s",
                 strcmp(ins_string(o, "what"), "traced") == 0 ? "by a debugger" : "SIGSTOP", time);
        return text;
    }
    return text;
}

void ins_outages_print_ranks(const json_t *record, json_int_t except)
{
    const json_t *o = NULL;
    size_t i = 0, shown = 0;
    json_array_foreach(json_object_get(record, "outages"), i, o)
    {
        json_int_t rank = ins_number(o, "rank");
        char text[240];
        if (!is_of_rank(o) || rank == except || shown == SHOWN ||
            !*ins_outages_rank(text, sizeof text, record, rank))
            continue;
        printf("rank %lld on node %lld, process %lld, %s\n", (long long)rank,
               (long long)ins_number(o, "node"), (long long)ins_number(o, "pid"), text);
        shown++;
    }
}
