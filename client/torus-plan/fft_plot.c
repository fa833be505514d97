/* SPDX-License-Identifier: Apache-2.0 */
#include "fft_plot.h"

#include <string.h>

#include "model/program.h"
#include "base/quantity.h"
#include "fft_text.h"
#include "tool/fft_names.h"

enum {
    AXES = 3, /* axes in the picture */
    WIDE = 110,
    HIGH = 110,
    STRIP = 26, /* height of an array of one axis */
    DEPTH = 46,
    PANEL = 250,
    LEFT = 30,
    TOP = 110,
    ROW = 15,
    BAR = 22,
    CUTS_MAX = 64, /* greatest number of lines along an axis */
};

/* struct sheet: the axes of the array that is drawn: depth, downwards, to the right. An array of
 * two axes is a flat sheet, one of one axis a strip. */
struct sheet {
    const struct explain_fft *x;
    FILE *f;
    uint32_t axis[AXES], dimensions;
    int bars; /* position of the bars */
};

struct point {
    double x, y;
};

/* point_of places a point of the unit cube of a panel. */
static struct point point_of(const struct sheet *s, unsigned panel, const double at[AXES])
{
    double left = LEFT + (double)panel * PANEL, depth = s->dimensions < 3 ? 0 : DEPTH;
    double high = s->dimensions < 2 ? STRIP : HIGH, top = TOP + (HIGH - high) / 2;
    return (struct point){left + WIDE * at[2] + depth * at[0], top + high * at[1] - depth * at[0]};
}

static void line(const struct sheet *s, unsigned panel, const double a[AXES], const double b[AXES],
                 const char *style)
{
    struct point p = point_of(s, panel, a), q = point_of(s, panel, b);
    fprintf(s->f, "<path d=\"M%.1f %.1fL%.1f %.1f\" %s/>\n", p.x, p.y, q.x, q.y, style);
}

/* face draws the visible side of a box across axis d. */
static void face(const struct sheet *s, unsigned panel, const double begin[AXES],
                 const double end[AXES], unsigned d, const char *style)
{
    static const double seen[AXES] = {0, 0, 1}; /* in front, above, to the right */
    unsigned e = (d + 1) % AXES, g = (d + 2) % AXES;
    fputs("<path d=\"", s->f);
    for (unsigned i = 0; i < 4; i++) {
        double at[AXES];
        at[d] = seen[d] > 0 ? end[d] : begin[d];
        at[e] = i == 1 || i == 2 ? end[e] : begin[e];
        at[g] = i >= 2 ? end[g] : begin[g];
        struct point p = point_of(s, panel, at);
        fprintf(s->f, "%s%.1f %.1f", i ? "L" : "M", p.x, p.y);
    }
    fprintf(s->f, "Z\" %s/>\n", style);
}

static void box(const struct sheet *s, unsigned panel, const double begin[AXES],
                const double end[AXES], const char *style)
{
    for (unsigned d = 0; d < (s->dimensions < 3 ? 1 : AXES); d++) /* a sheet has its front only */
        face(s, panel, begin, end, d, style);
}

/* cuts draws the boundaries of the parts of an axis on the two sides that it runs along. */
static void cuts(const struct sheet *s, unsigned panel, const struct td_layout *l, unsigned d)
{
    uint32_t axis = s->axis[d], parts = l->axis[axis].parts;
    uint64_t block = l->axis[axis].block, n = l->size[axis];
    if (l->box || parts == 1 || block == 0 || n / block > CUTS_MAX)
        return;
    for (uint64_t i = block - l->axis[axis].offset % block; i < n; i += block) {
        double cut = (double)i / (double)n;
        for (unsigned other = 0; other < AXES; other++) {
            static const double seen[AXES] = {0, 0, 1};
            double a[AXES], b[AXES];
            unsigned along = AXES - d - other;
            if (other == d)
                continue;
            a[d] = b[d] = cut;
            a[other] = b[other] = seen[other];
            a[along] = 0;
            b[along] = 1;
            line(s, panel, a, b, "stroke=\"#99a\" stroke-width=\"0.7\"");
        }
    }
}

/* struct spans: the blocks of an owner along an axis, as shares of the axis. */
struct spans {
    unsigned count;
    double begin[CUTS_MAX], end[CUTS_MAX];
};

