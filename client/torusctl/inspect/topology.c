/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl topology: the torus drawn, with the load of its links and its dead parts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "links.h"
#include "picture_text.h"
#include "picture_svg.h"
#include "torusctl/torusctl.h"

static bool get_topology(torus_context *c, struct td_topology *t)
{
    uint32_t size[TORUS_DIMENSIONS_MAX];
    int wrap[TORUS_DIMENSIONS_MAX], dimensions = torus_shape(c, size, wrap);
    *t = (struct td_topology){.dimensions = (uint32_t)dimensions, .nodes = 1};
    for (int d = 0; d < dimensions; d++) {
        t->size[d] = size[d];
        t->wrap[d] = wrap[d] != 0;
        t->nodes *= size[d];
    }
    return dimensions > 0;
}

/* struct ends: the links from each node, which are adjacent in the list: first[n] to first[n + 1].
 */
struct ends {
    const json_t *links;
    size_t *first; /* [nodes + 1] */
};

static bool find_ends(struct ends *e, const struct td_topology *t, const json_t *links)
{
    *e = (struct ends){links, calloc((size_t)t->nodes + 1, sizeof *e->first)};
    size_t i = 0, count = json_array_size(links);
    for (uint32_t n = 0; e->first && n <= t->nodes; n++) {
        while (i < count && ins_number(json_array_get(links, i), "from") < n)
            i++;
        e->first[n] = i;
    }
    return e->first != NULL;
}

/* struct edge: a link of the torus, both directions together. */
struct edge {
    json_int_t bytes, packets, messages, repeated;
    bool up, dead;
};

/* add_way adds the direction from one node to another one. */
static void add_way(struct edge *edge, const struct ends *e, uint32_t from, uint32_t to)
{
    for (size_t i = e->first[from]; i < e->first[from + 1]; i++) {
        const json_t *l = json_array_get(e->links, i);
        if (ins_number(l, "to") != to)
            continue;
        edge->bytes += ins_number(l, "bytes");
        edge->packets += ins_number(l, "packets");
        edge->messages += ins_number(l, "messages");
        edge->repeated += ins_number(l, "repeated_packets");
        edge->up = edge->up || strcmp(ins_string(l, "state"), "up") == 0;
        edge->dead = edge->dead || ins_link_is_dead(l);
    }
}

/* add_edge adds the link between two neighbours to the list of edges. */
static void add_edge(json_t *edges, const struct ends *e, uint32_t a, uint32_t b,
                     uint32_t dimension)
{
    struct edge edge = {0};
    add_way(&edge, e, a, b);
    add_way(&edge, e, b, a);
    json_array_append_new(edges, json_pack("{s:i s:i s:i s:s s:I s:I s:I s:I}", "from", (int)a,
                                           "to", (int)b, "dimension", (int)dimension, "state",
                                           edge.dead ? "down"
                                           : edge.up ? "up"
                                                     : "unused",
                                           "bytes", edge.bytes, "packets", edge.packets, "messages",
                                           edge.messages, "repeated_packets", edge.repeated));
}

/* edges_of returns the links of the torus, each once. */
static json_t *edges_of(const struct td_topology *t, const json_t *links)
{
    json_t *edges = json_array();
    struct ends e;
    bool good = find_ends(&e, t, links);
    for (uint32_t n = 0; good && n < t->nodes; n++)
        for (uint32_t d = 0; d < t->dimensions; d++) {
            uint32_t next = td_topology_neighbour(t, n, d, 1);
            bool again = t->size[d] == 2 && next < n; /* the same link as that of the other end */
            if (next != n && !again)
                add_edge(edges, &e, n, next, d);
        }
    free(e.first);
    return edges;
}

/* elsewhere returns the bytes that went over links between nodes that are no neighbours. */
static json_int_t elsewhere(const json_t *links)
{
    json_int_t bytes = 0;
    for (size_t i = 0; i < json_array_size(links); i++)
        if (!json_is_true(json_object_get(json_array_get(links, i), "neighbours")))
            bytes += ins_number(json_array_get(links, i), "bytes");
    return bytes;
}

