/* SPDX-License-Identifier: Apache-2.0 */
/* program: what one node does in one collective, as a short list of step families.
 *
 * A family is `count` steps of one kind. Steps are not stored: `step_at` computes step i of a
 * family on request, so the program of an all-to-all among thousands of nodes takes some kilobytes.
 * Dependencies are counters: step i of a family may start when the first need(i) steps of another
 * family are done.
 *
 * Owns: its own numbers. Borrows: the group it was compiled for.
 * Invariant: step_at is a pure function of (program, family, index).
 * Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_PROGRAM_H
#define TD_MODEL_PROGRAM_H

#include <stddef.h>
#include <string.h>

#include "call.h"
#include "base/errors.h"
#include "base/limits.h"
#include "overlap.h"

struct td_group;
struct td_counts;
struct td_method;
struct td_plan;
struct td_relay_units;
struct td_topology;
struct td_tree;

enum td_step_kind { TD_SEND, TD_RECV, TD_COPY, TD_COMBINE, TD_TRANSFORM, TD_SYNC, TD_STEP_KINDS };

enum td_space {
    TD_SPACE_SOURCE,      /* a local rank's input buffer */
    TD_SPACE_DESTINATION, /* a local rank's output buffer */
    TD_SPACE_SCRATCH,     /* the node's own memory, reserved before the node announces */
};

/* struct td_level: one loop of a slice. Each turn advances the place by `stride` bytes and, in the
 * spaces of ranks, by `rank_stride` local ranks. */
struct td_level {
    int64_t count;
    int64_t stride;
    int32_t rank_stride;
};

/* struct td_slice: named memory. Local ranks are numbered 0.. on their node, in rank order. The
 * bytes are `run` contiguous ones, repeated by the levels, level[0] outermost. A slice with no
 * bytes is well formed. */
struct td_slice {
    uint8_t space; /* enum td_space */
    uint8_t levels;
    uint32_t rank; /* local rank the slice starts in; 0 in scratch */
    /* not NULL: bytes [offset, offset + run) of the unit to, or from, `slot`; no levels */
    const struct td_counts *counts;
    uint32_t slot;
    /* not NULL: bytes [offset, offset + run) of the overlap of owners pair[0] and pair[1] in a
     * range, as stored in the array of pair[side], which begins at `base`; no levels (overlap.h) */
    const struct td_overlap *overlap;
    struct td_overlap_range range;
    uint32_t pair[2];
    uint8_t side;
    int64_t base;
    int64_t offset; /* bytes from the start of the buffer */
    int64_t run;    /* contiguous bytes innermost */
    struct td_level level[TD_LEVELS_MAX];
};

/* td_slice_set makes a slice without levels. It does not change the fields of units and overlaps.
 */
static inline void td_slice_set(struct td_slice *s, enum td_space space, uint32_t rank,
                                int64_t offset, int64_t bytes)
{
    s->space = (uint8_t)space;
    s->levels = 0;
    s->rank = rank;
    s->counts = NULL;
    s->overlap = NULL;
    s->offset = offset;
    s->run = bytes;
}
/* td_slice_copy copies a slice without its unused levels. */
static inline void td_slice_copy(struct td_slice *to, const struct td_slice *from)
{
    memcpy(to, from, offsetof(struct td_slice, level));
    for (unsigned i = 0; i < from->levels; i++)
        to->level[i] = from->level[i];
}

/* struct td_lanes: parallel copies of a slice, `count` of them. COMBINE folds the lanes of its
 * operands, in order; every step writes each lane of its target. */
struct td_lanes {
    uint32_t count; /* 0: the operand is absent */
    int64_t stride;
    int32_t rank_stride;
};

/* struct td_running: the results of a COMBINE. NOT: lane i of `to` gets the fold over all operands.
 * UP_TO: the fold up to operand first + i * step. BEFORE: the fold of the operands before that one;
 * for operand 0 nothing is written. */
