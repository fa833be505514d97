/* SPDX-License-Identifier: Apache-2.0 */
#include "config_keys.h"
#include "address.h"
#include "base/bits.h"
#include "base/hash.h"
#include "base/quantity.h"
#include "base/text.h"
#include "compute/fft/fft.h"
#include "model/settings_table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX = 65536 };

static void *field(struct td_config_reader *r, const struct td_config_key *k)
{
    return (char *)r->config + k->setting.offset;
}

/* ---- values by unit ---- */

static const char NO_YES[] = "no|yes";

static bool parse_number(const char *value, uint64_t *number)
{
    char *end = NULL;
    *number = strtoul(value, &end, 10);
    return isdigit((unsigned char)value[0]) && !*end;
}

static bool parse_duration(const char *value, bool may_be_none, uint64_t *ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6},  {"s", 1e9},
                 {"", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    char *end = NULL;
    if (may_be_none && strcmp(value, "none") == 0) {
        *ns = UINT64_MAX;
        return true;
    }
    double number = strtod(value, &end);
    while (isspace((unsigned char)*end))
        end++;
    for (size_t i = 0; isdigit((unsigned char)value[0]) && i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].name) == 0 && number * units[i].ns < 9e18) {
            *ns = (uint64_t)(number * units[i].ns);
            return true;
        }
    return false;
}

static bool parse_choice(const struct td_setting_row *s, const char *value, uint64_t *number)
{
    if (s->choices == NO_YES && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0))
        value = value[0] == 't' ? "yes" : "no";
    int i = td_setting_choice(s, value);
    *number = (uint64_t)i;
    return i >= 0;
}

/* parse reads a value. It returns NULL, or what was expected. */
static const char *parse(const struct td_setting_row *s, const char *value, uint64_t *number)
{
    switch (s->unit) {
    case TD_UNIT_NUMBER:
        return parse_number(value, number) ? NULL : "a whole number";
    case TD_UNIT_BYTES:
        return td_quantity_parse(value, number) ? NULL : "a size such as 64 MiB";
    case TD_UNIT_RATE:
        return td_quantity_parse_rate(value, number) ? NULL : "bytes per second such as 5MB/s";
    case TD_UNIT_DURATION:
        return parse_duration(value, s->normal == UINT64_MAX, number)
                   ? NULL
                   : "a duration such as 30s or 500ms";
    case TD_UNIT_CHOICE:
        if (parse_choice(s, value, number))
            return NULL;
        return s->choices == NO_YES ? "yes or no" : s->choices;
    case TD_UNIT_TEXT:
    case TD_UNIT_SET:
        break;
    }
    return "another form"; /* such a key has a reader of its own */
}

static bool read_by_unit(struct td_config_reader *r, const struct td_config_key *k,
                         const char *value)
{
    uint64_t number = 0;
    char text[TD_SETTING_WRONG_MAX];
    const char *expected = parse(&k->setting, value, &number);
    if (expected)
        return td_config_fail(r, "%s = %s: expected %s%s", k->setting.key, value,
                              expected == k->setting.choices ? "one of " : "", expected);
    if (td_setting_wrong(&k->setting, number, text))
        return td_config_fail(r, "%s", text);
    if (k->setting.unit == TD_UNIT_NUMBER && number > UINT32_MAX)
        return td_config_fail(r, "%s must be at most %u", k->setting.key, UINT32_MAX);
    td_setting_store(&k->setting, r->config, number);
    return true;
}

/* ---- values of other forms ---- */

static bool read_path(struct td_config_reader *r, const struct td_config_key *k, const char *value)
{
    size_t most = k->setting.bytes;
    if (value[0] != '/')
        return td_config_fail(r, "%s = %s: expected an absolute path", k->setting.key, value);
    if (strlen(value) >= most)
        return td_config_fail(r, "%s: the path is longer than %zu characters", k->setting.key,
                              most - 1);
    strcpy(field(r, k), value);
    return true;
}

static bool read_address(struct td_config_reader *r, const struct td_config_key *k,
                         const char *value)
{
    struct td_address address;
    const char *wrong = td_address_read(value, &address);
    if (!wrong && address.family == AF_UNSPEC)
        wrong = "expected a numeric address, such as 127.0.0.1:9817 or [::1]:9817";
    if (!wrong && strlen(value) >= k->setting.bytes)
        wrong = "the address is too long";
    if (wrong)
        return td_config_fail(r, "%s = %s: %s", k->setting.key, value, wrong);
    strcpy(field(r, k), value);
    return true;
}