static json_t *nodes_of(const struct ins_machine *m, const struct td_topology *t)
{
    json_t *nodes = json_array();
    for (uint32_t n = 0; n < t->nodes; n++) {
        uint32_t place[TD_DIMENSIONS_MAX];
        json_t *coordinates = json_array();
        const char *state = m->here && n != torus_node(m->c) ? "unknown" : "up";
        td_topology_coordinates(t, n, place);
        for (uint32_t d = 0; d < t->dimensions; d++)
            json_array_append_new(coordinates, json_integer(place[d]));
        for (size_t i = 0; i < json_array_size(m->silent); i++)
            if (ins_number(json_array_get(m->silent, i), "node") == n)
                state = "silent";
        if (ins_has_number(m->absent, n))
            state = "absent";
        json_array_append_new(nodes, json_pack("{s:i s:o s:s}", "node", (int)n, "coordinates",
                                               coordinates, "state", state));
    }
    return nodes;
}

/* collect returns {shape, nodes, links, other_bytes}, or NULL if the connection is lost. */
static json_t *collect(struct ins_machine *m, struct td_topology *t)
{
    char shape[128];
    json_t *links = get_topology(m->c, t) ? ins_links(m) : NULL;
    if (!links)
        return NULL;
    json_t *all = ins_begin(m, 1);
    td_topology_print(t, shape, sizeof shape);
    json_object_set_new(all, "shape", json_string(shape));
    json_object_set_new(all, "nodes", nodes_of(m, t));
    json_object_set_new(all, "links", edges_of(t, links));
    json_object_set_new(all, "other_bytes", json_integer(elsewhere(links)));
    json_object_set(all, "details", links);
    json_decref(links);
    return all;
}

static void print_text(struct ins_machine *m, const struct td_topology *t, const json_t *all)
{
    char text[200], other[40];
    ins_link_say_once(m, json_object_get(all, "details"));
    snprintf(text, sizeof text, "torus %s", ins_string(all, "shape"));
    ins_print_answers(m, text);
    putchar('\n');
    ins_picture_text(t, json_object_get(all, "nodes"), json_object_get(all, "links"));
    putchar('\n');
    ins_link_print_dead(json_object_get(all, "details"));
    puts("A link shows the bytes that were sent in both directions since its daemons started; \"7 "
         "msg\":\n"
         "no packets, but 7 messages of short calls and of control, which take the trees.\n"
         "--- no connection was needed so far   -x- dead   #3# node without an answer\n"
         "(4) absent node");
    ins_bytes_text(other, sizeof other, ins_number(all, "other_bytes"));
    if (ins_number(all, "other_bytes"))
        printf("%s went straight between nodes that are no neighbours (direct fabric).\n", other);
}

/* show draws one picture; `svg`: the file of --svg, or NULL. */
static int show(struct ins_machine *m, const struct ins_choices *o, const char *svg)
{
    struct td_topology t;
    json_t *all = collect(m, &t);
    int code = EXIT_WELL;
    if (!all)
        return INS_LOST;
    if (svg && !ins_picture_svg(svg, &t, all))
        code = EXIT_FAILED;
    if (o->as_json) {
        json_object_del(all, "details");
        json_incref(all);
        ins_end(m, all);
    } else if (!svg) {
        print_text(m, &t, all);
    }
    json_decref(all);
    return code;
}

static int run(int argc, char **argv)
{
    struct ins_choices o;
    const char *svg = tool_take_option(&argc, argv, "--svg");
    const char *wrong = ins_read_choices(argc, argv, &o, NULL);
    if (wrong)
        return tool_usage(argv[0], tool_no_option(wrong));
    return ins_run_with(argv[0], &o, svg, show);
}

const struct tool_command ctl_command_topology = {
    .name = "topology",
    .arguments = "[--svg FILE] " INS_ARGUMENTS,
    .what = "draw the torus with the load of its links and its dead parts",
    .options = "  --svg FILE           write a picture to FILE (SVG) instead of text\n" INS_OPTIONS,
    .run = run,
};
