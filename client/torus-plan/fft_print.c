/* SPDX-License-Identifier: Apache-2.0 */
#include "fft_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/fft/real_split.h"
#include "model/program.h"
#include "base/quantity.h"
#include "fft_text.h"
#include "tool/fft_names.h"

enum { GRIDS_SHOWN = 8, PEERS_SHOWN = 6, TEXT = 64, NAMES = 200 };

static bool is_routed(const struct explain_fft *x)
{
    return x->machine.settings.tuning.fabric == TD_FABRIC_ROUTED;
}

/* sizes_text writes 128x128x65. */
static const char *sizes_text(const struct td_layout *l, char *text, size_t size)
{
    size_t at = 0;
    for (uint32_t d = 0; d < l->dimensions && at < size; d++)
        at += (size_t)snprintf(text + at, size - at, "%s%llu", d ? "x" : "",
                               (unsigned long long)l->size[d]);
    return text;
}

/* place_text names the place of an array. */
static const char *place_text(const struct td_array *a)
{
    if (a->space == TD_SPACE_SOURCE)
        return "the ranks' input";
    return a->space == TD_SPACE_DESTINATION ? "the ranks' output" : "scratch";
}

static const char *number_text(double n, char *text, size_t size)
{
    static const char *const units[] = {"", " thousand", " million", "e9", "e12", "e15"};
    unsigned unit = 0;
    for (; n >= 1000 && unit < 5; unit++)
        n /= 1000;
    snprintf(text, size, "%.3g%s", n, units[unit]);
    return text;
}

/* ---- for people ---- */

static void print_kinds(const struct td_fft *f)
{
    for (uint32_t d = 0; d < f->dimensions; d++)
        printf("%s%s", d ? ", " : "", fft_kind_name(f->transform[d]));
}

static void print_head(const struct explain_fft *x)
{
    char shape[64], sizes[NAMES], packet[32], all[32], scratch[32], place[80];
    const struct td_layout *before = &x->plan->from;
    const uint64_t element = x->plan->element[0];
    uint64_t elements = 1;
    for (uint32_t d = 0; d < before->dimensions; d++)
        elements *= before->size[d];
    td_topology_print(&x->machine.topology, shape, sizeof shape);
    printf("Transform of %s on %s, %s fabric: %u rank%s, %u per node, packets of %s\n",
           sizes_text(before, sizes, sizeof sizes), shape, is_routed(x) ? "routed" : "direct",
           x->group.size, explain_plural(x->group.size), x->ranks_per_node,
           td_quantity_print(x->machine.settings.packet_bytes, packet, sizeof packet));
    printf("  array      %llu elements of %llu bytes, %s; along its axes ",
           (unsigned long long)elements, (unsigned long long)element,
           td_quantity_print(elements * element, all, sizeof all));
    print_kinds(&x->plan->fft);
    printf("\n  grid       %s: %s\n", explain_grid_text(&x->chosen, sizes, sizeof sizes),
           x->reason);
    printf("  program    %s\n", x->rows ? "fft_rows: both moves together, chunk by chunk of columns"
                                        : x->program.method->name);
    printf("  scratch    %s of node %s\n",
           td_quantity_print((uint64_t)x->scratch_bytes, scratch, sizeof scratch),
           explain_place(place, sizeof place, &x->machine.topology, x->machine.node));
}

static bool is_chosen(const struct explain_fft *x, const struct explain_grid *grid)
{
    return grid->factors == x->chosen.factors &&
           memcmp(grid->factor, x->chosen.factor, sizeof grid->factor) == 0;
}

