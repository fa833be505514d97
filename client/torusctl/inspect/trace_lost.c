/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_lost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "inspect.h"

enum { SHOWN = 8 /* nodes */ };

json_t *ins_trace_lost(const struct ins_rings *r, const struct ins_trace_job *job,
                       const json_t *facts)
{
    json_t *lost = json_array();
    for (uint32_t n = 0; n < r->nodes; n++) {
        const struct ins_clock_of *c = &r->clock[n];
        const char *age = ins_fact(facts, n, "age"), *reason = NULL;
        json_int_t left_ns = c->first_at ? job->now_ns - c->first_at : 0;
        if (!c->known || (json_array_size(job->nodes) && !ins_has_number(job->nodes, n)))
            continue;
        if (!c->size)
            reason = "not_recorded";
        else if (*age && strtoll(age, NULL, 10) < job->formed_ns)
            reason = "restarted";
        else if (c->recorded > c->size && c->first_at && left_ns < job->formed_ns)
            reason = "overwritten";
        if (reason)
            json_array_append_new(
                lost,
                json_pack("{s:i s:s s:I}", "node", (int)n, "reason", reason, "age_ns",
                          strcmp(reason, "restarted") == 0 ? strtoll(age, NULL, 10) : left_ns));
    }
    return lost;
}

void ins_trace_lost_print(const json_t *lost, const json_t *peers)
{
    size_t count = json_array_size(lost), i = 0;
    for (; i < count && i < SHOWN; i++) {
        const json_t *l = json_array_get(lost, i);
        const char *reason = ins_string(l, "reason");
        char name[INS_NODE_NAME_BYTES], since[32];
        ins_node_name(name, sizeof name, peers, ins_number(l, "node"));
        ins_clock(since, sizeof since, ins_number(l, "age_ns"));
        if (strcmp(reason, "not_recorded") == 0)
            fprintf(stderr, "! %s records nothing: [trace] events is 0 there\n", name);
        else if (strcmp(reason, "restarted") == 0)
            fprintf(stderr, "! %s has no events before %s: its daemon was started then\n", name,
                    since);
        else
            fprintf(stderr, "! %s has no events before %s: later ones have overwritten them\n",
                    name, since);
    }
    if (count > i)
        fprintf(stderr, "! and %zu more nodes have lost events of the job\n", count - i);
}
