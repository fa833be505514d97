/* SPDX-License-Identifier: Apache-2.0 */
/* flow_check: torus-sim's packets against SimGrid's flows, two models with nothing in common.
 *
 * Every node sends one long message to another, for each of N - 1 shifts in turn, with a barrier
 * between shifts; minimal ways, dimension after dimension (the router's escape alone). Shifts are
 * by coordinates, (+a, +b, ...): all links of a dimension then carry equally many messages; or by
 * number, where they do not. Messages on a link share it evenly, so the time must be that of
 * SimGrid's max-min sharing on its TORUS cluster: within 2 % by coordinates. By number packets wait
 * for one another in a channel, as flows do not: within 5 % (on 5x5 0.9 to 4.0 % for messages of
 * 250 to 8000 packets, without a trend; 24 % when packets in transit do not go first). Odd sizes
 * only: SimGrid sends all of a tie one way.
 *
 *   flow_check SHAPE coordinates|number [PACKETS]   e.g. 3x5; SimGrid has one platform a process
 *
 * The simulator runs what td_select_compile makes of a call; the linker gives it the one below
 * (--wrap), which knows no call but this pattern. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <simgrid/actor.h>
#include <simgrid/barrier.h>
#include <simgrid/comm.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>

#include "torus-sim/measure.h"
#include "collectives/select.h"
#include "model/group.h"

enum { PACKETS = 1000, PACKETS_MAX = 1000000, PACKET_BYTES = 1024, NODES_MAX = 64 };
static const double APART_MAX = 0.02, APART_MAX_UNEVEN = 0.05;

static bool by_number;
static uint32_t packets_each = PACKETS; /* of a message */

/* shifted returns the node that shift s leads to, or comes from: s places on in the order of
 * numbers, or by the coordinates of node s. */
static uint32_t shifted(const struct td_topology *t, uint32_t node, uint32_t s, bool to)
{
    if (by_number)
        return (node + (to ? s : t->nodes - s)) % t->nodes;
    uint32_t place[TD_DIMENSIONS_MAX], by[TD_DIMENSIONS_MAX];
    td_topology_coordinates(t, node, place);
    td_topology_coordinates(t, s, by);
    for (uint32_t d = 0; d < t->dimensions; d++)
        place[d] = (place[d] + (to ? by[d] : t->size[d] - by[d])) % t->size[d];
    return td_topology_node(t, place);
}

/* ---- packets ---- */

enum { RECV, SEND, SYNC };

/* step_at: step i is shift i + 1. */
static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    int64_t bytes = (int64_t)p->call.count;
    *step = (struct td_step){.kind = p->family[family].kind};
    if (family == SYNC) {
        step->among = (struct td_among){0, p->group->slots, 1};
        return;
    }
    step->peer = shifted(p->topology, p->slot, (uint32_t)index + 1, family == SEND);
    if (family == SEND) {
        step->peer_family = RECV;
        step->peer_index = index;
        step->from = td_slice_at(TD_SPACE_SOURCE, 0, step->peer * bytes, bytes);
    } else {
        step->to = td_slice_at(TD_SPACE_DESTINATION, 0, step->peer * bytes, bytes);
        step->to_lanes = (struct td_lanes){1, 0, 0};
    }
}

static const struct td_method method = {.name = "shifts", .step_at = step_at};

td_compile_fn __wrap_td_select_compile;

void __wrap_td_select_compile(const struct td_compile_input *in, struct td_program *out)
{
    uint64_t shifts = in->group->slots - 1;
    *out = (struct td_program){.method = &method,
                               .step_at = step_at,
                               .group = in->group,
                               .topology = in->topology,
                               .tuning = *in->tuning,
                               .slot = in->slot,
                               .call = *in->call,
                               .seed = in->seed};
    td_program_add(out, TD_RECV, shifts, "a message");
    td_program_add(out, TD_SEND, shifts, "a message to the node a shift away");
    td_program_add(out, TD_SYNC, shifts, "between shifts");
    td_program_need(out, SYNC, RECV, 1, 1, 1);
    td_program_need(out, SEND, SYNC, 1, 1, 0);
}

/* packets_slots returns what the shifts take in torus-sim; 0 when it fails. */
static double packets_slots(const char *shape)
{
    static struct td_measure_options o;
    static struct td_measurement m;
    td_measure_options_default(&o, shape, 1);
    o.quiet = true;
    o.bytes = (uint64_t)packets_each * PACKET_BYTES;
    o.world.control_ns = 0; /* barriers take no time, as in SimGrid */
    o.world.settings.packet_bytes = PACKET_BYTES;
    o.world.settings.router.no_adaptive = true;
    bool good = td_measure(&o, &m);
    if (!good)
        fprintf(stderr, "flow_check: %s: %s\n", shape, m.wrong);
    td_measure_fini(&m);
    return good ? m.slots : 0;
}

/* ---- flows ---- */

static struct {
    struct td_topology topology;
    sg_bar_t between;
} flows;

