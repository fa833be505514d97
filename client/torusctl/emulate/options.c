/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "model/settings.h"
#include "torusctl/torusctl.h"

bool options_is_set(const struct emulation *e, const char *key)
{
    size_t length = strlen(key);
    for (int i = 0; i < e->settings_count; i++)
        if (strncmp(e->settings[i], key, length) == 0 && e->settings[i][length] == '=')
            return true;
    return false;
}

static const char *number(const char *text, uint32_t *value)
{
    char *end = NULL;
    unsigned long n = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || n == 0 || n > TD_JOB_RANKS_MAX)
        return "the number of ranks must be 1 to 16384";
    *value = (uint32_t)n;
    return NULL;
}

static const char *port(const char *text, uint32_t *value)
{
    char *end = NULL;
    unsigned long n = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || n == 0 || n > 65535)
        return "--metrics needs a port, 1 to 65535";
    *value = (uint32_t)n;
    return NULL;
}

/* add_setting adds a line to the daemons' configuration. It returns NULL or the error. */
static const char *add_setting(struct emulation *e, const char *key, const char *value)
{
    char *setting = NULL;
    if (e->settings_count == SETTINGS_MAX)
        return "at most 64 settings";
    if (asprintf(&setting, "%s%s", key, value) < 0)
        return "no memory for a setting";
    /* remove blanks around '=', so that options_is_set can compare keys */
    char *to = strpbrk(setting, " \t="), *from = to;
    if (to) {
        from += strspn(from, " \t");
        if (*from == '=') {
            *to++ = '=';
            from += 1 + strspn(from + 1, " \t");
            memmove(to, from, strlen(from) + 1);
        }
    }
    e->settings[e->settings_count++] = setting;
    return NULL;
}

static const char *parse_option(struct emulation *e, int argc, char **argv, int *i)
{
    const char *name = argv[*i], *value = *i + 1 < argc ? argv[*i + 1] : NULL;
    if (strcmp(name, "--verbose") == 0) {
        e->verbose = true;
        return NULL;
    }
    if (strcmp(name, "--prefix") == 0) {
        e->prefixed = true;
        return NULL;
    }
    if (strcmp(name, "--keep-going") == 0) {
        e->keep_going = true;
        return NULL;
    }
    if (!value)
        return tool_no_option(name);
    (*i)++;
    if (strcmp(name, "-n") == 0 || strcmp(name, "--ranks") == 0)
        return number(value, &e->ranks);
    if (strcmp(name, "--ranks-per-node") == 0)
        return number(value, &e->ranks_per_node);
    if (strcmp(name, "--metrics") == 0)
        return port(value, &e->metrics_port);
    if (strcmp(name, "--daemon") == 0) {
        snprintf(e->daemon, sizeof e->daemon, "%s", value);
        return NULL;
    }
    if (strcmp(name, "--transport") == 0) {
        e->tcp = strcmp(value, "tcp") == 0;
        return e->tcp || strcmp(value, "ipc") == 0 ? NULL : "--transport must be ipc or tcp";
    }
    if (strcmp(name, "--set") == 0) {
        if (!strchr(value, '.') || !strchr(value, '='))
            return "--set needs SECTION.KEY=VALUE";
        return add_setting(e, "", value);
    }
    if (strcmp(name, "--fabric") == 0) {
        if (strcmp(value, "direct") != 0 && strcmp(value, "routed") != 0)
            return "--fabric must be direct or routed";
        return add_setting(e, "torus.fabric=", value);
    }
    if (strcmp(name, "--link-rate") == 0) {
        uint64_t rate = 0;
        if (!td_quantity_parse_rate(value, &rate))
            return "--link-rate needs bytes per second, such as 5MB/s";
        return add_setting(e, "torus.link_rate=", value);
    }
    if (strcmp(name, "--link-latency") == 0)
        return add_setting(e, "torus.link_latency=", value);
    return tool_no_option(name);
}

const char *options_parse(struct emulation *e, int argc, char **argv)
{
    static char text[200];
    const char *shape = NULL, *wrong = NULL, *why = NULL;
    size_t position = 0;
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (argv[i][0] != '-' && !shape)
            shape = argv[i];
        else if (argv[i][0] != '-')
            return tool_no_dashes(argv[i]);
        else if ((wrong = parse_option(e, argc, argv, &i)))
            return wrong;
    }
    if (!shape)
        return "missing shape, such as 3x3";
    if (td_topology_parse(&e->topology, shape, &position, &why) != TD_OK) {
        snprintf(text, sizeof text, "shape %s, character %zu: %s", shape, position + 1, why);
        return text;
    }
    if (i + 1 >= argc)
        return "missing command after --";
    e->command = argv + i + 1;
    uint32_t nodes = e->topology.nodes;
    if (e->ranks == 0)
        e->ranks = e->ranks_per_node ? e->ranks_per_node * nodes : nodes;
    if ((options_is_set(e, "torus.link_rate") || options_is_set(e, "torus.link_latency")) &&
        !options_is_set(e, "torus.fabric"))
        return "--link-rate and --link-latency need --fabric routed";
    if (e->metrics_port && e->metrics_port + nodes - 1 > 65535)
        return "--metrics: each node has the next port, and the last one would be above 65535";
    if (e->ranks > TD_JOB_RANKS_MAX)
        return "the number of ranks must be 1 to 16384";
    if (e->ranks_per_node && e->ranks > e->ranks_per_node * nodes) {
        snprintf(text, sizeof text, "%u ranks do not fit on %u node%s with %u each", e->ranks,
                 nodes, nodes == 1 ? "" : "s", e->ranks_per_node);
        return text;
    }
    return NULL;
}
