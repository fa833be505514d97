/* SPDX-License-Identifier: Apache-2.0 */
#include "job_terms.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 80, VALUE_BYTES = 32, NODE_BYTES = 100 };

struct td_job_terms *td_job_terms_create(struct td_arena *arena, uint32_t node,
                                         const struct td_terms *terms)
{
    uint64_t values = 0;
    for (unsigned l = 0; l < TD_TERMS_OF_GROUP; l++)
        values += terms->list[l].count;
    struct td_job_terms *t = td_arena_alloc(arena, sizeof *t + values * sizeof *t->value);
    if (!t)
        return NULL;
    uint64_t *at = t->value;
    t->node = node;
    for (unsigned l = 0; l < TD_TERMS_OF_GROUP; l++) {
        uint32_t count = terms->list[l].count;
        if (count)
            memcpy(at, terms->list[l].value, count * sizeof *at);
        t->terms.list[l] = (struct td_term_list){count, at};
        at += count;
    }
    return t;
}

/* print_name writes what differs, as the subject of "is 5 on node 1". */
static void print_name(const struct td_core *core, enum td_terms_list list, uint32_t index,
                       char text[NAME_BYTES])
{
    static const char *const kinds[] = {[TD_TERMS_SETTINGS] = "setting",
                                        [TD_TERMS_COSTS] = "the cost constant",
                                        [TD_TERMS_METHODS] = "the version of the method"};
    const char *name = NULL;
    if (list == TD_TERMS_SETTINGS && td_terms_name(list, index, text, NAME_BYTES))
        return;
    if (list != TD_TERMS_SETTINGS && core->options.term_name)
        name = core->options.term_name(list, index);
    if (name)
        snprintf(text, NAME_BYTES, "%s %s", kinds[list], name);
    else /* a newer release has it */
        snprintf(text, NAME_BYTES, "%s with number %u", kinds[list], index);
}

const char *td_job_terms_compare(struct td_core *core, const struct td_job_terms *own,
                                 const char *job, uint32_t node, const struct td_terms *terms)
{
    uint32_t index = 0;
    unsigned l = 0;
    if (!own)
        return NULL;
    while (l < TD_TERMS_OF_GROUP && !td_terms_differ(&own->terms.list[l], &terms->list[l], &index))
        l++;
    if (l == TD_TERMS_OF_GROUP)
        return NULL;
    enum td_terms_list list = (enum td_terms_list)l;
    char name[NAME_BYTES], a[VALUE_BYTES], b[VALUE_BYTES];
    print_name(core, list, index, name);
    td_terms_print(list, index, td_terms_value(&own->terms.list[l], index), a, sizeof a);
    td_terms_print(list, index, td_terms_value(&terms->list[l], index), b, sizeof b);
    bool same_release = td_terms_is_fixed(list, index);
    return td_core_format(core, "job %.100s: %s is %s on %.*s, but %s on %.*s: %s", job, name, a,
                          NODE_BYTES, td_core_node_name(core, own->node), b, NODE_BYTES,
                          td_core_node_name(core, node),
                          same_release ? "run the same release of torusd on all nodes of the job"
                                       : "configure the same value on all nodes of the job, and "
                                         "restart torusd where it changes");
}
