/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"

enum { LINE_MAX_BYTES = 190, VALUE_MAX = 65536, KEYS_MAX = 64 };

/* struct reader: a load under way. */
struct reader {
    struct td_config *config;
    const char *file;
    unsigned line;
    size_t column;
    char *text;
    size_t text_bytes;
    bool failed;
    char section[32];
    const struct key *last; /* for continuation lines */
    bool seen[KEYS_MAX];
    unsigned seen_line[KEYS_MAX];
    char seen_file[KEYS_MAX][128];
    char *value[KEYS_MAX]; /* as text, of keys that are looked at together at the end */
};

struct key {
    const char *section, *name;
    bool (*read)(struct reader *, const struct key *, const char *value);
    size_t offset;  /* of the field */
    bool continues; /* a list: indented lines go on with it */
};

static bool fail(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct reader *r, const char *format, ...)
{
    if (r->failed)
        return false;
    r->failed = true;
    int length = snprintf(r->text, r->text_bytes, "%s:%u:%zu: ", r->file, r->line, r->column);
    va_list arguments;
    va_start(arguments, format);
    if (length >= 0 && (size_t)length < r->text_bytes)
        vsnprintf(r->text + length, r->text_bytes - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

static void *field(struct reader *r, const struct key *k)
{
    return (char *)r->config + k->offset;
}

/* ---- values ---- */

static bool read_bytes(struct reader *r, const struct key *k, const char *value)
{
    static const struct {
        const char *name;
        int shift;
    } units[] = {{"", 0},   {"B", 0},    {"KiB", 10}, {"K", 10},  {"MiB", 20},
                 {"M", 20}, {"GiB", 30}, {"G", 30},   {"TiB", 40}};
    char *end = NULL;
    unsigned long long number = strtoull(value, &end, 10);
    while (isspace((unsigned char)*end))
        end++;
    for (size_t i = 0; isdigit((unsigned char)value[0]) && i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].name) == 0 && number <= UINT64_MAX >> units[i].shift) {
            *(uint64_t *)field(r, k) = (uint64_t)number << units[i].shift;
            return true;
        }
    return fail(r, "%s = %s: expected a size such as 64 MiB", k->name, value);
}

static bool read_count(struct reader *r, const struct key *k, const char *value)
{
    char *end = NULL;
    unsigned long number = strtoul(value, &end, 10);
    if (!isdigit((unsigned char)value[0]) || *end || number > UINT32_MAX)
        return fail(r, "%s = %s: expected a whole number", k->name, value);
    *(uint32_t *)field(r, k) = (uint32_t)number;
    return true;
}

static bool read_packet(struct reader *r, const struct key *k, const char *value)
{
    uint64_t bytes = 0;
    const struct key as_bytes = {k->section, k->name, NULL, 0, false};
    struct td_config *config = r->config;
    struct {
        uint64_t bytes;
    } out = {0};
    r->config = (struct td_config *)(void *)&out; /* read_bytes writes at offset 0 */
    bool good = read_bytes(r, &as_bytes, value);
    r->config = config;
    bytes = out.bytes;
    if (good && bytes > UINT32_MAX)
        return fail(r, "%s = %s: packet must be 1 KiB to 256 KiB", k->name, value);
    if (good)
        *(uint32_t *)field(r, k) = (uint32_t)bytes;
    return good;
}

static bool read_duration(struct reader *r, const struct key *k, const char *value)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6},  {"s", 1e9},
                 {"", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    if (strcmp(value, "none") == 0 && strcmp(k->name, "arrival_timeout") == 0) {
        *(int64_t *)field(r, k) = -1;
        return true;
    }
    char *end = NULL;
    double number = strtod(value, &end);
    while (isspace((unsigned char)*end))
        end++;
    for (size_t i = 0; isdigit((unsigned char)value[0]) && i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].name) == 0 && number * units[i].ns < 9e18) {
            *(int64_t *)field(r, k) = (int64_t)(number * units[i].ns);
            return true;
        }
    return fail(r, "%s = %s: expected a duration such as 30s or 500ms", k->name, value);
}

static bool read_bool(struct reader *r, const struct key *k, const char *value)
{
    bool yes = strcmp(value, "yes") == 0 || strcmp(value, "true") == 0;
    if (!yes && strcmp(value, "no") != 0 && strcmp(value, "false") != 0)
        return fail(r, "%s = %s: expected yes or no", k->name, value);
    *(bool *)field(r, k) = yes;
    return true;
}

