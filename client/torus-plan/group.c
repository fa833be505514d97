/* SPDX-License-Identifier: Apache-2.0 */
#include "group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "model/planes_best.h"
#include "model/planes_tree.h"
#include "machine.h"
#include "group_plot.h"
#include "common/node_set.h"
#include "tool/tool.h"
#include "system/limits.h"

enum { SHOWN = 24, ROOTS_MAX = 1024 };

static const char *take(void *me, const char *name, const char *value)
{
    struct explain_group *x = me;
    if (strcmp(name, "--group") == 0)
        snprintf(x->who, sizeof x->who, "%s", value);
    else if (strcmp(name, "--nodes") == 0)
        snprintf(x->who, sizeof x->who, "nodes:%s", value);
    else if (strcmp(name, "--plot") == 0)
        x->plot = value;
    else
        return tool_no_option(name);
    return strlen(value) + 7 < sizeof x->who ? NULL : "the list is too long: use file:NAME";
}

/* build partitions the group and makes its tree. It returns false if memory runs out. */
static bool build(struct explain_group *x)
{
    const struct td_topology *t = &x->machine.topology;
    uint32_t farthest = 0, slots = x->planes.slots;
    if (td_planes_build(&x->planes, x->arena, t, x->node, slots) != TD_OK ||
        td_planes_best(&x->tree, x->arena, t, x->node, slots) != TD_OK)
        return false;
    struct td_tree by_planes;
    if (td_planes_tree(&x->planes, x->arena, x->tree.root, &by_planes) != TD_OK)
        return false;
    x->connected = true;
    for (uint32_t i = 0; i < x->planes.planes; i++)
        x->connected = x->connected && x->planes.plane[i].gap <= 1;
    x->whole = x->connected && by_planes.hops != x->tree.hops;
    for (uint32_t s = 0; s < slots && !x->whole; s++)
        x->whole = by_planes.parent[s] != x->tree.parent[s];
    td_tree_free(&by_planes, x->arena);
    x->breadth = td_planes_breadth(&x->planes, x->arena, x->tree.root, &farthest);
    x->least = x->breadth;
    for (uint32_t s = 0; s < slots && slots <= ROOTS_MAX; s++) {
        uint32_t hops = td_planes_breadth(&x->planes, x->arena, s, &farthest);
        x->least = hops < x->least ? hops : x->least;
    }
    return true;
}

/* ---- for machines ---- */

static json_t *plane_json(const struct explain_group *x, uint32_t i)
{
    const struct td_plane *plane = &x->planes.plane[i];
    json_t *nodes = json_array();
    for (uint32_t s = 0; s < x->planes.slots; s++)
        if (x->planes.of[s] == i)
            json_array_append_new(nodes, json_integer(x->node[s]));
    return json_pack("{s:i s:[i,i] s:[i,i] s:i s:i s:i s:i s:o}", "corner", (int)plane->corner,
                     "dimensions", plane->dimension[0], plane->dimension[1], "sides",
                     (int)plane->side[0], (int)plane->side[1], "local_root",
                     (int)x->node[plane->root], "above", (int)x->node[plane->above], "gap",
                     (int)plane->gap, "hops", (int)plane->hops, "nodes", nodes);
}

