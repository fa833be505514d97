/* SPDX-License-Identifier: Apache-2.0 */
#include "redist_plot.h"

enum { CELL_X = 26, CELL_Y = 20, LEFT = 46, TOP = 58, BAR = 120 };

static void cell(const struct explain_redist *x, FILE *f, uint32_t p, uint32_t step)
{
    uint32_t q;
    int at_x = LEFT + (int)p * CELL_X, at_y = TOP + (int)step * CELL_Y;
    if (!explain_meets(x, p, step, &q)) {
        fprintf(f,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
                "stroke=\"#ddd\"/>\n",
                at_x, at_y, CELL_X - 2, CELL_Y - 2);
        return;
    }
    fprintf(f,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" "
            "fill=\"hsl(%u,70%%,78%%)\"/>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%u</text>\n",
            at_x, at_y, CELL_X - 2, CELL_Y - 2, q * 360 / x->real.q, at_x + CELL_X / 2 - 1,
            at_y + 13, x->layout[1].rank[q]);
}

bool explain_redist_plot(const void *me, FILE *f)
{
    const struct explain_redist *x = me;
    uint64_t longest = 1;
    int columns = (int)x->real.p, rows = (int)x->schedule.steps, bars = LEFT + columns * CELL_X + 8;
    for (uint32_t step = 0; step < x->schedule.steps; step++) {
        uint64_t most = explain_step_size(x, step).most;
        longest = most > longest ? most : longest;
    }
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"10\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"10\" y=\"18\" font-size=\"13\">%s: %u owners to %u in %d steps</text>\n"
            "<text x=\"10\" y=\"%d\">step</text>\n<text x=\"%d\" y=\"%d\">%s: %llu at "
            "most</text>\n",
            bars + BAR + 20, TOP + rows * CELL_Y + 14, td_schedule_name(x->schedule.kind),
            x->real.p, x->real.q, rows, TOP - 8, bars, TOP - 8,
            x->in_blocks ? "blocks" : "elements", (unsigned long long)longest);
    for (uint32_t p = 0; p < x->real.p; p++)
        fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#666\">%u</text>\n",
                LEFT + (int)p * CELL_X + CELL_X / 2 - 1, TOP - 8, x->layout[0].rank[p]);
    for (uint32_t step = 0; step < x->schedule.steps; step++) {
        int y = TOP + (int)step * CELL_Y;
        double length = BAR * (double)explain_step_size(x, step).most / (double)longest;
        fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"#666\">%u</text>\n",
                LEFT - 8, y + 13, step + 1);
        for (uint32_t p = 0; p < x->real.p; p++)
            cell(x, f, p, step);
        fprintf(f, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#8aa\"/>\n", bars,
                y + 3, length, CELL_Y - 8);
    }
    fputs("</svg>\n", f);
    return !ferror(f);
}
