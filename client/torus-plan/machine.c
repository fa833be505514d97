/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "model/program.h"
#include "own.h"
#include "system/written.h"
#include "tool/tool.h"

void explain_machine_default(struct explain_machine *m)
{
    *m = (struct explain_machine){.seed = 1};
    td_settings_default(&m->settings);
    m->settings.tuning.fabric = TD_FABRIC_ROUTED;
    m->settings.scratch_bytes = (uint64_t)1 << 46; /* --relay is the limit here */
}

bool explain_size(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    return td_quantity_parse(text, out) && *out >= least && *out <= most;
}

uint32_t explain_sizes(const char *text, uint64_t *size)
{
    char part[40];
    for (uint32_t count = 0; count < TD_DIMENSIONS_MAX; text++) {
        size_t length = strcspn(text, "x");
        snprintf(part, sizeof part, "%.*s", (int)length, text);
        if (length >= sizeof part || !explain_size(part, 1, (uint64_t)INT64_MAX, &size[count++]))
            return 0;
        text += length;
        if (!*text)
            return count;
    }
    return 0;
}

bool explain_word(const char *value, const char *const *words, uint8_t *out)
{
    for (uint8_t i = 0; words[i]; i++)
        if (strcmp(value, words[i]) == 0) {
            *out = i;
            return true;
        }
    return false;
}

const char *explain_alltoall_method(const char *value, uint8_t *out)
{
    for (enum td_alltoall m = TD_ALLTOALL_AUTO; m < TD_ALLTOALLS; m++)
        if (strcmp(value, td_alltoall_name(m)) == 0) {
            *out = (uint8_t)m;
            return NULL;
        }
    return "--method must be auto, random, phased, pairwise or two-phase";
}

const char *explain_take(struct explain_machine *m, const char *name, const char *value,
                         bool *taken)
{
    struct td_tuning *t = &m->settings.tuning;
    uint64_t n = 0;
    *taken = true;
    m->has_fabric |= strcmp(name, "--fabric") == 0;
    m->has_packet |= strcmp(name, "--packet") == 0;
    if (strcmp(name, "--fabric") == 0)
        return explain_word(value, (const char *const[]){"direct", "routed", NULL}, &t->fabric)
                   ? NULL
                   : "--fabric must be direct or routed";
    if (strcmp(name, "--packet") == 0) {
        bool good = explain_size(value, 1024, TD_PACKET_BYTES_MAX, &n);
        m->settings.packet_bytes = t->packet_bytes = (uint32_t)n;
        return good ? NULL : "--packet must be 1K to 256K";
    }
    if (strcmp(name, "--relay") == 0)
        return explain_size(value, 1 << 16, (uint64_t)1 << 46, &t->relay_bytes)
                   ? NULL
                   : "--relay must be at least 64K";
    if (strcmp(name, "--burst") == 0) {
        bool good = explain_size(value, 1, 1 << 16, &n);
        t->burst = (uint32_t)n;
        return good ? NULL : "--burst must be 1 to 65536 packets";
    }
    if (strcmp(name, "--link-rate") == 0)
        return td_quantity_parse_rate(value, &m->link_rate) && m->link_rate > 0
                   ? NULL
                   : "--link-rate must be bytes per second, such as 5GB/s";
    if (strcmp(name, "--seed") == 0)
        return explain_size(value, 0, UINT64_MAX, &m->seed) ? NULL : "--seed must be a number";
    if (strcmp(name, "--node") == 0)
        m->node_text = value;
    else if (strcmp(name, "--shape") == 0)
        m->shape_text = value;
    else
        *taken = false;
    return NULL;
}

/* find_node reads coordinates, 1,0,2. */
static const char *find_node(struct explain_machine *m)
{
    uint32_t place[TD_DIMENSIONS_MAX] = {0};
    const char *at = m->node_text;
    for (uint32_t d = 0; at && d < m->topology.dimensions; d++) {
        char *end = NULL;
        unsigned long n = strtoul(at, &end, 10);
        bool last = d + 1 == m->topology.dimensions;
        if (*at < '0' || *at > '9' || n >= m->topology.size[d] || *end != (last ? '\0' : ','))
            return "--node must have one coordinate for each dimension, below its size, such as "
                   "0,2";
        place[d] = (uint32_t)n;
        at = end + 1;
    }
    m->node = td_topology_node(&m->topology, place);
    return NULL;
}

const char *explain_options(struct explain_machine *m, int argc, char **argv, explain_take_fn *take,
                            void *me)
{
    static char text[TD_SETTING_WRONG_MAX];
    const struct td_setting_row *setting = NULL;
    const char *why = NULL;
    size_t position = 0;
    bool taken = false;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            m->as_json = true;
        else if (strcmp(argv[i], "--all") == 0)
            m->all = true;
        else if (i + 1 == argc)
            return tool_no_option(argv[i]);
        else if ((why = explain_take(m, argv[i], argv[i + 1], &taken)) ||
                 (!taken && (why = take(me, argv[i], argv[i + 1]))))
            return why;
        else
            i++;
    }
    explain_own(m);
    if (!m->shape_text)
        return "missing --shape, such as 4x4: no daemon of this node tells its own";
    if (td_topology_parse(&m->topology, m->shape_text, &position, &why) != TD_OK) {
        snprintf(text, sizeof text, "shape %s, character %zu: %s", m->shape_text, position + 1,
                 why);
        return text;
    }
    if ((why = td_settings_check(&m->settings, &setting, text)))
        return why;
    return find_node(m);
}

double explain_time_s(const struct explain_machine *m, double slots)
{
    return m->link_rate == 0 ? 0 : slots * m->settings.packet_bytes / (double)m->link_rate;
}

const char *explain_time(char *text, size_t room, const struct explain_machine *m, double slots)
{
    char rate[32];
    text[0] = '\0';
    if (m->link_rate)
        snprintf(text, room, ": %.4g ms at %s", explain_time_s(m, slots) * 1e3,
                 td_quantity_print_rate((double)m->link_rate, rate, sizeof rate));
    return text;
}

json_t *explain_seconds(const struct explain_machine *m, double slots)
{
    return m->link_rate && slots > 0 ? json_real(explain_time_s(m, slots)) : json_null();
}

const char *explain_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

json_t *explain_coordinates(const struct td_topology *t, uint32_t node)
{
    uint32_t place[TD_DIMENSIONS_MAX];
    json_t *list = json_array();
    td_topology_coordinates(t, node, place);
    for (uint32_t d = 0; d < t->dimensions; d++)
        json_array_append_new(list, json_integer(place[d]));
    return list;
}

const char *explain_place(char *text, size_t room, const struct td_topology *t, uint32_t node)
{
    uint32_t place[TD_DIMENSIONS_MAX];
    size_t length = (size_t)snprintf(text, room, "%u (", node);
    td_topology_coordinates(t, node, place);
    for (uint32_t d = 0; d < t->dimensions; d++)
        length += (size_t)snprintf(text + length, room - length, "%s%u", d ? "," : "", place[d]);
    snprintf(text + length, room - length, ")");
    return text;
}

bool explain_plot(const char *path, explain_draw_fn *draw, const void *me)
{
    FILE *f = fopen(path, "we");
    bool drawn = f && draw(me, f);
    return td_written_close(f, "torus-plan", path) && drawn;
}
