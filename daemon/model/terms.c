/* SPDX-License-Identifier: Apache-2.0 */
#include "terms.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* enum scope: where a setting decides something; elsewhere it may differ. */
enum scope { ANYWHERE, DIRECT, ROUTED };
enum unit { NUMBER, BYTES, DURATION, RATE, CHOICE, SET };

/* struct term: `size` is 0 for a limit of this release, which is `fixed`. */
struct term {
    const char *name;
    uint16_t offset;
    uint8_t size, scope, unit;
    uint32_t fixed;
    const char *choices; /* "a|b|c" */
};

#define FIELD(name, field, scope, unit, choices)                                                   \
    {                                                                                              \
        name, offsetof(struct td_settings, field), sizeof(((struct td_settings *)0)->field),       \
            scope, unit, 0, choices                                                                \
    }
#define LIMIT(limit)                                                                               \
    {                                                                                              \
        "the limit " #limit, 0, 0, ANYWHERE, NUMBER, TD_##limit, NULL                              \
    }

static const char NO_YES[] = "no|yes", YES_NO[] = "yes|no";

/* Never reordered: append, and raise TD_WIRE_PEER_MINOR. */
static const struct term of_group[] = {
    FIELD("[network] packet", packet_bytes, ANYWHERE, BYTES, NULL),
    FIELD("[network] credits", link_credits, DIRECT, NUMBER, NULL),
    FIELD("[torus] alltoall", tuning.alltoall, ANYWHERE, CHOICE,
          "auto|random|phased|pairwise|two-phase"),
    FIELD("[alltoall] burst", tuning.burst, ANYWHERE, NUMBER, NULL),
    FIELD("[alltoall] order", tuning.in_order, ANYWHERE, CHOICE, "random|number"),
    FIELD("[alltoall] parts", tuning.parts, ANYWHERE, CHOICE, "all|1"),
    FIELD("[alltoall] gap", tuning.no_gap, ANYWHERE, CHOICE, YES_NO),
    FIELD("[alltoall] barriers", tuning.barriers, ANYWHERE, CHOICE, "hop|phase|none"),
    FIELD("[alltoall] barrier_scope", tuning.barriers_of_all, ANYWHERE, CHOICE, "ring|all"),
    FIELD("[alltoall] relay", tuning.relay_bytes, ANYWHERE, BYTES, NULL),
    /* without a key: for simulations */
    FIELD("the choice of prefix methods", tuning.prefix, ANYWHERE, NUMBER, NULL),
    FIELD("the choice of rooted trees", tuning.rooted_tree, ANYWHERE, NUMBER, NULL),
    FIELD("the choice of ring methods", tuning.rings, ANYWHERE, NUMBER, NULL),
    LIMIT(RIDE_BYTES_MAX), /* not LONG_RIDE_BYTES_MAX: a group's version decides on that */
    LIMIT(TREE_ARITY),
    LIMIT(GROUP_OPERATIONS_MAX),
    LIMIT(COMPUTE_BYTES),
    FIELD("[network] message_overhead", tuning.message_bytes, DIRECT, BYTES, NULL),
};

static const struct term of_link[] = {
    FIELD("[torus] fabric", tuning.fabric, ANYWHERE, CHOICE, "direct|routed"),
    FIELD("[network] heartbeat", heartbeat_ns, ANYWHERE, DURATION, NULL),
    FIELD("[limits] progress_timeout", progress_timeout_ns, ANYWHERE, DURATION, NULL),
    FIELD("[network] packet", packet_bytes, ROUTED, BYTES, NULL),
    FIELD("[torus] link_rate", link_rate, ROUTED, RATE, NULL),
    FIELD("[torus] link_latency", link_latency_ns, ROUTED, DURATION, NULL),
    FIELD("[torus] slots", router.slots, ROUTED, NUMBER, NULL),
    FIELD("[torus] fifo_slots", router.fifo_slots, ROUTED, NUMBER, NULL),
    FIELD("[torus] queues", router.queues, ROUTED, NUMBER, NULL),
    FIELD("[torus] queue_slots", router.queue_slots, ROUTED, NUMBER, NULL),
    FIELD("[torus] patience", router.patience, ROUTED, NUMBER, NULL),
    FIELD("[torus] straight", router.straight, ROUTED, NUMBER, NULL),
    FIELD("[torus] arbitration", router.arbitration, ROUTED, CHOICE,
          "transit-first|injection-first|none"),
    /* without a key: for simulations */
    FIELD("the use of the escape channel only", router.no_adaptive, ROUTED, CHOICE, NO_YES),
    FIELD("the bubble of the escape channel", router.no_bubble, ROUTED, CHOICE, YES_NO),
    FIELD("[peers] absent", absent_hash, ANYWHERE, SET, NULL),
};

