/* SPDX-License-Identifier: Apache-2.0 */
/* redist_circulant: the schedule of cyclic(x) over P parts to cyclic(Kx) over Q parts in closed
 * form, its reverse, and arrays whose every axis is one or the other (Park, Prasanna, Raghavendra
 * 1999).
 *
 * One axis. Let G = gcd(P, KQ), g = gcd(K, G), G1 = G / g and K1 = K / g. A part of the finer side
 * is (index e < G1, label u < P / G1), one of the coarser side (index d < G1, label v < Q / G1),
 * and they share blocks just when j = e - d mod G1 is below C = min(K1, G1): how many depends on j
 * alone. So with j held, a rotation of labels is a step whose messages are equally long.
 * Several axes. One j an axis, and one rotation of all axes' labels read as one mixed-radix number:
 * prod C * max(prod A, prod B) steps, where schedules nested in one another would take more.
 * Steps are numbered with the rotation fastest, then the last axis' j.
 *
 * Owns nothing. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REDIST_REDIST_CIRCULANT_H
#define TD_COLLECTIVES_REDIST_REDIST_CIRCULANT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

/* cyclic(from_block) over p parts to cyclic(to_block) over q parts, of the same indices. */
struct td_schedule_axis {
    uint32_t p, q;
    uint64_t from_block, to_block;
};

struct td_circulant_axis {
    bool reverse;                /* the receivers are the finer side */
    uint32_t fine, coarse;       /* parts of either side: P and Q, or Q and P */
    uint32_t period, shared;     /* G, g */
    uint32_t indices;            /* G1 */
    uint32_t times, inverse;     /* K1 mod G1, and its inverse modulo G1 */
    uint32_t classes;            /* C: values of j */
    uint64_t blocks;             /* that a pair shares of a superblock; one more where j < times */
    uint32_t senders, receivers; /* labels: A and B, or B and A */
    uint32_t scale[2]; /* by which an owner's number grows along the axis: before, after */
};

struct td_circulant {
    uint32_t dimensions;
    struct td_circulant_axis axis[TD_DIMENSIONS_MAX];
    uint32_t classes, senders, receivers; /* products over the axes */
    uint32_t rotations;                   /* max(senders, receivers) */
    uint32_t steps;                       /* classes * rotations: also the Koenig bound */
    /* In turn t labels u and v meet with v - u = t modulo rotations, or, mirrored, with u + v = t.
     * Either makes a schedule; on a torus one may load links less than the other. */
    bool mirrored;
};

/* td_circulant_ratio finds the smallest blocks of the same proportion, which count in units of the
 * greatest block that divides both; one part alone has any block one likes: the other side's. */
void td_circulant_ratio(const struct td_schedule_axis *axis, uint64_t *from, uint64_t *to);
/* td_circulant_init returns false where an axis' blocks are no multiples of one another. */
bool td_circulant_init(struct td_circulant *c, uint32_t dimensions,
                       const struct td_schedule_axis *axis);
/* td_circulant_order numbers the owners of either side in an order of their grid's axes, outermost
 * first; td_circulant_init has numbered them in row-major order of the process grid. */
void td_circulant_order(struct td_circulant *c, bool receiving, const uint8_t *order);
/* td_circulant_send finds to whom `p` sends in a step, td_circulant_receive who sends to `q`;
 * false: idle. */
bool td_circulant_send(const struct td_circulant *c, uint32_t p, uint32_t step, uint32_t *q);
bool td_circulant_receive(const struct td_circulant *c, uint32_t q, uint32_t step, uint32_t *p);
/* td_circulant_sends writes to whom `p` sends in every step, UINT32_MAX where it is idle, without
 * finding its place anew each time; td_circulant_receives likewise. */
void td_circulant_sends(const struct td_circulant *c, uint32_t p, uint32_t *row);
void td_circulant_receives(const struct td_circulant *c, uint32_t q, uint32_t *row);
/* td_circulant_blocks returns the length of every message of a step, in blocks of a superblock (the
 * product over the axes). */
uint64_t td_circulant_blocks(const struct td_circulant *c, uint32_t step);

#endif
