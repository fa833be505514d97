/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_svg.h"

#include <stdio.h>
#include <string.h>

#include "inspect.h"
#include "picture_text.h"
#include "system/written.h"

enum { STEP = 90, MARGIN = 70, SIDE = 34, STUB = 30, GAP = 60, FOOT = 90 };

struct drawing {
    const struct td_topology *t;
    FILE *f;
    uint32_t across, down; /* dimensions; == dimensions: none */
    uint32_t columns, rows, slabs_across;
    json_int_t most; /* bytes of the busiest link */
};

/* place_of returns the place of a node in the picture. */
static void place_of(const struct drawing *d, uint32_t node, int *x, int *y)
{
    uint32_t place[TD_DIMENSIONS_MAX], slab = 0;
    td_topology_coordinates(d->t, node, place);
    for (uint32_t i = 0; i < d->t->dimensions; i++)
        if (i != d->across && i != d->down)
            slab = slab * d->t->size[i] + place[i];
    uint32_t row = d->down < d->t->dimensions ? place[d->down] : 0;
    uint32_t right = slab % d->slabs_across, below = slab / d->slabs_across;
    *x = (int)(MARGIN + right * (d->columns * STEP + GAP) + place[d->across] * STEP);
    *y = (int)(MARGIN + below * (d->rows * STEP + GAP) + row * STEP);
}

/* colour writes the colour of a load: from light yellow (none) to dark red (the busiest link). */
static void colour(const struct drawing *d, json_int_t bytes, char *text, size_t size)
{
    double part = d->most ? (double)bytes / (double)d->most : 0;
    snprintf(text, size, "hsl(%.0f, 90%%, %.0f%%)", 55 - 55 * part, 75 - 50 * part);
}

/* line draws a part of a link; its title is what a browser shows beside the pointer. */
static void line(const struct drawing *d, int x1, int y1, int x2, int y2, const json_t *link)
{
    char stroke[64], amount[32];
    const char *state = ins_string(link, "state");
    bool dead = strcmp(state, "down") == 0, used = strcmp(state, "up") == 0;
    colour(d, ins_number(link, "bytes"), stroke, sizeof stroke);
    ins_picture_load(amount, sizeof amount, ins_number(link, "bytes"));
    fprintf(d->f,
            "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"%d\"%s>"
            "<title>%lld - %lld: %s, %s in both directions, packets %lld, repeated %lld, messages "
            "of trees %lld"
            "</title></line>\n",
            x1, y1, x2, y2,
            dead   ? "#000"
            : used ? stroke
                   : "#ccc",
            dead   ? 2
            : used ? 6
                   : 2,
            dead ? " stroke-dasharray=\"3 5\"" : "", (long long)ins_number(link, "from"),
            (long long)ins_number(link, "to"), state, amount,
            (long long)ins_number(link, "packets"), (long long)ins_number(link, "repeated_packets"),
            (long long)ins_number(link, "messages"));
    if (dead)
        fprintf(d->f,
                "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"16\" fill=\"#c00\">"
                "&#10007;</text>\n",
                (x1 + x2) / 2, (y1 + y2) / 2 + 6);
}

/* draw_link draws a link between nodes that are beside each other as a line, one that closes a ring
 * as two stubs, and one between two slabs as a short stub to the lower right. */
static void draw_link(const struct drawing *d, const json_t *link)
{
    int x1 = 0, y1 = 0, x2 = 0, y2 = 0;
    uint32_t dimension = (uint32_t)ins_number(link, "dimension");
    place_of(d, (uint32_t)ins_number(link, "from"), &x1, &y1);
    place_of(d, (uint32_t)ins_number(link, "to"), &x2, &y2);
    if (dimension != d->across && dimension != d->down) {
        line(d, x1, y1, x1 + STUB, y1 + STUB, link);
    } else if (dimension == d->across && x2 < x1) {
        line(d, x1, y1, x1 + STUB, y1, link);
        line(d, x2 - STUB, y2, x2, y2, link);
    } else if (dimension == d->down && y2 < y1) {
        line(d, x1, y1, x1, y1 + STUB, link);
        line(d, x2, y2 - STUB, x2, y2, link);
    } else {
        line(d, x1, y1, x2, y2, link);
    }
}

