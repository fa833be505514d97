/* SPDX-License-Identifier: Apache-2.0 */
#include "group_plot.h"

enum { CELL = 34, MARGIN = 28, TOP = 64, GAP = 30, RADIUS = 11, PER_ROW = 4 };

/* struct sheet: the places of nodes: columns are the last dimension, rows the one before, slices
 * the one before that. */
struct sheet {
    const struct explain_group *x;
    FILE *f;
    uint32_t columns, rows, slices;
};

struct point {
    double x, y;
    uint32_t slice, row, column;
};

static struct point point_of(const struct sheet *s, uint32_t node)
{
    struct point p = {.column = node % s->columns,
                      .row = node / s->columns % s->rows,
                      .slice = node / s->columns / s->rows};
    uint32_t across = p.slice % PER_ROW, down = p.slice / PER_ROW;
    p.x = MARGIN + across * (s->columns * (double)CELL + GAP) + (p.column + 0.5) * CELL;
    p.y = TOP + down * (s->rows * (double)CELL + GAP) + (p.row + 0.5) * CELL;
    return p;
}

/* hue spreads planes over the circle of colours. */
static uint32_t hue(uint32_t plane)
{
    return plane * 137 % 360;
}

static void line(const struct sheet *s, double x, double y, double to_x, double to_y,
                 const char *style)
{
    fprintf(s->f, "<path d=\"M%.1f %.1fL%.1f %.1f\" %s/>\n", x, y, to_x, to_y, style);
}

static int sign_of(double way)
{
    return way > 0 ? 1 : way < 0 ? -1 : 0;
}

/* edge draws the edge of a node to its parent: two stubs across the border of the machine, a
 * slanting stub at either end to another slice. */
static void edge(const struct sheet *s, uint32_t node, uint32_t parent, bool within)
{
    struct point a = point_of(s, node), b = point_of(s, parent);
    const char *style = within ? "stroke=\"#555\" stroke-width=\"3\""
                               : "stroke=\"#000\" stroke-width=\"2.5\" stroke-dasharray=\"4 2\"";
    bool far = td_topology_distance(&s->x->machine.topology, node, parent) > 1;
    double dx = b.x - a.x, dy = b.y - a.y, stub = CELL * 0.48;
    if (a.slice != b.slice && !far) {
        bool up = (b.slice + 1) % s->slices != a.slice || (s->slices == 2 && b.slice > a.slice);
        double way = up ? 1 : -1;
        line(s, a.x, a.y, a.x + way * stub * 0.85, a.y - way * stub * 0.85, style);
        line(s, b.x, b.y, b.x - way * stub * 0.85, b.y + way * stub * 0.85, style);
    } else if (!far &&
               (dx > CELL * 1.5 || dx < -CELL * 1.5 || dy > CELL * 1.5 || dy < -CELL * 1.5)) {
        line(s, a.x, a.y, a.x - sign_of(dx) * stub, a.y - sign_of(dy) * stub, style);
        line(s, b.x, b.y, b.x + sign_of(dx) * stub, b.y + sign_of(dy) * stub, style);
    } else {
        line(s, a.x, a.y, b.x, b.y, far ? "stroke=\"#c00\" stroke-dasharray=\"2 3\"" : style);
    }
}

static void circle(const struct sheet *s, uint32_t slot)
{
    const struct td_planes *p = &s->x->planes;
    const struct td_plane *plane = &p->plane[p->of[slot]];
    struct point at = point_of(s, p->node[slot]);
    bool alone = plane->side[0] * plane->side[1] == 1, top = slot == s->x->tree.root;
    fprintf(s->f,
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"hsl(%u,%d%%,%d%%)\" stroke=\"#000\" "
            "stroke-width=\"%s\"/>\n",
            at.x, at.y, RADIUS, hue(p->of[slot]), alone ? 0 : 65, alone ? 96 : 72,
            top                   ? "4"
            : plane->root == slot ? "2.2"
                                  : "0.5");
    fprintf(s->f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"10\">%u</text>\n",
            at.x, at.y + 3.5, p->of[slot]);
}

bool explain_group_plot(const void *me, FILE *f)
{
    const struct explain_group *x = me;
    const struct td_topology *t = &x->machine.topology;
    uint32_t d = t->dimensions;
    struct sheet s = {.x = x,
                      .f = f,
                      .columns = t->size[d - 1],
                      .rows = d > 1 ? t->size[d - 2] : 1,
                      .slices = d > 2 ? t->size[d - 3] : 1};
    uint32_t across = s.slices < PER_ROW ? s.slices : PER_ROW;
    uint32_t down = (s.slices + PER_ROW - 1) / PER_ROW;
    double width = 2 * MARGIN + across * (s.columns * (double)CELL + GAP) - GAP;
    double height = TOP + MARGIN + down * (s.rows * (double)CELL + GAP) - GAP;
    width = width < 520 ? 520 : width;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"#fff\"/>\n",
            width, height);
    fprintf(f,
            "<text x=\"%d\" y=\"24\" font-size=\"15\">%u nodes of %s: %u planes, tree of %u hops"
            "</text>\n",
            MARGIN, x->planes.slots, x->machine.shape_text, x->planes.planes, x->tree.hops);
    fprintf(f,
            "<text x=\"%d\" y=\"44\" fill=\"#555\">number: plane; bold ring: local root; boldest: "
            "root; dashed: between planes%s</text>\n",
            MARGIN, s.slices > 1 ? "; slanting: to a slice" : "");
    for (uint32_t n = 0; n < t->nodes; n++) {
        struct point at = point_of(&s, n);
        if (at.row == 0 && at.column == 0)
            fprintf(f,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%u\" height=\"%u\" fill=\"none\" "
                    "stroke=\"#ddd\"/>\n",
                    at.x - CELL / 2.0, at.y - CELL / 2.0, s.columns * CELL, s.rows * CELL);
        if (x->planes.slot[n] == UINT32_MAX)
            fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\" fill=\"#bbb\"/>\n", at.x, at.y);
    }
    for (uint32_t slot = 0; slot < x->tree.slots; slot++) {
        uint32_t parent = x->tree.parent[slot];
        if (parent != slot)
            edge(&s, x->node[slot], x->node[parent], x->planes.of[slot] == x->planes.of[parent]);
    }
    for (uint32_t slot = 0; slot < x->tree.slots; slot++)
        circle(&s, slot);
    fputs("</svg>\n", f);
    return !ferror(f);
}
