/* SPDX-License-Identifier: Apache-2.0 */
#include "config_checks.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "config_keys.h"
#include "base/bits.h"
#include "hosts.h"

struct host_list {
    struct td_config_reader *reader;
    uint32_t count;
    const char *port;
    const char *host;
    int64_t exact;             /* node with the host's full name */
    int64_t similar, similar2; /* nodes with the same name but for the domain; -1: none */
    bool endpoints;
};

/* add_endpoint adds the endpoint of a name of the list. Endpoints of one host and port are equal:
 * an address has its shortest form. */
static bool add_endpoint(void *user, const char *name)
{
    static const char tcp[] = "tcp://";
    struct host_list *list = user;
    struct td_address address;
    char endpoint[512];
    if (list->count >= TD_NODES_MAX)
        return false;
    if (list->endpoints)
        snprintf(endpoint, sizeof endpoint, "%s", name);
    else
        snprintf(endpoint, sizeof endpoint, "tcp://%s:%s", name, list->port);
    if (strncmp(endpoint, tcp, strlen(tcp)) == 0 &&
        !td_address_read(endpoint + strlen(tcp), &address))
        td_address_print(&address, endpoint + strlen(tcp), sizeof endpoint - strlen(tcp));
    if (!list->endpoints && strcmp(name, list->host) == 0)
        list->exact = list->count;
    else if (!list->endpoints && td_hosts_similar(name, list->host))
        *(list->similar < 0 ? &list->similar : &list->similar2) = list->count;
    list->reader->config->endpoints[list->count++] = strdup(endpoint);
    return true;
}

/* at sets the place of the error to a key, which is the one at hand. */
static void at(struct td_config_reader *r, const char *section, const char *name)
{
    size_t i = td_config_key_index(td_config_key(section, name));
    r->column = 1;
    r->key = i;
    if (r->seen_line[i]) {
        r->line = r->seen_line[i];
        r->file = r->seen_file[i];
    }
}

static const char *text_of(struct td_config_reader *r, const char *section, const char *name)
{
    return r->value[td_config_key_index(td_config_key(section, name))];
}

static int64_t node_of_host(const struct host_list *list)
{
    return list->exact >= 0 ? list->exact : list->similar;
}

static bool set_node(struct td_config_reader *r, const struct host_list *list)
{
    struct td_config *c = r->config;
    const char *text = text_of(r, "node", "coordinates");
    int64_t node = node_of_host(list), other = list->exact >= 0 ? -1 : list->similar2;
    if (!text && c->topology.nodes == 1)
        node = 0;
    if (!text && node < 0) {
        at(r, "peers", list->endpoints ? "endpoints" : "hosts");
        if (list->endpoints)
            return td_config_fail(r,
                                  "endpoints does not say which node this machine, %s, is: set "
                                  "coordinates in [node]",
                                  list->host);
        return td_config_fail(
            r, "this machine, %s, is not in the host list: set coordinates in [node]", list->host);
    }
    if (!text && c->topology.nodes > 1 && other >= 0) {
        at(r, "peers", "hosts");
        return td_config_fail(
            r,
            "the name of this machine, %s, matches %s (node %lld) and %s (node %lld): set "
            "coordinates in [node]",
            list->host, c->endpoints[node], (long long)node, c->endpoints[other], (long long)other);
    }
    c->node = (uint32_t)node;
    if (!text)
        return true;
    uint32_t place[TD_DIMENSIONS_MAX] = {0}, d = 0;
    char form[200];
    at(r, "node", "coordinates");
    for (const char *p = text; *p; d++) {
        char *end = NULL;
        unsigned long value = strtoul(p, &end, 10);
        if (!isdigit((unsigned char)*p) || (*end && *end != ',') || d >= c->topology.dimensions ||
            value >= c->topology.size[d])
            return td_config_fail(r, "coordinates = %s: expected %s", text,
                                  td_security_form(&c->topology, form, sizeof form));
        place[d] = (uint32_t)value;
        p = *end ? end + 1 : end;
    }
    if (d != c->topology.dimensions)
        return td_config_fail(r, "coordinates = %s: the shape has %u dimension%s", text,
                              c->topology.dimensions, c->topology.dimensions == 1 ? "" : "s");
    c->node = td_topology_node(&c->topology, place);
    return true;
}

