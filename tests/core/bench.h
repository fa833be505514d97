/* SPDX-License-Identifier: Apache-2.0 */
/* bench: one router in situations made by hand. Packets in transit are put into its input channels.
 * Credits are used up, and returned one by one. */
#ifndef TD_TESTS_CORE_BENCH_H
#define TD_TESTS_CORE_BENCH_H

#include "core/net/router.h"

enum { PLUS_0, MINUS_0, PLUS_1, MINUS_1 }; /* directions */
enum { ADAPTIVE_0, ADAPTIVE_1, ESCAPE };   /* channels */
enum { SLOT = 100, ALL = 0xf, OWN_TAG = 1000 };

struct bench {
    struct td_arena *arena;
    struct td_topology topology;
    struct td_router *r;
    td_time now;
    uint32_t given[TD_DIRECTIONS_MAX][TD_CHANNELS]; /* credits given so far */
    struct td_move move[TD_DIRECTIONS_MAX];         /* of the latest turn */
    uint64_t dropped[8];
    unsigned drops;
};

struct td_router_rules bench_rules(void);
void bench_begin(struct bench *b, const char *shape, uint32_t node,
                 const struct td_router_rules *rules, uint64_t seed);
/* bench_begin_exhausted: node 0 without any credits. */
void bench_begin_exhausted(struct bench *b, const char *shape, const struct td_router_rules *rules);
void bench_end(struct bench *b);

/* go moves packets in the next slot and returns their number. */
unsigned go(struct bench *b, uint32_t idle);
struct td_parcel parcel(uint64_t tag, int left_0, int left_1);
/* towards returns a parcel with a number of hops left in a direction. */
struct td_parcel towards(unsigned direction, uint64_t tag, int hops);
void arrive(struct bench *b, unsigned direction, unsigned channel, struct td_parcel p);
void ship(struct bench *b, uint32_t queue, uint32_t packets, struct td_parcel p);
void give(struct bench *b, unsigned direction, unsigned channel, uint32_t credits);
/* expect_move checks the first move. */
void expect_move(const struct bench *b, uint64_t tag, unsigned direction, unsigned channel);
/* about returns true if n of `total` is about a share of 1 / parts. */
bool about(uint32_t n, uint32_t total, uint32_t parts);

#endif