static bool read_path(struct reader *r, const struct key *k, const char *value, size_t most)
{
    if (value[0] != '/')
        return fail(r, "%s = %s: expected an absolute path", k->name, value);
    if (strlen(value) >= most)
        return fail(r, "%s: the path is longer than %zu characters", k->name, most - 1);
    strcpy(field(r, k), value);
    return true;
}

static bool read_socket(struct reader *r, const struct key *k, const char *value)
{
    return read_path(r, k, value, sizeof r->config->socket);
}

static bool read_directory(struct reader *r, const struct key *k, const char *value)
{
    return read_path(r, k, value, sizeof r->config->state_directory);
}

static bool read_shape(struct reader *r, const struct key *k, const char *value)
{
    size_t position = 0;
    const char *why = NULL;
    if (td_topology_parse(field(r, k), value, &position, &why) == TD_OK)
        return true;
    r->column += position;
    return fail(r, "shape = %s: character %zu: %s", value, position + 1, why);
}

static bool read_fabric(struct reader *r, const struct key *k, const char *value)
{
    if (strcmp(value, "direct") == 0)
        return true;
    return fail(r, "%s = %s: this release has the fabric direct", k->name, value);
}

static bool read_level(struct reader *r, const struct key *k, const char *value)
{
    static const struct {
        const char *name;
        enum td_log_level level;
    } levels[] = {{"error", TD_LOG_ERROR},
                  {"warning", TD_LOG_WARNING},
                  {"info", TD_LOG_INFO},
                  {"debug", TD_LOG_DEBUG}};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (strcmp(value, levels[i].name) == 0) {
            r->config->log_level = levels[i].level;
            return true;
        }
    return fail(r, "%s = %s: expected error, warning, info or debug", k->name, value);
}

static size_t key_index(const struct key *k);

/* keep_text stores the value until all keys are there; lists grow with each line. */
static bool keep_text(struct reader *r, const struct key *k, const char *value)
{
    char **kept = &r->value[key_index(k)];
    size_t before = *kept ? strlen(*kept) : 0, more = strlen(value);
    char *grown = before + more + 2 < VALUE_MAX ? realloc(*kept, before + more + 2) : NULL;
    if (!grown)
        return fail(r, "%s: the list is too long", k->name);
    if (before)
        grown[before++] = ' ';
    memcpy(grown + before, value, more + 1);
    *kept = grown;
    return true;
}

#define FIELD(name) offsetof(struct td_config, name)
static const struct key keys[] = {
    {"node", "coordinates", keep_text, 0, false},
    {"node", "socket", read_socket, FIELD(socket), false},
    {"node", "state_directory", read_directory, FIELD(state_directory), false},
    {"torus", "shape", read_shape, FIELD(topology), false},
    {"torus", "fabric", read_fabric, 0, false},
    {"peers", "hosts", keep_text, 0, true},
    {"peers", "port", keep_text, 0, false},
    {"peers", "endpoints", keep_text, 0, true},
    {"peers", "listen", keep_text, 0, false},
    {"peers", "insecure", read_bool, FIELD(insecure), false},
    {"network", "packet", read_packet, FIELD(settings.packet_bytes), false},
    {"network", "credits", read_count, FIELD(settings.link_credits), false},
    {"network", "heartbeat", read_duration, FIELD(settings.heartbeat_ns), false},
    {"limits", "memory", read_bytes, FIELD(settings.arena_bytes), false},
    {"limits", "scratch", read_bytes, FIELD(settings.scratch_bytes), false},
    {"limits", "region", read_bytes, FIELD(settings.region_bytes_max), false},
    {"limits", "clients", read_count, FIELD(settings.clients_max), false},
    {"limits", "operations", read_count, FIELD(settings.operations_max), false},
    {"limits", "join_timeout", read_duration, FIELD(settings.join_timeout_ns), false},
    {"limits", "arrival_timeout", read_duration, FIELD(settings.arrival_timeout_ns), false},
    {"limits", "progress_timeout", read_duration, FIELD(settings.progress_timeout_ns), false},
    {"compute", "workers", read_count, FIELD(workers), false},
    {"log", "level", read_level, 0, false},
};
enum { KEYS = sizeof keys / sizeof keys[0] };
_Static_assert((size_t)KEYS <= (size_t)KEYS_MAX, "every key has its place in the reader");

static size_t key_index(const struct key *k)
{
    return (size_t)(k - keys);
}

static const struct key *find_key(const char *section, const char *name)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].section, section) == 0 && strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

