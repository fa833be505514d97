/* SPDX-License-Identifier: Apache-2.0 */
/* redist_circulant: the closed form of the schedule of cyclic(x) over P parts to cyclic(Kx) over Q
 * parts, of its reverse, and of arrays in which every axis is one or the other (Park, Prasanna,
 * Raghavendra 1999).
 *
 * One axis. Let G = gcd(P, KQ), g = gcd(K, G), G1 = G / g and K1 = K / g. A part of the finer side
 * is (index e < G1, label u < P / G1), one of the coarser side (index d < G1, label v < Q / G1).
 * They share blocks if and only if j = e - d mod G1 is below C = min(K1, G1), and the number of
 * blocks depends on j alone. So for a fixed j, a rotation of the labels is a step whose messages
 * are equally long.
 *
 * Several axes. One j per axis, and one rotation of all axes' labels as one mixed-radix number:
 * prod C * max(prod A, prod B) steps; nested schedules would take more. In the numbering of steps
 * the rotation is fastest, then the last axis' j.
 *
 * Owns: nothing. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REDIST_REDIST_CIRCULANT_H
#define TD_COLLECTIVES_REDIST_REDIST_CIRCULANT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

/* struct td_schedule_axis: cyclic(from_block) over p parts to cyclic(to_block) over q parts. */
struct td_schedule_axis {
    uint32_t p, q;
    uint64_t from_block, to_block;
};

struct td_circulant_axis {
    bool reverse;            /* the receivers are the finer side */
    uint32_t fine, coarse;   /* parts of either side: P and Q, or Q and P */
    uint32_t period, shared; /* G, g */
    uint32_t indices;        /* G1 */
    uint32_t times, inverse; /* K1 mod G1, and its inverse modulo G1 */
    uint32_t classes;        /* C: values of j */
    uint64_t blocks;         /* blocks of a superblock that a pair shares; one more if j < times */
    uint32_t senders, receivers; /* labels: A and B, or B and A */
    uint32_t scale[2];           /* factor of an owner's number along the axis: before, after */
};

struct td_circulant {
    uint32_t dimensions;
    struct td_circulant_axis axis[TD_DIMENSIONS_MAX];
    uint32_t classes, senders, receivers; /* products over the axes */
    uint32_t rotations;                   /* max(senders, receivers) */
    uint32_t steps;                       /* classes * rotations: also the Koenig bound */
    /* In turn t labels u and v meet with v - u = t modulo rotations or, mirrored, with u + v = t.
     * Both are valid schedules; on a torus they may load the links differently. */
    bool mirrored;
};

/* td_circulant_ratio writes the smallest blocks with the same ratio, in units of the greatest
 * common divisor. If one side has a single part, it has the block of the other side. */
void td_circulant_ratio(const struct td_schedule_axis *axis, uint64_t *from, uint64_t *to);
/* td_circulant_init returns false if an axis has blocks of which neither is a multiple of the
 * other. */
bool td_circulant_init(struct td_circulant *c, uint32_t dimensions,
                       const struct td_schedule_axis *axis);
/* td_circulant_order numbers the owners of both sides by their grids' axes in a given order,
 * outermost first. td_circulant_init numbers them in row-major order of the process grid. */
void td_circulant_order(struct td_circulant *c, bool receiving, const uint8_t *order);
/* td_circulant_send writes the owner to which `p` sends in a step, td_circulant_receive the owner
 * that sends to `q`. Both return false if the owner is idle. */
bool td_circulant_send(const struct td_circulant *c, uint32_t p, uint32_t step, uint32_t *q);
bool td_circulant_receive(const struct td_circulant *c, uint32_t q, uint32_t step, uint32_t *p);
/* td_circulant_sends writes the owners to which `p` sends in all steps; UINT32_MAX where it is
 * idle. It locates p once. td_circulant_receives does the same for a receiver. */
void td_circulant_sends(const struct td_circulant *c, uint32_t p, uint32_t *row);
void td_circulant_receives(const struct td_circulant *c, uint32_t q, uint32_t *row);
/* td_circulant_blocks returns the length of every message of a step, in blocks of a superblock (the
 * product over the axes). */
uint64_t td_circulant_blocks(const struct td_circulant *c, uint32_t step);

#endif
