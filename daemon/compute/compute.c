/* SPDX-License-Identifier: Apache-2.0 */
#include "compute.h"

#include <string.h>

#include "combine.h"
#include "runs.h"

enum { BLOCK = 16384 }; /* bytes combined at a time: they stay in the first-level cache */

static void copy_bytes(uint8_t *to, const uint8_t *from, int64_t bytes)
{
    if (to != from)
        memmove(to, from, (size_t)bytes);
}

static void zero(const struct td_step *step, const struct td_bases *bases, uint32_t lane,
                 uint64_t at, int64_t left)
{
    struct td_walk to;
    int64_t bytes = 0;
    td_walk_start(&to, &step->to, bases, &step->to_lanes, lane, at);
    for (; left > 0; left -= bytes) {
        uint8_t *target = td_walk_piece(&to, left, &bytes);
        memset(target, 0, (size_t)bytes);
    }
}

static void copy_lane(const struct td_step *step, const struct td_bases *bases, uint32_t lane,
                      uint64_t at, int64_t left)
{
    struct td_walk from, to;
    int64_t bytes = 0, same = 0;
    td_walk_start(&from, &step->from, bases, NULL, 0, at);
    td_walk_start(&to, &step->to, bases, &step->to_lanes, lane, at);
    bool runs = td_walk_has_runs(&from) || td_walk_has_runs(&to);
    if (runs || (td_walk_by_loop(&from) && td_walk_by_loop(&to))) {
        td_runs_copy(&to, &from, left);
        return;
    }
    for (; left > 0; left -= bytes) {
        int64_t most = td_walk_left(&from);
        uint8_t *target = td_walk_piece(&to, most < left ? most : left, &bytes);
        copy_bytes(target, td_walk_piece(&from, bytes, &same), bytes);
    }
}

void td_compute_copy(const struct td_step *step, const struct td_bases *bases, uint64_t at,
                     uint64_t bytes)
{
    bool no_source = td_slice_bytes(&step->from) == 0;
    for (uint32_t lane = 0; lane < step->to_lanes.count; lane++) {
        if (no_source)
            zero(step, bases, lane, at, (int64_t)bytes);
        else
            copy_lane(step, bases, lane, at, (int64_t)bytes);
    }
}

/* start_operand begins at byte `at` of operand i: a lane of `from` or of `with`. */
static void start_operand(struct td_walk *w, const struct td_step *step,
                          const struct td_bases *bases, uint32_t i, uint64_t at)
{
    if (i < step->from_lanes.count)
        td_walk_start(w, &step->from, bases, &step->from_lanes, i, at);
    else
        td_walk_start(w, &step->with, bases, &step->with_lanes, i - step->from_lanes.count, at);
}

/* write_lane writes `bytes` of the result to byte `at` of a target lane. */
static void write_lane(const struct td_step *step, const struct td_bases *bases, uint32_t lane,
                       uint64_t at, int64_t bytes, const uint8_t *sum)
{
    struct td_walk w;
    td_walk_start(&w, &step->to, bases, &step->to_lanes, lane, at);
    if (td_walk_has_runs(&w)) {
        td_runs_unpack(&w, sum, bytes);
        return;
    }
    for (int64_t done = 0, piece = 0; done < bytes; done += piece) {
        uint8_t *to = td_walk_piece(&w, bytes - done, &piece);
        memcpy(to, sum + done, (size_t)piece);
    }
}

/* read_operand copies `bytes` of operand i from byte `at` to a buffer. */
static void read_operand(const struct td_step *step, const struct td_bases *bases, uint32_t i,
                         uint64_t at, int64_t bytes, uint8_t *copy)
{
    struct td_walk w;
    start_operand(&w, step, bases, i, at);
    if (td_walk_has_runs(&w)) {
        td_runs_pack(&w, copy, bytes);
        return;
    }
    for (int64_t done = 0, piece = 0; done < bytes; done += piece) {
        const uint8_t *from = td_walk_piece(&w, bytes - done, &piece);
        memcpy(copy + done, from, (size_t)piece);
    }
}

/* fold_operand combines operand i > 0 into the result. Runs between gaps may be short or unaligned:
 * they are copied to `copy` first. */
static void fold_operand(const struct td_step *step, const struct td_bases *bases, uint32_t i,
                         uint64_t at, int64_t bytes, uint8_t *sum, uint8_t *copy)
{
    size_t element = td_type_bytes(step->type);
    struct td_walk w;
    start_operand(&w, step, bases, i, at);
    if (td_walk_has_runs(&w)) {
        td_runs_pack(&w, copy, bytes);
        td_combine_array(step->type, step->op, sum, copy, (size_t)bytes / element);
        return;
    }
    for (int64_t done = 0, piece = 0; done < bytes; done += piece) {
        const uint8_t *from = td_walk_piece(&w, bytes - done, &piece);
        td_combine_array(step->type, step->op, sum + done, from, (size_t)piece / element);
    }
}

