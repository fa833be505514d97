/* SPDX-License-Identifier: Apache-2.0 */
#include "plot.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    WIDTH = 960,
    LEFT = 70,
    RIGHT = 130,
    LINE_TOP = 60,
    LINE_HEIGHT = 240,
    MAP_TOP = 370,
    ROW_HEIGHT = 16,
    LEGEND_STEP = 18,
};

static const char *const color[] = {"#1b6ca8", "#6fb1e0", "#b8431d", "#ef9a6f",
                                    "#2f7d3a", "#8cc98f", "#6d3f9c", "#b796d8",
                                    "#8a6d0b", "#d8bd57", "#555555", "#aaaaaa"};

static void text(FILE *f, double x, double y, const char *anchor, const char *words)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, words);
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
    for (int i = 0; i <= 5; i++) {
        double x = LEFT + i * (right - LEFT) / 5;
        snprintf(words, sizeof words, "%.0f", m->slots * i / 5);
        text(f, x, bottom + 18, "middle", words);
    }
    text(f, (LEFT + right) / 2, bottom + 36, "middle",
         "slots since the release of the gate; utilization of the links of each direction");
    if (m->bound < m->slots) {
        double x = LEFT + (right - LEFT) * m->bound / m->slots;
        fprintf(f, "<path d=\"M%.1f %dV%.1f\" stroke=\"#000\" stroke-dasharray=\"4 3\"/>\n", x,
                LINE_TOP, bottom);
        text(f, x, LINE_TOP - 6, "middle", "T_min");
    }
}

static void lines(FILE *f, const struct td_measurement *m)
{
    uint32_t directions = 2 * m->topology.dimensions;
    double width = WIDTH - LEFT - RIGHT;
    for (uint32_t d = 0; d < directions; d++) {
        char words[40];
        fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"", color[d]);
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

/* map draws one row per direction and one column per node; on large machines, a column is the mean
 * of several nodes. */
static void map(FILE *f, const struct td_measurement *m)
{
    uint32_t directions = 2 * m->topology.dimensions, nodes = m->topology.nodes;
    double width = WIDTH - LEFT - RIGHT;
    uint32_t columns = nodes < 400 ? nodes : 400;
    uint64_t most = 1;
    for (size_t i = 0; i < (size_t)nodes * directions; i++)
        most = m->link[i] > most ? m->link[i] : most;
    text(f, LEFT, MAP_TOP - 12, "start",
         "Load of each link: nodes from left to right; white: no load, red: the largest load");
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
}

bool plot_measurement(const struct td_measurement *m, FILE *f, const char *title)
{
    int height = MAP_TOP + (int)(2 * m->topology.dimensions) * ROW_HEIGHT + 24;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH, height);
    fprintf(f, "<text x=\"%d\" y=\"26\" font-size=\"16\">%s</text>\n", LEFT, title);
    axes(f, m);
    lines(f, m);
    map(f, m);
    fprintf(f, "</svg>\n");
    return !ferror(f);
}
