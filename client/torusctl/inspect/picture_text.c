/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_text.h"

#include <stdio.h>
#include <string.h>

#include "inspect.h"

enum { CELL = 14, NODE = 6, LINE = 4096 };

void ins_picture_load(char *text, size_t bytes, json_int_t count)
{
    static const char units[] = "BKMGTP";
    double value = (double)count;
    size_t unit = 0;
    for (; value >= 999.5 && unit + 2 < sizeof units; unit++)
        value /= 1024;
    snprintf(text, bytes, unit && value < 9.95 ? "%.1f%c" : "%.0f%c", value, units[unit]);
}

/* messages_text writes a number of messages as 7 msg, 12k msg or 3M msg. */
static void messages_text(char *text, size_t bytes, json_int_t count)
{
    static const char units[] = " kMGTP";
    size_t unit = 0;
    for (; count >= 1000 && unit + 2 < sizeof units; unit++)
        count /= 1000;
    snprintf(text, bytes, unit ? "%lld%c msg" : "%lld msg", (long long)count, units[unit]);
}

/* first_from returns the index of the first link from a node: links are in the order of nodes. */
static size_t first_from(const json_t *links, uint32_t node)
{
    size_t low = 0, high = json_array_size(links);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ins_number(json_array_get(links, middle), "from") < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* way returns the link that is listed from one node to another one, or NULL. */
static const json_t *way(const json_t *links, uint32_t from, uint32_t to)
{
    for (size_t i = first_from(links, from); i < json_array_size(links); i++) {
        const json_t *l = json_array_get(links, i);
        if (ins_number(l, "from") != from)
            return NULL;
        if (ins_number(l, "to") == to)
            return l;
    }
    return NULL;
}

/* edge returns the link between two nodes, from either end, or NULL. */
static const json_t *edge(const json_t *links, uint32_t from, uint32_t to)
{
    const json_t *l = way(links, from, to);
    return l ? l : way(links, to, from);
}

/* load writes what is drawn on a link: its bytes, - if it was not used, x if it is dead. */
static void load(char *text, size_t bytes, const json_t *link)
{
    const char *state = ins_string(link, "state");
    if (strcmp(state, "down") == 0)
        snprintf(text, bytes, "x");
    else if (strcmp(state, "up") == 0 && !ins_number(link, "bytes") && ins_number(link, "messages"))
        messages_text(text, bytes, ins_number(link, "messages"));
    else if (strcmp(state, "up") == 0)
        ins_picture_load(text, bytes, ins_number(link, "bytes"));
    else
        snprintf(text, bytes, "-");
}

static void node_text(char *text, size_t bytes, const json_t *nodes, uint32_t node)
{
    const char *state = ins_string(json_array_get(nodes, node), "state");
    bool dead = strcmp(state, "silent") == 0, absent = strcmp(state, "absent") == 0;
    snprintf(text, bytes, dead ? "#%u#" : absent ? "(%u)" : "[%u]", node);
}

/* centre writes a text in the middle of `width` letters `fill`. */
static void centre(char *line, size_t at, size_t width, char fill, const char *text)
{
    size_t length = strlen(text), before = length < width ? (width - length) / 2 : 0;
    if (at + width >= LINE)
        return;
    memset(line + at, fill, width);
    memcpy(line + at + before, text, length < width ? length : width);
}

struct slab {
    const struct td_topology *t;
    const json_t *nodes, *links;
    uint32_t place[TD_DIMENSIONS_MAX]; /* of the node that is drawn */
    uint32_t across, down;             /* dimensions; down: t->dimensions if there is one only */
};

static uint32_t at(struct slab *s, uint32_t row, uint32_t column)
{
    s->place[s->across] = column;
    if (s->down < s->t->dimensions)
        s->place[s->down] = row;
    return td_topology_node(s->t, s->place);
}

/* has_link returns true if a link leads on from a node in a dimension; at the end of a ring of two
 * it is the same as the one before. */
static bool has_link(const struct td_topology *t, uint32_t place, uint32_t dimension)
{
    uint32_t size = t->size[dimension];
    return place + 1 < size || (t->wrap[dimension] && size > 2);
}

/* print_row prints the nodes of a row, and the links between them. */
static void print_row(struct slab *s, uint32_t row)
{
    char line[LINE + 1], text[32];
    uint32_t columns = s->t->size[s->across];
    size_t end = (size_t)columns * CELL + 1;
    end = end < LINE ? end : LINE;
    memset(line, ' ', sizeof line);
    for (uint32_t c = 0; c < columns; c++) {
        uint32_t n = at(s, row, c);
        node_text(text, sizeof text, s->nodes, n);
        centre(line, (size_t)c * CELL, NODE, ' ', text);
        if (!has_link(s->t, c, s->across))
            continue;
        load(text, sizeof text, edge(s->links, n, td_topology_neighbour(s->t, n, s->across, 1)));
        centre(line, (size_t)c * CELL + NODE, CELL - NODE, '-', text);
        if (c + 1 == columns && (size_t)columns * CELL < LINE)
            line[(size_t)columns * CELL] = '~'; /* round to the first one */
    }
    line[end] = '\0';
    while (end && line[end - 1] == ' ')
        line[--end] = '\0';
    puts(line);
}

/* print_links prints the links from a row to the next one. */
static void print_links(struct slab *s, uint32_t row)
{
    char line[LINE + 1], text[32];
    uint32_t columns = s->t->size[s->across];
    bool last = row + 1 == s->t->size[s->down];
    for (int part = 0; part < 3; part++) {
        size_t end = (size_t)columns * CELL < LINE ? (size_t)columns * CELL : LINE;
        memset(line, ' ', sizeof line);
        for (uint32_t c = 0; c < columns; c++) {
            uint32_t n = at(s, row, c);
            load(text, sizeof text, edge(s->links, n, td_topology_neighbour(s->t, n, s->down, 1)));
            centre(line, (size_t)c * CELL, NODE, ' ',
                   part == 1           ? text
                   : part == 2 && last ? "~"
                                       : "|");
        }
        while (end && line[end - 1] == ' ')
            end--;
        line[end] = '\0';
        puts(line);
    }
}

/* print_title names the coordinates that a drawing has in common. */
static void print_title(const struct slab *s)
{
    bool first = true;
    for (uint32_t d = 0; d < s->t->dimensions; d++) {
        if (d == s->across || d == s->down)
            continue;
        printf("%sdimension %u: %u", first ? "" : ", ", d, s->place[d]);
        first = false;
    }
    if (!first)
        putchar('\n');
}

/* next_slab advances the coordinates that are not drawn. It returns false behind the last. */
static bool next_slab(struct slab *s)
{
    for (uint32_t d = s->t->dimensions; d-- > 0;) {
        if (d == s->across || d == s->down)
            continue;
        if (++s->place[d] < s->t->size[d])
            return true;
        s->place[d] = 0;
    }
    return false;
}

void ins_picture_text(const struct td_topology *t, const json_t *nodes, const json_t *links)
{
    struct slab s = {.t = t, .nodes = nodes, .links = links, .across = t->dimensions - 1};
    s.down = t->dimensions > 1 ? t->dimensions - 2 : t->dimensions;
    uint32_t rows = s.down < t->dimensions ? t->size[s.down] : 1;
    do {
        print_title(&s);
        for (uint32_t r = 0; r < rows; r++) {
            print_row(&s, r);
            if (s.down < t->dimensions && has_link(t, r, s.down))
                print_links(&s, r);
        }
    } while (next_slab(&s));
}