static bool read_group(struct td_config_reader *r, const struct td_config_key *k, const char *value)
{
    size_t most = k->setting.bytes;
    if (strlen(value) >= most)
        return td_config_fail(r, "%s: the name of a group has at most %zu characters",
                              k->setting.key, most - 1);
    strcpy(field(r, k), value);
    return true;
}

/* The kernel is asked by config_host and upon use: a configuration may be for another machine. */
static bool read_congestion(struct td_config_reader *r, const struct td_config_key *k,
                            const char *value)
{
    size_t most = k->setting.bytes;
    if (value[0] && strlen(value) < most) {
        strcpy(field(r, k), value);
        return true;
    }
    return td_config_fail(r, "%s = %s: expected auto, system, or a congestion control such as reno",
                          k->setting.key, value);
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
    return td_config_fail(r, "%s = %s: expected error, warning, info or debug", k->setting.key,
                          value);
}

/* keep_text stores the value for config_checks. A list grows with each line. */
static bool keep_text(struct td_config_reader *r, const struct td_config_key *k, const char *value)
{
    char **kept = &r->value[td_config_key_index(k)];
    size_t before = *kept ? strlen(*kept) : 0, more = strlen(value);
    char *grown = before + more + 2 < VALUE_MAX ? realloc(*kept, before + more + 2) : NULL;
    if (!grown)
        return td_config_fail(r, "%s: the list is longer than 64 KiB", k->setting.key);
    if (before)
        grown[before++] = ' ';
    memcpy(grown + before, value, more + 1);
    *kept = grown;
    return true;
}

/* ---- the table ---- */

#define PLACE(s, k, field)                                                                         \
    .section = (s), .key = (k), .offset = offsetof(struct td_config, field),                       \
    .bytes = sizeof(((struct td_config *)0)->field)
/* of the core, of the driver, and of the driver with a reader of its own */
#define CORE(s, k, field, ...)                                                                     \
    {                                                                                              \
        .setting = { PLACE(s, k, settings.field), __VA_ARGS__ }                                    \
    }
#define OWN(s, k, field, ...) .setting = {PLACE(s, k, field), __VA_ARGS__}
#define TEXT(s, k, field, reader) .setting = {PLACE(s, k, field)}, .read = (reader)
#define KEPT(s, k) .setting = {.section = (s), .key = (k)}, .read = keep_text
#define YES .unit = TD_UNIT_CHOICE, .choices = NO_YES, .most = NO_LIMIT, .normal = true
#define NO .unit = TD_UNIT_CHOICE, .choices = NO_YES, .most = NO_LIMIT

/* Keys of a section are adjacent. */
static const struct td_config_key keys[] = {
    {KEPT("node", "coordinates")},
    {TEXT("node", "socket", socket, read_path)},
    {TEXT("node", "state_directory", state_directory, read_path)},
    {TEXT("node", "observers", observers, read_group), .reloads = true},
    {OWN("node", "segments", segments, YES)},
    {TEXT("torus", "shape", topology, read_shape)},
    TD_SETTINGS_TORUS(CORE),
    TD_SETTINGS_ALLTOALL(CORE),
    {KEPT("peers", "hosts"), .continues = true},
    {KEPT("peers", "port")},
    {KEPT("peers", "endpoints"), .continues = true},
    {KEPT("peers", "absent"), .continues = true},
    {KEPT("peers", "listen")},
    {TEXT("security", "key", key_file, read_path), .reloads = true},
    {TEXT("security", "peers", peers_file, read_path), .reloads = true},
    {OWN("security", "streams", streams, CHOICE("encrypt|authenticate"))},
    {OWN("security", "insecure", insecure, NO)},
    TD_SETTINGS_NETWORK(CORE),
    {OWN("network", "express", express, YES)},
    {TEXT("network", "congestion", congestion, read_congestion)},
    TD_SETTINGS_LIMITS(CORE),
    {OWN("compute", "workers", workers, NUMBER(2, 1, 1024))}, /* most: limit of libuv */
    {OWN("fft", "effort", effort, CHOICE("estimate|measure|patient|wisdom"),
         .normal = TD_FFT_MEASURE)},
    {OWN("fft", "measure_timeout", measure_ns, DURATION(300 * SECONDS, SECONDS, 86400 * SECONDS))},
    {TEXT("log", "level", log_level, read_level), .reloads = true},
    {TEXT("metrics", "listen", metrics_listen, read_address), .reloads = true},
    {OWN("metrics", "anyone", metrics_anyone, NO), .reloads = true},
    {OWN("metrics", "jobs", metrics_jobs, NO), .reloads = true},
    TD_SETTINGS_TRACE(CORE),
};
enum { KEYS = sizeof keys / sizeof keys[0] };
_Static_assert((size_t)KEYS <= (size_t)TD_CONFIG_KEYS_MAX, "the reader has room for every key");

