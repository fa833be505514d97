/* SPDX-License-Identifier: Apache-2.0 */
#include "fold.h"

#include "ompi/datatype/ompi_datatype.h"
#include "ompi/op/op.h"

/* span returns the bytes from the first to the last byte of an array of elements, and sets the
 * offset of the first one. Elements include their padding, which functions of programs copy, unless
 * data lies outside the bounds. */
static size_t span(const struct ompi_datatype_t *type, size_t count, ptrdiff_t *first)
{
    const opal_datatype_t *t = &type->super;
    bool inside = t->lb <= t->true_lb && t->true_ub <= t->ub;
    ptrdiff_t low = inside ? t->lb : t->true_lb, high = inside ? t->ub : t->true_ub;
    ptrdiff_t rest = count > 0 ? (ptrdiff_t)(count - 1) * (t->ub - t->lb) : 0;
    *first = low + (rest < 0 ? rest : 0);
    return (size_t)(high - low + (rest < 0 ? -rest : rest));
}

int tm_fold_prepare(struct tm_call *c, size_t count, uint32_t parts, uint32_t used, void *result)
{
    struct tm_folding *f = &c->folding;
    ptrdiff_t first = 0;
    size_t bytes = count * c->args.rtype->super.size;
    *f = (struct tm_folding){.op = c->args.op,
                             .type = c->args.rtype,
                             .count = count,
                             .parts = parts > 0 ? used : 0,
                             .result = result};
    f->part = tm_call_memory(c, parts * bytes);
    if (!f->part)
        return OMPI_ERR_OUT_OF_RESOURCE;
    if (parts == 0 || count == 0 || !tm_has_gaps(f->type, 2)) /* also gaps behind one element */
        return OMPI_SUCCESS;
    size_t room = span(f->type, count, &first);
    for (int i = 0; i < 2; i++)
        if (!(f->work[i] = tm_call_memory(c, room)))
            return OMPI_ERR_OUT_OF_RESOURCE;
    return OMPI_SUCCESS;
}

int tm_fold(const struct tm_folding *f)
{
    ptrdiff_t first = 0;
    size_t bytes = f->count * f->type->super.size;
    const struct tm_block block = {.count = f->count, .type = f->type, .bytes = bytes};
    if (f->parts == 0 || bytes == 0)
        return OMPI_SUCCESS;
    (void)span(f->type, f->count, &first);
    char *left = NULL;
    int error = OMPI_SUCCESS;
    for (uint32_t r = 0; r < f->parts && error == OMPI_SUCCESS; r++) {
        char *right = f->part + r * bytes - first;
        if (f->work[0]) {
            right = f->work[r % 2] - first;
            error = tm_unpack(right, &block, f->part + r * bytes);
        }
        if (left && error == OMPI_SUCCESS)
            ompi_op_reduce(f->op, left, right, f->count, f->type);
        left = right;
    }
    if (error == OMPI_SUCCESS)
        error = ompi_datatype_copy_content_same_ddt(f->type, f->count, f->result, left);
    return error;
}
