/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of one setting and load: the ratio of the two sides against the size, one line per
 * operation, both axes logarithmic. The barrier, which has no size, is a point at the left. */
#include <math.h>
#include <stdio.h>

#include "collectives_driver.h"
#include "base/quantity.h"

enum { WIDTH = 760, HEIGHT = 420, LEFT = 70, RIGHT = 130, TOP = 50, BOTTOM = 50 };
static const double RATIO_MIN = 0.01, RATIO_MAX = 20, LEAST_BYTES = 2, MOST_BYTES = 1 << 25;

static const char *const colour[OPERATIONS] = {"#555555", "#1b6ca8", "#b8431d", "#2f7d3a",
                                               "#6d3f9c"};

static double x_of(const struct result *r)
{
    double bytes = r->operation == BARRIER ? 4 : (double)r->bytes;
    return LEFT + (WIDTH - LEFT - RIGHT) * log(bytes / LEAST_BYTES) / log(MOST_BYTES / LEAST_BYTES);
}

static double y_at(double ratio)
{
    double within = fmin(fmax(ratio, RATIO_MIN), RATIO_MAX);
    return TOP + (HEIGHT - TOP - BOTTOM) * log(RATIO_MAX / within) / log(RATIO_MAX / RATIO_MIN);
}

static void text(FILE *f, double x, double y, const char *anchor, const char *words)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, words);
}

static void axes(FILE *f, const struct result *results, size_t count)
{
    static const double ticks[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20};
    char words[48];
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        fprintf(f, "<path d=\"M%d %.1fH%d\" stroke=\"%s\"/>\n", LEFT, y_at(ticks[i]), WIDTH - RIGHT,
                ticks[i] == 1 ? "#000" : "#ddd");
        snprintf(words, sizeof words, "%g", ticks[i]);
        text(f, LEFT - 8, y_at(ticks[i]) + 4, "end", words);
    }
    for (size_t i = 0; i < count; i++) { /* each size once, at the first operation that has it */
        size_t before = 0;
        while (results[before].bytes != results[i].bytes)
            before++;
        if (before == i && results[i].bytes > 0)
            text(f, x_of(&results[i]), HEIGHT - BOTTOM + 18, "middle",
                 td_quantity_print(results[i].bytes, words, sizeof words));
    }
    text(f, LEFT, TOP - 8, "start",
         "time of torusd / time of the fastest peer; below 1: torusd is faster");
}

/* line draws the results of one operation. */
static void line(FILE *f, const struct result *results, size_t count, enum operation operation)
{
    char path = 'M';
    fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"", colour[operation]);
    for (size_t i = 0; i < count; i++)
        if (results[i].operation == operation) {
            fprintf(f, "%c%.1f %.1f", path, x_of(&results[i]), y_at(ratio_of(&results[i])));
            path = 'L';
        }
    fputs("\"/>\n", f);
    for (size_t i = 0; i < count; i++)
        if (results[i].operation == operation)
            fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x_of(&results[i]),
                    y_at(ratio_of(&results[i])), colour[operation]);
    double y = TOP + 10 + 18.0 * operation;
    fprintf(f, "<path d=\"M%d %.1fh18\" stroke=\"%s\" stroke-width=\"3\"/>\n", WIDTH - RIGHT + 12,
            y, colour[operation]);
    text(f, WIDTH - RIGHT + 36, y + 4, "start", operation_name(operation));
}

bool plot_results(const char *folder, const struct result *results, size_t count)
{
    char path[512];
    const struct setting *setting = results->setting;
    snprintf(path, sizeof path, "%s/%s-%s.svg", folder, setting->name,
             results->busy ? "busy" : "idle");
    FILE *f = fopen(path, "w");
    if (!f)
        return false;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%d\" y=\"24\" font-size=\"16\">%u %s%s x %u rank%s, %s</text>\n",
            WIDTH, HEIGHT, LEFT, setting->nodes, setting->hosts ? "host" : "node",
            setting->nodes == 1 ? "" : "s", setting->ranks_per_node,
            setting->ranks_per_node == 1 ? "" : "s",
            results->busy ? "two busy processes beside" : "idle");
    axes(f, results, count);
    for (int o = 0; o < OPERATIONS; o++)
        line(f, results, count, (enum operation)o);
    fputs("</svg>\n", f);
    bool good = !ferror(f);
    return fclose(f) == 0 && good;
}