enum td_running_kind { TD_RUNNING_NOT, TD_RUNNING_UP_TO, TD_RUNNING_BEFORE };
struct td_running {
    uint8_t kind; /* enum td_running_kind */
    uint32_t first, step;
};

/* Kinds of 1-D transforms, named as FFTW's: between complex and complex, real and half a complex
 * spectrum, and real and real (DCT-I to IV, DST-I to IV). */
enum td_transform_kind {
    TD_TRANSFORM_C2C,
    TD_TRANSFORM_R2C,
    TD_TRANSFORM_C2R,
    TD_TRANSFORM_REDFT00,
    TD_TRANSFORM_REDFT10,
    TD_TRANSFORM_REDFT01,
    TD_TRANSFORM_REDFT11,
    TD_TRANSFORM_RODFT00,
    TD_TRANSFORM_RODFT10,
    TD_TRANSFORM_RODFT01,
    TD_TRANSFORM_RODFT11,
    TD_TRANSFORM_KINDS,
    /* Of a long real transform: REAL_SPLIT converts the spectrum of n / 2 complex numbers to the
     * spectrum of the n real numbers that they are made of in pairs; REAL_MERGE converts it back */
    TD_TRANSFORM_REAL_SPLIT = TD_TRANSFORM_KINDS,
    TD_TRANSFORM_REAL_MERGE
};
/* td_transform_kind_name returns e.g. "redft10". */
const char *td_transform_kind_name(unsigned kind);

/* struct td_step: one step.
 *   SEND       from -> node `peer`; there it is step (peer_family, peer_index), a RECV
 *   RECV       to <- node `peer`
 *   COPY       every lane of to = from; zeros if from has no bytes
 *   COMBINE    every lane of to = fold over lanes of from, then lanes of with (or see `running`)
 *   TRANSFORM  1-D FFTs of `from`, in place or to `to`: see struct td_transform. If `with` has
 *              bytes, the data passes through that scratch memory: `inner`, FFTs along another
 *              axis, brings it there from `from`, or a copy if `inner` has no length; it is
 *              transformed there in place, and copied to `to`. For REAL_SPLIT
 *              and REAL_MERGE: `batch` points k of a spectrum from twiddle_first on in `from`, and
 *              the points n / 2 - k in `to`, in descending order; n is `length`
 *   SYNC       done when every node in `among` has started the same step (family, index) */
struct td_step {
    enum td_step_kind kind;
    uint32_t peer; /* node */
    uint32_t peer_family;
    uint64_t peer_index;
    struct td_slice to, from, with;
    struct td_lanes to_lanes, from_lanes, with_lanes;
    uint8_t type, op; /* COMBINE */
    struct td_running running;
    struct td_transform {
        uint8_t kind; /* enum td_transform_kind */
        uint8_t type; /* C2C, R2C, C2R: TD_TYPE_COMPLEX_*; the others: TD_TYPE_FLOAT, DOUBLE */
        int8_t sign;  /* of the exponent: C2C */
        /* points of one transform: of the real side, if one side is real; the other has length / 2
         * + 1 */
        int64_t length;
        int64_t batch, batch2; /* number of transforms: batch2 times batch; batch2 0 counts as 1 */
        /* elements of the side's own type between points, and between transforms, in `from` */
        int64_t stride, distance, distance2;
        int64_t to_stride, to_distance, to_distance2; /* the same in `to` */
        double factor; /* every result is multiplied by it; 1: none */
        /* C2C, one batch loop: result k of transform j is multiplied by exp(sign 2 pi i k (j +
         * twiddle_first) / twiddle); 0 for none */
        int64_t twiddle, twiddle_first;
    } transform, inner;
    struct td_among {
        uint32_t first, count, stride; /* slots first, first + stride, ... */
    } among;                           /* SYNC */
    /* SEND on the routed fabric: */
    int8_t sign;  /* direction if both ways round a ring are equally long: +1, -1; 0: packets
                     alternate */
    uint32_t gap; /* slots of pause after each packet */
};