/* struct sums: the result so far, and a copy of an operand. The copy is read before its target is
 * written, because both may be the same memory. */
struct sums {
    _Alignas(64) uint8_t sum[BLOCK], operand[BLOCK];
};

/* combine_block combines `bytes` from byte `at` of all operands and writes the targets. */
static void combine_block(const struct td_step *step, const struct td_bases *bases, uint64_t at,
                          int64_t bytes, struct sums *s)
{
    uint32_t operands = step->from_lanes.count + step->with_lanes.count, lane = 0;
    const struct td_running *r = &step->running;
    size_t elements = (size_t)bytes / td_type_bytes(step->type);
    for (uint32_t i = 0; i < operands; i++) {
        bool has_target = r->kind != TD_RUNNING_NOT && lane < step->to_lanes.count &&
                          i == r->first + lane * r->step;
        if (i == 0) {
            read_operand(step, bases, i, at, bytes, s->sum);
        } else if (has_target && r->kind == TD_RUNNING_BEFORE) {
            read_operand(step, bases, i, at, bytes, s->operand);
            write_lane(step, bases, lane, at, bytes, s->sum);
            td_combine_array(step->type, step->op, s->sum, s->operand, elements);
        } else {
            fold_operand(step, bases, i, at, bytes, s->sum, s->operand);
        }
        if (has_target && r->kind == TD_RUNNING_UP_TO)
            write_lane(step, bases, lane, at, bytes, s->sum);
        lane += has_target;
    }
    for (uint32_t i = 0; r->kind == TD_RUNNING_NOT && i < step->to_lanes.count; i++)
        write_lane(step, bases, i, at, bytes, s->sum);
}

void td_compute_combine(const struct td_step *step, const struct td_bases *bases, uint64_t at,
                        uint64_t bytes)
{
    struct sums sums;
    for (uint64_t end = at + bytes; at < end; at += BLOCK)
        combine_block(step, bases, at, end - at < BLOCK ? (int64_t)(end - at) : BLOCK, &sums);
}

void td_compute_pack(const struct td_slice *slice, const struct td_bases *bases, uint64_t offset,
                     uint64_t bytes, uint8_t *out)
{
    struct td_walk w;
    td_walk_start(&w, slice, bases, NULL, 0, offset);
    int64_t piece = 0;
    if (td_walk_has_runs(&w) || td_walk_by_loop(&w)) {
        td_runs_pack(&w, out, (int64_t)bytes);
        return;
    }
    for (int64_t left = (int64_t)bytes; left > 0; left -= piece) {
        const uint8_t *from = td_walk_piece(&w, left, &piece);
        memcpy(out, from, (size_t)piece);
        out += piece;
    }
}

void td_compute_unpack(const struct td_slice *slice, const struct td_lanes *lanes,
                       const struct td_bases *bases, uint64_t offset, uint64_t bytes,
                       const uint8_t *in)
{
    for (uint32_t lane = 0; lane < lanes->count; lane++) {
        struct td_walk w;
        td_walk_start(&w, slice, bases, lanes, lane, offset);
        int64_t piece = 0;
        const uint8_t *from = in;
        if (td_walk_has_runs(&w)) {
            td_runs_unpack(&w, in, (int64_t)bytes);
            continue;
        }
        for (int64_t left = (int64_t)bytes; left > 0; left -= piece) {
            uint8_t *to = td_walk_piece(&w, left, &piece);
            if (to != from) /* else the bytes were received in place */
                memcpy(to, from, (size_t)piece);
            from += piece;
        }
    }
}

const uint8_t *td_compute_contiguous(const struct td_slice *slice, const struct td_bases *bases,
                                     uint64_t offset, uint64_t bytes)
{
    struct td_walk w;
    td_walk_start(&w, slice, bases, NULL, 0, offset);
    int64_t piece = 0;
    const uint8_t *from = td_walk_piece(&w, (int64_t)bytes, &piece);
    return from && piece == (int64_t)bytes ? from : NULL;
}

uint32_t td_compute_rank(const struct td_slice *slice, uint64_t offset)
{
    struct td_walk w;
    td_walk_start(&w, slice, NULL, NULL, 0, offset);
    return td_walk_rank(&w);
}
