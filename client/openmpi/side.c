/* SPDX-License-Identifier: Apache-2.0 */
#include "side.h"

#include <string.h>

#include "ompi/datatype/ompi_datatype.h"
#include "opal/datatype/opal_convertor.h"

bool tm_has_gaps(const struct ompi_datatype_t *type, size_t count)
{
    return count > 0 && type->super.size > 0 &&
           !ompi_datatype_is_contiguous_memory_layout(type, count > 1 ? 2 : 1);
}

void tm_side_close(struct tm_side *s)
{
    s->bytes = 0;
    s->packs = false;
    for (size_t i = 0; i < s->blocks; i++) {
        struct tm_block *b = &s->block[i];
        b->bytes = b->count * b->type->super.size;
        s->bytes += b->bytes;
        s->packs = s->packs || tm_has_gaps(b->type, b->count);
    }
}

void tm_side_set_one(struct tm_side *s, const void *base, ptrdiff_t at, size_t count,
                     struct ompi_datatype_t *type)
{
    s->base = (char *)(uintptr_t)base;
    s->blocks = 1;
    s->block = &s->one;
    s->one = (struct tm_block){.at = at, .count = count, .type = type};
    tm_side_close(s);
}

/* first_byte returns the offset of a block's first byte, if the block has no gaps. */
static ptrdiff_t first_byte(const struct tm_block *b)
{
    return b->bytes > 0 ? b->at + b->type->super.true_lb : 0;
}

/* bounds sets the range of addresses that a side touches; false: it touches none. */
static bool bounds(const struct tm_side *s, uintptr_t *begin, uintptr_t *end)
{
    *begin = UINTPTR_MAX;
    *end = 0;
    for (size_t i = 0; i < s->blocks; i++) {
        const struct tm_block *b = &s->block[i];
        if (b->bytes == 0)
            continue;
        const opal_datatype_t *t = &b->type->super;
        uintptr_t low = (uintptr_t)s->base + (uintptr_t)(b->at + t->true_lb);
        uintptr_t high = low + (uintptr_t)(t->true_ub - t->true_lb);
        ptrdiff_t rest = (ptrdiff_t)(b->count - 1) * (t->ub - t->lb);
        if (rest < 0)
            low += (uintptr_t)rest;
        else
            high += (uintptr_t)rest;
        *begin = low < *begin ? low : *begin;
        *end = high > *end ? high : *end;
    }
    return *begin < *end;
}

bool tm_side_overlaps(const struct tm_side *a, const struct tm_side *b)
{
    uintptr_t begin[2], end[2];
    return bounds(a, &begin[0], &end[0]) && bounds(b, &begin[1], &end[1]) && begin[0] < end[1] &&
           begin[1] < end[0];
}

/* origin returns the offset, from the base, that stands for offset 0. It is that of the first data
 * if the base is MPI_BOTTOM, which libtorus does not accept. */
static ptrdiff_t origin(const struct tm_side *s)
{
    if (s->blocks == 1 && s->block == &s->one)
        return first_byte(&s->one);
    for (size_t i = 0; i < s->blocks && !s->base; i++)
        if (s->block[i].bytes > 0)
            return first_byte(&s->block[i]);
    return 0;
}

void *tm_side_data(const struct tm_side *s)
{
    return s->packs ? s->packed : (char *)((uintptr_t)s->base + (uintptr_t)origin(s));
}

void tm_side_lists(const struct tm_side *s, size_t *counts, ptrdiff_t *places)
{
    ptrdiff_t packed = 0, zero = origin(s);
    for (size_t i = 0; i < s->blocks; i++) {
        counts[i] = s->block[i].bytes;
        places[i] = s->packs ? packed : counts[i] > 0 ? first_byte(&s->block[i]) - zero : 0;
        packed += (ptrdiff_t)s->block[i].bytes;
    }
}

int tm_pack(const char *base, const struct tm_block *b, char *packed)
{
    opal_convertor_t convertor;
    if (b->bytes == 0)
        return OMPI_SUCCESS;
    if (!tm_has_gaps(b->type, b->count)) {
        memcpy(packed, base + first_byte(b), b->bytes);
        return OMPI_SUCCESS;
    }
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    int error = opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &b->type->super,
                                                         b->count, base + b->at, 0, &convertor);
    struct iovec part = {.iov_base = packed, .iov_len = b->bytes};
    size_t bytes = b->bytes;
    uint32_t parts = 1;
    if (error == OPAL_SUCCESS)
        opal_convertor_pack(&convertor, &part, &parts, &bytes);
    OBJ_DESTRUCT(&convertor);
    return error == OPAL_SUCCESS && bytes == b->bytes ? OMPI_SUCCESS : OMPI_ERROR;
}

int tm_unpack(char *base, const struct tm_block *b, const char *packed)
{
    opal_convertor_t convertor;
    if (b->bytes == 0)
        return OMPI_SUCCESS;
    if (!tm_has_gaps(b->type, b->count)) {
        memcpy(base + first_byte(b), packed, b->bytes);
        return OMPI_SUCCESS;
    }
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    int error = opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &b->type->super,
                                                         b->count, base + b->at, 0, &convertor);
    struct iovec part = {.iov_base = (char *)(uintptr_t)packed, .iov_len = b->bytes};
    size_t bytes = b->bytes;
    uint32_t parts = 1;
    if (error == OPAL_SUCCESS)
        opal_convertor_unpack(&convertor, &part, &parts, &bytes);
    OBJ_DESTRUCT(&convertor);
    return error == OPAL_SUCCESS && bytes == b->bytes ? OMPI_SUCCESS : OMPI_ERROR;
}

int tm_side_pack(const struct tm_side *s)
{
    char *to = s->packed;
    int error = OMPI_SUCCESS;
    for (size_t i = 0; s->packs && i < s->blocks && error == OMPI_SUCCESS; i++) {
        error = tm_pack(s->base, &s->block[i], to);
        to += s->block[i].bytes;
    }
    return error;
}

int tm_side_unpack(const struct tm_side *s)
{
    const char *from = s->packed;
    int error = OMPI_SUCCESS;
    for (size_t i = 0; s->packs && i < s->blocks && error == OMPI_SUCCESS; i++) {
        error = tm_unpack(s->base, &s->block[i], from);
        from += s->block[i].bytes;
    }
    return error;
}