enum { OF_GROUP = sizeof of_group / sizeof *of_group, OF_LINK = sizeof of_link / sizeof *of_link };
_Static_assert((int)OF_GROUP <= (int)TD_TERMS_MAX && (int)OF_LINK <= (int)TD_TERMS_MAX,
               "a list holds all");

/* find returns a term, or NULL if this release does not have it. */
static const struct term *find(enum td_terms_list list, uint32_t index)
{
    if (list == TD_TERMS_LINK)
        return index < OF_LINK ? &of_link[index] : NULL;
    return list == TD_TERMS_SETTINGS && index < OF_GROUP ? &of_group[index] : NULL;
}

static uint64_t value_of(const struct term *t, const struct td_settings *s)
{
    const char *at = (const char *)s + t->offset;
    uint8_t u8 = 0;
    uint32_t u32 = 0;
    uint64_t u64 = 0;
    if (t->size == 0)
        return t->fixed;
    if (t->scope != ANYWHERE && (t->scope == ROUTED) != (s->tuning.fabric == TD_FABRIC_ROUTED))
        return 0;
    if (t->size == sizeof u8)
        return memcpy(&u8, at, sizeof u8), u8;
    if (t->size == sizeof u32)
        return memcpy(&u32, at, sizeof u32), u32;
    assert(t->size == sizeof u64);
    return memcpy(&u64, at, sizeof u64), u64;
}

uint32_t td_terms_settings(enum td_terms_list list, const struct td_settings *settings,
                           uint64_t value[TD_TERMS_MAX])
{
    uint32_t count = 0;
    for (const struct term *t = NULL; (t = find(list, count)); count++)
        value[count] = value_of(t, settings);
    return count;
}

const char *td_terms_name(enum td_terms_list list, uint32_t index)
{
    const struct term *t = find(list, index);
    return t ? t->name : NULL;
}

bool td_terms_is_fixed(enum td_terms_list list, uint32_t index)
{
    const struct term *t = find(list, index);
    return !t || t->size == 0;
}

/* print_choice writes the n-th of "a|b|c", or the number beyond the last. */
static void print_choice(const char *choices, uint64_t n, char *text, size_t size)
{
    const char *at = choices;
    for (uint64_t i = 0; at && i < n; i++)
        at = (at = strchr(at, '|')) ? at + 1 : NULL;
    if (at)
        snprintf(text, size, "%.*s", (int)strcspn(at, "|"), at);
    else
        snprintf(text, size, "%llu", (unsigned long long)n);
}

const char *td_terms_print(enum td_terms_list list, uint32_t index, uint64_t value, char *text,
                           size_t size)
{
    const struct term *t = find(list, index);
    unsigned long long n = value;
    if (t && t->unit == CHOICE)
        print_choice(t->choices, value, text, size);
    else if (t && t->unit == SET)
        snprintf(text, size, value ? "a list with the hash %016llx" : "empty", n);
    else if (t && t->unit == DURATION)
        snprintf(text, size, n % 1000000 ? "%llu ns" : "%llu ms", n % 1000000 ? n : n / 1000000);
    else
        snprintf(text, size, "%llu%s", n,
                 t && t->unit == BYTES  ? " bytes"
                 : t && t->unit == RATE ? " bytes/s"
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