/* distance is Levenshtein's, of short names. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64], m = strlen(b);
    if (m >= 64 || strlen(a) >= 64)
        return 64;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < least ? change : least;
        }
    }
    return row[m];
}

static const struct key *nearest(const char *section, const char *name)
{
    const struct key *best = keys;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < KEYS; i++) {
        size_t far = 2 * distance(name, keys[i].name) + (strcmp(section, keys[i].section) != 0);
        if (far < least) {
            least = far;
            best = &keys[i];
        }
    }
    return best;
}

/* ---- lines ---- */

static int handle(void *user, const char *section, const char *name, const char *value)
{
    struct reader *r = user;
    const struct key *k = find_key(section, name);
    if (!k) {
        const struct key *near = nearest(section, name);
        fail(r, "unknown key %s in [%s]; the nearest known is %s in [%s]", name, section,
             near->name, near->section);
        return 1;
    }
    size_t i = key_index(k);
    bool goes_on = r->last == k;
    if (goes_on && !k->continues) {
        fail(r, "%s takes one value; an indented line goes on with a list", name);
        return 1;
    }
    if (!goes_on && r->seen[i]) {
        fail(r, "%s in [%s] is set twice: first in %s, line %u", name, section, r->seen_file[i],
             r->seen_line[i]);
        return 1;
    }
    if (!goes_on) {
        r->seen[i] = true;
        r->seen_line[i] = r->line;
        snprintf(r->seen_file[i], sizeof r->seen_file[i], "%s", r->file);
        r->last = k;
        free(r->value[i]); /* a drop-in replaces the list, it does not add to it */
        r->value[i] = NULL;
    }
    if (value[0] || !k->continues)
        k->read(r, k, value);
    return 1;
}

/* feed gives inih one line, behind what it needs to know of the lines before, so that an error has
 * its line. */
static bool feed(struct reader *r, const char *line)
{
    size_t length = strlen(line), begin = strspn(line, " \t");
    char text[LINE_MAX_BYTES * 2 + 128];
    r->column = begin + 1;
    if (line[begin] == '\0' || line[begin] == '#' || line[begin] == ';')
        return true;
    if (length > LINE_MAX_BYTES)
        return fail(r, "the line is longer than %d characters; lists go on on indented lines",
                    LINE_MAX_BYTES);
    if (line[begin] == '[') {
        const char *end = strchr(line, ']');
        r->last = NULL;
        if (!end || (size_t)(end - line) - begin - 1 >= sizeof r->section)
            return fail(r, "a section is written [name]");
        snprintf(r->section, sizeof r->section, "%.*s", (int)(end - line - (long)begin - 1),
                 line + begin + 1);
        for (size_t i = 0; i < KEYS; i++)
            if (strcmp(keys[i].section, r->section) == 0)
                return true;
        return fail(r,
                    "unknown section [%s]; there are node, torus, peers, network, limits, "
                    "compute, log",
                    r->section);
    }
    if (begin > 0 && r->last && !strchr(line, '=')) {
        snprintf(text, sizeof text, "[%s]\n%s = %s\n", r->section, r->last->name, line + begin);
        if (ini_parse_string(text, handle, r) != 0)
            return fail(r, "the line cannot be read");
        return !r->failed;
    }
    r->last = NULL;
    if (!strchr(line, '='))
        return fail(r, "expected key = value");
    const char *value = strchr(line, '=') + 1;
    r->column = (size_t)(value - line) + strspn(value, " \t") + 1;
    snprintf(text, sizeof text, "[%s]\n%s\n", r->section, line + begin);
    if (ini_parse_string(text, handle, r) != 0)
        return fail(r, "expected key = value");
    return !r->failed;
}

static bool read_file(struct reader *r, const char *path)
{
    r->file = path;
    r->line = 0;
    r->column = 1;
    r->section[0] = '\0';
    r->last = NULL;
    FILE *f = fopen(path, "re");
    if (!f)
        return fail(r, "cannot open it: %s", strerror(errno));
    char *line = NULL;
    size_t room = 0;
    ssize_t length = 0;
    while (!r->failed && (length = getline(&line, &room, f)) >= 0) {
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
            line[--length] = '\0';
        r->line++;
        feed(r, line);
    }
    free(line);
    fclose(f);
    return !r->failed;
}

static int is_drop_in(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".conf") == 0;
}

static bool read_drop_ins(struct reader *r, const char *file)
{
    char folder[512], path[1024];
    struct dirent **entries = NULL;
    snprintf(folder, sizeof folder, "%s.d", file);
    int count = scandir(folder, &entries, is_drop_in, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        memset(r->seen, 0, sizeof r->seen); /* a drop-in overrides */
        if (!r->failed)
            read_file(r, path);
        free(entries[i]);
    }
    free(entries);
    return !r->failed;
}

