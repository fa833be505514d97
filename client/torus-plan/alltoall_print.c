/* SPDX-License-Identifier: Apache-2.0 */
#include "alltoall_print.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "model/program.h"

enum {
    LINES = 12,    /* lines of a section, without --all */
    SECTIONS = 24, /* sections, without --all */
    PICTURE_MAX = 20,
};

/* ---- for machines ---- */

struct listing {
    const struct explain_alltoall *x;
    json_t *list;
};

static void add_barrier(const struct listing *l, const struct explain_step *e, json_t *o)
{
    json_t *among = json_array();
    for (uint32_t i = 0; i < e->among.count; i++)
        json_array_append_new(among,
                              json_integer(l->x->group.node[e->among.first + i * e->among.stride]));
    json_object_set_new(o, "among", among);
    json_object_set_new(o, "before_next_round", json_boolean(e->between));
}

static void add_send(const struct listing *l, const struct explain_step *e, json_t *o)
{
    json_t *offset = json_array();
    for (uint32_t d = 0; d < l->x->machine.topology.dimensions; d++)
        json_array_append_new(offset, json_integer(e->offset[d]));
    json_object_set_new(o, "node", json_integer(e->to));
    json_object_set_new(o, "coordinates", explain_coordinates(&l->x->machine.topology, e->to));
    json_object_set_new(o, "offset", offset);
    json_object_set_new(o, "sign", json_integer(e->sign));
    json_object_set_new(o, "hops", json_integer(e->hops));
    json_object_set_new(o, "bytes", json_integer((json_int_t)e->bytes));
    json_object_set_new(o, "packets", json_integer((json_int_t)e->packets));
    json_object_set_new(o, "gap", json_integer(e->gap));
}

static void add_step(void *me, const struct explain_step *e)
{
    const struct listing *l = me;
    json_t *o =
        json_pack("{s:s s:i}", "kind", e->barrier ? "barrier" : "send", "phase", (int)e->phase);
    if (l->x->plan.method == TD_ALLTOALL_PHASED && !e->between)
        json_object_set_new(o, "part", json_integer(e->part));
    if (e->dimension != EXPLAIN_SEVERAL)
        json_object_set_new(o, "dimension", json_integer(e->dimension));
    if (e->barrier)
        add_barrier(l, e, o);
    else
        add_send(l, e, o);
    json_array_append_new(l->list, o);
}

static json_t *round_json(const struct explain_alltoall *x, uint64_t first, uint64_t count)
{
    struct listing l = {x, json_array()};
    explain_round(&x->plan, first, add_step, &l);
    return json_pack("{s:I s:I s:o}", "first", (json_int_t)first, "count", (json_int_t)count,
                     "steps", l.list);
}

