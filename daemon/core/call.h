/* SPDX-License-Identifier: Apache-2.0 */
/* call: what a rank asks its group to do. All ranks of an operation must make the same call; two
 * calls are compared field by field, so a difference can be named.
 * Values are on the wire and in torus/torus.h, and never change. */
#ifndef TD_CORE_CALL_H
#define TD_CORE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits.h"

enum td_kind {
    TD_KIND_BARRIER = 1,
    TD_KIND_BROADCAST = 2,
    TD_KIND_ALLREDUCE = 3,
    TD_KIND_ALLTOALL = 4,
    TD_KIND_PLAN_FFT = 5, /* agrees on a plan; `digest` stands for the description */
    TD_KIND_FFT = 6,      /* executes plan `plan` */
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
    TD_TYPE_MAX
};

enum td_op { TD_OP_NONE = 0, TD_OP_SUM = 1, TD_OP_MIN = 2, TD_OP_MAX = 3, TD_OP_END };

/* struct td_call: the same on all ranks of an operation. */
struct td_call {
    uint8_t kind; /* enum td_kind */
    uint8_t type; /* enum td_type of the elements */
    uint8_t op;   /* enum td_op of a reduction */
    uint32_t root;
    uint64_t count;  /* elements: of the buffer, or per pair of ranks */
    uint64_t plan;   /* FFT: the plan executed */
    uint64_t digest; /* PLAN_FFT: hash of the description */
};

/* Direction of a transform: the sign of the exponent, as in FFTW. */
enum { TD_FFT_FORWARD = -1, TD_FFT_BACKWARD = +1 };
enum td_fft_scale { TD_SCALE_NONE = 0, TD_SCALE_ORTHO = 1, TD_SCALE_FULL = 2 /* 1/N */ };

/* struct td_fft: a multi-dimensional transform. The last axis is contiguous. Every rank holds a
 * block of whole rows along axis 0 (layout.h, block distribution), on input and on output. */
struct td_fft {
    uint32_t dimensions; /* 2 */
    uint32_t type;       /* TD_TYPE_COMPLEX_FLOAT or TD_TYPE_COMPLEX_DOUBLE */
    int32_t sign;
    uint32_t scale; /* enum td_fft_scale */
    uint64_t size[TD_DIMENSIONS_MAX];
};

/* td_type_bytes returns the size of one element, 0 for an unknown type. */
size_t td_type_bytes(unsigned type);
/* td_call_alignment returns what the addresses of an operation's buffers must be multiples of: the
 * size of the numbers that are computed with, 1 where bytes are only moved. */
size_t td_call_alignment(unsigned kind, unsigned type);
const char *td_type_name(unsigned type);
const char *td_op_name(unsigned op);
const char *td_kind_name(unsigned kind);

/* td_call_check returns NULL when the call is well formed for a group of `size` ranks, else a
 * sentence fragment that says what is wrong. */
const char *td_call_check(const struct td_call *call, uint32_t size);
/* td_call_compare orders calls totally: the gate keeps the least and the greatest, and the calls
 * agree when those are equal. */
int td_call_compare(const struct td_call *a, const struct td_call *b);
/* td_call_print writes e.g. "allreduce(sum, double, 10)" into text; returns its length. */
int td_call_print(const struct td_call *call, char *text, size_t size);

/* td_fft_check returns NULL when the description can be planned, else what is wrong. */
const char *td_fft_check(const struct td_fft *fft);
uint64_t td_fft_digest(const struct td_fft *fft);
/* td_fft_factor returns the scale factor applied to the result. */
double td_fft_factor(const struct td_fft *fft);

#endif
