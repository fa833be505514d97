/* SPDX-License-Identifier: Apache-2.0 */
/* typemap: a second description of derived types, for comparison with the library.
 *
 * A form is a tree of constructors. Its type map is the list of basic elements with their offsets,
 * as MPI's standard defines it, computed by recursion over the tree. Copies go through the type
 * map, one basic element at a time. Owns: a form owns its inner forms, a map its entries. */
#ifndef TD_TESTS_TYPEMAP_H
#define TD_TESTS_TYPEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "torus/torus.h"

enum { BLOCKS_MAX = 4, ENTRIES_MAX = 4096 };

enum constructor { BASIC, CONTIGUOUS, VECTOR, INDEXED, STRUCT, RESIZED };

struct form {
    enum constructor how;
    int basic; /* BASIC */
    size_t count, block[BLOCKS_MAX];
    ptrdiff_t place[BLOCKS_MAX]; /* VECTOR: the stride; STRUCT: in bytes; RESIZED: lower bound */
    size_t extent;               /* RESIZED */
    struct form *inner[BLOCKS_MAX];
};

/* struct entry: a basic element, or a marker of a bound that RESIZED sets. */
struct entry {
    ptrdiff_t at;
    int type; /* TORUS_*, or one of: */
};
enum { LOWER = -1, UPPER = -2 };

struct map {
    struct entry entry[ENTRIES_MAX + 1];
    size_t entries; /* ENTRIES_MAX + 1: too many */
};

/* form_basic and form_of make forms; form_draw makes a random one of at most `depth` constructors
 * over the basic types in `basic`. form_free frees it with its inner forms. */
struct form *form_basic(int type);
struct form *form_of(enum constructor how, struct form *inner);
struct form *form_draw(uint64_t *random, unsigned depth, const int *basic, size_t basics);
void form_free(struct form *f);

/* form_alike makes another form with the same basic elements in the same order. */
struct form *form_alike(uint64_t *random, const struct form *f);
struct form *form_copy(const struct form *f);

/* form_make makes the type in a context by the library's constructors; it frees the inner types. */
int form_make(torus_context *c, const struct form *f);

/* map_make returns the type map of one element; the caller frees it. */
struct map *map_make(const struct form *f);
void map_bounds(const struct map *m, ptrdiff_t *lower, ptrdiff_t *upper);
size_t map_bytes(const struct map *m);

/* map_pack appends the data of an element at `at` to `packed` and returns the bytes; map_unpack
 * writes it back. */
size_t map_pack(const struct map *m, const uint8_t *at, uint8_t *packed);
size_t map_unpack(const struct map *m, const uint8_t *packed, uint8_t *at);

#endif
