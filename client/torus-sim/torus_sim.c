/* SPDX-License-Identifier: Apache-2.0 */
/* torus-sim: simulation of a collective on a torus, by the daemon's core over modelled links. */
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "plot.h"
#include "system/standard.h"
#include "system/written.h"

static const char program[] = "torus-sim";

static void print_json(const struct command *c, const struct td_measurement *m)
{
    printf("{\"collective\": \"%s\", ", td_kind_name(c->measure.call.kind));
    if (c->measure.plan)
        printf("\"from\": \"%s\", \"to\": \"%s\", \"steps\": %u, \"t_min_in_turn_slots\": %.3f, ",
               c->plan.from, c->plan.to, m->steps, m->in_turn);
    printf("\"call\": \"%s\", \"ranks\": %u,\n \"shape\": \"%s\", "
           "\"method\": \"%s\", \"bytes\": %llu, \"packet\": %u, "
           "\"seed\": %llu,\n \"slots\": %.3f, \"gate_slots\": %.3f, \"t_min_slots\": %.3f, "
           "\"efficiency\": %.4f,\n \"utilization\": [",
           m->call, m->ranks, c->shape, m->method, (unsigned long long)c->measure.bytes,
           c->measure.world.settings.packet_bytes, (unsigned long long)c->measure.world.seed,
           m->slots, m->gate, m->bound, m->efficiency);
    for (uint32_t d = 0; d < m->topology.dimensions; d++)
        printf("%s{\"dimension\": %u, \"mean\": %.4f, \"min\": %.4f, \"max\": %.4f}", d ? ", " : "",
               d, m->utilization[d].mean, m->utilization[d].least, m->utilization[d].most);
    printf(
        "],\n \"queues_max\": {\"output\": %u, \"fifo\": %u, \"adaptive\": %u, \"escape\": %u},\n",
        m->queued_max, m->fifo_max,
        m->held_max[0] > m->held_max[1] ? m->held_max[0] : m->held_max[1],
        m->held_max[TD_CHANNEL_ESCAPE]);
    printf(" \"packet_hops\": %llu, \"transit_waits\": %llu, \"events\": %llu, "
           "\"events_per_s\": %.0f, \"packet_hops_per_s\": %.0f,\n \"trace_hash\": \"%016llx\"}\n",
           (unsigned long long)m->hops, (unsigned long long)m->waits, (unsigned long long)m->events,
           (double)m->events / m->seconds, (double)m->hops / m->seconds,
           (unsigned long long)m->hash);
}

static void print(const struct command *c, const struct td_measurement *m)
{
    printf("%s of %u nodes of %s by %s, packets of %u, seed %llu\n", m->call, m->ranks, c->shape,
           m->method, c->measure.world.settings.packet_bytes,
           (unsigned long long)c->measure.world.seed);
    printf("  method       %s\n", m->why);
    printf(m->rides
               ? "  time         %.1f slots, including %.1f slots of synchronization; T_min %.1f\n"
               : "  time         %.1f slots, after %.1f slots of synchronization; T_min %.1f\n",
           m->slots, m->gate, m->bound);
    printf("  efficiency   %.4f\n", m->efficiency);
    if (c->measure.call.kind == TD_KIND_FFT)
        printf("  moves        sum of their T_min: %.1f slots, %.3f of the time\n", m->in_turn,
               m->in_turn > 0 ? m->slots / m->in_turn : 1);
    for (uint32_t d = 0; d < m->topology.dimensions; d++)
        printf("  dimension %u  links busy %.1f %% (%.1f to %.1f)\n", d,
               100 * m->utilization[d].mean, 100 * m->utilization[d].least,
               100 * m->utilization[d].most);
    printf("  queues       at most %u messages in an output queue, %u packets in a FIFO,\n"
           "               %u and %u in adaptive channels, %u in an escape channel\n",
           m->queued_max, m->fifo_max, m->held_max[0], m->held_max[1],
           m->held_max[TD_CHANNEL_ESCAPE]);
    printf("  packets      %llu hops; %llu of them began after a wait in transit\n",
           (unsigned long long)m->hops, (unsigned long long)m->waits);
    printf("  simulation   %.2f s, %.2f M events/s, %.2f M hops/s, trace %016llx\n", m->seconds,
           (double)m->events / m->seconds / 1e6, (double)m->hops / m->seconds / 1e6,
           (unsigned long long)m->hash);
}

static bool plot(const struct command *c, const struct td_measurement *m, FILE *f)
{
    char title[200];
    snprintf(title, sizeof title, "%s, %s, %s: efficiency %.3f", m->call, c->shape, m->method,
             m->efficiency);
    bool drawn = plot_measurement(m, f, title);
    return td_written_close(f, program, c->plot) && drawn;
}

static int run(int argc, char **argv)
{
    static struct command c;
    static struct td_measurement m;
    td_measure_options_default(&c.measure, c.shape, 1);
    c.measure.spread = 0.5;
    if (!options_parse(argc, argv, &c))
        return 2;
    FILE *picture =
        c.plot ? fopen(c.plot, "we") : NULL; /* first, because the simulation may take minutes */
    if (c.plot && !picture)
        return !td_written_close(NULL, program, c.plot);
    if (c.trace && !(c.measure.world.trace = fopen(c.trace, "we")))
        return !td_written_close(NULL, program, c.trace);
    bool good = td_measure(&c.measure, &m);
    if (c.trace && !td_written_close(c.measure.world.trace, program, c.trace))
        return 1;
    if (!good) {
        fprintf(stderr, "torus-sim: %s: %s\n", c.shape, m.wrong);
        td_measure_fini(&m);
        return 1;
    }
    if (c.json)
        print_json(&c, &m);
    else
        print(&c, &m);
    bool plotted = !picture || plot(&c, &m, picture);
    td_measure_fini(&m);
    return plotted ? 0 : 1;
}

int main(int argc, char **argv)
{
    td_standard_start();
    return td_written_end(program, run(argc, argv));
}
