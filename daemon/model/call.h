/* SPDX-License-Identifier: Apache-2.0 */
/* call: an operation that a rank requests of its group. All ranks of an operation must make the
 * same call. Calls are compared field by field, so that an error can name the difference.
 * The values are on the wire and in torus/torus.h, and never change. */
#ifndef TD_MODEL_CALL_H
#define TD_MODEL_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

enum td_kind {
    TD_KIND_BARRIER = 1,
    TD_KIND_BROADCAST = 2,
    TD_KIND_ALLREDUCE = 3,
    TD_KIND_ALLTOALL = 4,
    TD_KIND_PLAN_FFT = 5, /* agreement on a plan (plan.h); `digest` identifies the description */
    TD_KIND_FFT = 6,      /* execution of plan `plan` */
    TD_KIND_REDUCE = 7,
    TD_KIND_REDUCE_SCATTER = 8, /* `count` elements of the result to each rank */
    TD_KIND_SCAN = 9,
    TD_KIND_EXSCAN = 10,
    TD_KIND_PREFIX = 11, /* the results of all positions, on all ranks */
    TD_KIND_GATHER = 12,
    TD_KIND_SCATTER = 13,
    TD_KIND_ALLGATHER = 14,
    /* counts differ by rank: each rank gives the counts that it sends to and receives from each
     * rank */
    TD_KIND_ALLTOALLV = 15,
    TD_KIND_GATHERV = 16,
    TD_KIND_SCATTERV = 17,
    TD_KIND_ALLGATHERV = 18,
    TD_KIND_NEIGHBOUR_ALLTOALLV = 19,
    TD_KIND_REDUCE_SCATTERV = 20,
    TD_KIND_PLAN_REDIST =
        21, /* like PLAN_FFT and FFT, for a move of an array from one layout to another */
    TD_KIND_REDIST = 22,
    TD_KIND_MAX
};

enum td_type {
    TD_TYPE_NONE = 0,
    TD_TYPE_BYTE = 1,
    TD_TYPE_INT32 = 2,
    TD_TYPE_INT64 = 3,
    TD_TYPE_FLOAT = 4,
    TD_TYPE_DOUBLE = 5,
    TD_TYPE_COMPLEX_FLOAT = 6,
    TD_TYPE_COMPLEX_DOUBLE = 7,
    TD_TYPE_INT8 = 8,
    TD_TYPE_INT16 = 9,
    TD_TYPE_UINT8 = 10,
    TD_TYPE_UINT16 = 11,
    TD_TYPE_UINT32 = 12,
    TD_TYPE_UINT64 = 13,
    TD_TYPE_LONG_DOUBLE = 14, /* 16 bytes, the last 6 of which are padding */
    TD_TYPE_HALF = 15,        /* IEEE binary16 */
    TD_TYPE_BFLOAT16 = 16,    /* the upper half of a float */
    /* a value and its index, for MINLOC and MAXLOC */
    TD_TYPE_INT32_INT = 17,       /* int32, int32 */
    TD_TYPE_INT64_INT = 18,       /* int64, int32, padding */
    TD_TYPE_FLOAT_INT = 19,       /* float, int32 */
    TD_TYPE_DOUBLE_INT = 20,      /* double, int32, padding */
    TD_TYPE_INT16_INT = 21,       /* int16, padding, int32 */
    TD_TYPE_LONG_DOUBLE_INT = 22, /* long double, int32, padding */
    TD_TYPE_BOOL = 23,            /* one byte: 0 or 1 */
    TD_TYPE_MAX
};

enum td_op {
    TD_OP_NONE = 0,
    TD_OP_SUM = 1,
    TD_OP_MIN = 2,
    TD_OP_MAX = 3,
    TD_OP_PROD = 4,
    TD_OP_BAND = 5,
    TD_OP_BOR = 6,
    TD_OP_BXOR = 7,
    TD_OP_LAND = 8, /* on truth values: 0 is false, and the result is 0 or 1 */
    TD_OP_LOR = 9,
    TD_OP_LXOR = 10,
    TD_OP_MINLOC = 11, /* the lesser value; among equal values the lower index */
    TD_OP_MAXLOC = 12,
    TD_OP_END
};

/* Bracketing of a reduction. */
enum td_reproducible {
    TD_REPRODUCIBLE_OFF,
    TD_REPRODUCIBLE_SAME, /* the same bits whenever the ranks are on the same nodes */
    TD_REPRODUCIBLE_ANY, /* the same bits on any placement: strictly from rank 0 to the last rank */
    TD_REPRODUCIBLES
};

