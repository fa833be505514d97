/* SPDX-License-Identifier: Apache-2.0 */
#include "job_states.h"

#include <stdio.h>
#include <string.h>

#include "groups.h"
#include "inspect.h"

/* may_have returns true if a list of nodes has a node. An empty list tells nothing. */
static bool may_have(const json_t *list, const json_t *node)
{
    return json_array_size(list) == 0 || ins_has(list, node);
}

/* suspects returns the silent nodes that may have ranks that a job misses: the nodes of its group,
 * and if the list of jobs knows that ranks are gone, those where they were. */
static json_t *suspects(const json_t *job, const json_t *group, const json_t *silent)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(silent); i++) {
        json_t *node = json_object_get(json_array_get(silent, i), "node");
        if (may_have(json_object_get(job, "gone_nodes"), node) &&
            may_have(json_object_get(group, "member_nodes"), node))
            json_array_append(list, node);
    }
    return list;
}

/* tell says which ranks a job has no more, or which silent nodes may have them, or have ranks that
 * are not known to be gone. */
static void tell(char *text, size_t bytes, const json_t *job, const json_t *silent)
{
    char ranks[256], nodes[256];
    ins_missing_words(ranks, sizeof ranks, job);
    ins_rank_runs(nodes, sizeof nodes, silent);
    if (!*ranks)
        snprintf(text, bytes,
                 json_array_size(silent) == 1 ? "it has ranks on node %s, which gives no answer"
                                              : "it has ranks on nodes %s, which give no answer",
                 nodes);
    else if (json_array_size(silent))
        snprintf(text, bytes, "%s may be on node %s, which gives no answer", ranks, nodes);
    else
        snprintf(text, bytes, "%s left or died", ranks);
}

/* add_state adds whether the job forms, runs, or is broken, and since when it exists. A job
 * whose ranks are gone is broken before its next call finds out; while nodes are silent that may
 * have them, or have others, nobody knows. */
static void add_state(json_t *job, const json_t *jobs, const json_t *groups, const json_t *silent)
{
    bool forming = ins_is_forming(jobs, groups, job);
    const json_t *g = forming ? NULL : ins_group_of_job(groups, job);
    bool active = !g || strcmp(ins_string(g, "state"), "active") == 0;
    bool whole = ins_number(job, "joined") >= ins_number(job, "size");
    bool nodes_known = json_array_size(json_object_get(g, "member_nodes")) > 0;
    json_t *may = suspects(job, g, silent);
    bool hidden = json_array_size(may) && (!whole || nodes_known);
    const char *state = forming   ? "forming"
                        : !active ? ins_string(g, "state")
                        : hidden  ? "silent"
                        : whole   ? "running"
                                  : "broken";
    char text[600];
    snprintf(text, sizeof text, "%s", ins_string(g, "text"));
    if (!forming && !text[0] && (hidden || !whole))
        tell(text, sizeof text, job, may);
    json_decref(may);
    json_object_set_new(job, "state", json_string(state));
    json_object_set_new(job, "age_ns", json_integer(ins_number(g, "age_ns")));
    json_object_set_new(job, "error", json_integer(ins_number(g, "error")));
    json_object_set_new(job, "text", json_string(text));
}

void ins_job_states(json_t *jobs, const json_t *groups, const json_t *silent)
{
    json_t *job = NULL;
    size_t i = 0;
    json_array_foreach(jobs, i, job) add_state(job, jobs, groups, silent);
}

void ins_job_print_text(const json_t *job)
{
    if (*ins_string(job, "text"))
        printf("! job %s is %s: %s\n", ins_string(job, "name"), ins_string(job, "state"),
               ins_string(job, "text"));
}