static bool set_listen(struct td_config_reader *r, bool by_hosts, const char *port)
{
    struct td_config *c = r->config;
    const char *listen = text_of(r, "peers", "listen");
    char bulk[300];
    if (listen)
        snprintf(c->listen, sizeof c->listen, "%s", listen);
    else if (by_hosts)
        snprintf(c->listen, sizeof c->listen, "tcp://*:%s", port);
    else
        snprintf(c->listen, sizeof c->listen, "%s", c->endpoints[c->node]);
    at(r, "peers", listen ? "listen" : by_hosts ? "hosts" : "endpoints");
    const char *wrong = td_config_bulk(c->listen, bulk, sizeof bulk);
    if (wrong)
        return td_config_fail(r, "listen = %s: %s", c->listen, wrong);
    if (strncmp(bulk, "ipc://", 6) == 0 && strlen(bulk) - 6 > 107)
        return td_config_fail(r, "listen = %s: the path, with .bulk, is longer than 107 characters",
                              c->listen);
    return true;
}

/* ---- parts ---- */

/* enum part: settings that are checked together. In a reload an error in one part leaves the others
 * alone. */
enum part { MACHINE, KEYS, METRICS, SETTINGS, PARTS };

/* part_of returns the part of a key, or PARTS: it is not checked with others. */
static enum part part_of(const struct td_config_key *k)
{
    static const struct {
        const char *section, *name; /* NULL: all keys of the section */
        enum part part;
    } rows[] = {{"peers", NULL, MACHINE},       {"node", "coordinates", MACHINE},
                {"torus", "shape", MACHINE},    {"security", "key", KEYS},
                {"security", "peers", KEYS},    {"security", "insecure", KEYS},
                {"metrics", "listen", METRICS}, {"metrics", "anyone", METRICS},
                {"torus", NULL, SETTINGS},      {"alltoall", NULL, SETTINGS},
                {"network", NULL, SETTINGS},    {"limits", NULL, SETTINGS},
                {"trace", NULL, SETTINGS}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(k->setting.section, rows[i].section) == 0 &&
            (!rows[i].name || strcmp(k->setting.key, rows[i].name) == 0))
            return rows[i].part;
    return PARTS;
}

/* is_refused returns true if a reload has refused a key of a part. */
static bool is_refused(const struct td_config_reader *r, enum part part)
{
    const struct td_config_key *k = NULL;
    for (size_t i = 0; r->refusals && (k = td_config_key_at(i)) != NULL; i++)
        if (r->refusals->key[i] && part_of(k) == part)
            return true;
    return false;
}

static void refuse_part(struct td_config_reader *r, enum part part)
{
    const struct td_config_key *k = NULL;
    for (size_t i = 0; (k = td_config_key_at(i)) != NULL; i++)
        r->refusals->key[i] = r->refusals->key[i] || part_of(k) == part;
}

/* is_about returns true if a sentence begins with the place of its error in a file. */
static bool is_about(const char *text, const char *file)
{
    size_t length = strlen(file);
    return strncmp(text, file, length) == 0 && text[length] == ':';
}

/* load_keys loads the keys. In a reload they must fit the running node and shape. If the files have
 * another one, and the keys fit that one alone, they wait for the restart. */
static bool load_keys(struct td_config_reader *r, char *text, size_t text_bytes)
{
    struct td_config *c = r->config;
    const struct td_config *running = r->running, *place = running ? running : c;
    if (td_security_load(&c->security, c->key_file, c->peers_file, &place->topology, place->node,
                         text, text_bytes))
        return true;
    if (!running || is_refused(r, MACHINE) || !td_config_moves(running, c))
        return false;
    c->keys_wait = td_security_load(&c->security, c->key_file, c->peers_file, &c->topology, c->node,
                                    text, text_bytes);
    return c->keys_wait;
}

/* check_security loads the keys. Without keys it refuses TCP, loopback included: every user of this
 * machine reaches tcp://127.*. */
