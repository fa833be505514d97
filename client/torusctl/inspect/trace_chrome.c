/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_chrome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"

enum { LANES = 1000 /* of a part */ };

void chrome_begin(struct chrome *c, int64_t zero)
{
    *c = (struct chrome){.zero = zero, .list = json_array()};
}

/* microseconds returns a time on the axis in the unit of the format. */
static json_t *microseconds(int64_t ns)
{
    return json_real(1e-3 * (double)ns);
}

static json_t *event(const struct chrome *c, const char *phase, uint32_t node, uint32_t part,
                     int64_t at, const char *name, json_t *arguments)
{
    return json_pack("{s:o s:s s:i s:I s:o s:o}", "name", ins_text(name), "ph", phase, "pid",
                     (int)node, "tid", (json_int_t)part * LANES, "ts", microseconds(at - c->zero),
                     "args", arguments ? arguments : json_object());
}

static struct chrome_span *new_span(struct chrome *c)
{
    if (c->spans == c->room) {
        size_t room = c->room ? 2 * c->room : 256;
        struct chrome_span *grown = realloc(c->span, room * sizeof *grown);
        if (!grown) {
            c->failed = true;
            return NULL;
        }
        c->span = grown;
        c->room = room;
    }
    return &c->span[c->spans++];
}

json_t *chrome_span(struct chrome *c, uint32_t node, uint32_t part, int64_t begin, int64_t end,
                    const char *name, json_t *arguments)
{
    json_t *e = event(c, "X", node, part, begin, name, arguments);
    struct chrome_span *s = new_span(c);
    if (end < begin)
        end = begin;
    json_object_set_new(e, "dur", microseconds(end - begin));
    if (!s) {
        json_decref(e);
        return NULL;
    }
    *s = (struct chrome_span){.node = node, .part = part, .begin = begin, .end = end, .event = e};
    return e;
}

void chrome_inside(struct chrome *c, int64_t begin, int64_t end, const char *name,
                   json_t *arguments)
{
    struct chrome_span *s = c->spans ? &c->span[c->spans - 1] : NULL;
    if (!s) {
        json_decref(arguments);
        return;
    }
    begin = begin < s->begin ? s->begin : begin > s->end ? s->end : begin;
    end = end > s->end ? s->end : end < begin ? begin : end;
    json_t *e = event(c, "X", s->node, s->part, begin, name, arguments);
    json_object_set_new(e, "dur", microseconds(end - begin));
    if (!s->children)
        s->children = json_array();
    json_array_append_new(s->children, e);
}

void chrome_instant(struct chrome *c, uint32_t node, uint32_t part, int64_t at, const char *name,
                    json_t *arguments)
{
    json_t *e = event(c, "i", node, part, at, name, arguments);
    json_object_set_new(e, "s", json_string("t"));
    json_array_append_new(c->list, e);
}

/* ---- lanes ---- */

static int by_part(const void *left, const void *right)
{
    const struct chrome_span *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->end > b->end ? -1 : a->end < b->end;
}

/* hand_out moves the events of a span to the list, on a lane. */
static void hand_out(struct chrome *c, struct chrome_span *s, int lane)
{
    json_t *child = NULL, *thread = json_integer((json_int_t)s->part * LANES + lane);
    size_t i = 0;
    json_object_set(s->event, "tid", thread);
    json_array_append_new(c->list, s->event);
    json_array_foreach(s->children, i, child)
    {
        json_object_set(child, "tid", thread);
        json_array_append(c->list, child);
    }
    json_decref(s->children);
    json_decref(thread);
}

/* spread gives each span the first lane of its part that is free when it begins. */
static void spread(struct chrome *c)
{
    int64_t until[LANES];
    int lanes = 0;
    qsort(c->span, c->spans, sizeof *c->span, by_part);
    for (size_t i = 0; i < c->spans; i++) {
        struct chrome_span *s = &c->span[i];
        int lane = 0;
        if (i == 0 || s->node != c->span[i - 1].node || s->part != c->span[i - 1].part)
            lanes = 0;
        while (lane < lanes && until[lane] > s->begin)
            lane++;
        if (lane == LANES) {
            json_decref(s->event); /* more at the same time than anyone could look at */
            json_decref(s->children);
            continue;
        }
        if (lane == lanes)
            lanes++;
        until[lane] = s->end;
        hand_out(c, s, lane);
    }
}