void explain_alltoall_json(const struct explain_alltoall *x)
{
    char shape[64];
    const struct explain_totals *t = &x->totals;
    json_t *hops = json_array(), *rounds = json_array();
    td_topology_print(&x->machine.topology, shape, sizeof shape);
    for (uint32_t d = 0; d < x->machine.topology.dimensions; d++)
        json_array_append_new(hops, json_integer((json_int_t)t->byte_hops[d]));
    if (x->plan.rounds > 1)
        json_array_append_new(rounds, round_json(x, 0, x->plan.rounds - 1));
    json_array_append_new(rounds, round_json(x, x->plan.rounds - 1, 1));
    json_t *all = json_pack(
        "{s:i s:s s:s s:s s:s s:I s:i s:I s:i s:o s:i s:i s:I s:f s:o}", "version", 1, "operation",
        "alltoall", "shape", shape, "method", td_alltoall_name(x->plan.method), "reason", x->reason,
        "bytes", (json_int_t)x->call.count, "packet", (int)x->machine.settings.packet_bytes, "seed",
        (json_int_t)x->machine.seed, "node", (int)x->machine.node, "coordinates",
        explain_coordinates(&x->machine.topology, x->machine.node), "phases", (int)x->plan.phases,
        "parts", (int)x->plan.parts, "relay_bytes", (json_int_t)x->program.scratch_bytes,
        "t_min_slots", x->bound, "predicted_slots",
        x->predicted > 0 ? json_real(x->predicted) : json_null());
    json_object_set_new(all, "predicted_seconds", explain_seconds(&x->machine, x->predicted));
    json_object_set_new(
        all, "fabric",
        json_string(x->machine.settings.tuning.fabric == TD_FABRIC_ROUTED ? "routed" : "direct"));
    json_object_set_new(all, "totals",
                        json_pack("{s:I s:I s:I s:I s:i s:o}", "messages", (json_int_t)t->messages,
                                  "bytes", (json_int_t)t->bytes, "packets", (json_int_t)t->packets,
                                  "barriers", (json_int_t)t->barriers, "hops_max", (int)t->hops_max,
                                  "byte_hops", hops));
    json_object_set_new(all, "rounds", rounds);
    json_object_set_new(all, "candidates", explain_candidates_json(&x->candidates));
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

/* ---- for people ---- */

/* way_text writes the hops of a message in each dimension; ~ where half of it goes each way. */
static const char *way_text(char *text, size_t room, const struct td_topology *t,
                            const struct explain_step *e)
{
    size_t length = 0;
    for (uint32_t d = 0; d < t->dimensions; d++)
        if (e->tie[d] && e->sign == 0)
            length += (size_t)snprintf(text + length, room - length, "%s~%d", d ? "," : "",
                                       abs(e->offset[d]));
        else
            length += (size_t)snprintf(text + length, room - length,
                                       e->offset[d] ? "%s%+d" : "%s%d", d ? "," : "", e->offset[d]);
    return text;
}

static void barrier_line(FILE *out, const struct explain_alltoall *x, const struct explain_step *e)
{
    enum { SHOWN = 12 };
    fputs("    barrier   of ", out);
    if (e->among.count == x->group.slots) {
        fprintf(out, "all %u nodes\n", e->among.count);
        return;
    }
    fprintf(out, "%u nodes along dimension %u:", e->among.count, e->dimension);
    for (uint32_t i = 0; i < e->among.count && (i < SHOWN || x->machine.all); i++)
        fprintf(out, " %u", x->group.node[e->among.first + i * e->among.stride]);
    fputs(e->among.count > SHOWN && !x->machine.all ? " ...\n" : "\n", out);
}

static void send_line(FILE *out, const struct explain_alltoall *x, const struct explain_step *e)
{
    char place[80], way[80], size[32];
    fprintf(out, "    %-9s to node %-14s %9s in %llu packet%s, %u hop%s",
            way_text(way, sizeof way, &x->machine.topology, e),
            explain_place(place, sizeof place, &x->machine.topology, e->to),
            td_quantity_print(e->bytes, size, sizeof size), (unsigned long long)e->packets,
            e->packets == 1 ? "" : "s", e->hops, e->hops == 1 ? "" : "s");
    if (e->gap)
        fprintf(out, ", a gap of %u slot%s after each", e->gap, e->gap == 1 ? "" : "s");
    fputc('\n', out);
}

/* struct writer: the sections of a round. Equal sections with the same heading are printed once. */
struct writer {
    const struct explain_alltoall *x;
    FILE *out;
    uint32_t phase, dimension, turn;
    bool open;
    unsigned lines, sections;
    FILE *body;
    char *text, *before;
    size_t size;
    char heading[160], heading_before[160];
    unsigned same, hidden;
    struct explain_step between[TD_DIMENSIONS_MAX];
    unsigned betweens;
};

static void say_same(struct writer *w)
{
    if (w->same)
        fprintf(w->out, "    %u more turn%s like this\n", w->same, w->same == 1 ? "" : "s");
    w->same = 0;
}

static void close_section(struct writer *w)
{
    if (!w->open)
        return;
    w->open = false;
    if (!w->x->machine.all && w->lines > LINES)
        fprintf(w->body, "    and %u more\n", w->lines - LINES);
    fclose(w->body);
    bool again =
        strcmp(w->heading, w->heading_before) == 0 && w->before && strcmp(w->text, w->before) == 0;
    if (again) {
        w->same++;
    } else {
        say_same(w);
        if (!w->x->machine.all && w->sections >= SECTIONS)
            w->hidden++;
        else
            fprintf(w->out, "  %s\n%s", w->heading, w->text);
        w->sections++;
    }
    free(w->before);
    w->before = w->text;
    w->text = NULL;
    snprintf(w->heading_before, sizeof w->heading_before, "%s", w->heading);
}

static void name_section(struct writer *w, const struct explain_step *e)
{
    const struct explain_plan *plan = &w->x->plan;
    size_t room = sizeof w->heading;
    switch (plan->method) {
    case TD_ALLTOALL_PHASED:
        if (e->dimension == EXPLAIN_SEVERAL || w->x->machine.settings.tuning.barriers_of_all)
            snprintf(w->heading, room, "phase %u of %u", e->phase + 1, plan->phases);
        else
            snprintf(w->heading, room, "phase %u of %u, dimension %u: part %u of %u", e->phase + 1,
                     plan->phases, e->dimension, e->part + 1, plan->parts);
        return;
    case TD_ALLTOALL_TWO_PHASE:
        snprintf(w->heading, room,
                 e->ring ? "phase 1: along the ring to relays, one turn"
                         : "phase 2: as a relay, to the nodes of the plane");
        return;
    case TD_ALLTOALL_PAIRWISE:
        snprintf(w->heading, room, "one partner after the other");
        return;
    case TD_ALLTOALL_AUTO:
    case TD_ALLTOALL_RANDOM:
    case TD_ALLTOALLS:
        snprintf(w->heading, room, "in random order");
        return;
    }
}

static void write_step(void *me, const struct explain_step *e)
{
    struct writer *w = me;
    bool lockstep =
        w->x->machine.settings.tuning.barriers_of_all; /* all dimensions are in one section */
    if (e->between) {
        w->between[w->betweens++] = *e;
        return;
    }
    bool phased = w->x->plan.method == TD_ALLTOALL_PHASED && !lockstep;
    uint32_t dimension = phased ? e->dimension : 0;
    if (w->open && (e->phase != w->phase || e->turn != w->turn || dimension != w->dimension))
        close_section(w);
    if (!w->open) {
        w->body = open_memstream(&w->text, &w->size);
        if (!w->body)
            return;
        w->open = true;
        w->lines = 0;
        w->phase = e->phase;
        w->turn = e->turn;
        w->dimension = dimension;
        name_section(w, e);
    }
    if (w->lines++ >= LINES && !w->x->machine.all)
        return;
    if (e->barrier)
        barrier_line(w->body, w->x, e);
    else
        send_line(w->body, w->x, e);
}

/* round_text writes a round. The barriers after it stay in *w. */
static char *round_text(const struct explain_alltoall *x, uint64_t round, struct writer *w)
{
    char *text = NULL;
    size_t size = 0;
    *w = (struct writer){.x = x, .out = open_memstream(&text, &size)};
    if (!w->out)
        return NULL;
    explain_round(&x->plan, round, write_step, w);
    close_section(w);
    say_same(w);
    if (w->hidden)
        fprintf(w->out, "  %u more sections; --all shows them\n", w->hidden);
    free(w->before);
    fclose(w->out);
    return text;
}

static void print_rounds(const struct explain_alltoall *x)
{
    struct writer first, last;
    const char *name = x->plan.method == TD_ALLTOALL_RANDOM ? "round" : "segment";
    unsigned long long rounds = x->plan.rounds;
    char *a = round_text(x, 0, &first), *b = round_text(x, x->plan.rounds - 1, &last);
    if (rounds > 1)
        printf("\n%s 1 of %llu\n", name, rounds);
    else
        putchar('\n');
    fputs(a ? a : "", stdout);
    for (unsigned i = 0; i < first.betweens; i++) {
        if (i == 0)
            puts("  before the next segment");
        barrier_line(stdout, x, &first.between[i]);
    }
    bool alike = a && b && strcmp(a, b) == 0;
    unsigned long long more = rounds - (alike ? 1 : 2);
    if (rounds > 1 && more)
        printf("\n%llu more %s%s like this\n", more, name, more == 1 ? "" : "s");
    if (rounds > 1 && !alike)
        printf("\n%s %llu of %llu\n%s", name, rounds, rounds, b ? b : "");
    free(a);
    free(b);
}

/* struct picture: the text at each node. */
struct picture {
    const struct explain_alltoall *x;
    uint32_t *number; /* [nodes] 0: this node sends nothing there itself */
    uint32_t next;
};

static void draw(void *me, const struct explain_step *e)
{
    struct picture *p = me;
    if (e->barrier || p->number[e->to])
        return;
    p->number[e->to] = p->x->plan.method == TD_ALLTOALL_PHASED ? e->hops : ++p->next;
}

/* print_picture draws the plane of the node in the last two dimensions. */
static void print_picture(const struct explain_alltoall *x)
{
    const struct td_topology *t = &x->machine.topology;
    uint32_t across = t->dimensions - 1, place[TD_DIMENSIONS_MAX];
    uint32_t rows = across ? t->size[across - 1] : 1, columns = t->size[across];
    struct picture p = {.x = x, .number = calloc(t->nodes, sizeof *p.number)};
    bool phased = x->plan.method == TD_ALLTOALL_PHASED;
    if (!p.number || rows > PICTURE_MAX || columns > PICTURE_MAX || t->nodes == 1) {
        free(p.number);
        return;
    }
    explain_round(&x->plan, 0, draw, &p);
    printf("\n%s: the nodes it sends to, by %s%s\n",
           t->dimensions > 2 ? "The node's plane of the last two dimensions" : "The machine",
           phased ? "hop count" : "turn",
           phased || x->plan.method == TD_ALLTOALL_TWO_PHASE ? "; . is reached by relays" : "");
    td_topology_coordinates(t, x->machine.node, place);
    for (uint32_t row = 0; row < rows; row++) {
        fputs("   ", stdout);
        for (uint32_t column = 0; column < columns; column++) {
            if (across)
                place[across - 1] = row;
            place[across] = column;
            uint32_t node = td_topology_node(t, place);
            if (node == x->machine.node)
                fputs("    *", stdout);
            else if (p.number[node])
                printf(" %4u", p.number[node]);
            else
                fputs("    .", stdout);
        }
        putchar('\n');
    }
    free(p.number);
}

static void print_head(const struct explain_alltoall *x)
{
    char shape[64], place[80], size[32], packet[32], sent[32], kept[32], time[80];
    const struct explain_totals *t = &x->totals;
    bool routed = x->machine.settings.tuning.fabric == TD_FABRIC_ROUTED;
    td_topology_print(&x->machine.topology, shape, sizeof shape);
    printf("All-to-all on %s, %s fabric: %s from each node to each other, packets of %s\n", shape,
           routed ? "routed" : "direct", td_quantity_print(x->call.count, size, sizeof size),
           td_quantity_print(x->machine.settings.packet_bytes, packet, sizeof packet));
    printf("  method     %s\n", x->reason);
    printf("  phases     %u", x->plan.phases);
    if (x->plan.method == TD_ALLTOALL_PHASED)
        printf(", the data in %u part%s that rotate%s through the dimensions", x->plan.parts,
               x->plan.parts == 1 ? "" : "s", x->plan.parts == 1 ? "s" : "");
    printf(
        "\n  node %-5s sends %llu messages, %s in %llu packets, at most %u hops; %llu barriers\n",
        explain_place(place, sizeof place, &x->machine.topology, x->machine.node),
        (unsigned long long)t->messages, td_quantity_print(t->bytes, sent, sizeof sent),
        (unsigned long long)t->packets, t->hops_max, (unsigned long long)t->barriers);
    if (x->program.scratch_bytes)
        printf("  relay      %s of the node's memory\n",
               td_quantity_print((uint64_t)x->program.scratch_bytes, kept, sizeof kept));
    for (uint32_t d = 0; d < x->machine.topology.dimensions; d++)
        printf("  dimension %u  %.6g slots of its links for the packets of this node\n", d,
               (double)t->byte_hops[d] / x->machine.settings.packet_bytes);
    if (routed)
        printf("  T_min      %.6g slots, at one packet per slot and link\n", x->bound);
    else
        puts("  T_min      none for the direct fabric");
    if (x->predicted <= 0)
        return;
    printf("  predicted  %s%.6g slots",
           routed && x->plan.method == TD_ALLTOALL_PAIRWISE ? "at least " : "", x->predicted);
    if (routed)
        printf(", %.0f %% of the lower bound's rate", 100 * x->bound / x->predicted);
    puts(explain_time(time, sizeof time, &x->machine, x->predicted));
}

void explain_alltoall_print(const struct explain_alltoall *x)
{
    print_head(x);
    explain_candidates_print(&x->candidates);
    print_picture(x);
    print_rounds(x);
}
