/* SPDX-License-Identifier: Apache-2.0 */
#include "traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/group.h"
#include "base/quantity.h"
#include "steps.h"

/* struct tally: the index of each node in the list of one direction, plus 1; 0: not listed yet. */
struct tally {
    struct explain_flow *flow;
    uint32_t *place;
};

static bool tally_begin(struct tally *t, struct explain_flow *flow, uint32_t nodes)
{
    *t = (struct tally){.flow = flow, .place = calloc(nodes, sizeof *t->place)};
    flow->peer = calloc(nodes, sizeof *flow->peer);
    return t->place && flow->peer;
}

static void tally_add(struct tally *t, const struct td_step *step, unsigned family, uint64_t bytes,
                      uint64_t packet)
{
    struct explain_flow *flow = t->flow;
    uint32_t *place = &t->place[step->peer];
    if (*place == 0) {
        *place = ++flow->peers;
        flow->peer[*place - 1] =
            (struct explain_peer){.node = step->peer, .family = family, .sign = step->sign};
    }
    struct explain_peer *peer = &flow->peer[*place - 1];
    uint64_t packets = bytes / packet + (bytes % packet != 0);
    peer->messages++;
    peer->bytes += bytes;
    peer->packets += packets;
    flow->messages++;
    flow->bytes += bytes;
    flow->packets += packets;
}

static void measure(const struct td_program *p, uint32_t to, uint64_t bytes,
                    struct explain_traffic *traffic)
{
    uint32_t here = p->group->node[p->slot], hops = 0;
    for (uint32_t d = 0; d < p->topology->dimensions; d++) {
        uint32_t h = (uint32_t)abs(td_topology_offset(p->topology, here, to, d));
        traffic->byte_hops[d] += bytes * h;
        hops += h;
    }
    traffic->hops_max = hops > traffic->hops_max ? hops : traffic->hops_max;
}

bool explain_traffic_of(const struct td_program *p, struct explain_traffic *traffic)
{
    return explain_traffic_among(p, 0, p->families, traffic);
}

bool explain_traffic_among(const struct td_program *p, unsigned first, unsigned end,
                           struct explain_traffic *traffic)
{
    struct tally sent, received;
    *traffic = (struct explain_traffic){0};
    bool good = tally_begin(&sent, &traffic->sent, p->topology->nodes);
    good = tally_begin(&received, &traffic->received, p->topology->nodes) && good;
    for (unsigned f = first; good && f < end; f++) {
        enum td_step_kind kind = p->family[f].kind;
        bool moves = kind == TD_SEND || kind == TD_RECV;
        for (uint64_t i = 0; (moves || kind == TD_SYNC) && i < p->family[f].count; i++) {
            struct td_step step = {0};
            p->step_at(p, f, i, &step);
            uint64_t bytes = moves ? (uint64_t)td_step_bytes(&step) : 0;
            traffic->barriers += kind == TD_SYNC && step.among.count > 1;
            if (bytes == 0)
                continue;
            traffic->family_bytes[f] += bytes;
            tally_add(kind == TD_SEND ? &sent : &received, &step, f, bytes, p->tuning.packet_bytes);
            if (kind == TD_SEND)
                measure(p, step.peer, bytes, traffic);
        }
    }
    free(sent.place);
    free(received.place);
    return good;
}

void explain_traffic_free(struct explain_traffic *traffic)
{
    free(traffic->sent.peer);
    free(traffic->received.peer);
}

uint64_t explain_sends(const struct td_program *p)
{
    uint64_t sends = 0;
    for (unsigned f = 0; f < p->families; f++)
        sends += p->family[f].kind == TD_SEND ? p->family[f].count : 0;
    return sends;
}

void explain_load(const struct td_program *p, uint64_t *load2)
{
    for (unsigned f = 0; f < p->families; f++)
        for (uint64_t i = 0; p->family[f].kind == TD_SEND && i < p->family[f].count; i++) {
            struct td_step step = {0};
            p->step_at(p, f, i, &step);
            uint64_t bytes = (uint64_t)td_step_bytes(&step);
            if (bytes)
                explain_pass(p->topology, p->group->node[p->slot], step.peer, step.sign, bytes,
                             load2);
        }
}

/* ---- as it is written ---- */

void explain_flow_print(const struct explain_machine *m, const struct td_program *p,
                        const struct explain_flow *flow, const char *word, uint32_t shown)
{
    char place[80], size[32];
    for (uint32_t i = 0; i < flow->peers && (m->all || i < shown); i++) {
        const struct explain_peer *peer = &flow->peer[i];
        uint32_t hops = td_topology_distance(&m->topology, m->node, peer->node);
        printf("%s node %-14s %10s in %llu message%s and %llu packet%s, %u hop%s: %s\n", word,
               explain_place(place, sizeof place, &m->topology, peer->node),
               td_quantity_print(peer->bytes, size, sizeof size),
               (unsigned long long)peer->messages, explain_plural(peer->messages),
               (unsigned long long)peer->packets, explain_plural(peer->packets), hops,
               explain_plural(hops), p->family[peer->family].label);
    }
    if (flow->peers > shown && !m->all)
        printf("%*sand %u more node%s; --all shows them\n", (int)strspn(word, " "), "",
               flow->peers - shown, explain_plural(flow->peers - shown));
}

json_t *explain_flow_json(const struct explain_machine *m, const struct td_program *p,
                          const struct explain_flow *flow)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < flow->peers; i++) {
        const struct explain_peer *peer = &flow->peer[i];
        json_array_append_new(
            list,
            json_pack("{s:i s:o s:i s:I s:I s:I s:s}", "node", (int)peer->node, "coordinates",
                      explain_coordinates(&m->topology, peer->node), "hops",
                      (int)td_topology_distance(&m->topology, m->node, peer->node), "messages",
                      (json_int_t)peer->messages, "bytes", (json_int_t)peer->bytes, "packets",
                      (json_int_t)peer->packets, "label", p->family[peer->family].label));
    }
    return list;
}