static void print_grids(const struct explain_fft *x)
{
    char text[80];
    unsigned shown = 0;
    if (x->grids < 2)
        return;
    printf("\n%-20s %6s%s\n", "Grids of nodes", "moves",
           is_routed(x) ? "        T_min    predicted  slots" : "");
    for (unsigned i = 0; i < x->grids; i++) {
        const struct explain_grid *g = &x->grid[i];
        if (shown >= GRIDS_SHOWN && !x->machine.all && !is_chosen(x, g))
            continue;
        shown++;
        printf("%c %-18s %6u", is_chosen(x, g) ? '*' : ' ', explain_grid_text(g, text, sizeof text),
               g->moves);
        if (is_routed(x))
            printf(" %12.6g %12.6g", g->bound, g->predicted);
        putchar('\n');
    }
    if (shown < x->grids)
        printf("  and %u more; --all shows them\n", x->grids - shown);
}

static void print_pass(const struct explain_fft *x, const struct explain_pass *e)
{
    char size[32], operations[32];
    const struct td_pass *p = e->pass;
    td_quantity_print(e->bytes, size, sizeof size);
    if (td_real_split_is(p))
        printf("%s between the spectra of %llu real numbers and of their complex pairs: %llu "
               "point%s, %s",
               fft_pass_name(p->kind), (unsigned long long)p->length, (unsigned long long)e->lines,
               explain_plural(e->lines), size);
    else
        printf("transform axis %u, %s of %llu points: %llu line%s, %s", p->axis,
               fft_pass_name(p->kind), (unsigned long long)p->length, (unsigned long long)e->lines,
               explain_plural(e->lines), size);
    printf(", %s operations\n", number_text(e->operations, operations, sizeof operations));
    if (p->from == p->to)
        printf("     in place in %s", place_text(p->from));
    else
        printf("     from %s to %s", place_text(p->from), place_text(p->to));
    if (!x->rows && p->chunks > 1)
        printf(", in %llu chunks of %llu along axis %u", (unsigned long long)p->chunks,
               (unsigned long long)p->lines, p->along);
    if (p->twiddle)
        printf(", times twiddle factors");
    puts(p->factor < 1 || p->factor > 1 ? ", times the scale" : "");
}

/* next_pass returns the pass directly after a move, or NULL. */
static const struct td_pass *next_pass(const struct td_transform_plan *s,
                                       const struct td_array_move *m)
{
    for (unsigned i = 0; i + 1 < s->phases; i++)
        if (s->phase[i].moves && &s->move[s->phase[i].index] == m && !s->phase[i + 1].moves)
            return &s->pass[s->phase[i + 1].index];
    return NULL;
}

/* chases returns true if the pass after a move begins with the first complete chunk. */
static bool chases(const struct td_transform_plan *s, const struct td_array_move *m)
{
    const struct td_pass *p = next_pass(s, m);
    return p && !m->relay && m->alike && m->chunks > 1 && m->along == p->along &&
           m->chunks == p->chunks && m->lines == p->lines && p->along != p->axis;
}

static void print_chunks(const struct explain_fft *x, const struct td_array_move *m)
{
    const struct td_transform_plan *s = x->plan->transform_plan;
    const char *next = next_pass(s, m) ? "the next transform begins" : "it ends";
    if (x->rows)
        return;
    if (m->relay)
        printf("     chunks     none: relays forward only whole segments;\n");
    else if (m->chunks > 1)
        printf("     chunks     %llu, each sent as soon as it is transformed; %d sends in flight "
               "at a time;\n",
               (unsigned long long)m->chunks, TD_STEPS_AHEAD);
    else
        printf("     chunks     one; %d sends in flight at a time;\n", TD_STEPS_AHEAD);
    printf("                %s when %s\n", next,
           chases(s, m) ? "its first chunk is complete" : "all data has arrived");
}

/* print_others prints the predictions of the other methods. */
static void print_others(const struct explain_move *e)
{
    bool some = false;
    for (enum td_alltoall a = TD_ALLTOALL_RANDOM; a < TD_ALLTOALLS; a++)
        if (a != e->method && e->by[a] > 0) {
            printf("%s%s %.6g", some ? ", " : "\n     others     ", td_alltoall_name(a), e->by[a]);
            some = true;
        }
    if (some)
        fputs(" predicted", stdout);
}

