/* SPDX-License-Identifier: Apache-2.0 */
#include "config_keys.h"
#include "address.h"
#include "base/bits.h"
#include "base/hash.h"
#include "base/quantity.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX = 65536 };

static void *field(struct td_config_reader *r, const struct td_config_key *k)
{
    return (char *)r->config + k->offset;
}

static bool read_bytes(struct td_config_reader *r, const struct td_config_key *k, const char *value)
{
    if (td_quantity_parse(value, field(r, k)))
        return true;
    return td_config_fail(r, "%s = %s: expected a size such as 64 MiB", k->name, value);
}

static bool read_count(struct td_config_reader *r, const struct td_config_key *k, const char *value)
{
    char *end = NULL;
    unsigned long number = strtoul(value, &end, 10);
    if (!isdigit((unsigned char)value[0]) || *end || number > UINT32_MAX)
        return td_config_fail(r, "%s = %s: expected a whole number", k->name, value);
    *(uint32_t *)field(r, k) = (uint32_t)number;
    return true;
}

static bool read_workers(struct td_config_reader *r, const struct td_config_key *k,
                         const char *value)
{
    enum { MOST = 1024 }; /* limit of libuv */
    if (!read_count(r, k, value))
        return false;
    if (r->config->workers >= 1 && r->config->workers <= MOST)
        return true;
    return td_config_fail(r, "%s = %s: expected 1 to %d", k->name, value, MOST);
}

static bool read_packet(struct td_config_reader *r, const struct td_config_key *k,
                        const char *value)
{
    uint64_t bytes = 0;
    const struct td_config_key as_bytes = {k->section, k->name, NULL, 0, false, NULL};
    struct td_config *config = r->config;
    struct {
        uint64_t bytes;
    } out = {0};
    r->config = (struct td_config *)(void *)&out; /* read_bytes writes at offset 0 */
    bool good = read_bytes(r, &as_bytes, value);
    r->config = config;
    bytes = out.bytes;
    if (good && bytes > UINT32_MAX)
        return td_config_fail(r, "%s = %s: packet must be 1 KiB to 256 KiB", k->name, value);
    if (good)
        *(uint32_t *)field(r, k) = (uint32_t)bytes;
    return good;
}

static bool read_duration(struct td_config_reader *r, const struct td_config_key *k,
                          const char *value)
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
    return td_config_fail(r, "%s = %s: expected a duration such as 30s or 500ms", k->name, value);
}

static bool read_measure(struct td_config_reader *r, const struct td_config_key *k,
                         const char *value)
{
    const int64_t second = 1000000000, most = 86400 * second;
    if (!read_duration(r, k, value))
        return false;
    if (r->config->measure_ns >= second && r->config->measure_ns <= most)
        return true;
    return td_config_fail(r, "%s = %s: expected 1s to 24h", k->name, value);
}

static bool read_bool(struct td_config_reader *r, const struct td_config_key *k, const char *value)
{
    bool yes = strcmp(value, "yes") == 0 || strcmp(value, "true") == 0;
    if (!yes && strcmp(value, "no") != 0 && strcmp(value, "false") != 0)
        return td_config_fail(r, "%s = %s: expected yes or no", k->name, value);
    *(bool *)field(r, k) = yes;
    return true;
}

static bool read_path(struct td_config_reader *r, const struct td_config_key *k, const char *value,
                      size_t most)
{
    if (value[0] != '/')
        return td_config_fail(r, "%s = %s: expected an absolute path", k->name, value);
    if (strlen(value) >= most)
        return td_config_fail(r, "%s: the path is longer than %zu characters", k->name, most - 1);
    strcpy(field(r, k), value);
    return true;
}

static bool read_socket(struct td_config_reader *r, const struct td_config_key *k,
                        const char *value)
{
    return read_path(r, k, value, sizeof r->config->socket);
}

static bool read_file(struct td_config_reader *r, const struct td_config_key *k, const char *value)
{
    return read_path(r, k, value, sizeof r->config->key_file);
}

static bool read_directory(struct td_config_reader *r, const struct td_config_key *k,
                           const char *value)
{
    return read_path(r, k, value, sizeof r->config->state_directory);
}