/* ---- what belongs together ---- */

struct host_list {
    struct reader *reader;
    uint32_t count;
    const char *port;
    const char *host;
    int64_t here, again;   /* the host's places: once by its name in full, */
    int64_t alike, alike2; /* or with or without its domain; -1: none */
    bool endpoints;
};

static bool add_endpoint(void *user, const char *name)
{
    struct host_list *list = user;
    char endpoint[512];
    if (list->count >= TD_NODES_MAX)
        return false;
    if (list->endpoints)
        snprintf(endpoint, sizeof endpoint, "%s", name);
    else
        snprintf(endpoint, sizeof endpoint, "tcp://%s:%s", name, list->port);
    if (!list->endpoints && strcmp(name, list->host) == 0)
        *(list->here < 0 ? &list->here : &list->again) = list->count;
    else if (!list->endpoints && td_hosts_alike(name, list->host))
        *(list->alike < 0 ? &list->alike : &list->alike2) = list->count;
    list->reader->config->endpoints[list->count++] = strdup(endpoint);
    return true;
}

/* at points the error at a key. */
static void at(struct reader *r, const char *section, const char *name)
{
    size_t i = key_index(find_key(section, name));
    r->column = 1;
    if (r->seen_line[i]) {
        r->line = r->seen_line[i];
        r->file = r->seen_file[i];
    }
}

static const char *text_of(struct reader *r, const char *section, const char *name)
{
    return r->value[key_index(find_key(section, name))];
}

static int64_t place_of_host(const struct host_list *list)
{
    return list->here >= 0 ? list->here : list->alike;
}

static bool settle_coordinates(struct reader *r, const struct host_list *list)
{
    struct td_config *c = r->config;
    const char *text = text_of(r, "node", "coordinates");
    int64_t here = place_of_host(list), other = list->here >= 0 ? list->again : list->alike2;
    if (!text && c->topology.nodes == 1)
        here = 0;
    if (!text && here < 0) {
        at(r, "peers", "hosts");
        return fail(r, "this machine, %s, is not in the host list: set coordinates in [node]",
                    list->host);
    }
    if (!text && c->topology.nodes > 1 && other >= 0) {
        at(r, "peers", "hosts");
        return fail(r,
                    "this machine, %s, may be %s (node %lld) or %s (node %lld): set coordinates in "
                    "[node]",
                    list->host, c->endpoints[here], (long long)here, c->endpoints[other],
                    (long long)other);
    }
    c->node = (uint32_t)here;
    if (!text)
        return true;
    uint32_t place[TD_DIMENSIONS_MAX] = {0}, d = 0;
    at(r, "node", "coordinates");
    for (const char *p = text; *p; d++) {
        char *end = NULL;
        unsigned long value = strtoul(p, &end, 10);
        if (!isdigit((unsigned char)*p) || (*end && *end != ',') || d >= c->topology.dimensions ||
            value >= c->topology.size[d])
            return fail(r,
                        "coordinates = %s: expected %u numbers like 0,2, each below the shape's "
                        "size",
                        text, c->topology.dimensions);
        place[d] = (uint32_t)value;
        p = *end ? end + 1 : end;
    }
    if (d != c->topology.dimensions)
        return fail(r, "coordinates = %s: the shape has %u dimensions", text,
                    c->topology.dimensions);
    c->node = td_topology_node(&c->topology, place);
    return true;
}

static bool is_loopback(const char *endpoint)
{
    return strncmp(endpoint, "ipc://", 6) == 0 || strncmp(endpoint, "tcp://127.", 10) == 0 ||
           strncmp(endpoint, "tcp://localhost:", 16) == 0 ||
           strncmp(endpoint, "tcp://[::1]:", 12) == 0;
}

static bool settle_listen(struct reader *r, bool by_hosts, const char *port)
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
    if (!td_config_bulk(c->listen, bulk, sizeof bulk))
        return fail(r, "listen = %s: expected tcp://address:port or ipc:///path", c->listen);
    if (strncmp(bulk, "ipc://", 6) == 0 && strlen(bulk) - 6 > 107)
        return fail(r, "listen = %s: the path, with .bulk, is longer than 107 characters",
                    c->listen);
    if (c->topology.nodes > 1 && !is_loopback(c->listen) && !c->insecure)
        return fail(r,
                    "listen = %s reaches beyond this machine without keys: set insecure = yes if "
                    "the network is trusted",
                    c->listen);
    return true;
}