/* ---- names ---- */

static void thread_name(char *text, size_t bytes, json_int_t thread)
{
    static const char *const parts[] = {"gate", "steps", "packets out", "packets in", "links"};
    json_int_t part = thread / LANES, lane = thread % LANES;
    char which[24] = "";
    if (lane)
        snprintf(which, sizeof which, " (%lld)", (long long)lane + 1);
    if (part < CHROME_RANKS)
        snprintf(text, bytes, "daemon: %s%s", parts[part], which);
    else
        snprintf(text, bytes, "rank %lld%s", (long long)part - CHROME_RANKS, which);
}

static json_t *metadata(const char *name, json_int_t process, json_int_t thread, json_t *arguments)
{
    return json_pack("{s:s s:s s:I s:I s:i s:o}", "name", name, "ph", "M", "pid", process, "tid",
                     thread, "ts", 0, "args", arguments);
}

/* name_thread names the node and the thread of an event. Ranks come before parts of the daemon. */
static void name_thread(json_t *list, json_int_t process, json_int_t thread)
{
    char text[64];
    json_int_t place = thread / LANES < CHROME_RANKS ? thread + INT32_MAX / 2 : thread;
    snprintf(text, sizeof text, "node %lld", (long long)process);
    json_array_append_new(list,
                          metadata("process_name", process, 0, json_pack("{s:s}", "name", text)));
    json_array_append_new(list, metadata("process_sort_index", process, 0,
                                         json_pack("{s:I}", "sort_index", process)));
    thread_name(text, sizeof text, thread);
    json_array_append_new(
        list, metadata("thread_name", process, thread, json_pack("{s:s}", "name", text)));
    json_array_append_new(list, metadata("thread_sort_index", process, thread,
                                         json_pack("{s:I}", "sort_index", place)));
}

static int by_thread(const void *left, const void *right)
{
    const json_t *a = *(json_t *const *)left, *b = *(json_t *const *)right;
    json_int_t p = ins_number(a, "pid") - ins_number(b, "pid"),
               t = ins_number(a, "tid") - ins_number(b, "tid");
    return p ? (p < 0 ? -1 : 1) : t < 0 ? -1 : t > 0;
}

/* by_time: of two that begin together, the longer one contains the other. */
static int by_time(const void *left, const void *right)
{
    const json_t *a = *(json_t *const *)left, *b = *(json_t *const *)right;
    double s = json_real_value(json_object_get(a, "ts")) -
               json_real_value(json_object_get(b, "ts")),
           d = json_number_value(json_object_get(b, "dur")) -
               json_number_value(json_object_get(a, "dur"));
    return s < 0 ? -1 : s > 0 ? 1 : d < 0 ? -1 : d > 0;
}

/* in_order returns the names, then the events in the order of time; NULL: no memory. */
static json_t *in_order(const json_t *list)
{
    size_t count = json_array_size(list);
    json_t **item = calloc(count + 1, sizeof *item), *result = json_array();
    for (size_t i = 0; item && i < count; i++)
        item[i] = json_array_get(list, i);
    if (item)
        qsort(item, count, sizeof *item, by_thread);
    for (size_t i = 0; item && i < count; i++)
        if (i == 0 || by_thread(&item[i - 1], &item[i]) != 0)
            name_thread(result, ins_number(item[i], "pid"), ins_number(item[i], "tid"));
    if (item)
        qsort(item, count, sizeof *item, by_time);
    for (size_t i = 0; item && i < count; i++)
        json_array_append(result, item[i]);
    if (!item) {
        json_decref(result);
        result = NULL;
    }
    free(item);
    return result;
}

json_t *chrome_end(struct chrome *c)
{
    spread(c);
    json_t *result = c->failed ? NULL : in_order(c->list);
    json_decref(c->list);
    free(c->span);
    *c = (struct chrome){.zero = 0};
    return result;
}