bool td_config_key_read(struct td_config_reader *r, const struct td_config_key *k,
                        const char *value)
{
    return k->read ? k->read(r, k, value) : read_by_unit(r, k, value);
}

void td_config_keys_default(struct td_config *config)
{
    for (size_t i = 0; i < KEYS; i++)
        if (!keys[i].read)
            td_setting_store(&keys[i].setting, config, keys[i].setting.normal);
}

size_t td_config_key_index(const struct td_config_key *k)
{
    return (size_t)(k - keys);
}

const struct td_config_key *td_config_key(const char *section, const char *name)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].setting.section, section) == 0 && strcmp(keys[i].setting.key, name) == 0)
            return &keys[i];
    return NULL;
}

const struct td_config_key *td_config_key_nearest(const char *section, const char *name)
{
    const struct td_config_key *best = keys;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < KEYS; i++) {
        size_t far = 2 * td_text_distance(name, keys[i].setting.key) +
                     (strcmp(section, keys[i].setting.section) != 0);
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
        if (i == 0 || strcmp(keys[i].setting.section, keys[i - 1].setting.section) !=
                          0) /* keys of a section are adjacent */
            length += (size_t)snprintf(text + length, bytes - length, "%s%s", length ? ", " : "",
                                       keys[i].setting.section);
}

bool td_config_section_known(const char *section)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].setting.section, section) == 0)
            return true;
    return false;
}

/* ---- values for people ---- */

const struct td_config_key *td_config_key_at(size_t index)
{
    return index < KEYS ? &keys[index] : NULL;
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

/* print_kept writes the keys of config_checks as they work out. */
static void print_kept(const struct td_config *c, const struct td_config_key *k, char *text,
                       size_t bytes)
{
    bool by_hosts = c->set >> td_config_key_index(td_config_key("peers", "hosts")) & 1;
    const char *port = strrchr(c->listen, ':');
    text[0] = '\0';
    if (strcmp(k->setting.key, "coordinates") == 0)
        print_place(c, text, bytes);
    else if (strcmp(k->setting.key, by_hosts ? "hosts" : "endpoints") == 0)
        print_endpoints(c, text, bytes);
    else if (strcmp(k->setting.key, "absent") == 0)
        print_nodes(c->settings.absent, c->topology.nodes, text, bytes);
    else if (strcmp(k->setting.key, "listen") == 0)
        snprintf(text, bytes, "%s", c->listen);
    else if (strcmp(k->setting.key, "port") == 0 && strncmp(c->listen, "tcp://", 6) == 0)
        snprintf(text, bytes, "%s", port ? port + 1 : "");
}

/* print_text writes the value of a key with a reader of its own. */
static void print_text(const struct td_config *c, const struct td_config_key *k, char *text,
                       size_t bytes)
{
    if (k->read == read_shape)
        td_topology_print(&c->topology, text, bytes);
    else if (k->read == keep_text)
        print_kept(c, k, text, bytes);
    else if (k->read != read_level)
        snprintf(text, bytes, "%s", (const char *)c + k->setting.offset); /* a path or a name */
    for (size_t i = 0; k->read == read_level && i < sizeof levels / sizeof levels[0]; i++)
        if (levels[i].level == c->log_level)
            snprintf(text, bytes, "%s", levels[i].name);
}

const char *td_config_key_print(const struct td_config *c, const struct td_config_key *k,
                                char *text, size_t bytes)
{
    static const char *const units[] = {[TD_UNIT_BYTES] = "bytes",
                                        [TD_UNIT_RATE] = "bytes/s",
                                        [TD_UNIT_DURATION] = "ns",
                                        [TD_UNIT_SET] = NULL};
    const struct td_setting_row *s = &k->setting;
    if (k->read) {
        print_text(c, k, text, bytes);
        return "";
    }
    uint64_t value = td_setting_value(s, c);
    bool none = s->unit == TD_UNIT_DURATION && value == UINT64_MAX;
    if (s->unit == TD_UNIT_CHOICE)
        td_setting_word(s, value, text, bytes);
    else
        snprintf(text, bytes, none ? "none" : "%llu", (unsigned long long)value);
    return units[s->unit] && !none ? units[s->unit] : "";
}
