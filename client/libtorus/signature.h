/* SPDX-License-Identifier: Apache-2.0 */
/* signature: the sequence of basic elements in one element of a type.
 *
 * Two ranks may describe the same data by different types; their calls match if the sequences
 * agree. A sequence is kept as a list of words, each a basic type or another signature, repeated.
 * Its *root* is the shortest sequence of which it is a power: (int32, double) is the root of
 * (int32, double, int32, double). Calls compare the root and the bytes, so that they do not depend
 * on the number of elements in which a rank counts.
 * Owns: the list of words. Borrows: the signatures that the words name.
 * Pure. */
#ifndef TORUS_SIGNATURE_H
#define TORUS_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct tl_sum: hash of a sequence as a polynomial modulo 2^61 - 1, with the power of the base
 * that belongs to its length. Sums of sequences give the sum of their concatenation. */
struct tl_sum {
    uint64_t value, power;
};

struct tl_word {
    const struct tl_signature *of; /* NULL: a basic type */
    uint8_t basic;                 /* enum td_type, if `of` is NULL */
    uint64_t count;
};

struct tl_signature {
    struct tl_word *word; /* NULL: `length` elements of `basic` */
    size_t words;
    uint8_t basic;   /* enum td_type if all elements have one type, else TD_TYPE_NONE; of an empty
                        sequence, the type of what it was made from */
    uint64_t length; /* basic elements */
    struct tl_sum sum;
    uint64_t root; /* length of the root; its sum: */
    struct tl_sum root_sum;
};

/* tl_signature_basic sets *s to one element of a basic type. */
void tl_signature_basic(struct tl_signature *s, uint8_t basic);

/* tl_signature_add appends `count` copies of `of`. *s starts as zeroes. It returns false if there
 * is no memory or the length overflows. */
bool tl_signature_add(struct tl_signature *s, const struct tl_signature *of, uint64_t count);

/* tl_signature_finish computes the sums and the root after the last tl_signature_add. */
void tl_signature_finish(struct tl_signature *s);

void tl_signature_free(struct tl_signature *s);

/* tl_signature_same_root returns true if both sequences have the same root, or one is empty. */
bool tl_signature_same_root(const struct tl_signature *a, const struct tl_signature *b);

/* tl_signature_digest returns the td_call digest of a root with several types. */
uint64_t tl_signature_digest(const struct tl_signature *s);

#endif
