/* SPDX-License-Identifier: Apache-2.0 */
#include "absence.h"

#include <stdio.h>
#include <string.h>

#include "inspect.h"

bool ins_may_have_node(const json_t *operation, json_int_t node)
{
    const json_t *members = json_object_get(operation, "member_nodes");
    return json_array_size(members) == 0 || ins_has_number(members, node);
}

/* has_silent returns true if a silent node may have ranks of an operation. */
static bool has_silent(const json_t *operation, const json_t *silent)
{
    for (size_t i = 0; i < json_array_size(silent); i++)
        if (ins_may_have_node(operation, ins_number(json_array_get(silent, i), "node")))
            return true;
    return false;
}

bool ins_absent_is_unknown(const json_t *silent, const json_t *absent)
{
    bool heard = strcmp(ins_string(absent, "node_state"), "up") == 0;
    return !ins_number(absent, "pid") &&
           (!heard || ins_find(silent, "node", ins_number(absent, "node")) != NULL);
}

/* is_unknown returns true if the node of a missing rank does not answer. The daemons describe only
 * some of many missing ranks: the node of another one answers if it lists the rank's process. */
static bool is_unknown(const json_t *operation, const json_t *silent, json_int_t rank)
{
    const json_t *absent = ins_find(json_object_get(operation, "absent"), "rank", rank);
    if (absent)
        return ins_absent_is_unknown(silent, absent);
    return has_silent(operation, silent) &&
           !ins_find(json_object_get(operation, "processes"), "rank", rank);
}

/* select_ranks returns the missing ranks that are unknown, or those that are not. */
static json_t *select_ranks(const json_t *operation, const json_t *silent, bool unknown)
{
    const json_t *missing = json_object_get(operation, "missing");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(missing); i++) {
        json_t *rank = json_array_get(missing, i);
        if (is_unknown(operation, silent, json_integer_value(rank)) == unknown)
            json_array_append(list, rank);
    }
    return list;
}

json_t *ins_unknown_ranks(const json_t *operation, const json_t *silent)
{
    return select_ranks(operation, silent, true);
}

/* add_once adds the node of a row to a list. */
static void add_once(json_t *nodes, const json_t *row)
{
    json_t *node = json_object_get(row, "node");
    if (!ins_has(nodes, node))
        json_array_append(nodes, node);
}

/* nodes_of returns the nodes where unknown ranks are: all silent ones that may have ranks of the
 * operation, if a rank is not described.
 */
static json_t *nodes_of(const json_t *operation, const json_t *unknown, const json_t *silent)
{
    json_t *nodes = json_array();
    for (size_t i = 0; i < json_array_size(unknown); i++) {
        const json_t *absent = ins_find(json_object_get(operation, "absent"), "rank",
                                        json_integer_value(json_array_get(unknown, i)));
        for (size_t k = 0; !absent && k < json_array_size(silent); k++) {
            const json_t *s = json_array_get(silent, k);
            if (ins_may_have_node(operation, ins_number(s, "node")))
                add_once(nodes, s);
        }
        if (absent)
            add_once(nodes, absent);
    }
    return nodes;
}

/* tell_nodes writes why nothing is known of ranks on these nodes. */
static void tell_nodes(char *text, size_t bytes, const json_t *nodes, const json_t *operation,
                       const json_t *silent, const json_t *peers)
{
    json_int_t node = json_integer_value(json_array_get(nodes, 0));
    const json_t *s = ins_find(silent, "node", node);
    json_int_t ns = ins_number(s, "silent_ns");
    char name[INS_NODE_NAME_BYTES], list[100], age[32], since[60] = "does not answer";
    if (json_array_size(nodes) > 1) {
        ins_rank_runs(list, sizeof list, nodes);
        snprintf(text, bytes, "nodes %s do not answer", list);
        return;
    }
    if (!s) /* this node alone was asked, and has lost the connection */
        ns = ins_number(ins_find(json_object_get(operation, "absent"), "node", node), "silent_ns");
    ins_duration(age, sizeof age, ns);
    if (json_is_true(json_object_get(s, "stopped")))
        snprintf(since, sizeof since, "was stopped by its operator");
    else if (ns >= INS_SHORT_NS)
        snprintf(since, sizeof since, "has been silent for %s", age);
    snprintf(text, bytes, "%s %s", ins_node_name(name, sizeof name, peers, node), since);
}

void ins_absence_text(char *text, size_t bytes, const json_t *operation, const json_t *silent,
                      const json_t *peers)
{
    json_t *late = select_ranks(operation, silent, false),
           *unknown = select_ranks(operation, silent, true),
           *nodes = nodes_of(operation, unknown, silent);
    char ranks[100] = "", why[INS_NODE_NAME_BYTES + 100];
    ins_rank_runs(ranks, sizeof ranks, late);
    text[0] = '\0';
    if (ranks[0])
        snprintf(text, bytes, "%s %s %s not called", ins_rank_word(ranks), ranks,
                 json_array_size(late) == 1 ? "has" : "have");
    if (json_array_size(unknown)) {
        size_t length = strlen(text);
        ins_rank_runs(ranks, sizeof ranks, unknown);
        tell_nodes(why, sizeof why, nodes, operation, silent, peers);
        snprintf(text + length, bytes - length, "%swhether %s %s %s called is not known: %s",
                 length ? ", and " : "", ins_rank_word(ranks), ranks,
                 json_array_size(unknown) == 1 ? "has" : "have", why);
    }
    json_decref(late);
    json_decref(unknown);
    json_decref(nodes);
}
