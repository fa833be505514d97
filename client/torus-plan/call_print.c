/* SPDX-License-Identifier: Apache-2.0 */
#include "call_print.h"

#include <stdio.h>

#include "base/quantity.h"
#include "model/program.h"

enum { PEERS_SHOWN = 12 };

static const char *method_name(const struct explain_call *q)
{
    enum td_alltoall method = td_method_alltoall(q->program.method);
    return method == TD_ALLTOALL_AUTO ? q->program.method->name : td_alltoall_name(method);
}

static const char *const rides[] = {
    [TD_RIDE_NONE] = "none",          [TD_RIDE_EMPTY] = "nothing",   [TD_RIDE_COMBINE] = "combined",
    [TD_RIDE_ROOT] = "from the root", [TD_RIDE_GATHER] = "gathered", [TD_RIDE_SHARES] = "gathered",
    [TD_RIDE_BLOCKS] = "exchanged"};

/* ---- for machines ---- */

static json_t *families_json(const struct explain_call *q)
{
    json_t *list = json_array();
    for (unsigned f = 0; f < q->program.families; f++) {
        const struct td_family *family = &q->program.family[f];
        json_t *after = json_array();
        for (unsigned d = 0; d < family->dependencies; d++)
            json_array_append_new(after, json_integer(family->dependency[d].on));
        json_array_append_new(
            list,
            json_pack("{s:s s:I s:s s:I s:o}", "kind", td_step_kind_name(family->kind), "count",
                      (json_int_t)family->count, "label", family->label ? family->label : "",
                      "bytes", (json_int_t)q->traffic.family_bytes[f], "after", after));
    }
    return list;
}

static json_t *gate_json(const struct explain_call *q)
{
    uint32_t child[TD_TREE_CHILDREN_MAX], slot = q->program.slot;
    uint32_t children = td_tree_children(&q->tree, slot, child);
    json_t *list = json_array();
    for (uint32_t i = 0; i < children; i++)
        json_array_append_new(list, json_integer(q->group.node[child[i]]));
    bool root = slot == q->tree.root;
    return json_pack("{s:i s:o s:o s:i s:s s:I}", "root", (int)q->group.node[q->tree.root],
                     "parent",
                     root ? json_null() : json_integer(q->group.node[q->tree.parent[slot]]),
                     "children", list, "hops", (int)q->tree.hops, "carries", rides[q->program.ride],
                     "bytes", (json_int_t)q->program.ride_bytes);
}

static json_t *totals_json(const struct explain_call *q)
{
    const struct explain_traffic *t = &q->traffic;
    json_t *hops = json_array();
    for (uint32_t d = 0; d < q->machine.topology.dimensions; d++)
        json_array_append_new(hops, json_integer((json_int_t)t->byte_hops[d]));
    return json_pack("{s:I s:I s:I s:I s:I s:i s:o}", "messages", (json_int_t)t->sent.messages,
                     "bytes", (json_int_t)t->sent.bytes, "packets", (json_int_t)t->sent.packets,
                     "received_bytes", (json_int_t)t->received.bytes, "barriers",
                     (json_int_t)t->barriers, "hops_max", (int)t->hops_max, "byte_hops", hops);
}