static bool read_address(struct td_config_reader *r, const struct td_config_key *k,
                         const char *value)
{
    struct td_address address;
    const char *wrong = td_address_read(value, &address);
    if (!wrong && address.family == AF_UNSPEC)
        wrong = "expected a numeric address, such as 127.0.0.1:9817 or [::1]:9817";
    if (!wrong && strlen(value) >= sizeof r->config->metrics_listen)
        wrong = "the address is too long";
    if (wrong)
        return td_config_fail(r, "%s = %s: %s", k->name, value, wrong);
    strcpy(field(r, k), value);
    return true;
}

static bool read_group(struct td_config_reader *r, const struct td_config_key *k, const char *value)
{
    size_t most = sizeof r->config->observers;
    if (strlen(value) >= most)
        return td_config_fail(r, "%s: the name of a group has at most %zu characters", k->name,
                              most - 1);
    strcpy(field(r, k), value);
    return true;
}

/* The kernel is asked by config_host and upon use: a configuration may be for another machine. */
static bool read_congestion(struct td_config_reader *r, const struct td_config_key *k,
                            const char *value)
{
    size_t most = sizeof r->config->congestion;
    if (value[0] && strlen(value) < most) {
        strcpy(field(r, k), value);
        return true;
    }
    return td_config_fail(r, "%s = %s: expected auto, system, or a congestion control such as reno",
                          k->name, value);
}

static bool read_shape(struct td_config_reader *r, const struct td_config_key *k, const char *value)
{
    size_t position = 0;
    const char *why = NULL;
    if (td_topology_parse(field(r, k), value, &position, &why) == TD_OK)
        return true;
    r->column += position;
    return td_config_fail(r, "shape = %s: character %zu: %s", value, position + 1, why);
}

/* choice_index returns the index of the value among the key's choices ("a|b|c"). On an error it
 * stores the sentence and returns -1. */
static int choice_index(struct td_config_reader *r, const struct td_config_key *k,
                        const char *value)
{
    const char *at = k->choices;
    for (int i = 0; at; i++) {
        size_t length = strcspn(at, "|");
        if (strlen(value) == length && strncmp(at, value, length) == 0)
            return i;
        at = at[length] ? at + length + 1 : NULL;
    }
    td_config_fail(r, "%s = %s: expected one of %s", k->name, value, k->choices);
    return -1;
}

static bool read_choice(struct td_config_reader *r, const struct td_config_key *k,
                        const char *value)
{
    int i = choice_index(r, k, value);
    if (i < 0)
        return false;
    *(uint8_t *)field(r, k) = (uint8_t)i;
    return true;
}

static bool read_flag(struct td_config_reader *r, const struct td_config_key *k, const char *value)
{
    int i = choice_index(r, k, value);
    if (i < 0)
        return false;
    *(bool *)field(r, k) = i == 1;
    return true;
}

static bool read_arbitration(struct td_config_reader *r, const struct td_config_key *k,
                             const char *value)
{
    int i = choice_index(r, k, value);
    if (i < 0)
        return false;
    r->config->settings.router.arbitration = (enum td_arbitration)i;
    return true;
}

static bool read_rate(struct td_config_reader *r, const struct td_config_key *k, const char *value)
{
    if (td_quantity_parse_rate(value, field(r, k)))
        return true;
    return td_config_fail(r, "%s = %s: expected bytes per second such as 5MB/s", k->name, value);
}

static const struct {
    const char *name;
    enum td_log_level level;
} levels[] = {{"error", TD_LOG_ERROR},
              {"warning", TD_LOG_WARNING},
              {"info", TD_LOG_INFO},
              {"debug", TD_LOG_DEBUG}};

static bool read_level(struct td_config_reader *r, const struct td_config_key *k, const char *value)
{
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (strcmp(value, levels[i].name) == 0) {
            r->config->log_level = levels[i].level;
            return true;
        }
    return td_config_fail(r, "%s = %s: expected error, warning, info or debug", k->name, value);
}

/* keep_text stores the value for config_checks. A list grows with each line. */
static bool keep_text(struct td_config_reader *r, const struct td_config_key *k, const char *value)
{
    char **kept = &r->value[td_config_key_index(k)];
    size_t before = *kept ? strlen(*kept) : 0, more = strlen(value);
    char *grown = before + more + 2 < VALUE_MAX ? realloc(*kept, before + more + 2) : NULL;
    if (!grown)
        return td_config_fail(r, "%s: the list is longer than 64 KiB", k->name);
    if (before)
        grown[before++] = ' ';
    memcpy(grown + before, value, more + 1);
    *kept = grown;
    return true;
}

