/* SPDX-License-Identifier: Apache-2.0 */
#include "plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "common/ticks.h"

enum {
    WIDTH = 960,
    LEFT = 90,
    RIGHT = 130,
    LINE_TOP = 60,
    LINE_HEIGHT = 240,
    MAP_TOP = 390,
    ROW_HEIGHT = 16,
    LEGEND_STEP = 18,
    SCALE_WIDTH = 200,
    SCALE_STEPS = 50,
    TICKS = 8, /* most intervals of an axis */
};

static const char *const color[] = {"#1b6ca8", "#6fb1e0", "#b8431d", "#ef9a6f",
                                    "#2f7d3a", "#8cc98f", "#6d3f9c", "#b796d8",
                                    "#8a6d0b", "#d8bd57", "#555555", "#aaaaaa"};

static void text(FILE *f, double x, double y, const char *anchor, const char *words)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, words);
}

/* turned writes the name of a vertical axis. */
static void turned(FILE *f, double x, double y, const char *words)
{
    fprintf(
        f,
        "<text transform=\"translate(%.1f %.1f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
        x, y, words);
}

/* time_axis marks round numbers of slots, and says how long a slot is. */
static void time_axis(FILE *f, const struct td_measurement *m)
{
    char words[160], size[32];
    double width = WIDTH - LEFT - RIGHT, bottom = LINE_TOP + LINE_HEIGHT;
    double step = td_tick_step(m->slots, TICKS);
    for (double at = 0; at <= m->slots; at += step) {
        double x = LEFT + width * at / m->slots;
        fprintf(f, "<path d=\"M%.1f %.1fv5\" stroke=\"#555\"/>\n", x, bottom);
        snprintf(words, sizeof words, "%.10g", at);
        text(f, x, bottom + 18, "middle", words);
    }
    snprintf(words, sizeof words,
             "time since the release of the gate, in slots: a packet of %s takes one on a link "
             "(%.4g us at 1 GB/s)",
             td_quantity_print(m->packet_bytes, size, sizeof size), m->packet_bytes / 1e3);
    text(f, LEFT + width / 2, bottom + 36, "middle", words);
}

static void axes(FILE *f, const struct td_measurement *m)
{
    char words[80];
    double right = WIDTH - RIGHT, bottom = LINE_TOP + LINE_HEIGHT;
    for (int i = 0; i <= 4; i++) {
        double y = bottom - i * LINE_HEIGHT / 4.0;
        fprintf(f, "<path d=\"M%d %.1fH%.1f\" stroke=\"#ddd\"/>\n", LEFT, y, right);
        snprintf(words, sizeof words, "%d %%", 25 * i);
        text(f, LEFT - 8, y + 4, "end", words);
    }
    turned(f, 24, LINE_TOP + LINE_HEIGHT / 2.0, "utilization of the links");
    time_axis(f, m);
    if (m->bound < m->slots) {
        double x = LEFT + (right - LEFT) * m->bound / m->slots;
        fprintf(f, "<path d=\"M%.1f %dV%.1f\" stroke=\"#000\" stroke-dasharray=\"4 3\"/>\n", x,
                LINE_TOP, bottom);
        text(f, x, LINE_TOP - 6, "middle", "T_min");
    }
}

/* lines draws the curves, from the widest to the narrowest, so that curves on top of each other
 * show. */
static void lines(FILE *f, const struct td_measurement *m)
{
    uint32_t directions = 2 * m->topology.dimensions;
    double width = WIDTH - LEFT - RIGHT;
    for (uint32_t d = 0; d < directions; d++) {
        char words[40];
        fprintf(f,
                "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\" stroke-linejoin=\"round\" "
                "d=\"",
                color[d], 1.5 + (directions > 6 ? 0.8 : 1.5) * (directions - 1 - d));
        for (uint32_t b = 0; b < m->bins && b < TD_MEASURE_BINS; b++) {
            double x = LEFT + width * (b + 0.5) * m->bin_slots / m->slots;
            double share = m->line[b * directions + d];
            if (x > LEFT + width)
                break;
            fprintf(f, "%c%.1f %.1f", b ? 'L' : 'M', x,
                    LINE_TOP + LINE_HEIGHT * (1 - (share < 1 ? share : 1)));
        }
        fprintf(f, "\"/>\n");
        double y = LINE_TOP + 10 + d * LEGEND_STEP;
        fprintf(f, "<path d=\"M%d %.1fh18\" stroke=\"%s\" stroke-width=\"3\"/>\n",
                WIDTH - RIGHT + 12, y, color[d]);
        snprintf(words, sizeof words, "%c dimension %u", d % 2 ? '-' : '+', d / 2);
        text(f, WIDTH - RIGHT + 34, y + 4, "start", words);
    }
}