void explain_call_json(const struct explain_call *q)
{
    char shape[64], call[160];
    const struct td_topology *t = &q->machine.topology;
    td_topology_print(t, shape, sizeof shape);
    td_call_print(&q->call, call, sizeof call);
    json_t *all = json_pack(
        "{s:i s:s s:s s:s s:s s:i s:i s:s s:s s:I s:i s:I s:i s:o s:I s:f}", "version", 1,
        "operation", td_kind_name(q->call.kind), "call", call, "shape", shape, "fabric",
        q->machine.settings.tuning.fabric == TD_FABRIC_ROUTED ? "routed" : "direct", "ranks",
        (int)q->size, "ranks_per_node", (int)q->ranks_per_node, "method", method_name(q), "reason",
        q->reason, "bytes", (json_int_t)q->bytes, "packet", (int)q->machine.settings.packet_bytes,
        "seed", (json_int_t)q->machine.seed, "node", (int)q->machine.node, "coordinates",
        explain_coordinates(t, q->machine.node), "relay_bytes",
        (json_int_t)q->program.scratch_bytes, "t_min_slots", q->bound);
    double predicted = explain_candidates_predicted(&q->candidates);
    json_object_set_new(all, "predicted_slots", predicted > 0 ? json_real(predicted) : json_null());
    json_object_set_new(all, "predicted_seconds", explain_seconds(&q->machine, predicted));
    json_object_set_new(all, "gate", gate_json(q));
    json_object_set_new(all, "totals", totals_json(q));
    json_object_set_new(all, "busiest_link",
                        q->busiest.bytes
                            ? json_pack("{s:i s:i s:i s:I}", "node", (int)q->busiest.node,
                                        "dimension", (int)q->busiest.dimension, "sign",
                                        q->busiest.sign, "bytes", (json_int_t)q->busiest.bytes)
                            : json_null());
    json_object_set_new(all, "candidates", explain_candidates_json(&q->candidates));
    json_object_set_new(all, "families", families_json(q));
    json_object_set_new(all, "sends",
                        explain_flow_json(&q->machine, &q->program, &q->traffic.sent));
    json_object_set_new(all, "receives",
                        explain_flow_json(&q->machine, &q->program, &q->traffic.received));
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

/* ---- for people ---- */

static void print_gate(const struct explain_call *q)
{
    char place[80], size[32];
    uint32_t child[TD_TREE_CHILDREN_MAX], slot = q->program.slot;
    uint32_t children = td_tree_children(&q->tree, slot, child);
    printf("  gate       ");
    for (uint32_t i = 0; i < children; i++)
        printf("%s%s", i ? ", " : "from nodes ",
               explain_place(place, sizeof place, &q->machine.topology, q->group.node[child[i]]));
    if (slot == q->tree.root)
        printf("%sthis node is the root of the tree", children ? "; " : "");
    else
        printf("%sto node %s", children ? "; " : "",
               explain_place(place, sizeof place, &q->machine.topology,
                             q->group.node[q->tree.parent[slot]]));
    printf("; the tree is %u hop%s deep\n", q->tree.hops, explain_plural(q->tree.hops));
    if (q->program.ride > TD_RIDE_EMPTY)
        printf("  payload    %s travel with the gate: %s\n",
               td_quantity_print((uint64_t)q->program.ride_bytes, size, sizeof size),
               rides[q->program.ride]);
}

static void print_links(const struct explain_call *q)
{
    char place[80], size[32];
    const struct explain_busiest *l = &q->busiest;
    double packet = q->machine.settings.packet_bytes;
    for (uint32_t d = 0; d < q->machine.topology.dimensions && q->traffic.sent.bytes; d++)
        printf("  dimension %u  %.6g slots of its links for the packets of this node\n", d,
               (double)q->traffic.byte_hops[d] / packet);
    if (l->bytes)
        printf("  busiest    %s, %.6g slots, on the link of node %s in direction %u%s,\n           "
               "  with dimension-ordered routes\n",
               td_quantity_print(l->bytes, size, sizeof size), (double)l->bytes / packet,
               explain_place(place, sizeof place, &q->machine.topology, l->node), l->dimension,
               l->sign > 0 ? "+" : "-");
}

static void print_totals(const struct explain_call *q)
{
    char place[80], sent[32], received[32];
    const struct explain_traffic *t = &q->traffic;
    printf("  node %-5s sends %llu message%s, %s in %llu packet%s, at most %u hop%s;\n             "
           "receives %llu message%s, %s; %llu barrier%s\n",
           explain_place(place, sizeof place, &q->machine.topology, q->machine.node),
           (unsigned long long)t->sent.messages, explain_plural(t->sent.messages),
           td_quantity_print(t->sent.bytes, sent, sizeof sent), (unsigned long long)t->sent.packets,
           explain_plural(t->sent.packets), t->hops_max, explain_plural(t->hops_max),
           (unsigned long long)t->received.messages, explain_plural(t->received.messages),
           td_quantity_print(t->received.bytes, received, sizeof received),
           (unsigned long long)t->barriers, explain_plural(t->barriers));
}

static void print_head(const struct explain_call *q)
{
    char shape[64], call[160], packet[32], kept[32], time[80];
    bool routed = q->machine.settings.tuning.fabric == TD_FABRIC_ROUTED;
    td_topology_print(&q->machine.topology, shape, sizeof shape);
    td_call_print(&q->call, call, sizeof call);
    printf("%s on %s, %s fabric: %u rank%s, %u per node, packets of %s\n", call, shape,
           routed ? "routed" : "direct", q->size, explain_plural(q->size), q->ranks_per_node,
           td_quantity_print(q->machine.settings.packet_bytes, packet, sizeof packet));
    printf("  method     %s\n", q->reason);
    print_gate(q);
    print_totals(q);
    if (q->program.scratch_bytes)
        printf("  scratch    %s of the node's memory\n",
               td_quantity_print((uint64_t)q->program.scratch_bytes, kept, sizeof kept));
    print_links(q);
    if (routed)
        printf("  T_min      %.6g slots, at one packet per slot and link\n", q->bound);
    else
        puts("  T_min      none for the direct fabric");
    double predicted = explain_candidates_predicted(&q->candidates);
    if (predicted > 0)
        printf("  predicted  %.6g slots%s\n", predicted,
               explain_time(time, sizeof time, &q->machine, predicted));
}

static void print_families(const struct explain_call *q)
{
    char size[32];
    if (q->program.families)
        puts("\nSteps");
    for (unsigned f = 0; f < q->program.families; f++) {
        const struct td_family *family = &q->program.family[f];
        printf("  %2u %-9s %8llu  %-33s", f, td_step_kind_name(family->kind),
               (unsigned long long)family->count, family->label ? family->label : "");
        if (q->traffic.family_bytes[f])
            printf(" %10s", td_quantity_print(q->traffic.family_bytes[f], size, sizeof size));
        for (unsigned d = 0; d < family->dependencies; d++)
            printf("%s%u", d ? ", " : "  after ", family->dependency[d].on);
        putchar('\n');
    }
}

void explain_call_print(const struct explain_call *q)
{
    print_head(q);
    explain_candidates_print(&q->candidates);
    print_families(q);
    if (q->traffic.sent.peers)
        puts("\nSends");
    explain_flow_print(&q->machine, &q->program, &q->traffic.sent, "  to", PEERS_SHOWN);
    if (q->traffic.received.peers)
        puts("\nReceives");
    explain_flow_print(&q->machine, &q->program, &q->traffic.received, "  from", PEERS_SHOWN);
}