/* struct td_call: equal on all ranks of an operation. */
struct td_call {
    uint8_t kind; /* enum td_kind */
    uint8_t type; /* enum td_type of the elements; NONE: a call with counts by rank, of a rank that
                     has no data */
    uint8_t op;   /* enum td_op of a reduction */
    uint8_t mode; /* enum td_reproducible of a reduction */
    uint32_t root;
    /* elements of the buffer, of each rank's part, or per pair of ranks, by kind */
    uint64_t count;
    uint64_t plan;   /* FFT, REDIST: the plan executed */
    uint64_t digest; /* of a plan's description; else from td_call_digest, or 0 */
};

/* td_type_bytes returns the size of one element, or 0 for an unknown type. */
size_t td_type_bytes(unsigned type);
/* td_call_alignment returns the required alignment of an operation's buffers: the size of the
 * numbers it computes with, or 1 if it only moves bytes. */
size_t td_call_alignment(unsigned kind, unsigned type);
/* td_call_reduces returns true if the kind combines values; td_call_has_counts if its counts differ
 * by rank; td_call_rooted if it uses `root`. */
bool td_call_reduces(unsigned kind);
bool td_call_has_counts(unsigned kind);
bool td_call_rooted(unsigned kind);
/* td_call_plans returns true if the kind agrees on a plan; td_call_executes if it executes one. */
bool td_call_plans(unsigned kind);
bool td_call_executes(unsigned kind);
/* td_call_bytes writes the sizes of a rank's source and destination in bytes. It serves calls
 * without parts and without a plan. */
void td_call_bytes(const struct td_call *call, uint32_t size, uint32_t rank, uint64_t *source,
                   uint64_t *destination);
/* td_op_accepts returns true if the operator combines elements of the type. */
bool td_op_accepts(unsigned op, unsigned type);
const char *td_type_name(unsigned type);
const char *td_op_name(unsigned op);
const char *td_kind_name(unsigned kind);

/* td_call_check returns NULL if the call is well formed for a group of `size` ranks, else a
 * sentence fragment with the error. */
const char *td_call_check(const struct td_call *call, uint32_t size);
/* td_call_compare is a total order of calls. The gate keeps the least and the greatest call; the
 * calls agree if these are equal. */
int td_call_compare(const struct td_call *a, const struct td_call *b);
/* td_call_adopt gives a call without data the types of another call that serves the same purpose: a
 * rank without data agrees with any type. It leaves other calls as they are. */
void td_call_adopt(struct td_call *call, const struct td_call *other);
/* td_call_digest returns the digest of a call that the library makes on behalf of another call. The
 * lowest byte is that call's kind: a reduction by a user-defined operator (`hash` identifies the
 * operator), an exchange on a grid (`hash` identifies the grid), or one of the following. */
enum {
    TD_DIGEST_SPLIT = 0xff,
    TD_DIGEST_TYPES = 0xfe, /* elements of several types; `hash` identifies their sequence */
    TD_DIGEST_NAMES = 0xfd, /* as TD_DIGEST_TYPES, for a short sequence: td_call_digest_names */
    TD_DIGEST_NAMES_MAX = 11,
    TD_DIGEST_ALLTOALLW = 0xfc,
    TD_DIGEST_NEIGHBOUR_ALLTOALLW = 0xfb,  /* `hash` identifies the grid */
    TD_DIGEST_NEIGHBOUR_ALLGATHERV = 0xfa, /* the same, with the types */
    TD_DIGEST_GRAPH_ALLTOALLV = 0xf9,      /* `hash` identifies the types, if there are several */
    TD_DIGEST_GRAPH_ALLTOALLW = 0xf8,
    TD_DIGEST_GRAPH_ALLGATHERV = 0xf7, /* as TD_DIGEST_GRAPH_ALLTOALLV; the least of these */
};
uint64_t td_call_digest(unsigned kind, uint64_t hash);
/* td_call_operator_difference says that two reductions have different user-defined operators; NULL:
 * they have not. */
const char *td_call_operator_difference(const struct td_call *a, const struct td_call *b);
/* td_call_digest_exchange returns the digest of an exchange on a grid or graph. `grid` identifies
 * the grid (0: a graph), `elements` is the digest of elements of several types, or 0. */
uint64_t td_call_digest_exchange(unsigned kind, uint64_t grid, uint64_t elements);
/* td_call_digest_without_types returns a digest without its part for the types. */
uint64_t td_call_digest_without_types(uint64_t digest);
/* td_call_digest_names returns the digest that holds a sequence of `count` types (enum td_type), up
 * to TD_DIGEST_NAMES_MAX, so that an error can name them. */
uint64_t td_call_digest_names(const uint8_t *element, size_t count);
/* TD_CALL_TEXT_MAX: a buffer for td_call_print. A longer text is cut. */
enum { TD_CALL_TEXT_MAX = 300 };
/* td_call_print writes e.g. "allreduce(sum, double, 10)" to text and returns its length. */
int td_call_print(const struct td_call *call, char *text, size_t size);

#endif