/* td_step_begin clears the fields that a SEND, RECV, COPY or SYNC uses. Clearing the whole step
 * would cost more, and steps are made very often. */
static inline void td_step_begin(struct td_step *step, enum td_step_kind kind)
{
    step->kind = kind;
    step->peer = step->peer_family = 0;
    step->peer_index = 0;
    td_slice_set(&step->to, TD_SPACE_SOURCE, 0, 0, 0);
    td_slice_set(&step->from, TD_SPACE_SOURCE, 0, 0, 0);
    step->to_lanes = step->from_lanes = step->with_lanes = (struct td_lanes){0};
    step->among = (struct td_among){0};
    step->sign = 0;
    step->gap = 0;
}

/* struct td_dependency: step i needs the first clamp((i / div + lead) * mul, 0, count(on)) steps of
 * family `on`. mul = UINT64_MAX means all of them. */
struct td_dependency {
    uint8_t on;
    int8_t lead;
    uint64_t div, mul;
};

struct td_family {
    enum td_step_kind kind;
    uint8_t dependencies;
    uint64_t count;
    struct td_dependency dependency[TD_DEPENDENCIES_MAX];
    const char *label; /* purpose of the family, in a few words; static */
};

/* enum td_ride: the payload that travels with the announcement and the release. The gate is then
 * the operation. */
enum td_ride {
    TD_RIDE_NONE,    /* no payload: data moves in steps, after the release */
    TD_RIDE_EMPTY,   /* no payload and no steps: barrier, plan */
    TD_RIDE_COMBINE, /* `ride_bytes` of every rank, combined on the way up; the result goes to all
                      */
    TD_RIDE_ROOT,    /* `ride_bytes` of the root go to all */
    TD_RIDE_GATHER,  /* `ride_bytes` of the shares of all ranks, in rank order, go to all */
    TD_RIDE_SHARES,  /* as GATHER; each node announces its own ranks' shares, in the order of its
                        ranks. Only in a star: the root's children have no children */
    TD_RIDE_BLOCKS,  /* as SHARES, of an all-to-all: with the release each node receives the blocks
                        for its ranks, by rank and then by sender */
};

enum td_fabric_kind { TD_FABRIC_DIRECT, TD_FABRIC_ROUTED, TD_FABRICS };
enum td_alltoall {
    TD_ALLTOALL_AUTO,
    TD_ALLTOALL_RANDOM,
    TD_ALLTOALL_PHASED,
    TD_ALLTOALL_PAIRWISE,
    TD_ALLTOALL_TWO_PHASE,
    TD_ALLTOALLS
};
/* td_alltoall_name returns the name of a value of the setting `alltoall`, e.g. "two-phase". */
const char *td_alltoall_name(enum td_alltoall method);
enum td_prefix {
    TD_PREFIX_AUTO,
    TD_PREFIX_STREAM,
    TD_PREFIX_GATHER,
    TD_PREFIX_ROUND_TRIPS,
    TD_PREFIXES
};
/* enum td_rooted_tree: the trees of rooted calls. */
enum td_rooted_tree {
    TD_ROOTED_TREE_AUTO,
    TD_ROOTED_TREE_LINKS,  /* edge-disjoint trees over all links of a torus (broadcast) */
    TD_ROOTED_TREE_PLANES, /* the group's tree of neighbours */
    TD_ROOTED_TREE_BINARY, /* a heap of nodes */
    TD_ROOTED_TREE_BINOMIAL,
    TD_ROOTED_TREE_CHAIN, /* one node after the other, on the direct fabric */
    TD_ROOTED_TREES
};
/* enum td_rings: the algorithm on the rings of a torus, for reductions and gathers to all ranks. */
enum td_rings {
    TD_RINGS_AUTO,
    TD_RINGS_BUCKET, /* from neighbour to neighbour */
    TD_RINGS_SWING,  /* halving and doubling with near partners */
    TD_RINGS_WHOLE,  /* the same partners exchange all of their data */
    TD_RINGS
};
enum td_barriers { TD_BARRIERS_HOP, TD_BARRIERS_PHASE, TD_BARRIERS_NONE };

