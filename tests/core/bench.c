/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"

_Static_assert((int)ESCAPE == (int)TD_CHANNEL_ESCAPE, "channels are as named here");

enum { FILLER = 5000 };

struct td_router_rules bench_rules(void)
{
    struct td_settings settings;
    td_settings_default(&settings);
    return settings.router;
}

void bench_begin(struct bench *b, const char *shape, uint32_t node,
                 const struct td_router_rules *rules, uint64_t seed)
{
    size_t at = 0;
    const char *why = NULL;
    *b = (struct bench){.arena = td_arena_create(1 << 16)};
    assert_int_equal(td_topology_parse(&b->topology, shape, &at, &why), TD_OK);
    b->r = td_router_create(b->arena, &b->topology, node, rules, seed);
    assert_non_null(b->r);
}

void bench_end(struct bench *b)
{
    td_arena_destroy(b->arena);
}

unsigned go(struct bench *b, uint32_t idle)
{
    b->now += SLOT;
    memset(b->move, 0xff, sizeof b->move);
    return td_router_moves(b->r, b->now, SLOT, idle, b->move);
}

struct td_parcel parcel(uint64_t tag, int left_0, int left_1)
{
    return (struct td_parcel){.tag = tag, .left = {(int16_t)left_0, (int16_t)left_1}};
}

void arrive(struct bench *b, unsigned direction, unsigned channel, struct td_parcel p)
{
    assert_true(td_router_has_slot(b->r, direction, channel));
    assert_false(td_router_arrive(b->r, direction, channel, &p));
}

void ship(struct bench *b, uint32_t queue, uint32_t packets, struct td_parcel p)
{
    struct td_shipment s = {.tag = p.tag, .packets = packets};
    memcpy(s.left, p.left, sizeof s.left);
    assert_true(td_router_ship(b->r, queue, &s));
}

struct td_parcel towards(unsigned direction, uint64_t tag, int hops)
{
    int left = direction % 2 ? -hops : hops;
    return parcel(tag, direction < 2 ? left : 0, direction < 2 ? 0 : left);
}

void give(struct bench *b, unsigned direction, unsigned channel, uint32_t credits)
{
    b->given[direction][channel] += credits;
    assert_true(td_router_credit(b->r, direction, b->given[direction]));
}

/* exhaust uses up all credits of a direction: injected packets fill the adaptive channels, and the
 * escape channel except for one slot, which a packet that continues there may take. */
static void exhaust(struct bench *b, unsigned direction, uint32_t slots)
{
    for (uint32_t i = 0; i < 3 * slots; i++) {
        if (i < 3 * slots - 1)
            ship(b, direction, 1, towards(direction, FILLER, 1));
        else
            arrive(b, direction, ESCAPE, towards(direction, FILLER, 1));
        assert_int_equal(go(b, 1u << direction), 1);
    }
    for (unsigned c = 0; c < TD_CHANNELS; c++)
        assert_int_equal(td_router_credits(b->r, direction, c), 0);
}

void bench_begin_exhausted(struct bench *b, const char *shape, const struct td_router_rules *rules)
{
    bench_begin(b, shape, 0, rules, 1);
    for (unsigned d = 0; d < 2 * b->topology.dimensions; d++)
        exhaust(b, d, rules->slots);
}

void expect_move(const struct bench *b, uint64_t tag, unsigned direction, unsigned channel)
{
    assert_int_equal(b->move[0].parcel.tag, tag);
    assert_int_equal(b->move[0].direction, direction);
    assert_int_equal(b->move[0].channel, channel);
}

bool about(uint32_t n, uint32_t total, uint32_t parts)
{
    return n * parts > total * 9 / 10 && n * parts < total * 11 / 10;
}
