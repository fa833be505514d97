/* SPDX-License-Identifier: Apache-2.0 */
#include "terms.h"

#include <stdio.h>

/* Limits that a release fixes, and their places in the list of a group. */
#define LIMIT(place, limit)                                                                        \
    {                                                                                              \
        place, TD_##limit, "the limit " #limit                                                     \
    }
static const struct {
    uint32_t place, value;
    const char *name;
} limits[] = {
    LIMIT(13, RIDE_BYTES_MAX), LIMIT(14, TREE_ARITY),          LIMIT(15, GROUP_OPERATIONS_MAX),
    LIMIT(16, COMPUTE_BYTES),  LIMIT(18, LONG_RIDE_BYTES_MAX),
};
enum { LIMITS = sizeof limits / sizeof limits[0] };

/* struct term: of a setting, or of a limit. */
struct term {
    const struct td_setting_row *setting;
    const char *limit;
    uint32_t value; /* of the limit */
    unsigned counts;
};

/* find looks a term up. It returns false if this release does not have it. */
static bool find(enum td_terms_list list, uint32_t index, struct term *t)
{
    *t = (struct term){0};
    for (unsigned i = 0; list == TD_TERMS_SETTINGS && i < LIMITS; i++)
        if (limits[i].place == index) {
            t->limit = limits[i].name;
            t->value = limits[i].value;
            return true;
        }
    for (unsigned i = 0; (t->setting = td_setting_at(i)); i++) {
        const struct td_term_place *place =
            list == TD_TERMS_LINK ? &t->setting->link : &t->setting->group;
        t->counts = place->counts;
        if (place->number && place->number - 1u == index)
            return list == TD_TERMS_LINK || list == TD_TERMS_SETTINGS;
    }
    return false;
}

static uint64_t value_of(const struct term *t, const struct td_settings *s)
{
    unsigned fabric = s->tuning.fabric == TD_FABRIC_ROUTED ? TD_TERM_ROUTED : TD_TERM_DIRECT;
    if (t->limit)
        return t->value;
    return t->counts == TD_TERM_ALWAYS || t->counts == fabric ? td_setting_value(t->setting, s) : 0;
}

uint32_t td_terms_settings(enum td_terms_list list, const struct td_settings *settings,
                           uint64_t value[TD_TERMS_MAX])
{
    uint32_t count = 0;
    struct term t;
    for (; count < TD_TERMS_MAX && find(list, count, &t); count++)
        value[count] = value_of(&t, settings);
    return count;
}

const char *td_terms_name(enum td_terms_list list, uint32_t index, char *text, size_t size)
{
    struct term t;
    if (!find(list, index, &t))
        return NULL;
    if (t.limit)
        snprintf(text, size, "%s", t.limit);
    else if (t.setting->section[0])
        snprintf(text, size, "[%s] %s", t.setting->section, t.setting->key);
    else
        snprintf(text, size, "%s", t.setting->key);
    return text;
}

bool td_terms_is_fixed(enum td_terms_list list, uint32_t index)
{
    struct term t;
    return !find(list, index, &t) || t.limit;
}

const char *td_terms_print(enum td_terms_list list, uint32_t index, uint64_t value, char *text,
                           size_t size)
{
    struct term t;
    unsigned long long n = value;
    enum td_unit unit = TD_UNIT_NUMBER;
    if (find(list, index, &t) && t.setting)
        unit = t.setting->unit;
    if (unit == TD_UNIT_CHOICE)
        td_setting_word(t.setting, value, text, size);
    else if (unit == TD_UNIT_SET)
        snprintf(text, size,
                 value ? "a list with the hash %016llx, which torusctl config show has there"
                       : "empty",
                 n);
    else if (unit == TD_UNIT_DURATION)
        snprintf(text, size, n % 1000000 ? "%llu ns" : "%llu ms", n % 1000000 ? n : n / 1000000);
    else
        snprintf(text, size, "%llu%s", n,
                 unit == TD_UNIT_BYTES  ? " bytes"
                 : unit == TD_UNIT_RATE ? " bytes/s"
                                        : "");
    return text;
}

bool td_terms_differ(const struct td_term_list *a, const struct td_term_list *b, uint32_t *index)
{
    uint32_t count = a->count > b->count ? a->count : b->count;
    for (uint32_t i = 0; i < count; i++)
        if (td_terms_value(a, i) != td_terms_value(b, i)) {
            *index = i;
            return true;
        }
    return false;
}