static void print_links(const struct explain_fft *x, const struct explain_move *e)
{
    char place[80];
    double packet = x->machine.settings.packet_bytes;
    if (!is_routed(x) || e->bound <= 0)
        return;
    printf("     T_min      %.6g slots", e->bound);
    if (e->predicted > 0)
        printf(", predicted %.6g, %.0f %% of the lower bound's rate", e->predicted,
               100 * e->bound / e->predicted);
    print_others(e);
    printf("\n     links      its packets take ");
    for (uint32_t d = 0; d < x->machine.topology.dimensions; d++)
        printf("%s%.6g", d ? ", " : "", (double)e->traffic.byte_hops[d] / packet);
    printf(" slots, one figure per dimension; the busiest link takes\n                %.6g slots, "
           "from "
           "node %s in direction %u%s, with dimension-ordered routes\n",
           e->busiest.slots,
           explain_place(place, sizeof place, &x->machine.topology, e->busiest.node),
           e->busiest.dimension, e->busiest.sign > 0 ? "+" : "-");
}

/* why_method relates the method to the requested one. */
static const char *why_method(const struct explain_fft *x, const struct explain_move *e)
{
    static char text[100];
    enum td_alltoall asked = (enum td_alltoall)x->plan->fft.method;
    if (asked == TD_ALLTOALL_AUTO)
        return "";
    if (asked == e->method)
        return ", as requested";
    snprintf(text, sizeof text, ", because %s needs boxes of nodes of one shape",
             td_alltoall_name(asked));
    return text;
}

static void print_move(const struct explain_fft *x, const struct explain_move *e)
{
    char text[TEXT], sent[32], stays[32];
    const struct td_array_move *m = e->move;
    const struct explain_flow *flow = &e->traffic.sent;
    printf("move to %s%s, in %s", explain_array_text(m->to, text, sizeof text),
           m->to->of_nodes ? " (by node)" : "", place_text(m->to));
    printf(" (from %s%s)\n", explain_array_text(m->from, text, sizeof text),
           m->from->of_nodes ? " (by node)" : "");
    if (m->from->space == TD_SPACE_SOURCE)
        puts("     the first redistribution, from the application's layout");
    if (m->to->space == TD_SPACE_DESTINATION)
        puts("     the last redistribution, to the requested layout");
    printf("     method     %s%s", td_alltoall_name(e->method), why_method(x, e));
    if (e->among > 1)
        printf(", among %u nodes that exchange data\n", e->among);
    else
        puts("; this node exchanges no data with others");
    printf("     this node  sends %s to %u node%s in %llu message%s and %llu packet%s, at most %u "
           "hop%s; %s stay\n",
           td_quantity_print(flow->bytes, sent, sizeof sent), flow->peers,
           explain_plural(flow->peers), (unsigned long long)flow->messages,
           explain_plural(flow->messages), (unsigned long long)flow->packets,
           explain_plural(flow->packets), e->traffic.hops_max, explain_plural(e->traffic.hops_max),
           td_quantity_print(e->stays, stays, sizeof stays));
    print_links(x, e);
    print_chunks(x, m);
    explain_flow_print(&x->machine, &x->program, flow, "     to", PEERS_SHOWN);
}