/* spans_of finds the first CUTS_MAX blocks that the first owner on this node has along an axis. */
static struct spans spans_of(const struct td_array *a, uint32_t axis)
{
    const struct td_layout *l = &a->layout;
    struct spans s = {1, {0}, {1}};
    if (axis >= l->dimensions)
        return s;
    struct td_owned owned = td_layout_owned(l, axis, td_layout_coordinate(l, a->here[0], axis));
    uint64_t count = 0, at = td_owned_next(&owned, 0, &count);
    for (s.count = 0; count > 0 && s.count < CUTS_MAX; s.count++) {
        s.begin[s.count] = (double)at / (double)l->size[axis];
        s.end[s.count] = (double)(at + count) / (double)l->size[axis];
        at = td_owned_next(&owned, at + count, &count);
    }
    return s;
}

/* own_part colours the part of the first owner on this node, from the back, the bottom and the
 * left, so that a block covers what is behind it. */
static void own_part(const struct sheet *s, unsigned panel, const struct td_array *a)
{
    struct spans of[AXES];
    if (a->there[a->own] == 0)
        return;
    for (unsigned d = 0; d < AXES; d++)
        of[d] = spans_of(a, s->axis[d]);
    for (unsigned i = of[0].count; i-- > 0;)
        for (unsigned j = of[1].count; j-- > 0;)
            for (unsigned k = 0; k < of[2].count; k++) {
                double begin[AXES] = {of[0].begin[i], of[1].begin[j], of[2].begin[k]};
                double end[AXES] = {of[0].end[i], of[1].end[j], of[2].end[k]};
                box(s, panel, begin, end, "fill=\"#e8853a\" stroke=\"#a50\" stroke-width=\"0.5\"");
            }
}

/* choose_axes chooses the last three axes of an array. */
static void choose_axes(struct sheet *s, const struct td_array *a)
{
    s->dimensions = a->layout.dimensions;
    for (unsigned d = 0; d < AXES; d++)
        s->axis[d] = s->dimensions + d >= AXES ? s->dimensions + d - AXES : TD_DIMENSIONS_MAX;
}

static void array(struct sheet *s, unsigned panel, const struct td_array *a)
{
    static const double begin[AXES] = {0, 0, 0}, end[AXES] = {1, 1, 1};
    char text[200];
    choose_axes(s, a);
    box(s, panel, begin, end, "fill=\"#eef2f8\" stroke=\"#556\"");
    for (unsigned d = 0; d < AXES; d++)
        if (s->axis[d] < a->layout.dimensions)
            cuts(s, panel, &a->layout, d);
    own_part(s, panel, a);
    fprintf(s->f, "<text x=\"%d\" y=\"%d\">%.40s%s</text>\n", LEFT + (int)panel * PANEL,
            TOP + HIGH + 18, explain_array_text(a, text, sizeof text),
            a->of_nodes ? ", nodes" : "");
}

/* arrow draws and names the axis of a pass, if the picture has it. */
static void arrow(const struct sheet *s, unsigned panel, unsigned row, const struct td_pass *p)
{
    for (unsigned d = 0; d < AXES; d++) {
        static const double from[AXES][AXES] = {
            {0.08, 0.04, 0.96}, {0.02, 0.08, 0.06}, {0.02, 0.94, 0.08}};
        double to[AXES];
        memcpy(to, from[d], sizeof to);
        to[d] = 0.92;
        if (s->axis[d] == p->axis)
            line(s, panel, from[d], to,
                 "stroke=\"#1a56b0\" stroke-width=\"3\" marker-end=\"url(#tip)\"");
    }
    fprintf(s->f, "<text x=\"%d\" y=\"%d\" fill=\"#1a56b0\">transform axis %u, %s of %llu</text>\n",
            LEFT + (int)panel * PANEL, TOP + HIGH + 34 + ROW * (int)row, p->axis,
            fft_pass_name(p->kind), (unsigned long long)p->length);
}

