/* SPDX-License-Identifier: Apache-2.0 */
/* plan: a transform of an array, or its move from one layout to another, that all ranks agree on
 * once and execute many times.
 *
 * All ranks describe the same plan; the gate compares its digest. The method keeps the tables of
 * its programs (overlaps, schedules) in the plan's transform plan. When all ranks have agreed, the
 * driver's planner chooses the method and makes the transform plan, which may take seconds. Owns:
 * the layouts and the transform plan, in the arena. Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_PLAN_H
#define TD_MODEL_PLAN_H

#include "call.h"
#include "base/errors.h"
#include "layout.h"

struct td_group;
struct td_method;
struct td_transform_plan;
struct td_topology;
struct td_tuning;

/* Direction of a transform: the sign of the exponent, as in FFTW. */
enum { TD_FFT_FORWARD = -1, TD_FFT_BACKWARD = +1 };
enum td_fft_scale { TD_SCALE_NONE = 0, TD_SCALE_ORTHO = 1, TD_SCALE_FULL = 2 /* 1/N */ };

/* struct td_fft: a transform of an array along some of its axes. */
struct td_fft {
    uint32_t dimensions;
    uint32_t type; /* of the result; for forward real transforms, of the spectrum */
    int32_t sign;
    uint32_t scale;                   /* enum td_fft_scale */
    uint64_t size[TD_DIMENSIONS_MAX]; /* points; for R2C and C2R, those of the real side */
    /* by axis: 0: no transform, else 1 + enum td_transform_kind */
    uint8_t transform[TD_DIMENSIONS_MAX];
    /* grid of nodes that distributes the array between the stages: the number of parts of each
     * distributed axis. Zeros, or more places than nodes: the planner chooses */
    uint32_t grid[TD_DIMENSIONS_MAX];
    uint8_t method; /* enum td_alltoall: for the moves between nodes */
};

enum {
    TD_REDIST_SCHEDULES = 6
}; /* values of td_redist.schedule (collectives/redist_schedule.h); 0: by cost */

/* struct td_redist: a redistribution. Axis d of the result is axis axes[d] of the source. */
struct td_redist {
    uint32_t dimensions;
    uint32_t schedule; /* below TD_REDIST_SCHEDULES */
    uint64_t element;  /* bytes */
    uint64_t size[TD_DIMENSIONS_MAX];
    uint8_t axes[TD_DIMENSIONS_MAX];
};

/* struct td_description: the description of a plan by a rank. */
struct td_description {
    struct td_fft fft;       /* PLAN_FFT */
    struct td_redist redist; /* PLAN_REDIST */
    const char *from, *to;   /* layouts (layout_text.h); empty: blocks of axis 0 on all ranks */
};

struct td_plan {
    struct td_plan *next;
    uint64_t number; /* sequence of the operation that agreed on it */
    uint8_t kind;    /* of the calls that execute it: TD_KIND_FFT, TD_KIND_REDIST */
    struct td_fft fft;
    struct td_redist redist;
    struct td_layout from, to; /* in the order of the source's axes */
    uint64_t element[2];       /* bytes, before and after */
    uint64_t digest;
    bool
        rows; /* FFT: complex, of two or three axes, in rows before and after; fft_rows may apply */
    const struct td_method *method;           /* of its executions; the planner chooses it */
    struct td_transform_plan *transform_plan; /* NULL: the method keeps no tables */
    void *tables;                             /* memory of the transform plan */
    uint32_t holders;                         /* number of local ranks that have not freed it */
    uint8_t held[TD_NODE_RANKS_MAX / 8];      /* bitmap of these ranks */
    uint32_t users; /* operations, and the list of plans; the last user frees it */
};

/* struct td_plan_input: a plan and its surroundings, the same on every node except for `slot`. */
struct td_plan_input {
    struct td_plan *plan;
    const struct td_group *group;
    uint32_t slot;
    const struct td_topology *topology;
    const struct td_tuning *tuning;
};
/* struct td_planner: `make` chooses the plan's method and makes its transform plan; it returns
 * false if the arena is full. It writes nothing else, so it may run beside the core. `cost_bytes`
 * returns about how many bytes of memory it touches. */
struct td_planner {
    bool (*make)(const struct td_plan_input *input, struct td_arena *arena);
    uint64_t (*cost_bytes)(const struct td_plan_input *input);
};

/* td_plan_make reads a description for a group of `ranks`. On an error it returns NULL with *error
 * and a sentence in text. */
struct td_plan *td_plan_make(struct td_arena *arena, unsigned kind,
                             const struct td_description *description, uint32_t ranks,
                             td_err *error, char *text, size_t size);
/* td_plan_free accepts NULL. */
void td_plan_free(struct td_plan *plan, struct td_arena *arena);
/* td_plan_bytes returns the bytes of a rank's part of the array, before (side 0) or after (1), and
 * writes the part to *box. Along an axis in which the part is not contiguous, the box begins with
 * the first index and has the number of indices. */
uint64_t td_plan_bytes(const struct td_plan *plan, unsigned side, uint32_t rank,
                       struct td_box *box);
/* td_plan_in_place returns true if an execution may write where it reads: an element is written
 * only after the earlier value has arrived at the node that uses it. */
bool td_plan_in_place(const struct td_plan *plan);
/* td_plan_alignment returns the required alignment of the buffers in bytes. */
size_t td_plan_alignment(const struct td_plan *plan);

/* td_fft_check returns NULL if the description is valid, else a sentence. */
const char *td_fft_check(const struct td_fft *fft);
/* td_fft_all makes all axes complex transforms. */
void td_fft_all(struct td_fft *fft);
/* td_fft_size returns the length of an axis before (side 0) or after. td_fft_element returns the
 * size of an element there. */
uint64_t td_fft_size(const struct td_fft *fft, unsigned side, uint32_t axis);
uint64_t td_fft_element(const struct td_fft *fft, unsigned side);
/* td_fft_factor returns the scale factor applied to the result. */
double td_fft_factor(const struct td_fft *fft);

#endif