/* struct td_tuning: choices among methods and within them, the same on all nodes. */
struct td_tuning {
    uint8_t fabric;        /* enum td_fabric_kind */
    uint8_t alltoall;      /* enum td_alltoall; AUTO: by predicted cost */
    uint8_t prefix;        /* enum td_prefix; AUTO: by predicted cost */
    uint8_t rooted_tree;   /* enum td_rooted_tree */
    uint8_t rings;         /* enum td_rings; AUTO: by predicted cost */
    uint8_t parts;         /* phased: 0: one per dimension; 1 */
    uint8_t barriers;      /* phased: enum td_barriers */
    bool barriers_of_all;  /* phased: over all nodes, not along each ring */
    bool no_gap;           /* phased: no pause after packets */
    bool in_order;         /* random: destinations by number, for comparison */
    uint32_t burst;        /* random: packets for one destination before the next destination */
    uint32_t packet_bytes; /* payload of a packet */
    /* what a message costs a node on the direct fabric, as bytes that a link carries meanwhile */
    uint64_t message_bytes;
    uint64_t relay_bytes; /* greatest scratch memory of a relay */
    uint32_t ride_bytes;  /* greatest payload of a ride on the direct fabric; 0: as on the routed
                             one, without SHARES and BLOCKS */
};

struct td_program;

/* struct td_survey: sums modulo 2^64 that are zero if senders and receivers agree. If a single pair
 * of ranks (i, j) disagrees, they identify the pair and the difference. */
struct td_survey {
    uint64_t most;  /* bytes of the largest unit between two nodes */
    uint64_t total; /* of all of them */
    uint64_t hash; /* of (sender, receiver, bytes): the sender adds it, the receiver subtracts it */
    /* the difference in bytes, and the same times i, j, and a hash of i and j */
    uint64_t difference, by_sender, by_receiver, by_pair;
};

/* td_step_fn writes step `index` of a family of the program. */
typedef void td_step_fn(const struct td_program *program, unsigned family, uint64_t index,
                        struct td_step *step);

enum { TD_PARAMETERS_BYTES = 192 };

struct td_program {
    const struct td_method *method; /* collectives/method.h */
    td_step_fn *step_at;            /* the method's */
    const struct td_group *group;
    const struct td_topology *topology;
    struct td_tuning tuning;
    const struct td_tree *tree; /* the group's */
    uint32_t slot;              /* of this node */
    struct td_call call;
    const struct td_plan *plan; /* the executed plan, or NULL */
    uint64_t seed;              /* the same on all nodes of the operation */
    enum td_ride ride;
    int64_t ride_bytes;
    /* the combined payload stays in scratch memory (at td_program_ride) for the program's steps;
     * otherwise it goes to the destinations of all local ranks. Always true where ranks' shares
     * are gathered */
    bool ride_stays;
    const struct td_counts *counts;     /* of a call whose counts differ by rank, else NULL */
    const struct td_relay_units *units; /* of an all-to-all that is a plan's move, else NULL */
    struct td_survey survey;            /* of the sizes of counts or units */
    bool survey_pending;                /* compile again when the survey is known */
    int64_t scratch_bytes;
    bool whole;               /* every RECV has bytes: none is complete from the start */
    uint64_t predicted_bytes; /* the time that the method predicts, in bytes of a link; 0: it
                                 predicts none */
    unsigned families;
    struct td_family family[TD_FAMILIES_MAX];
    /* the method's parameters (TD_PARAMETERS of collectives/method.h) */
    _Alignas(int64_t) unsigned char parameters[TD_PARAMETERS_BYTES];
};