/* heat writes a colour from white (load 0) to dark red (load 1, the most loaded link). */
static void heat(double load, char *out, size_t size)
{
    double l = load < 0 ? 0 : load > 1 ? 1 : load;
    int red = (int)(255 - 105 * l * l), rest = (int)(250 * (1 - l) * (1 - 0.4 * l));
    snprintf(out, size, "#%02x%02x%02x", red, rest, rest);
}

/* scale draws the colours of loads from 0 to `most` bytes. */
static void scale(FILE *f, double y, uint64_t most)
{
    static const char *const anchor[] = {"start", "middle", "end"};
    char words[40], fill[8];
    double x = WIDTH - RIGHT - SCALE_WIDTH, step = (double)SCALE_WIDTH / SCALE_STEPS;
    text(f, x - 8, y + 10, "end", "bytes on a link:");
    for (int i = 0; i < SCALE_STEPS; i++) {
        heat((i + 0.5) / SCALE_STEPS, fill, sizeof fill);
        fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\" fill=\"%s\"/>\n",
                x + i * step, y, step + 0.05, fill);
    }
    for (unsigned i = 0; i <= 2; i++)
        text(f, x + i * SCALE_WIDTH / 2.0, y + 26, anchor[i],
             td_quantity_print(most * i / 2, words, sizeof words));
}

/* node_axis marks round numbers of nodes below the map. */
static void node_axis(FILE *f, uint32_t nodes, double y)
{
    double width = WIDTH - LEFT - RIGHT, step = td_tick_step(nodes, 2 * TICKS);
    for (double at = 0; at < nodes; at += step < 1 ? 1 : step) {
        char words[16];
        snprintf(words, sizeof words, "%.0f", at);
        text(f, LEFT + width * (at + 0.5) / nodes, y + 12, "middle", words);
    }
    text(f, LEFT + width / 2, y + 30, "middle", "node");
}

/* map draws one row per direction and one column per node; on large machines, a column is the mean
 * of several nodes. */
static void map(FILE *f, const struct td_measurement *m)
{
    uint32_t directions = 2 * m->topology.dimensions, nodes = m->topology.nodes;
    double width = WIDTH - LEFT - RIGHT, bottom = MAP_TOP + (double)directions * ROW_HEIGHT;
    uint32_t columns = nodes < 400 ? nodes : 400;
    uint64_t most = 1;
    for (size_t i = 0; i < (size_t)nodes * directions; i++)
        most = m->link[i] > most ? m->link[i] : most;
    text(f, LEFT, MAP_TOP - 12, "start", "load of each link, by its node and direction");
    turned(f, 24, (MAP_TOP + bottom) / 2, "direction");
    for (uint32_t d = 0; d < directions; d++) {
        char words[8];
        double y = MAP_TOP + d * ROW_HEIGHT;
        snprintf(words, sizeof words, "%c%u", d % 2 ? '-' : '+', d / 2);
        text(f, LEFT - 8, y + 12, "end", words);
        for (uint32_t c = 0; c < columns; c++) {
            uint64_t first = (uint64_t)c * nodes / columns,
                     end = (uint64_t)(c + 1) * nodes / columns;
            double load = 0;
            char fill[8];
            for (uint64_t n = first; n < end; n++)
                load += (double)m->link[n * directions + d] / (double)most / (double)(end - first);
            heat(load, fill, sizeof fill);
            fprintf(f, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>\n",
                    LEFT + width * c / columns, y, width / columns + 0.05, ROW_HEIGHT - 2, fill);
        }
    }
    node_axis(f, nodes, bottom);
    scale(f, bottom + 20, most);
}

bool plot_measurement(const struct td_measurement *m, FILE *f, const char *title)
{
    int height = MAP_TOP + (int)(2 * m->topology.dimensions) * ROW_HEIGHT + 60;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH, height);
    fprintf(f, "<text x=\"%d\" y=\"26\" font-size=\"%d\">%s</text>\n", LEFT,
            strlen(title) < 90 ? 16 : 12, title);
    axes(f, m);
    lines(f, m);
    map(f, m);
    fprintf(f, "</svg>\n");
    return !ferror(f);
}
