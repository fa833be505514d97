/* SPDX-License-Identifier: Apache-2.0 */
/* operator: user-defined operators.
 *
 * The daemon moves the elements; the library combines them when the request completes.
 * Owns: the context's operators. */
#ifndef TORUS_OPERATOR_H
#define TORUS_OPERATOR_H

#include "context.h"

struct tl_block;

struct tl_op {
    struct tl_op *next;
    torus_context *context;
    int number; /* as in `op` of a call */
    torus_op_function *function;
    void *user;
    size_t bytes;    /* of one element; 0: of any type */
    uint64_t digest; /* of the name, size and commutativity: equal on all ranks */
    uint32_t users;  /* requests in flight and persistent calls that use it */
    bool freed;      /* by torus_op_free: it ends with its last user */
};

/* struct tl_fold: the reduction that remains when the blocks of all ranks have arrived. Block k
 * becomes the result up to rank k; the last block is copied out. */
struct tl_fold {
    struct tl_op *op; /* NULL: no reduction */
    uint8_t *memory;  /* `blocks` blocks of `block` bytes */
    size_t block;     /* bytes */
    size_t element;   /* bytes of one element */
    ptrdiff_t first;  /* offset of the data in an element */
    /* With gaps, the blocks are packed, and the function gets copies of the elements. */
    struct tl_type *type; /* NULL: no gaps */
    uint8_t *copies;      /* room for two blocks of elements, owned */
    uint32_t blocks;
    void *out;                  /* destination of the last block; NULL: none */
    struct tl_block *block_out; /* pinned block that contains `out`; NULL: plain memory */
};

/* tl_op_find returns the operator with a number; NULL: none. */
struct tl_op *tl_op_find(const torus_context *c, int number);

/* tl_narrow returns a type or operator of a call as in struct td_call; td_call_check rejects
 * UINT8_MAX, which stands for all numbers that do not fit. */
uint8_t tl_narrow(int value);

/* tl_op_element sets *bytes, the size of an element of `type` (0: unknown), to the size that the
 * operator combines. It returns NULL or the sentence of the error. */
const char *tl_op_element(const struct tl_op *op, int type, size_t *bytes);

/* tl_op_explain returns the sentence for a refused reduction without a user-defined operator: a
 * better one than `wrong`, if the operator is unknown or the type needs one. */
const char *tl_op_explain(int op, int type, const char *wrong);

/* tl_op_types translates the type of a reduction that this process folds: it sets the type and the
 * count of a call with a predefined operator (op NULL) to basic elements. *bytes: size of an
 * element of the caller; *first: offset of its data. Derived types must have no gaps. It returns
 * NULL or the sentence of the error. */
const char *tl_op_types(const torus_context *c, const struct tl_op *op, int type,
                        struct td_call *call, size_t *bytes, ptrdiff_t *first);

/* tl_op_use counts a user of an operator; tl_op_unuse ends the use. */
void tl_op_use(struct tl_op *op);
void tl_op_unuse(struct tl_op *op);

/* tl_op_digest returns the digest of a reduction of this kind by the operator. `types`: digest of
 * the types of the elements, if they are several; else 0. */
uint64_t tl_op_digest(const struct tl_op *op, enum td_kind kind, uint64_t types);

/* tl_fold_use counts the fold as a user of its operator and type, and makes room for the copies of
 * elements. It returns false without memory; then nothing is in use. */
bool tl_fold_use(struct tl_fold *fold);
/* tl_fold_unuse ends that. */
void tl_fold_unuse(struct tl_fold *fold);

/* tl_fold_run combines the blocks in the order of ranks and copies the last one out. */
void tl_fold_run(const struct tl_fold *fold);

#endif