static void draw_node(const struct drawing *d, const json_t *node)
{
    int x = 0, y = 0;
    const char *state = ins_string(node, "state");
    bool dead = strcmp(state, "silent") == 0;
    place_of(d, (uint32_t)ins_number(node, "node"), &x, &y);
    fprintf(d->f,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" fill=\"%s\" "
            "stroke=\"%s\" stroke-width=\"2\"><title>node %lld: %s</title></rect>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"13\" fill=\"%s\">%lld"
            "</text>\n",
            x - SIDE / 2, y - SIDE / 2, SIDE, SIDE, dead ? "#c00" : "#fff", dead ? "#700" : "#333",
            (long long)ins_number(node, "node"), state, x, y + 5, dead ? "#fff" : "#000",
            (long long)ins_number(node, "node"));
}

/* draw_scale draws the colours, from no load to that of the busiest link. */
static void draw_scale(const struct drawing *d, int y)
{
    enum { STEPS = 20, WIDTH = 12 };
    char fill[64], amount[32];
    for (int i = 0; i < STEPS; i++) {
        colour(d, d->most * i / (STEPS - 1), fill, sizeof fill);
        fprintf(d->f, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"12\" fill=\"%s\"/>\n",
                MARGIN - SIDE / 2 + i * WIDTH, y, WIDTH, d->most ? fill : "#ccc");
    }
    ins_picture_load(amount, sizeof amount, d->most);
    fprintf(d->f,
            "<text x=\"%d\" y=\"%d\" font-size=\"13\">0 to %s sent over a link, both directions"
            "</text>\n<text x=\"%d\" y=\"%d\" font-size=\"13\">grey: not used; dashed: dead; red "
            "square: no answer</text>\n",
            MARGIN - SIDE / 2, y + 28, amount, MARGIN - SIDE / 2, y + 46);
}

static void draw(struct drawing *d, const json_t *all)
{
    const json_t *nodes = json_object_get(all, "nodes"), *links = json_object_get(all, "links");
    uint32_t slabs = d->t->nodes / (d->columns * d->rows);
    uint32_t below = (slabs + d->slabs_across - 1) / d->slabs_across;
    unsigned width = 2 * MARGIN + d->slabs_across * (d->columns * STEP + GAP) - STEP - GAP;
    unsigned height = 2 * MARGIN + below * (d->rows * STEP + GAP) - STEP - GAP + FOOT;
    width = width < 420 ? 420 : width;
    fprintf(d->f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
            "viewBox=\"0 0 %u %u\" font-family=\"sans-serif\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%d\" y=\"24\" font-size=\"16\">torus %s</text>\n",
            width, height, width, height, MARGIN - SIDE / 2, ins_string(all, "shape"));
    for (size_t i = 0; i < json_array_size(links); i++)
        draw_link(d, json_array_get(links, i));
    for (size_t i = 0; i < json_array_size(nodes); i++)
        draw_node(d, json_array_get(nodes, i));
    draw_scale(d, (int)height - FOOT + 20);
    fputs("</svg>\n", d->f);
}

bool ins_picture_svg(const char *file, const struct td_topology *t, const json_t *all)
{
    enum { ACROSS_MAX = 4 };
    const json_t *links = json_object_get(all, "links");
    struct drawing d = {.t = t, .across = t->dimensions - 1, .f = fopen(file, "we")};
    d.down = t->dimensions > 1 ? t->dimensions - 2 : t->dimensions;
    d.columns = t->size[d.across];
    d.rows = d.down < t->dimensions ? t->size[d.down] : 1;
    uint32_t slabs = t->nodes / (d.columns * d.rows);
    d.slabs_across = slabs < ACROSS_MAX ? slabs : ACROSS_MAX;
    for (size_t i = 0; i < json_array_size(links); i++)
        if (ins_number(json_array_get(links, i), "bytes") > d.most)
            d.most = ins_number(json_array_get(links, i), "bytes");
    if (d.f)
        draw(&d, all);
    return td_written_close(d.f, "torusctl topology", file);
}