static bool check_security(struct td_config_reader *r)
{
    struct td_config *c = r->config;
    char text[600];
    bool key = c->key_file[0], peers = c->peers_file[0];
    if (key != peers) {
        at(r, "security", key ? "key" : "peers");
        return td_config_fail(r, "set both key and peers in [security]: %s is missing",
                              key ? "peers" : "key");
    }
    if (key && c->insecure) {
        at(r, "security", "insecure");
        return td_config_fail(r, "insecure = yes turns the keys off: remove it, or key and peers");
    }
    if (key && !load_keys(r, text, sizeof text)) {
        at(r, "security", is_about(text, c->peers_file) ? "peers" : "key");
        return td_config_fail(r, "%s", text);
    }
    if (c->insecure || is_refused(r, MACHINE) || !td_config_is_open(c))
        return true;
    at(r, "security", "key");
    return td_config_fail(
        r,
        "daemons on tcp:// need keys, on tcp://127.* too: run torusctl keygen and set key and "
        "peers "
        "in [security], or set insecure = yes there if every host and user that can reach %s is "
        "trusted",
        c->listen);
}

static bool check_settings(struct td_config_reader *r)
{
    const struct td_setting_row *setting = NULL;
    char text[TD_SETTING_WRONG_MAX];
    const char *wrong = td_settings_check(&r->config->settings, &setting, text);
    if (!wrong)
        return true;
    at(r, setting->section, setting->key);
    return td_config_fail(r, "%s", wrong);
}

