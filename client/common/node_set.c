/* SPDX-License-Identifier: Apache-2.0 */
#include "node_set.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static uint64_t draw(uint64_t *state, uint64_t below)
{
    return td_hash_next(state) % below;
}

/* grow adds random neighbours to a random node until the set has `target` nodes. It returns false
 * if it runs out of neighbours. */
static bool grow(const struct td_topology *t, uint32_t target, uint64_t seed, bool *in)
{
    uint32_t *edge = malloc((size_t)t->nodes * 2 * t->dimensions * sizeof *edge);
    uint32_t edges = 0, size = 0, next = (uint32_t)draw(&seed, t->nodes);
    if (!edge)
        return false;
    for (;;) {
        if (!in[next]) {
            in[next] = true;
            if (++size == target)
                break;
            for (uint32_t d = 0; d < t->dimensions; d++)
                for (int sign = 1; sign >= -1; sign -= 2)
                    edge[edges++] = td_topology_neighbour(t, next, d, sign);
        }
        if (edges == 0)
            break;
        uint64_t i = draw(&seed, edges);
        next = edge[i];
        edge[i] = edge[--edges];
    }
    free(edge);
    return size == target;
}

/* parse_list reads "0-5, 9". It returns false if the text is malformed. */
static bool parse_list(const struct td_topology *t, const char *text, bool *in, const char **why)
{
    for (const char *p = text; *p;) {
        char *end = NULL;
        if (isspace((unsigned char)*p) || *p == ',') {
            p++;
            continue;
        }
        *why = "--group: expected numbers and ranges of nodes, such as 0-5,9";
        if (!isdigit((unsigned char)*p))
            return false;
        unsigned long first = strtoul(p, &end, 10), last = first;
        if (*end == '-' && isdigit((unsigned char)end[1]))
            last = strtoul(end + 1, &end, 10);
        else if (*end == '-')
            return false;
        *why = "--group names a node that the torus does not have";
        if (last >= t->nodes || first > last)
            return false;
        for (unsigned long n = first; n <= last; n++)
            in[n] = true;
        p = end;
    }
    return true;
}

static bool parse_file(const struct td_topology *t, const char *name, bool *in, const char **why)
{
    FILE *f = fopen(name, "r");
    size_t most = (size_t)t->nodes * 12 + 2;
    char *text = malloc(most);
    *why = "--group file:NAME: cannot read the file";
    bool good = f && text;
    if (good) {
        size_t size = fread(text, 1, most - 1, f);
        text[size] = '\0';
        good = !ferror(f) && feof(f) && parse_list(t, text, in, why);
    }
    if (f)
        fclose(f);
    free(text);
    return good;
}

static bool parse_share(const struct td_topology *t, const char *text, uint64_t seed, bool *in,
                        const char **why)
{
    char *end = NULL;
    double share = strtod(text, &end);
    *why = "--group: the share must be above 0 and at most 1, such as random:0.6";
    if (end == text || *end || !(share > 0) || share > 1)
        return false;
    uint32_t target = (uint32_t)(share * t->nodes + 0.5);
    *why = "found no connected set of that size";
    return grow(t, target ? target : 1, seed, in);
}

bool td_node_set_parse(const struct td_topology *t, const char *text, uint64_t seed, uint32_t *node,
                       uint32_t *count, const char **why)
{
    bool *in = calloc(t->nodes, sizeof *in), good = false;
    *count = 0;
    *why = "--group must be all, random:SHARE, nodes:LIST or file:NAME";
    if (!in)
        return false;
    if (strcmp(text, "all") == 0)
        good = grow(t, t->nodes, seed, in);
    else if (strncmp(text, "random:", 7) == 0)
        good = parse_share(t, text + 7, seed, in, why);
    else if (strncmp(text, "nodes:", 6) == 0)
        good = parse_list(t, text + 6, in, why);
    else if (strncmp(text, "file:", 5) == 0)
        good = parse_file(t, text + 5, in, why);
    for (uint32_t n = 0; good && n < t->nodes; n++)
        if (in[n])
            node[(*count)++] = n;
    free(in);
    if (good && *count == 0) {
        *why = "--group selects no node";
        good = false;
    }
    return good;
}
