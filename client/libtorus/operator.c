/* SPDX-License-Identifier: Apache-2.0 */
#include "operator.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "lock.h"
#include "type.h"

enum { FIRST_OP = 1024 }; /* built-in operators have lower numbers */

struct tl_op *tl_op_find(const torus_context *c, int number)
{
    struct tl_op *op = c->ops;
    while (op && op->number != number)
        op = op->next;
    return op;
}

int torus_op_create(torus_context *c, const char *name, torus_op_function *function, void *user,
                    size_t bytes, int commutative, int *number)
{
    TL_GUARD(c);
    if (!c || !number)
        return tl_null(c, "torus_op_create", c ? "op" : "context");
    if (!name || !function || bytes > INT32_MAX)
        return tl_fail(c, TORUS_ERR_INVALID,
                       "torus_op_create needs a name, a function, and elements of at most %d bytes",
                       INT32_MAX);
    struct tl_op *op = calloc(1, sizeof *op);
    if (!op)
        return tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the operator");
    op->digest = td_hash_add(td_hash_add(TD_HASH_START, bytes), commutative != 0);
    for (const char *p = name; *p; p++)
        op->digest = td_hash_add(op->digest, (unsigned char)*p);
    op->context = c;
    op->number = FIRST_OP + c->next_op++;
    op->function = function;
    op->user = user;
    op->bytes = bytes;
    op->next = c->ops;
    c->ops = op;
    *number = op->number;
    return TORUS_OK;
}

int torus_op_free(torus_context *c, int number)
{
    TL_GUARD(c);
    struct tl_op *op = c ? tl_op_find(c, number) : NULL;
    if (!c)
        return tl_null(NULL, "torus_op_free", "context");
    if (!op || op->freed)
        return tl_fail(c, TORUS_ERR_INVALID, "operator %d was not returned by torus_op_create",
                       number);
    tl_op_use(op);
    op->freed = true;
    tl_op_unuse(op);
    return TORUS_OK;
}

uint8_t tl_narrow(int value)
{
    return value < 0 || value > UINT8_MAX ? UINT8_MAX : (uint8_t)value;
}

const char *tl_op_element(const struct tl_op *op, int type, size_t *bytes)
{
    if (type == TORUS_OPAQUE && op->bytes == 0)
        return "the operator was created without an element size: the call needs a type";
    if (type != TORUS_OPAQUE && op->bytes != 0 && *bytes != op->bytes)
        return "the size of the type differs from the size that torus_op_create was given";
    *bytes = op->bytes ? op->bytes : *bytes;
    return *bytes ? NULL : "the type is unknown";
}

/* use_basic replaces a derived type by its basic elements. */
static const char *use_basic(const struct tl_type *t, bool predefined, struct td_call *call)
{
    size_t basic = td_type_bytes(t->signature.basic);
    if (!tl_type_dense(t))
        return "this call needs a type without gaps";
    if (predefined && basic == 0)
        return "predefined operators need a type with a single basic type";
    call->type = t->signature.basic;
    if (basic && __builtin_mul_overflow(call->count, t->bytes / basic, &call->count))
        return "the count overflows 63 bits of bytes";
    return NULL;
}

const char *tl_op_explain(int op, int type, const char *wrong)
{
    if (op < TORUS_SUM || op > TORUS_MAXLOC)
        return "the operator is unknown (was it freed?)";
    return type == TORUS_OPAQUE ? "TORUS_OPAQUE needs an operator of torus_op_create" : wrong;
}

const char *tl_op_types(const torus_context *c, const struct tl_op *op, int type,
                        struct td_call *call, size_t *bytes, ptrdiff_t *first)
{
    const struct tl_type *t = type >= TL_TYPE_FIRST ? tl_type_find(c, type, NULL) : NULL;
    call->type = tl_narrow(type);
    *bytes = t ? t->bytes : td_type_bytes(call->type);
    *first = t ? t->first : 0;
    const char *wrong = t && t->pair[0] ? TL_PAIR : t ? use_basic(t, !op, call) : NULL;
    if (wrong)
        return wrong;
    if (op)
        return tl_op_element(op, type, bytes);
    wrong = td_call_check(call, 1);
    return wrong ? tl_op_explain(call->op == UINT8_MAX ? 0 : call->op, type, wrong) : NULL;
}

void tl_op_use(struct tl_op *op)
{
    op->users++;
}

void tl_op_unuse(struct tl_op *op)
{
    if (--op->users > 0 || !op->freed)
        return;
    struct tl_op **link = &op->context->ops;
    while (*link != op)
        link = &(*link)->next;
    *link = op->next;
    free(op);
}

uint64_t tl_op_digest(const struct tl_op *op, enum td_kind kind, uint64_t types)
{
    return td_call_digest(kind, types ? td_hash_add(op->digest, types) : op->digest);
}

/* ---- folds ---- */

enum { ALIGNMENT = 16 /* of an element, for every basic type */ };

/* room_of writes the bytes of one copy of a block, rounded up, and the offset of element 0 in it.
 */
static bool room_of(const struct tl_fold *f, size_t *bytes, ptrdiff_t *origin)
{
    ptrdiff_t begin = 0, end = 0, span = 0;
    if (!tl_type_span(f->type, f->block / f->element, &begin, &end) ||
        __builtin_sub_overflow(end, begin, &span) || span > PTRDIFF_MAX / 4)
        return false;
    ptrdiff_t before = begin < 0 ? begin % ALIGNMENT + ALIGNMENT : begin % ALIGNMENT;
    *origin = before - begin; /* a multiple of the alignment */
    *bytes = ((size_t)span + 2 * ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    return true;
}

bool tl_fold_use(struct tl_fold *f)
{
    size_t bytes = 0;
    ptrdiff_t origin = 0;
    if (f->type && (!room_of(f, &bytes, &origin) || !(f->copies = calloc(2, bytes))))
        return false;
    if (f->type)
        tl_type_use(f->type);
    tl_op_use(f->op);
    return true;
}

void tl_fold_unuse(struct tl_fold *f)
{
    free(f->copies);
    if (f->type)
        tl_type_unuse(f->type);
    tl_op_unuse(f->op);
}

/* run_with_gaps unpacks each block before it is combined. The gaps of the copies are zeroes. */
static void run_with_gaps(const struct tl_fold *f)
{
    size_t count = f->block / f->element, bytes = 0;
    ptrdiff_t origin = 0;
    room_of(f, &bytes, &origin);
    uint8_t *in = f->copies + origin, *inout = in + bytes, *last = f->memory;
    tl_type_unpack(f->type, count, last, in);
    for (uint32_t k = 1; k < f->blocks; k++) {
        last += f->block;
        tl_type_unpack(f->type, count, last, inout);
        f->op->function(in, inout, count, f->op->user);
        tl_type_pack(f->type, count, inout, last);
        uint8_t *combined = inout;
        inout = in;
        in = combined;
    }
    if (f->out)
        tl_type_unpack(f->type, count, last, f->out);
}

void tl_fold_run(const struct tl_fold *f)
{
    if (f->type) {
        run_with_gaps(f);
        return;
    }
    size_t count = f->block / f->element;
    uint8_t *last = f->memory;
    for (uint32_t k = 1; k < f->blocks; k++, last += f->block)
        f->op->function(last - f->first, last + f->block - f->first, count, f->op->user);
    if (f->out)
        memcpy(f->out, last, f->block);
}
