/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include <stdio.h>

static const struct {
    const char *name;
    size_t bytes;
    bool reduces;
} types[TD_TYPE_MAX] = {
    [TD_TYPE_NONE] = {"none", 0, false},
    [TD_TYPE_BYTE] = {"byte", 1, false},
    [TD_TYPE_INT32] = {"int32", 4, true},
    [TD_TYPE_INT64] = {"int64", 8, true},
    [TD_TYPE_FLOAT] = {"float", 4, true},
    [TD_TYPE_DOUBLE] = {"double", 8, true},
    [TD_TYPE_COMPLEX_FLOAT] = {"complex float", 8, false},
    [TD_TYPE_COMPLEX_DOUBLE] = {"complex double", 16, false},
};
static const char *const ops[TD_OP_END] = {"none", "sum", "min", "max"};
static const char *const kinds[TD_KIND_MAX] = {
    "none", "barrier", "broadcast", "allreduce", "alltoall", "plan_fft", "fft",
};

size_t td_type_bytes(unsigned type)
{
    return type < TD_TYPE_MAX ? types[type].bytes : 0;
}

size_t td_call_alignment(unsigned kind, unsigned type)
{
    if (kind != TD_KIND_ALLREDUCE && kind != TD_KIND_FFT)
        return 1;
    bool is_complex = type == TD_TYPE_COMPLEX_FLOAT || type == TD_TYPE_COMPLEX_DOUBLE;
    size_t bytes = td_type_bytes(type);
    return is_complex ? bytes / 2 : bytes ? bytes : 1;
}

const char *td_type_name(unsigned type)
{
    return type < TD_TYPE_MAX ? types[type].name : "unknown type";
}

const char *td_op_name(unsigned op)
{
    return op < TD_OP_END ? ops[op] : "unknown operator";
}

const char *td_kind_name(unsigned kind)
{
    return kind < TD_KIND_MAX ? kinds[kind] : "unknown operation";
}

const char *td_call_check(const struct td_call *call, uint32_t size)
{
    if (call->kind == 0 || call->kind >= TD_KIND_MAX)
        return "the kind of operation is unknown";
    bool moves = call->kind == TD_KIND_BROADCAST || call->kind == TD_KIND_ALLREDUCE ||
                 call->kind == TD_KIND_ALLTOALL;
    if (!moves)
        return NULL;
    if (td_type_bytes(call->type) == 0)
        return "the element type is unknown";
    uint64_t copies = call->kind == TD_KIND_ALLTOALL ? size : 1;
    if (call->count > (uint64_t)INT64_MAX / td_type_bytes(call->type) / copies)
        return "the count overflows 63 bits of bytes";
    if (call->kind == TD_KIND_ALLREDUCE) {
        if (call->op == TD_OP_NONE || call->op >= TD_OP_END)
            return "the operator is unknown";
        if (!types[call->type].reduces)
            return "this type has no such reduction; int32, int64, float and double have";
    }
    if (call->kind == TD_KIND_BROADCAST && call->root >= size)
        return "the root is not a rank of the group";
    return NULL;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

int td_call_compare(const struct td_call *a, const struct td_call *b)
{
    const int order[] = {
        compare(a->kind, b->kind),     compare(a->type, b->type),   compare(a->op, b->op),
        compare(a->root, b->root),     compare(a->count, b->count), compare(a->plan, b->plan),
        compare(a->digest, b->digest),
    };
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (order[i])
            return order[i];
    return 0;
}

int td_call_print(const struct td_call *call, char *text, size_t size)
{
    const char *kind = td_kind_name(call->kind);
    unsigned long long count = call->count, plan = call->plan;
    switch ((enum td_kind)call->kind) {
    case TD_KIND_BROADCAST:
        return snprintf(text, size, "%s(%s, %llu, root %u)", kind, td_type_name(call->type), count,
                        call->root);
    case TD_KIND_ALLREDUCE:
        return snprintf(text, size, "%s(%s, %s, %llu)", kind, td_op_name(call->op),
                        td_type_name(call->type), count);
    case TD_KIND_ALLTOALL:
        return snprintf(text, size, "%s(%s, %llu a pair)", kind, td_type_name(call->type), count);
    case TD_KIND_PLAN_FFT:
        return snprintf(text, size, "%s(description %016llx)", kind,
                        (unsigned long long)call->digest);
    case TD_KIND_FFT:
        return snprintf(text, size, "%s(plan %llu)", kind, plan);
    case TD_KIND_BARRIER:
    case TD_KIND_MAX:
        break;
    }
    return snprintf(text, size, "%s", kind);
}

const char *td_fft_check(const struct td_fft *fft)
{
    if (fft->dimensions != 2)
        return "a transform has 2 dimensions";
    if (fft->type != TD_TYPE_COMPLEX_FLOAT && fft->type != TD_TYPE_COMPLEX_DOUBLE)
        return "the type of a transform is complex float or complex double";
    if (fft->sign != TD_FFT_FORWARD && fft->sign != TD_FFT_BACKWARD)
        return "the sign of a transform is -1 (forward) or +1 (backward)";
    if (fft->scale > TD_SCALE_FULL)
        return "the scale of a transform is none, ortho or full";
    uint64_t points = 1;
    for (uint32_t d = 0; d < fft->dimensions; d++) {
        if (fft->size[d] == 0)
            return "an axis of a transform has at least one point";
        if (fft->size[d] > INT32_MAX)
            return "an axis of a transform has at most 2147483647 points";
        if (points > (uint64_t)INT64_MAX / 16 / fft->size[d])
            return "the array overflows 63 bits of bytes";
        points *= fft->size[d];
    }
    return NULL;
}

/* FNV-1a over the fields in a fixed order, so that it is the same on every machine. */
static uint64_t hash(uint64_t h, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        h = (h ^ (value >> (8 * i) & 0xff)) * 0x100000001b3u;
    return h;
}

uint64_t td_fft_digest(const struct td_fft *fft)
{
    uint64_t h = hash(0xcbf29ce484222325u, fft->dimensions);
    h = hash(h, fft->type);
    h = hash(h, (uint64_t)fft->sign);
    h = hash(h, fft->scale);
    for (uint32_t d = 0; d < TD_DIMENSIONS_MAX; d++)
        h = hash(h, fft->size[d]);
    return h;
}

/* Newton's iteration: the core and collectives link to no libm. Exact to the last bit or two. */
static double square_root(double x)
{
    double y = x > 1 ? x : 1;
    for (int i = 0; i < 200; i++) {
        double better = 0.5 * (y + x / y);
        if (better >= y)
            break;
        y = better;
    }
    return y;
}

double td_fft_factor(const struct td_fft *fft)
{
    double points = 1;
    for (uint32_t d = 0; d < fft->dimensions; d++)
        points *= (double)fft->size[d];
    switch ((enum td_fft_scale)fft->scale) {
    case TD_SCALE_ORTHO:
        return 1 / square_root(points);
    case TD_SCALE_FULL:
        return 1 / points;
    case TD_SCALE_NONE:
        break;
    }
    return 1;
}
