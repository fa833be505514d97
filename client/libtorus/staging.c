/* SPDX-License-Identifier: Apache-2.0 */
#include "staging.h"

#include <stdlib.h>
#include <string.h>

/* copy_pieces copies a buffer to its staging copy, where the pieces are contiguous; or back. Pieces
 * are elements of their type or of `all`, or bytes if both are NULL. */
static void copy_pieces(const struct tl_piece *piece, uint32_t pieces, const struct tl_type *all,
                        uint8_t *caller, uint8_t *memory, bool back)
{
    for (uint32_t i = 0; i < pieces; memory += piece[i++].bytes) {
        const struct tl_type *type = piece[i].type ? piece[i].type : all;
        uint8_t *at = caller + piece[i].at;
        if (type && back)
            tl_type_unpack(type, piece[i].bytes / type->bytes, memory, at);
        else if (type)
            tl_type_pack(type, piece[i].bytes / type->bytes, at, memory);
        else if (back)
            memcpy(at, memory, piece[i].bytes);
        else
            memcpy(memory, at, piece[i].bytes);
    }
}

void tl_binding_release(torus_context *c, struct tl_binding *b, bool results)
{
    const struct tl_piece all = {.bytes = b->bytes}, *piece = b->piece ? b->piece : &all;
    if (b->copy && b->out && results)
        copy_pieces(piece, b->piece ? b->pieces : 1, b->type, b->out, b->copy, true);
    if (b->copy)
        tl_memory_free(c, b->copy);
    if (b->block)
        tl_memory_unpin(b->block);
    if (b->type)
        tl_type_unuse(b->type);
    for (uint32_t i = 0; b->piece && i < b->pieces; i++)
        if (b->piece[i].type)
            tl_type_unuse(b->piece[i].type);
    free(b->piece);
    *b = (struct tl_binding){0};
}

/* keep_pieces records where to copy the results. It returns false if memory runs out. */
static bool keep_pieces(struct tl_binding *b, const struct tl_buffer *buffer)
{
    if (!buffer->piece || !buffer->copy_out)
        return true;
    b->piece = malloc((buffer->pieces ? buffer->pieces : 1) * sizeof *b->piece);
    b->pieces = buffer->pieces;
    if (!b->piece)
        return false;
    memcpy(b->piece, buffer->piece, buffer->pieces * sizeof *b->piece);
    for (uint32_t i = 0; i < b->pieces; i++)
        if (b->piece[i].type)
            tl_type_use(b->piece[i].type);
    return true;
}

/* make_copy allocates the staging copy of a buffer and fills it if the daemon reads the buffer. */
static int make_copy(torus_context *c, struct tl_binding *b, const struct tl_buffer *buffer,
                     struct td_place *place)
{
    struct tl_block *block = NULL;
    if (!keep_pieces(b, buffer))
        return tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory");
    int error = tl_memory_allocate(c, buffer->bytes, &b->copy);
    if (error != TORUS_OK)
        return error;
    b->bytes = buffer->bytes;
    if ((b->type = buffer->type))
        tl_type_use(b->type);
    b->out = buffer->copy_out && !buffer->scratch ? buffer->pointer : NULL;
    const struct tl_piece all = {.bytes = buffer->bytes},
                          *piece = buffer->piece ? buffer->piece : &all;
    if (buffer->copy_in)
        copy_pieces(piece, buffer->piece ? buffer->pieces : 1, buffer->type, buffer->pointer,
                    b->copy, false);
    if (!buffer->scratch)
        c->staged_bytes += buffer->bytes;
    static const struct tl_role role = {"libtorus", "staging copy"};
    return tl_memory_find(c, &role, b->copy, buffer->bytes, place, &block);
}

static int is_null(torus_context *c, const struct tl_role *role, const struct tl_buffer *buffer)
{
    return tl_fail(c, TORUS_ERR_INVALID, "%s: the %s is NULL, but the call needs %zu bytes there",
                   role->call, role->buffer, buffer->bytes);
}

int tl_buffer_check(torus_context *c, const struct tl_role *role, const struct tl_buffer *buffer)
{
    struct td_place place;
    struct tl_block *block = NULL;
    if (buffer->bytes == 0 || buffer->scratch)
        return TORUS_OK;
    if (!buffer->pointer)
        return is_null(c, role, buffer);
    return tl_memory_find(c, role, buffer->pointer + buffer->begin,
                          (size_t)(buffer->end - buffer->begin), &place, &block);
}

int tl_buffer_bind(torus_context *c, const struct tl_role *role, const struct tl_buffer *buffer,
                   size_t alignment, struct tl_binding *b, struct td_place *place, bool *staged)
{
    *place = (struct td_place){0};
    *staged = false;
    if (buffer->bytes == 0)
        return TORUS_OK;
    if (!buffer->pointer && !buffer->scratch)
        return is_null(c, role, buffer);
    struct tl_block *block = NULL;
    int error = TORUS_OK;
    if (!buffer->scratch)
        error = tl_memory_find(c, role, buffer->pointer + buffer->begin,
                               (size_t)(buffer->end - buffer->begin), place, &block);
    if (error != TORUS_OK)
        return error;
    b->block = block;
    if (block)
        tl_memory_pin(block);
    bool usable = buffer->form || (uintptr_t)buffer->pointer % alignment == 0;
    if (block && !buffer->must_stage && usable) {
        place->form = buffer->form;
        return TORUS_OK;
    }
    *staged = true;
    return make_copy(c, b, buffer, place);
}