static bool settle_settings(struct reader *r)
{
    const char *key = NULL, *wrong = td_settings_check(&r->config->settings, &key);
    if (!wrong)
        return true;
    at(r, find_key("limits", key) ? "limits" : "network", key);
    return fail(r, "%s", wrong);
}

static bool settle(struct reader *r, const char *host)
{
    struct td_config *c = r->config;
    const char *hosts = text_of(r, "peers", "hosts"), *endpoints = text_of(r, "peers", "endpoints");
    const char *port = text_of(r, "peers", "port") ? text_of(r, "peers", "port") : "7117";
    struct host_list list = {.reader = r,
                             .port = port,
                             .host = host,
                             .here = -1,
                             .again = -1,
                             .alike = -1,
                             .alike2 = -1,
                             .endpoints = endpoints != NULL};
    size_t position = 0;
    if (c->topology.dimensions == 0)
        return fail(r, "shape is not set in [torus]");
    if (hosts && endpoints) {
        at(r, "peers", "endpoints");
        return fail(r, "set hosts or endpoints in [peers], not both");
    }
    if (!hosts && !endpoints && c->topology.nodes == 1)
        add_endpoint(&(struct host_list){.reader = r, .port = port, .host = host}, "127.0.0.1");
    else if (!hosts && !endpoints)
        return fail(r, "set hosts or endpoints in [peers]: the shape has %u nodes",
                    c->topology.nodes);
    else {
        const char *name = endpoints ? "endpoints" : "hosts";
        const char *wrong =
            td_hosts_expand(endpoints ? endpoints : hosts, add_endpoint, &list, &position);
        at(r, "peers", name);
        if (wrong)
            return fail(r, "%s: character %zu: %s", name, position + 1, wrong);
        if (list.count != c->topology.nodes) {
            char shape[128];
            td_topology_print(&c->topology, shape, sizeof shape);
            return fail(r, "%s names %u nodes, but the shape %s has %u", name, list.count, shape,
                        c->topology.nodes);
        }
    }
    for (uint32_t n = 0; endpoints && n < c->topology.nodes; n++) {
        char bulk[600];
        if (!td_config_bulk(c->endpoints[n], bulk, sizeof bulk))
            return fail(r, "endpoints: %s: expected tcp://address:port or ipc:///path",
                        c->endpoints[n]);
    }
    return settle_coordinates(r, &list) && settle_listen(r, hosts != NULL, port) &&
           settle_settings(r);
}

bool td_config_bulk(const char *endpoint, char *bulk, size_t bytes)
{
    if (strncmp(endpoint, "ipc:///", 7) == 0 && endpoint[7])
        return (size_t)snprintf(bulk, bytes, "%s.bulk", endpoint) < bytes;
    const char *colon = strrchr(endpoint, ':');
    if (strncmp(endpoint, "tcp://", 6) != 0 || !colon || colon < endpoint + 7)
        return false;
    char *end = NULL;
    unsigned long port = strtoul(colon + 1, &end, 10);
    if (!isdigit((unsigned char)colon[1]) || *end || port == 0 || port >= 65535)
        return false;
    return (size_t)snprintf(bulk, bytes, "%.*s:%lu", (int)(colon - endpoint), endpoint, port + 1) <
           bytes;
}

td_err td_config_load(struct td_config *config, const char *file, const char *host, char *text,
                      size_t text_bytes)
{
    struct reader *r = calloc(1, sizeof *r);
    memset(config, 0, sizeof *config);
    if (!r) {
        snprintf(text, text_bytes, "%s: no memory", file);
        return TD_ERR_NO_MEMORY;
    }
    td_settings_default(&config->settings);
    config->workers = 2;
    config->log_level = TD_LOG_INFO;
    strcpy(config->socket, "/run/torusd/torusd.sock");
    strcpy(config->state_directory, "/var/lib/torusd");
    *r = (struct reader){.config = config, .text = text, .text_bytes = text_bytes};
    bool good = read_file(r, file) && read_drop_ins(r, file);
    if (good) {
        r->file = file;
        r->line = r->line ? r->line : 1;
        r->column = 1;
        good = settle(r, host);
    }
    for (size_t i = 0; i < KEYS; i++)
        free(r->value[i]);
    free(r);
    if (!good)
        td_config_free(config);
    return good ? TD_OK : TD_ERR_INVALID;
}

void td_config_free(struct td_config *config)
{
    for (uint32_t n = 0; n < TD_NODES_MAX; n++) {
        free(config->endpoints[n]);
        config->endpoints[n] = NULL;
    }
}