/* host_of returns the host of a node: SimGrid's first coordinate is the fastest, and the one that
 * its ways begin with. */
static uint32_t host_of(uint32_t node)
{
    const struct td_topology *t = &flows.topology;
    uint32_t place[TD_DIMENSIONS_MAX], host = 0;
    td_topology_coordinates(t, node, place);
    for (uint32_t d = t->dimensions; d-- > 0;)
        host = host * t->size[d] + place[d];
    return host;
}

static const char *name_of(char *text, size_t size, uint32_t node)
{
    snprintf(text, size, "node-%u", host_of(node));
    return text;
}

/* play is a node: it sends and receives in every shift, a packet's bytes a second. */
static void play(int argc, char **argv)
{
    uint32_t node = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
    for (uint32_t s = 1; s < flows.topology.nodes; s++) {
        char to[32], own[32];
        uint32_t peer = shifted(&flows.topology, node, s, true);
        void *data = NULL;
        sg_comm_t comm[2] = {
            sg_mailbox_put_async(sg_mailbox_by_name(name_of(to, sizeof to, peer)), own,
                                 (long)packets_each * PACKET_BYTES),
            sg_mailbox_get_async(sg_mailbox_by_name(name_of(own, sizeof own, node)), &data)};
        sg_comm_wait_all(comm, 2);
        sg_barrier_wait(flows.between);
    }
}

static bool write_platform(char *path, size_t size)
{
    const struct td_topology *t = &flows.topology;
    snprintf(path, size, "/tmp/flow_check.XXXXXX.xml");
    int fd = mkstemps(path, 4);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out)
        return false;
    fprintf(out, "<?xml version='1.0'?>\n"
                 "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                 "<platform version=\"4.1\">\n"
                 "  <cluster id=\"torus\" topology=\"TORUS\" topo_parameters=\"");
    for (uint32_t d = 0; d < t->dimensions; d++)
        fprintf(out, "%s%u", d ? "," : "", t->size[d]);
    fprintf(out,
            "\" prefix=\"node-\" radical=\"0-%u\" suffix=\"\" speed=\"1Gf\"\n"
            "           bw=\"%uBps\" lat=\"0us\" sharing_policy=\"SPLITDUPLEX\"/>\n"
            "</platform>\n",
            t->nodes - 1, PACKET_BYTES);
    return fclose(out) == 0;
}

/* flows_slots returns what the shifts take in SimGrid, where a slot is a second; 0 when it
 * fails. */
static double flows_slots(char *program)
{
    char *arguments[] = {program,
                         (char[]){"--cfg=network/model:CM02"},
                         (char[]){"--cfg=network/TCP-gamma:0"},
                         (char[]){"--cfg=network/crosstraffic:0"},
                         (char[]){"--log=root.threshold:warning"},
                         NULL};
    int count = sizeof arguments / sizeof arguments[0] - 1;
    char path[64];
    simgrid_init(&count, arguments);
    if (!write_platform(path, sizeof path)) {
        fprintf(stderr, "flow_check: %s cannot be written: %s\n", path, strerror(errno));
        return 0;
    }
    simgrid_load_platform(path);
    unlink(path);
    flows.between = sg_barrier_init(flows.topology.nodes);
    for (uint32_t n = 0; n < flows.topology.nodes; n++) {
        char number[16], host[32];
        snprintf(number, sizeof number, "%u", n);
        char *own[] = {program, number};
        sg_actor_create(number, sg_host_by_name(name_of(host, sizeof host, n)), play, 2, own);
    }
    simgrid_run();
    double slots = simgrid_get_clock();
    sg_barrier_destroy(flows.between);
    return slots;
}

int main(int argc, char **argv)
{
    size_t at = 0;
    const char *why = NULL;
    by_number = argc >= 3 && strcmp(argv[2], "number") == 0;
    if (argc == 4)
        packets_each = (uint32_t)strtoul(argv[3], NULL, 10);
    if (argc < 3 || argc > 4 || (!by_number && strcmp(argv[2], "coordinates") != 0) ||
        packets_each == 0 || packets_each > PACKETS_MAX) {
        fprintf(stderr, "usage: flow_check SHAPE coordinates|number [PACKETS]\n");
        return 2;
    }
    if (td_topology_parse(&flows.topology, argv[1], &at, &why) != TD_OK ||
        flows.topology.nodes > NODES_MAX) {
        fprintf(stderr, "flow_check: %s: %s\n", argv[1], why ? why : "too many nodes");
        return 2;
    }
    double packets = packets_slots(argv[1]), flow = flows_slots(argv[0]);
    double apart = flow > 0 ? packets / flow - 1 : 1;
    printf("%s: %u shifts by %s of %u packets: %.1f slots by packets, %.1f by SimGrid's flows, "
           "%+.2f %%\n",
           argv[1], flows.topology.nodes - 1, argv[2], packets_each, packets, flow, 100 * apart);
    return packets > 0 && fabs(apart) <= (by_number ? APART_MAX_UNEVEN : APART_MAX) ? 0 : 1;
}