#define FIELD(name) offsetof(struct td_config, name)
static const struct td_config_key keys[] = {
    {"node", "coordinates", keep_text, 0, false, NULL},
    {"node", "socket", read_socket, FIELD(socket), false, NULL},
    {"node", "state_directory", read_directory, FIELD(state_directory), false, NULL},
    {"node", "observers", read_group, FIELD(observers), false, NULL},
    {"node", "segments", read_bool, FIELD(segments), false, NULL},
    {"torus", "shape", read_shape, FIELD(topology), false, NULL},
    {"torus", "fabric", read_choice, FIELD(settings.tuning.fabric), false, "direct|routed"},
    {"torus", "alltoall", read_choice, FIELD(settings.tuning.alltoall), false,
     "auto|random|phased|pairwise|two-phase"},
    {"torus", "link_rate", read_rate, FIELD(settings.link_rate), false, NULL},
    {"torus", "link_latency", read_duration, FIELD(settings.link_latency_ns), false, NULL},
    {"torus", "slots", read_count, FIELD(settings.router.slots), false, NULL},
    {"torus", "fifo_slots", read_count, FIELD(settings.router.fifo_slots), false, NULL},
    {"torus", "queues", read_count, FIELD(settings.router.queues), false, NULL},
    {"torus", "queue_slots", read_count, FIELD(settings.router.queue_slots), false, NULL},
    {"torus", "patience", read_count, FIELD(settings.router.patience), false, NULL},
    {"torus", "straight", read_count, FIELD(settings.router.straight), false, NULL},
    {"torus", "arbitration", read_arbitration, 0, false, "transit-first|injection-first|none"},
    {"alltoall", "burst", read_count, FIELD(settings.tuning.burst), false, NULL},
    {"alltoall", "order", read_flag, FIELD(settings.tuning.in_order), false, "random|number"},
    {"alltoall", "parts", read_choice, FIELD(settings.tuning.parts), false, "all|1"},
    {"alltoall", "gap", read_flag, FIELD(settings.tuning.no_gap), false, "yes|no"},
    {"alltoall", "barriers", read_choice, FIELD(settings.tuning.barriers), false, "hop|phase|none"},
    {"alltoall", "barrier_scope", read_flag, FIELD(settings.tuning.barriers_of_all), false,
     "ring|all"},
    {"alltoall", "relay", read_bytes, FIELD(settings.tuning.relay_bytes), false, NULL},
    {"peers", "hosts", keep_text, 0, true, NULL},
    {"peers", "port", keep_text, 0, false, NULL},
    {"peers", "endpoints", keep_text, 0, true, NULL},
    {"peers", "absent", keep_text, 0, true, NULL},
    {"peers", "listen", keep_text, 0, false, NULL},
    {"security", "key", read_file, FIELD(key_file), false, NULL},
    {"security", "peers", read_file, FIELD(peers_file), false, NULL},
    {"security", "streams", read_choice, FIELD(streams), false, "encrypt|authenticate"},
    {"security", "insecure", read_bool, FIELD(insecure), false, NULL},
    {"network", "packet", read_packet, FIELD(settings.packet_bytes), false, NULL},
    {"network", "message_overhead", read_bytes, FIELD(settings.tuning.message_bytes), false, NULL},
    {"network", "credits", read_count, FIELD(settings.link_credits), false, NULL},
    {"network", "express", read_bool, FIELD(express), false, NULL},
    {"network", "congestion", read_congestion, FIELD(congestion), false, NULL},
    {"network", "heartbeat", read_duration, FIELD(settings.heartbeat_ns), false, NULL},
    {"limits", "memory", read_bytes, FIELD(settings.arena_bytes), false, NULL},
    {"limits", "scratch", read_bytes, FIELD(settings.scratch_bytes), false, NULL},
    {"limits", "region", read_bytes, FIELD(settings.region_bytes_max), false, NULL},
    {"limits", "clients", read_count, FIELD(settings.clients_max), false, NULL},
    {"limits", "operations", read_count, FIELD(settings.operations_max), false, NULL},
    {"limits", "groups", read_count, FIELD(settings.groups_max), false, NULL},
    {"limits", "groups_per_process", read_count, FIELD(settings.client_groups_max), false, NULL},
    {"limits", "regions", read_count, FIELD(settings.regions_max), false, NULL},
    {"limits", "unread", read_bytes, FIELD(settings.unread_bytes_max), false, NULL},
    {"limits", "plans", read_bytes, FIELD(settings.plans_bytes_max), false, NULL},
    {"limits", "share", read_count, FIELD(settings.share_percent), false, NULL},
    {"limits", "join_timeout", read_duration, FIELD(settings.join_timeout_ns), false, NULL},
    {"limits", "arrival_timeout", read_duration, FIELD(settings.arrival_timeout_ns), false, NULL},
    {"limits", "progress_timeout", read_duration, FIELD(settings.progress_timeout_ns), false, NULL},
    {"compute", "workers", read_workers, FIELD(workers), false, NULL},
    {"fft", "effort", read_choice, FIELD(effort), false, "estimate|measure|patient|wisdom"},
    {"fft", "measure_timeout", read_measure, FIELD(measure_ns), false, NULL},
    {"log", "level", read_level, FIELD(log_level), false, NULL},
    {"metrics", "listen", read_address, FIELD(metrics_listen), false, NULL},
    {"metrics", "anyone", read_bool, FIELD(metrics_anyone), false, NULL},
    {"metrics", "jobs", read_bool, FIELD(metrics_jobs), false, NULL},
    {"trace", "events", read_count, FIELD(settings.trace_events), false, NULL},
};
enum { KEYS = sizeof keys / sizeof keys[0] };
_Static_assert((size_t)KEYS <= (size_t)TD_CONFIG_KEYS_MAX, "the reader has room for every key");

