/* SPDX-License-Identifier: Apache-2.0 */
#include "signature.h"

#include <stdlib.h>

#include "base/hash.h"
#include "model/call.h"

__extension__ typedef unsigned __int128 wide;

#define PRIME (((uint64_t)1 << 61) - 1)
#define BASE ((uint64_t)0x0a2f5c9d3b7e4861)
enum { DIVISOR_MAX = 1 << 20 /* of lengths, when a root is sought */ };

/* ---- sums ---- */

static const struct tl_sum EMPTY = {0, 1};

static uint64_t multiply(uint64_t a, uint64_t b)
{
    return (uint64_t)((wide)a * b % PRIME);
}

/* concatenated returns the sum of the sequence a followed by b. */
static struct tl_sum concatenated(struct tl_sum a, struct tl_sum b)
{
    return (struct tl_sum){(multiply(a.value, b.power) + b.value) % PRIME,
                           multiply(a.power, b.power)};
}

static struct tl_sum repeated(struct tl_sum a, uint64_t count)
{
    struct tl_sum sum = EMPTY;
    for (; count; count /= 2, a = concatenated(a, a))
        if (count % 2)
            sum = concatenated(sum, a);
    return sum;
}

static struct tl_sum sum_of_basic(uint8_t basic)
{
    return (struct tl_sum){td_hash_mix(basic + 1u) % PRIME, BASE};
}

/* ---- words ---- */

static uint64_t length_of(const struct tl_word *w)
{
    return w->of ? w->of->length : 1;
}

static struct tl_sum sum_of(const struct tl_word *w)
{
    return w->of ? w->of->sum : sum_of_basic(w->basic);
}

/* sum_of_first returns the sum of the first n elements. */
static struct tl_sum sum_of_first(const struct tl_signature *s, uint64_t n)
{
    struct tl_sum sum = EMPTY;
    while (n > 0) {
        if (!s->word)
            return concatenated(sum, repeated(sum_of_basic(s->basic), n));
        const struct tl_word *w = s->word;
        for (; n > 0 && n >= length_of(w) * w->count; w++) {
            sum = concatenated(sum, repeated(sum_of(w), w->count));
            n -= length_of(w) * w->count;
        }
        if (n == 0)
            break;
        sum = concatenated(sum, repeated(sum_of(w), n / length_of(w)));
        n %= length_of(w);
        s = w->of;
    }
    return sum;
}

/* element_at returns the basic type of element i. */
static uint8_t element_at(const struct tl_signature *s, uint64_t i)
{
    while (s->word) {
        const struct tl_word *w = s->word;
        while (i >= length_of(w) * w->count) {
            i -= length_of(w) * w->count;
            w++;
        }
        if (!w->of)
            return w->basic;
        i %= w->of->length;
        s = w->of;
    }
    return s->basic;
}

void tl_signature_basic(struct tl_signature *s, uint8_t basic)
{
    *s = (struct tl_signature){.basic = basic,
                               .length = 1,
                               .sum = sum_of_basic(basic),
                               .root = 1,
                               .root_sum = sum_of_basic(basic)};
}

/* append appends a word, or lengthens the last one. Room is doubled at powers of two. */
static bool append(struct tl_signature *s, const struct tl_word *w)
{
    struct tl_word *last = s->words ? &s->word[s->words - 1] : NULL;
    if (last && last->of == w->of && last->basic == w->basic) {
        last->count += w->count; /* below the length, which does not overflow */
        return true;
    }
    if (!s->word || (s->words & (s->words - 1)) == 0) {
        size_t room = s->words ? 2 * s->words : 1;
        struct tl_word *grown = realloc(s->word, room * sizeof *grown);
        if (!grown)
            return false;
        s->word = grown;
    }
    s->word[s->words++] = *w;
    return true;
}

bool tl_signature_add(struct tl_signature *s, const struct tl_signature *of, uint64_t count)
{
    uint64_t length = 0;
    if (s->length == 0 && s->basic == TD_TYPE_NONE)
        s->basic = of->basic;
    if (of->length == 0 || count == 0)
        return true;
    if (__builtin_mul_overflow(of->length, count, &length) ||
        __builtin_add_overflow(s->length, length, &s->length))
        return false;
    bool one_type = of->basic != TD_TYPE_NONE;
    const struct tl_word w = {one_type ? NULL : of, of->basic, one_type ? length : count};
    return append(s, &w);
}

/* ---- roots ---- */

/* has_period returns true if the sequence repeats its first `period` elements; `period` divides its
 * length. Then all but the first period equals all but the last one. */
static bool has_period(const struct tl_signature *s, uint64_t period)
{
    struct tl_sum first = sum_of_first(s, period), most = sum_of_first(s, s->length - period);
    return (multiply(first.value, most.power) + most.value) % PRIME == s->sum.value;
}

/* same_roots returns true if all words have the same root. */
static bool same_roots(const struct tl_signature *s)
{
    for (size_t i = 0; i < s->words; i++)
        if (!s->word[i].of || s->word[i].of->root != s->word[0].of->root ||
            s->word[i].of->root_sum.value != s->word[0].of->root_sum.value)
            return false;
    return true;
}

/* find_root divides the period by each prime factor of the length as often as the sequence allows.
 * Factors above DIVISOR_MAX count as one. */
static void find_root(struct tl_signature *s)
{
    uint64_t rest = s->length;
    uint64_t period = rest;
    for (uint64_t p = 2; rest > 1; p++) {
        if (p > DIVISOR_MAX || p * p > rest)
            p = rest;
        for (; rest % p == 0; rest /= p)
            if (period % p == 0 && has_period(s, period / p))
                period /= p;
    }
    s->root = period;
    s->root_sum = sum_of_first(s, period);
}

void tl_signature_finish(struct tl_signature *s)
{
    s->sum = EMPTY;
    if (s->words > 0)
        s->basic = TD_TYPE_NONE;
    for (size_t i = 0; i < s->words; i++)
        s->sum = concatenated(s->sum, repeated(sum_of(&s->word[i]), s->word[i].count));
    if (s->words == 1 && !s->word->of) {
        s->basic = s->word->basic;
        s->root = 1;
        s->root_sum = sum_of_basic(s->basic);
        tl_signature_free(s);
    } else if (s->words && same_roots(s)) {
        s->root = s->word->of->root;
        s->root_sum = s->word->of->root_sum;
    } else if (s->words) {
        find_root(s);
    }
}

void tl_signature_free(struct tl_signature *s)
{
    free(s->word);
    s->word = NULL;
    s->words = 0;
}

bool tl_signature_same_root(const struct tl_signature *a, const struct tl_signature *b)
{
    return a->length == 0 || b->length == 0 ||
           (a->basic == b->basic && a->root == b->root && a->root_sum.value == b->root_sum.value);
}

uint64_t tl_signature_digest(const struct tl_signature *s)
{
    uint8_t types[TD_DIGEST_NAMES_MAX];
    if (s->root > TD_DIGEST_NAMES_MAX)
        return td_call_digest(TD_DIGEST_TYPES, td_hash_add(s->root_sum.value, s->root));
    for (uint64_t i = 0; i < s->root; i++)
        types[i] = element_at(s, i);
    return td_call_digest_names(types, (size_t)s->root);
}