/* move draws the arrow from the panel before to this one. */
static void move(const struct sheet *s, unsigned panel, const struct explain_move *e)
{
    char size[32];
    int x = LEFT + (int)panel * PANEL - (PANEL - WIDE - DEPTH) / 2 - 20, y = TOP + HIGH / 2;
    fprintf(s->f,
            "<path d=\"M%d %dh40\" stroke=\"#333\" stroke-width=\"2\" marker-end=\"url(#tip)\"/>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">to %u nodes</text>\n",
            x, y, x + 20, y - 10, td_alltoall_name(e->method), x + 20, y + 18,
            td_quantity_print(e->traffic.sent.bytes, size, sizeof size), x + 20, y + 32,
            e->traffic.sent.peers);
}

/* bars: the prediction of each move, and in it the bound; below, the same in words. Without a rate
 * of the links, a time is that at 1 GB/s. */
static void bars(const struct sheet *s, double width)
{
    const struct explain_fft *x = s->x;
    double total = explain_fft_total(x).predicted, at = LEFT, scale = total > 0 ? width / total : 0;
    double rate = x->machine.link_rate ? (double)x->machine.link_rate : 1e9;
    for (unsigned i = 0; i < x->moves && total > 0; i++) {
        const struct explain_move *e = &x->move[i];
        double slot_s = x->machine.settings.packet_bytes / rate;
        char predicted[32], bound[32], of_rate[32];
        fprintf(s->f,
                "<rect class=\"move\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" "
                "fill=\"#cfd8e6\" stroke=\"#556\"/>\n"
                "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#7d97bd\"/>\n"
                "<text x=\"%.1f\" y=\"%d\">move %u</text>\n"
                "<text x=\"%d\" y=\"%d\">move %u: %.4g slots or %s predicted, at least (dark) %.4g "
                "slots or "
                "%s, with links of %s</text>\n",
                at, s->bars, e->predicted * scale, BAR, at, s->bars + BAR - 7,
                (e->bound < e->predicted ? e->bound : e->predicted) * scale, 7, at + 4,
                s->bars + 13, i + 1, LEFT, s->bars + BAR + ROW * ((int)i + 1), i + 1, e->predicted,
                explain_seconds_text(e->predicted * slot_s, predicted, sizeof predicted), e->bound,
                explain_seconds_text(e->bound * slot_s, bound, sizeof bound),
                td_quantity_print_rate(rate, of_rate, sizeof of_rate));
        at += e->predicted * scale;
    }
}

/* most_rows returns the greatest number of consecutive passes. */
static unsigned most_rows(const struct td_transform_plan *s)
{
    unsigned most = 0, row = 0;
    for (unsigned i = 0; i < s->phases; i++) {
        row = s->phase[i].moves ? 0 : row + 1;
        most = row > most ? row : most;
    }
    return most;
}

bool explain_fft_plot(const void *me, FILE *f)
{
    const struct explain_fft *x = me;
    const struct td_transform_plan *plan = x->plan->transform_plan;
    struct sheet s = {.x = x, .f = f};
    char shape[64];
    unsigned panel = 0, row = 0;
    int width = LEFT + (int)(x->moves + 1) * PANEL;
    s.bars = TOP + HIGH + 34 + ROW * (int)most_rows(plan);
    td_topology_print(&x->machine.topology, shape, sizeof shape);
    fprintf(
        f,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n"
        "<defs><marker id=\"tip\" markerUnits=\"userSpaceOnUse\" markerWidth=\"11\" "
        "markerHeight=\"10\" refX=\"7\" refY=\"5\" "
        "orient=\"auto\"><path d=\"M0 0L11 5L0 10Z\"/></marker></defs>\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
        "<text x=\"%d\" y=\"22\" font-size=\"14\">%s on %s: %u stages, %u moves; orange: the part "
        "of node %u</text>\n",
        width, s.bars + BAR + 20 + ROW * (int)x->moves, LEFT, x->elements_text, shape, plan->phases,
        x->moves, x->machine.node);
    array(&s, 0, &plan->array[0]);
    for (unsigned i = 0; i < plan->phases; i++) {
        const struct td_phase *phase = &plan->phase[i];
        if (phase->moves) {
            panel++;
            row = 0;
            array(&s, panel, x->move[phase->index].move->to);
            move(&s, panel, &x->move[phase->index]);
        } else {
            arrow(&s, panel, row++, &plan->pass[phase->index]);
        }
    }
    bars(&s, width - 2 * LEFT);
    fputs("</svg>\n", f);
    return !ferror(f);
}