size_t td_config_key_index(const struct td_config_key *k)
{
    return (size_t)(k - keys);
}

const struct td_config_key *td_config_key(const char *section, const char *name)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].section, section) == 0 && strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

const struct td_config_key *td_config_key_nearest(const char *section, const char *name)
{
    const struct td_config_key *best = keys;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < KEYS; i++) {
        size_t far =
            2 * td_text_distance(name, keys[i].name) + (strcmp(section, keys[i].section) != 0);
        if (far < least) {
            least = far;
            best = &keys[i];
        }
    }
    return best;
}

void td_config_sections(char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < KEYS && length < bytes; i++)
        if (i == 0 ||
            strcmp(keys[i].section, keys[i - 1].section) != 0) /* keys of a section are adjacent */
            length += (size_t)snprintf(text + length, bytes - length, "%s%s", length ? ", " : "",
                                       keys[i].section);
}

bool td_config_section_known(const char *section)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].section, section) == 0)
            return true;
    return false;
}

size_t td_config_key_reload_bytes(const struct td_config_key *key)
{
#define ENTRY(section, name, field)                                                                \
    {                                                                                              \
        section, name, sizeof((struct td_config *)0)->field                                        \
    }
    static const struct {
        const char *section, *name;
        size_t bytes;
    } reloaded[] = {
        ENTRY("node", "observers", observers),      ENTRY("security", "key", key_file),
        ENTRY("security", "peers", peers_file),     ENTRY("log", "level", log_level),
        ENTRY("metrics", "listen", metrics_listen), ENTRY("metrics", "anyone", metrics_anyone),
        ENTRY("metrics", "jobs", metrics_jobs),
    };
#undef ENTRY
    for (size_t i = 0; i < sizeof reloaded / sizeof reloaded[0]; i++)
        if (strcmp(key->section, reloaded[i].section) == 0 &&
            strcmp(key->name, reloaded[i].name) == 0)
            return reloaded[i].bytes;
    return 0;
}

/* ---- values for people ---- */

const struct td_config_key *td_config_key_at(size_t index)
{
    return index < KEYS ? &keys[index] : NULL;
}

/* print_choice writes word `index` of "a|b|c". */
static void print_choice(const char *choices, unsigned index, char *text, size_t bytes)
{
    for (; index && strchr(choices, '|'); index--)
        choices = strchr(choices, '|') + 1;
    snprintf(text, bytes, "%.*s", (int)strcspn(choices, "|"), choices);
}

/* print_nodes writes a set of nodes as 3,6-8. */
static void print_nodes(const uint8_t *set, uint32_t nodes, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t n = 0, end = 0; n < nodes && length < bytes; n = end) {
        end = n + 1;
        if (!td_bit(set, n))
            continue;
        while (end < nodes && td_bit(set, end))
            end++;
        length += (size_t)snprintf(text + length, bytes - length, end == n + 1 ? "%s%u" : "%s%u-%u",
                                   length ? "," : "", n, end - 1);
    }
}