static void print_totals(const struct explain_fft *x)
{
    char a[40], b[40];
    struct explain_fft_totals t = explain_fft_total(x);
    puts("\nTotal");
    if (x->moves == 0)
        puts("  moves      none");
    else if (is_routed(x))
        printf("  moves      %.6g slots predicted; T_min %.6g in sequence, %.6g together\n",
               t.predicted, t.bound, x->together);
    else
        puts("  moves      no prediction for the direct fabric");
    printf("  arithmetic %s operations (5 N log2 N), %s on the busiest node\n",
           number_text(t.operations_all, a, sizeof a), number_text(t.operations_most, b, sizeof b));
    if (t.moves_s > 0)
        printf("  moves      %s at the links' rate\n",
               explain_seconds_text(t.moves_s, a, sizeof a));
    if (t.passes_s > 0)
        printf("  arithmetic %s at the node's\n", explain_seconds_text(t.passes_s, a, sizeof a));
    if (t.moves_s > 0 && t.passes_s > 0)
        printf("  time       %s, of which chunks hide up to %s\n",
               explain_seconds_text(t.moves_s + t.passes_s, a, sizeof a),
               explain_seconds_text(t.moves_s < t.passes_s ? t.moves_s : t.passes_s, b, sizeof b));
}

void explain_fft_print(const struct explain_fft *x)
{
    char text[TEXT];
    const struct td_transform_plan *s = x->plan->transform_plan;
    print_head(x);
    explain_candidates_print(&x->candidates);
    print_grids(x);
    printf("\nStages, from %s\n", explain_array_text(&s->array[0], text, sizeof text));
    for (unsigned i = 0; i < s->phases; i++) {
        printf("  %u. ", i + 1);
        if (s->phase[i].moves)
            print_move(x, &x->move[s->phase[i].index]);
        else
            print_pass(x, &x->pass[s->phase[i].index]);
    }
    print_totals(x);
}

/* ---- for machines ---- */

static json_t *grid_json(const struct explain_grid *g)
{
    json_t *list = json_array();
    for (uint32_t f = 0; f < g->factors; f++)
        json_array_append_new(list, json_integer(g->factor[f]));
    return list;
}

static json_t *slots_json(double slots)
{
    return slots > 0 ? json_real(slots) : json_null();
}

static json_t *grids_json(const struct explain_fft *x)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < x->grids; i++)
        json_array_append_new(
            list, json_pack("{s:o s:i s:b s:o s:o}", "grid", grid_json(&x->grid[i]), "moves",
                            (int)x->grid[i].moves, "chosen", is_chosen(x, &x->grid[i]),
                            "t_min_slots", slots_json(x->grid[i].bound), "predicted_slots",
                            slots_json(x->grid[i].predicted)));
    return list;
}

static json_t *array_json(const struct td_array *a)
{
    char sizes[NAMES];
    size_t room = explain_array_size(a);
    char *text = malloc(room);
    json_t *o =
        json_pack("{s:s s:s s:s s:b s:I}", "layout", text ? explain_array_text(a, text, room) : "",
                  "elements", sizes_text(&a->layout, sizes, sizeof sizes), "place", place_text(a),
                  "of_nodes", a->of_nodes, "element_bytes", (json_int_t)a->element);
    free(text);
    return o;
}

static json_t *pass_json(const struct explain_pass *e)
{
    const struct td_pass *p = e->pass;
    return json_pack("{s:s s:i s:s s:I s:I s:I s:I s:I s:i s:f s:f s:o s:o}", "stage", "transform",
                     "axis", (int)p->axis, "kind", fft_pass_name(p->kind), "points",
                     (json_int_t)p->length, "lines", (json_int_t)e->lines, "lines_most",
                     (json_int_t)e->lines_most, "bytes", (json_int_t)e->bytes, "chunks",
                     (json_int_t)p->chunks, "along", (int)p->along, "operations", e->operations,
                     "operations_all", e->operations_all, "from", array_json(p->from), "to",
                     array_json(p->to));
}

