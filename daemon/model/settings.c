/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/hash.h"
#include "base/quantity.h"
#include "settings_table.h"

#define ROW(s, k, field, ...)                                                                      \
    {                                                                                              \
        .section = (s), .key = (k), .offset = offsetof(struct td_settings, field),                 \
        .bytes = sizeof(((struct td_settings *)0)->field), __VA_ARGS__                             \
    }
static const struct td_setting_row rows[] = {TD_SETTINGS_TORUS(ROW),   TD_SETTINGS_ALLTOALL(ROW),
                                             TD_SETTINGS_NETWORK(ROW), TD_SETTINGS_LIMITS(ROW),
                                             TD_SETTINGS_TRACE(ROW),   TD_SETTINGS_SHARED(ROW)};
#undef ROW
enum { ROWS = sizeof rows / sizeof rows[0] };

const struct td_setting_row *td_setting_at(unsigned index)
{
    return index < ROWS ? &rows[index] : NULL;
}

/* ---- values ---- */

uint64_t td_setting_value(const struct td_setting_row *s, const void *base)
{
    const char *at = (const char *)base + s->offset;
    uint8_t u8 = 0;
    uint32_t u32 = 0;
    uint64_t u64 = 0;
    if (s->bytes == sizeof u8)
        return memcpy(&u8, at, sizeof u8), u8;
    if (s->bytes == sizeof u32)
        return memcpy(&u32, at, sizeof u32), u32;
    return memcpy(&u64, at, sizeof u64), u64;
}

void td_setting_store(const struct td_setting_row *s, void *base, uint64_t value)
{
    char *at = (char *)base + s->offset;
    uint8_t u8 = (uint8_t)value;
    uint32_t u32 = (uint32_t)value;
    if (s->bytes == sizeof u8)
        memcpy(at, &u8, sizeof u8);
    else if (s->bytes == sizeof u32)
        memcpy(at, &u32, sizeof u32);
    else
        memcpy(at, &value, sizeof value);
}

int td_setting_choice(const struct td_setting_row *s, const char *word)
{
    const char *at = s->choices;
    for (int i = 0; at; i++) {
        size_t length = strcspn(at, "|");
        if (strlen(word) == length && strncmp(at, word, length) == 0)
            return i;
        at = at[length] ? at + length + 1 : NULL;
    }
    return -1;
}

const char *td_setting_word(const struct td_setting_row *s, uint64_t index, char *text, size_t size)
{
    const char *at = s->choices;
    for (uint64_t i = 0; at && i < index; i++)
        at = (at = strchr(at, '|')) ? at + 1 : NULL;
    if (at)
        snprintf(text, size, "%.*s", (int)strcspn(at, "|"), at);
    else
        snprintf(text, size, "%llu", (unsigned long long)index);
    return text;
}

/* ---- ranges ---- */

static const char *print_duration(uint64_t ns, char *text, size_t size)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"h", 3600000000000}, {"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
    size_t i = 0;
    while (units[i].ns > 1 && (ns < units[i].ns || ns % units[i].ns))
        i++;
    snprintf(text, size, "%llu %s", (unsigned long long)(ns / units[i].ns), units[i].name);
    return text;
}

static const char *print_value(const struct td_setting_row *s, uint64_t value, char *text,
                               size_t size)
{
    if (s->unit == TD_UNIT_BYTES)
        return td_quantity_print(value, text, size);
    if (s->unit == TD_UNIT_RATE)
        return td_quantity_print_rate((double)value, text, size);
    if (s->unit == TD_UNIT_DURATION)
        return print_duration(value, text, size);
    snprintf(text, size, "%llu", (unsigned long long)value);
    return text;
}

const char *td_setting_wrong(const struct td_setting_row *s, uint64_t value,
                             char text[TD_SETTING_WRONG_MAX])
{
    char least[40], most[40];
    bool negative = s->unit == TD_UNIT_DURATION && value > INT64_MAX;
    bool none = s->unit == TD_UNIT_DURATION && s->normal == UINT64_MAX && value == UINT64_MAX;
    if (none || (!negative && value >= s->least && value <= s->most))
        return NULL;
    print_value(s, s->least, least, sizeof least);
    print_value(s, s->most, most, sizeof most);
    if (s->most == UINT64_MAX)
        snprintf(text, TD_SETTING_WRONG_MAX, "%s must be at least %s", s->key, least);
    else if (s->least == 0)
        snprintf(text, TD_SETTING_WRONG_MAX, "%s must be at most %s", s->key, most);
    else
        snprintf(text, TD_SETTING_WRONG_MAX, "%s must be %s to %s", s->key, least, most);
    return text;
}

void td_settings_default(struct td_settings *s)
{
    *s = (struct td_settings){
        .carry_bytes = TD_LONG_RIDE_BYTES_MAX,
        .tuning = {.packet_bytes = TD_PACKET_BYTES_MAX, .ride_bytes = TD_LONG_RIDE_BYTES_MAX}};
    for (unsigned i = 0; i < ROWS; i++)
        td_setting_store(&rows[i], s, rows[i].normal);
}

/* check_together returns what is wrong with settings that depend on each other, and in *key whose
 * row it is. */
static const char *check_together(const struct td_settings *s, const char **key)
{
    *key = "link_rate";
    if (s->link_rate && s->tuning.fabric != TD_FABRIC_ROUTED)
        return "link_rate needs fabric = routed";
    if (s->link_rate && s->link_rate < s->packet_bytes)
        return "link_rate must transmit a packet within 1 s: raise link_rate or lower packet";
    *key = "link_latency";
    if (s->link_latency_ns && s->tuning.fabric != TD_FABRIC_ROUTED)
        return "link_latency needs fabric = routed";
    *key = "relay";
    if (s->tuning.relay_bytes > s->scratch_bytes)
        return "relay must be at most [limits] scratch";
    *key = "heartbeat";
    if (s->heartbeat_ns > s->progress_timeout_ns / 2)
        return "heartbeat must be at most half of [limits] progress_timeout";
    return NULL;
}

const char *td_settings_check(const struct td_settings *s, const struct td_setting_row **setting,
                              char text[TD_SETTING_WRONG_MAX])
{
    const char *key = NULL, *wrong = NULL;
    for (unsigned i = 0; i < ROWS && !wrong; i++) {
        *setting = &rows[i];
        wrong = td_setting_wrong(*setting, td_setting_value(*setting, s), text);
    }
    if (wrong || !(wrong = check_together(s, &key)))
        return wrong;
    for (unsigned i = 0; i < ROWS; i++)
        if (strcmp(rows[i].key, key) == 0)
            *setting = &rows[i];
    snprintf(text, TD_SETTING_WRONG_MAX, "%s", wrong);
    return text;
}

void td_settings_set_absent(struct td_settings *s, uint32_t node)
{
    td_bit_set(s->absent, node);
    s->absent_hash = TD_HASH_START;
    for (uint32_t n = 0; n < TD_NODES_MAX; n++)
        if (td_bit(s->absent, n))
            s->absent_hash = td_hash_add(s->absent_hash, n);
}

td_time td_settings_link_time(const struct td_settings *s, uint32_t bytes)
{
    return s->link_rate ? ((uint64_t)bytes * 1000000000 + s->link_rate - 1) / s->link_rate : 0;
}