/* struct td_compile_input: the input of a compilation, the same on every node except for `slot`. */
struct td_compile_input {
    const struct td_call *call;
    const struct td_plan *plan; /* the executed plan, or NULL */
    uint64_t seed;
    const struct td_group *group;
    const struct td_tree
        *tree; /* the group's tree, or the call's (gather, scatter); NULL: calls do not use it */
    uint32_t slot;
    const struct td_topology *topology;
    const struct td_counts *counts; /* of a call whose counts differ by rank, else NULL */
    const struct td_survey *survey; /* NULL: not known yet */
    const struct td_tuning *tuning;
};
/* td_compile_fn compiles the program of one node. The driver gives the core such a function
 * (collectives/select.h). The caller has checked the call; compilation cannot fail. */
typedef void td_compile_fn(const struct td_compile_input *input, struct td_program *out);

/* td_program_ride returns the place of the combined payload in scratch memory. */
int64_t td_program_ride(const struct td_program *p);
/* td_ride_is_own returns true if a node announces the shares of its own ranks only. */
static inline bool td_ride_is_own(enum td_ride ride)
{
    return ride == TD_RIDE_SHARES || ride == TD_RIDE_BLOCKS;
}
/* td_ride_gathers returns true if the ranks' shares travel separately. */
static inline bool td_ride_gathers(enum td_ride ride)
{
    return ride == TD_RIDE_GATHER || td_ride_is_own(ride);
}
/* td_ride_up returns the bytes of the payload that a slot announces, if it has one, and
 * td_ride_down those that it receives with the release. */
int64_t td_ride_up(const struct td_program *p, uint32_t slot);
int64_t td_ride_down(const struct td_program *p, uint32_t slot);
/* td_slice_bytes returns the number of bytes that the slice names, in one lane. */
int64_t td_slice_bytes(const struct td_slice *slice);
/* td_step_passes returns true for a TRANSFORM through scratch memory. */
static inline bool td_step_passes(const struct td_step *step)
{
    return step->kind == TD_TRANSFORM && step->with.run > 0;
}
/* td_step_bytes returns the bytes that a SEND or RECV moves. */
int64_t td_step_bytes(const struct td_step *step);
/* td_program_add appends a family and returns its index. */
unsigned td_program_add(struct td_program *p, enum td_step_kind kind, uint64_t count,
                        const char *label);
/* td_program_add_each appends `families` equal families, one for each of several pieces. */
void td_program_add_each(struct td_program *p, uint32_t families, enum td_step_kind kind,
                         uint64_t count, const char *label);
/* td_program_need adds a dependency: step i of family f waits for the first (i / div + lead) * mul
 * steps of `on`. */
void td_program_need(struct td_program *p, unsigned f, unsigned on, uint64_t div, uint64_t mul,
                     int lead);
void td_program_need_all(struct td_program *p, unsigned f, unsigned on);
/* td_dependency_count returns the number of steps of family `on` that step i needs. */
uint64_t td_dependency_count(const struct td_program *p, const struct td_dependency *d, uint64_t i);
/* td_step_print writes one step as a line, e.g. "send 4096 bytes of rank 0's source at 512 to node
 * 3". It returns the length. */
int td_step_print(const struct td_step *step, char *text, size_t size);
const char *td_step_kind_name(enum td_step_kind kind);

/* Slices of the common forms. */
struct td_slice td_slice_at(enum td_space space, uint32_t rank, int64_t offset, int64_t bytes);
/* td_slice_loop adds an innermost loop around the run. */
void td_slice_loop(struct td_slice *s, int64_t count, int64_t stride, int32_t rank_stride);
/* td_slice_simplify drops loops of one turn and merges adjacent pieces. The bytes and their order
 * do not change. */
void td_slice_simplify(struct td_slice *s);

#endif