static void print_json(const struct explain_group *x)
{
    json_t *planes = json_array(), *parents = json_array();
    for (uint32_t i = 0; i < x->planes.planes; i++)
        json_array_append_new(planes, plane_json(x, i));
    for (uint32_t s = 0; s < x->tree.slots; s++)
        json_array_append_new(parents,
                              json_pack("[i,i]", (int)x->node[s], (int)x->node[x->tree.parent[s]]));
    json_t *all = json_pack("{s:i s:s s:i s:b s:b s:i s:i s:o s:o s:o}", "version", 1, "shape",
                            x->machine.shape_text, "nodes", (int)x->planes.slots, "connected",
                            x->connected, "box", x->whole, "root", (int)x->node[x->tree.root],
                            "hops", (int)x->tree.hops, "breadth_first",
                            x->connected ? json_pack("{s:i s:i}", "same_root", (int)x->breadth,
                                                     "best_root", (int)x->least)
                                         : json_null(),
                            "planes", planes, "parents", parents);
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

/* ---- for people ---- */

static void plane_line(const struct explain_group *x, const struct td_plane *plane)
{
    const struct td_topology *t = &x->machine.topology;
    char corner[80], root[80], above[80], size[40], along[40] = "";
    if (plane->side[0] * plane->side[1] == 1)
        snprintf(size, sizeof size, "1");
    else if (plane->side[1] == 1)
        snprintf(size, sizeof size, "%u", plane->side[0]);
    else
        snprintf(size, sizeof size, "%ux%u", plane->side[0], plane->side[1]);
    if (plane->side[0] > 1 && plane->side[1] > 1)
        snprintf(along, sizeof along, "%u, %u", plane->dimension[0], plane->dimension[1]);
    else if (plane->side[0] * plane->side[1] > 1)
        snprintf(along, sizeof along, "%u", plane->dimension[0]);
    printf("  %-7s %-6s %-16s %-16s %4u  ", size, along,
           explain_place(corner, sizeof corner, t, plane->corner),
           explain_place(root, sizeof root, t, x->node[plane->root]), plane->hops);
    if (plane->above == plane->root)
        puts("root");
    else if (plane->gap > 1)
        printf("%s, %u hops away\n", explain_place(above, sizeof above, t, x->node[plane->above]),
               plane->gap);
    else
        puts(explain_place(above, sizeof above, t, x->node[plane->above]));
}

static void print(const struct explain_group *x)
{
    char root[80];
    const struct td_topology *t = &x->machine.topology;
    uint32_t planes = x->planes.planes;
    printf("Group of %u of the %u nodes of %s, %s\n", x->planes.slots, t->nodes,
           x->machine.shape_text, x->connected ? "connected" : "not connected");
    printf("  planes     %u\n", planes);
    printf("  tree       %u hops deep from node %s%s\n", x->tree.hops,
           explain_place(root, sizeof root, t, x->node[x->tree.root]),
           x->whole ? ": a box, whose tree needs no planes" : "");
    if (x->connected && x->breadth)
        printf("  least depth %u hops from that root, %u from the best root (the tree is %.2f "
               "times as deep)\n",
               x->breadth, x->least, (double)x->tree.hops / x->least);
    printf("\n  %-7s %-6s %-16s %-16s %4s  %s\n", "plane", "along", "corner", "local root", "hops",
           "parent");
    for (uint32_t i = 0; i < planes && (i < SHOWN || x->machine.all); i++)
        plane_line(x, &x->planes.plane[i]);
    if (planes > SHOWN && !x->machine.all)
        printf("  and %u more; --all shows them\n", planes - SHOWN);
}

int explain_group(int argc, char **argv)
{
    static struct explain_group x;
    const char *why = NULL;
    x = (struct explain_group){0};
    explain_machine_default(&x.machine);
    snprintf(x.who, sizeof x.who, "all");
    const char *wrong = explain_options(&x.machine, argc, argv, take, &x);
    if (!wrong && x.plot && x.machine.topology.dimensions > 3)
        wrong = "--plot needs a machine of at most three dimensions";
    uint32_t nodes = x.machine.topology.nodes;
    x.node = wrong ? NULL : calloc(nodes, sizeof *x.node);
    if (x.node && !td_node_set_parse(&x.machine.topology, x.who, x.machine.seed, x.node,
                                     &x.planes.slots, &why))
        wrong = why;
    if (wrong) {
        free(x.node);
        return tool_usage(NULL, wrong);
    }
    x.arena = x.node ? td_arena_create((size_t)nodes * 512 + (1 << 16)) : NULL;
    bool good = x.arena && build(&x);
    if (!good)
        fprintf(stderr, "torus-plan: %s\n", td_limit_no_memory("this machine"));
    else if (x.machine.as_json)
        print_json(&x);
    else
        print(&x);
    good = good && (!x.plot || explain_plot(x.plot, explain_group_plot, &x));
    td_arena_destroy(x.arena);
    free(x.node);
    return good ? EXIT_WELL : EXIT_FAILED;
}