/* print_endpoints writes as many endpoints as there is room for, and a hash of all if some are left
 * out. */
static void print_endpoints(const struct td_config *c, char *text, size_t bytes)
{
    enum { TAIL = 50 };
    size_t length = 0;
    uint64_t hash = TD_HASH_START;
    text[0] = '\0';
    for (uint32_t n = 0; n < c->topology.nodes; n++)
        hash = td_hash_add(hash, td_hash_bytes(c->endpoints[n], strlen(c->endpoints[n])));
    for (uint32_t n = 0; n < c->topology.nodes; n++) {
        if (length + strlen(c->endpoints[n]) + TAIL >= bytes) {
            snprintf(text + length, bytes - length, " and %u more, hash %08x",
                     c->topology.nodes - n, (unsigned)hash);
            return;
        }
        length +=
            (size_t)snprintf(text + length, bytes - length, "%s%s", n ? " " : "", c->endpoints[n]);
    }
}

/* print_place writes the coordinates of the node. */
static void print_place(const struct td_config *c, char *text, size_t bytes)
{
    uint32_t place[TD_DIMENSIONS_MAX];
    size_t length = 0;
    td_topology_coordinates(&c->topology, c->node, place);
    for (uint32_t d = 0; d < c->topology.dimensions && length < bytes; d++)
        length += (size_t)snprintf(text + length, bytes - length, "%s%u", d ? "," : "", place[d]);
}

/* print_text writes the keys of config_checks as they work out. */
static void print_text(const struct td_config *c, const struct td_config_key *k, char *text,
                       size_t bytes)
{
    bool by_hosts = c->set >> td_config_key_index(td_config_key("peers", "hosts")) & 1;
    const char *port = strrchr(c->listen, ':');
    text[0] = '\0';
    if (strcmp(k->name, "coordinates") == 0)
        print_place(c, text, bytes);
    else if (strcmp(k->name, by_hosts ? "hosts" : "endpoints") == 0)
        print_endpoints(c, text, bytes);
    else if (strcmp(k->name, "absent") == 0)
        print_nodes(c->settings.absent, c->topology.nodes, text, bytes);
    else if (strcmp(k->name, "listen") == 0)
        snprintf(text, bytes, "%s", c->listen);
    else if (strcmp(k->name, "port") == 0 && strncmp(c->listen, "tcp://", 6) == 0)
        snprintf(text, bytes, "%s", port ? port + 1 : "");
}

static void print_word(const struct td_config *c, const struct td_config_key *k, const void *at,
                       char *text, size_t bytes)
{
    if (k->read == read_bool)
        snprintf(text, bytes, "%s", *(const bool *)at ? "yes" : "no");
    else if (k->read == read_shape)
        td_topology_print(&c->topology, text, bytes);
    else if (k->read == read_choice)
        print_choice(k->choices, *(const uint8_t *)at, text, bytes);
    else if (k->read == read_flag)
        print_choice(k->choices, *(const bool *)at, text, bytes);
    else if (k->read == read_arbitration)
        print_choice(k->choices, c->settings.router.arbitration, text, bytes);
    else if (k->read == keep_text)
        print_text(c, k, text, bytes);
    else if (k->read != read_level)
        snprintf(text, bytes, "%s", (const char *)at); /* a path or a name */
    for (size_t i = 0; k->read == read_level && i < sizeof levels / sizeof levels[0]; i++)
        if (levels[i].level == c->log_level)
            snprintf(text, bytes, "%s", levels[i].name);
}

const char *td_config_key_print(const struct td_config *c, const struct td_config_key *k,
                                char *text, size_t bytes)
{
    const void *at = (const char *)c + k->offset;
    if (k->read == read_bytes || k->read == read_rate) {
        snprintf(text, bytes, "%llu", (unsigned long long)*(const uint64_t *)at);
        return k->read == read_rate ? "bytes/s" : "bytes";
    }
    if (k->read == read_packet || k->read == read_count || k->read == read_workers) {
        snprintf(text, bytes, "%u", *(const uint32_t *)at);
        return k->read == read_packet ? "bytes" : "";
    }
    if (k->read == read_duration || k->read == read_measure) {
        int64_t ns = *(const int64_t *)at;
        snprintf(text, bytes, "%lld", (long long)ns);
        if (ns < 0)
            snprintf(text, bytes, "none");
        return ns < 0 ? "" : "ns";
    }
    print_word(c, k, at, text, bytes);
    return "";
}