static json_t *move_json(const struct explain_fft *x, const struct explain_move *e)
{
    const struct td_array_move *m = e->move;
    json_t *hops = json_array();
    for (uint32_t d = 0; d < x->machine.topology.dimensions; d++)
        json_array_append_new(hops, json_integer((json_int_t)e->traffic.byte_hops[d]));
    json_t *o = json_pack(
        "{s:s s:s s:i s:I s:I s:I s:I s:i s:I s:b s:o s:o s:o s:o}", "stage", "move", "method",
        td_alltoall_name(e->method), "among", (int)e->among, "bytes",
        (json_int_t)e->traffic.sent.bytes, "messages", (json_int_t)e->traffic.sent.messages,
        "packets", (json_int_t)e->traffic.sent.packets, "stays", (json_int_t)e->stays, "hops_max",
        (int)e->traffic.hops_max, "chunks", (json_int_t)m->chunks, "next_begins_with_first_chunk",
        chases(x->plan->transform_plan, m), "byte_hops", hops, "from", array_json(m->from), "to",
        array_json(m->to), "sends", explain_flow_json(&x->machine, &x->program, &e->traffic.sent));
    json_object_set_new(o, "receives",
                        explain_flow_json(&x->machine, &x->program, &e->traffic.received));
    json_object_set_new(o, "t_min_slots", slots_json(e->bound));
    json_object_set_new(o, "predicted_slots", slots_json(e->predicted));
    json_t *by = json_object();
    for (enum td_alltoall a = TD_ALLTOALL_RANDOM; a < TD_ALLTOALLS; a++)
        json_object_set_new(by, td_alltoall_name(a), slots_json(e->by[a]));
    json_object_set_new(o, "predicted_slots_by_method", by);
    json_object_set_new(o, "busiest_link",
                        e->busiest.slots > 0
                            ? json_pack("{s:i s:i s:i s:f}", "node", (int)e->busiest.node,
                                        "dimension", (int)e->busiest.dimension, "sign",
                                        e->busiest.sign, "slots", e->busiest.slots)
                            : json_null());
    return o;
}

void explain_fft_json(const struct explain_fft *x)
{
    char shape[64], sizes[NAMES];
    const struct td_transform_plan *s = x->plan->transform_plan;
    struct explain_fft_totals t = explain_fft_total(x);
    json_t *stages = json_array(), *kinds = json_array();
    for (unsigned i = 0; i < s->phases; i++)
        json_array_append_new(stages, s->phase[i].moves ? move_json(x, &x->move[s->phase[i].index])
                                                        : pass_json(&x->pass[s->phase[i].index]));
    for (uint32_t d = 0; d < x->plan->fft.dimensions; d++)
        json_array_append_new(kinds, json_string(fft_kind_name(x->plan->fft.transform[d])));
    td_topology_print(&x->machine.topology, shape, sizeof shape);
    json_t *all = json_pack(
        "{s:i s:s s:s s:s s:i s:i s:s s:o s:s s:i s:o s:s s:o s:I s:o}", "version", 1, "operation",
        "fft", "shape", shape, "fabric", is_routed(x) ? "routed" : "direct", "ranks",
        (int)x->group.size, "packet", (int)x->machine.settings.packet_bytes, "elements",
        sizes_text(&x->plan->from, sizes, sizeof sizes), "kinds", kinds, "program",
        x->rows ? "fft_rows" : x->program.method->name, "node", (int)x->machine.node, "coordinates",
        explain_coordinates(&x->machine.topology, x->machine.node), "reason", x->reason, "grid",
        grid_json(&x->chosen), "scratch_bytes", (json_int_t)x->scratch_bytes, "grids",
        grids_json(x));
    json_object_set_new(all, "candidates", explain_candidates_json(&x->candidates));
    json_object_set_new(all, "stages", stages);
    json_object_set_new(all, "totals",
                        json_pack("{s:o s:o s:o s:f s:f s:o s:o}", "t_min_slots",
                                  slots_json(t.bound), "t_min_at_once_slots",
                                  slots_json(x->together), "predicted_slots",
                                  slots_json(t.predicted), "operations", t.operations_all,
                                  "operations_most", t.operations_most, "moves_s",
                                  slots_json(t.moves_s), "arithmetic_s", slots_json(t.passes_s)));
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}