/* struct place: one endpoint of a node. */
struct place {
    char at[600];
    uint32_t node;
    bool bulk;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = strcmp(x->at, y->at);
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

/* check_distinct returns false if two endpoints are equal: a node would find its endpoint in use,
 * or connect to itself. */
static bool check_distinct(struct td_config_reader *r, const char *key, struct place *place,
                           uint32_t count)
{
    qsort(place, count, sizeof *place, compare_places);
    for (uint32_t i = 0; i + 1 < count; i++) {
        const struct place *a = &place[i], *b = &place[i + 1];
        if (strcmp(a->at, b->at) != 0)
            continue;
        if (a->bulk == b->bulk)
            return td_config_fail(r, "%s: nodes %u and %u have the same endpoint %s", key, a->node,
                                  b->node, a->at);
        return td_config_fail(r,
                              "%s: node %u has the endpoint %s, which node %u needs for bulk data: "
                              "bulk data uses the next port",
                              key, a->bulk ? b->node : a->node, a->at, a->bulk ? a->node : b->node);
    }
    return true;
}

static bool check_places(struct td_config_reader *r, const char *key)
{
    struct td_config *c = r->config;
    struct place *place = calloc(2 * (size_t)c->topology.nodes, sizeof *place);
    bool good = true;
    if (!place)
        return td_config_fail(r, "no memory to check the endpoints");
    for (uint32_t n = 0; good && n < c->topology.nodes; n++) {
        struct place *control = &place[2 * n], *bulk = control + 1;
        *control = (struct place){.node = n};
        *bulk = (struct place){.node = n, .bulk = true};
        snprintf(control->at, sizeof control->at, "%s", c->endpoints[n]);
        const char *wrong = td_config_bulk(c->endpoints[n], bulk->at, sizeof bulk->at);
        if (wrong)
            good = td_config_fail(r, "%s: %s: %s", key, c->endpoints[n], wrong);
    }
    good = good && check_distinct(r, key, place, 2 * c->topology.nodes);
    free(place);
    return good;
}

static bool check_port(struct td_config_reader *r, const char *port)
{
    char *end = NULL;
    unsigned long number = strtoul(port, &end, 10);
    if (isdigit((unsigned char)port[0]) && !*end && number >= 1 && number <= 65534)
        return true;
    at(r, "peers", "port");
    return td_config_fail(r, "port = %s: expected 1 to 65534; bulk data uses the next port", port);
}

/* set_absent reads the nodes that are not in the electorate: numbers and ranges such as "3,6-8". */
static bool set_absent(struct td_config_reader *r)
{
    struct td_config *c = r->config;
    const char *text = text_of(r, "peers", "absent");
    uint32_t nodes = c->topology.nodes;
    at(r, "peers", "absent");
    for (const char *p = text; p && *p; p += strspn(p, ", ")) {
        char *end = NULL;
        unsigned long first = strtoul(p, &end, 10), last = first;
        bool good = isdigit((unsigned char)*p) != 0;
        if (good && *end == '-') {
            p = end + 1;
            good = isdigit((unsigned char)*p) != 0;
            last = strtoul(p, &end, 10);
        }
        if (!good || (*end && *end != ',' && *end != ' ') || first > last)
            return td_config_fail(r, "absent = %s: expected node numbers such as 3,6-8", text);
        if (last >= nodes)
            return td_config_fail(r, "absent = %s: there is no node %lu: the last one is %u", text,
                                  last, nodes - 1);
        for (unsigned long n = first; n <= last; n++)
            td_settings_set_absent(&c->settings, (uint32_t)n);
        p = end;
    }
    return td_bits_count(c->settings.absent, nodes) < nodes ||
           td_config_fail(r, "absent = %s names all nodes: at least one must be in use", text);
}

/* check_metrics refuses an address that other hosts reach, unless anyone may read the metrics. */
static bool check_metrics(struct td_config_reader *r)
{
    const struct td_config *c = r->config;
    struct td_address address;
    if (!c->metrics_listen[0] || c->metrics_anyone ||
        td_address_read(c->metrics_listen, &address) || td_address_is_loopback(&address))
        return true;
    at(r, "metrics", "listen");
    return td_config_fail(r,
                          "listen = %s: other hosts reach this address, and HTTP does not say who "
                          "asks: use an address of this host alone, such as 127.0.0.1:9817, or set "
                          "anyone = yes in [metrics]",
                          c->metrics_listen);
}

/* check_machine finds the endpoints of all nodes, and which node this is. */
static bool check_machine(struct td_config_reader *r)
{
    struct td_config *c = r->config;
    const char *host = c->host;
    const char *hosts = text_of(r, "peers", "hosts"), *endpoints = text_of(r, "peers", "endpoints");
    const char *port = text_of(r, "peers", "port") ? text_of(r, "peers", "port") : "7117";
    struct host_list list = {.reader = r,
                             .port = port,
                             .host = host,
                             .exact = -1,
                             .similar = -1,
                             .similar2 = -1,
                             .endpoints = endpoints != NULL};
    size_t position = 0;
    if (c->topology.dimensions == 0)
        return td_config_fail(r, "shape is not set in [torus]");
    if (hosts && endpoints) {
        at(r, "peers", "endpoints");
        return td_config_fail(r, "set hosts or endpoints in [peers], not both");
    }
    if (!check_port(r, port))
        return false;
    if (!hosts && !endpoints && c->topology.nodes == 1)
        add_endpoint(&(struct host_list){.reader = r, .port = port, .host = host}, "127.0.0.1");
    else if (!hosts && !endpoints)
        return td_config_fail(r, "set hosts or endpoints in [peers]: the shape has %u nodes",
                              c->topology.nodes);
    else {
        const char *name = endpoints ? "endpoints" : "hosts";
        const char *wrong =
            td_hosts_expand(endpoints ? endpoints : hosts, add_endpoint, &list, &position);
        at(r, "peers", name);
        if (wrong)
            return td_config_fail(r, "%s: character %zu: %s", name, position + 1, wrong);
        if (list.count != c->topology.nodes) {
            char shape[128];
            td_topology_print(&c->topology, shape, sizeof shape);
            return td_config_fail(r, "%s names %u node%s, but the shape %s has %u", name,
                                  list.count, list.count == 1 ? "" : "s", shape, c->topology.nodes);
        }
    }
    return check_places(r, endpoints ? "endpoints" : "hosts") && set_node(r, &list) &&
           set_listen(r, hosts != NULL, port) && set_absent(r);
}

bool td_config_check(struct td_config_reader *r)
{
    static bool (*const check[PARTS])(struct td_config_reader *) = {
        [MACHINE] = check_machine,
        [KEYS] = check_security,
        [METRICS] = check_metrics,
        [SETTINGS] = check_settings,
    };
    for (enum part part = 0; part < PARTS; part++) {
        bool good = !is_refused(r, part) && check[part](r);
        if (r->failed)
            return false;
        if (!good && part != SETTINGS) /* of these none depends on another one */
            refuse_part(r, part);
    }
    return true;
}
