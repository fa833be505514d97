/* SPDX-License-Identifier: Apache-2.0 */
#include "lost.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "inspect.h"
#include "torus/torus.h"

/* Nodes hear of the same restart at different times: with the first message of the new daemon. */
#define SAME_NS 3000000000

static bool is_named(const json_t *record, json_int_t node)
{
    char name[32];
    snprintf(name, sizeof name, "node %lld ", (long long)node);
    return strstr(ins_string(record, "text"), name) != NULL;
}

/* was_meanwhile returns true if a node has ranks of a job, which was not over when the node's
 * daemon was restarted. A restart that ended the job is named by the failure. */
static bool was_meanwhile(const json_t *record, json_int_t node, json_int_t age_ns)
{
    return ins_has_number(json_object_get(record, "nodes"), node) &&
           age_ns > ins_number(record, "ended_ns");
}

json_t *ins_lost_nodes(const json_t *record, const json_t *peers)
{
    json_t *nodes = json_array();
    const json_t *p = NULL;
    size_t i = 0;
    json_array_foreach(peers, i, p)
    {
        json_int_t node = ins_number(p, "node");
        if (is_named(record, node))
            json_array_append_new(
                nodes, json_pack("{s:I s:o}", "node", node, "host", ins_host(peers, node)));
    }
    return nodes;
}

json_t *ins_lost_with_own(const json_t *peers, json_int_t node, json_int_t age_ns)
{
    json_t *all = json_array();
    json_array_extend(all, (json_t *)(uintptr_t)peers);
    json_array_append_new(all, json_pack("{s:I s:s s:I s:n s:i}", "node", node, "endpoint", "",
                                         "restarted_ns", age_ns, "died", "restart_silent_ns", 0));
    return all;
}

json_t *ins_lost_restarted(const json_t *record, const json_t *peers)
{
    json_t *restarted = json_array();
    const json_t *p = NULL;
    size_t i = 0;
    json_array_foreach(peers, i, p)
    {
        json_int_t node = ins_number(p, "node"), age = ins_number(p, "restarted_ns");
        if (age && age < ins_number(record, "formed_ns") &&
            (is_named(record, node) || was_meanwhile(record, node, age)))
            json_array_append_new(restarted,
                                  json_pack("{s:I s:o s:O s:I s:I}", "node", node, "host",
                                            ins_host(peers, node), "died",
                                            json_object_get(p, "died"), "silent_ns",
                                            ins_number(p, "restart_silent_ns"), "age_ns", age));
    }
    return restarted;
}

/* is_later returns true if what was `age_ns` ago came after the failure of the job, by more than
 * nodes may differ about when they heard of the same restart. */
static bool is_later(const json_t *record, json_int_t age_ns)
{
    return ins_number(record, "error") != TORUS_OK &&
           age_ns + SAME_NS < ins_number(record, "failed_ns");
}

bool ins_lost_with_daemon(const json_t *record, json_int_t node)
{
    return is_named(record, node) && strstr(ins_string(record, "text"), "its daemon was ");
}

/* host_of writes " (host c)", or nothing if the host of a row is unknown. */
static const char *host_of(char *text, size_t bytes, const json_t *row)
{
    const char *host = ins_string(row, "host");
    snprintf(text, bytes, *host ? " (host %.100s)" : "", host);
    return text;
}

static void print_restart(const json_t *record, const json_t *row)
{
    json_int_t age = ins_number(row, "age_ns"), node = ins_number(row, "node");
    bool died = json_is_true(json_object_get(row, "died")), later = is_later(record, age);
    json_int_t silent = ins_number(row, "silent_ns");
    char ago[80], host[INS_HOST_BYTES + 16], time[32], how[100] = "";
    ins_duration(time, sizeof time, silent);
    if (json_is_null(json_object_get(row, "died")))
        snprintf(how, sizeof how, "; its journal says how the earlier one ended");
    else if (died)
        snprintf(how, sizeof how, "; the %s crashed or was killed",
                 later ? "one before it" : "earlier one");
    else if (silent)
        snprintf(how, sizeof how,
                 "; the earlier one had been silent for %s: its journal says how it ended", time);
    ins_ago(ago, sizeof ago, ins_number(record, "unix_ns"), age);
    host_of(host, sizeof host, row);
    const char *started = !ins_lost_with_daemon(record, node)                 ? "restarted"
                          : strstr(ins_string(record, "text"), "was stopped") ? "started again"
                                                                              : "restarted again";
    if (later)
        printf("  the daemon of node %lld%s was %s after the failure, %s%s\n", (long long)node,
               host, started, ago, how);
    else
        printf("  the daemon of node %lld%s was restarted %s%s\n", (long long)node, host, ago, how);
}

void ins_lost_print(const json_t *record)
{
    const json_t *nodes = json_object_get(record, "named_nodes"), *row = NULL,
                 *restarted = json_object_get(record, "restarted"),
                 *named = json_object_get(record, "named");
    size_t i = 0;
    json_array_foreach(restarted, i, row) print_restart(record, row);
    json_array_foreach(nodes, i, row)
    {
        json_int_t node = ins_number(row, "node");
        if (*ins_string(row, "host") && !ins_find(restarted, "node", node) &&
            !ins_find(named, "node", node))
            printf("  node %lld is host %.100s\n", (long long)node, ins_string(row, "host"));
    }
}
