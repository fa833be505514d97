/* SPDX-License-Identifier: Apache-2.0 */
#include "type.h"

#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "model/call.h"

static const char *const TOO_LARGE = "the type is too large: it spans more than 2^63 - 1 bytes";

/* ---- copies ---- */

/* struct cursor: a copy between elements and contiguous bytes. */
struct cursor {
    uint8_t *packed;
    bool unpack;
};

/* struct frame: one level of a walk: the loop of a type that runs, and its iteration. */
struct frame {
    const struct tl_type *type;
    uint8_t *at;
    size_t loop, i;
};

/* COPY_RUNS copies runs of a constant size, which the compiler turns into single moves. */
#define RUNS for (size_t i = 0; i < count; i++)
#define COPY_RUNS(size)                                                                            \
    if (c->unpack)                                                                                 \
        RUNS memcpy(at + (ptrdiff_t)i * step, packed + i * (size), size);                          \
    else                                                                                           \
        RUNS memcpy(packed + i * (size), at + (ptrdiff_t)i * step, size);                          \
    break

static void copy_runs(struct cursor *c, uint8_t *at, size_t count, ptrdiff_t step, size_t bytes)
{
    uint8_t *packed = c->packed;
    c->packed += count * bytes;
    switch (bytes) {
    case 4:
        COPY_RUNS(4);
    case 8:
        COPY_RUNS(8);
    case 16:
        COPY_RUNS(16);
    default:
        COPY_RUNS(bytes);
    }
}

/* copy_element copies one element of a type with loops. */
static void copy_element(struct cursor *c, const struct tl_type *type, uint8_t *at)
{
    struct frame stack[TL_TYPE_DEPTH_MAX], *f = stack;
    *f = (struct frame){type, at, 0, 0};
    while (true) {
        if (f->loop == f->type->loops) {
            if (f == stack)
                return;
            f--;
            f->i++;
            continue;
        }
        const struct tl_loop *l = &f->type->loop[f->loop];
        if (l->inner && f->i < l->count) {
            f[1] = (struct frame){l->inner, f->at + l->at + (ptrdiff_t)f->i * l->step, 0, 0};
            f++;
            continue;
        }
        if (!l->inner)
            copy_runs(c, f->at + l->at, l->count, l->step, l->bytes);
        f->loop++;
        f->i = 0;
    }
}

static void copy_elements(struct cursor *c, const struct tl_type *type, size_t count, uint8_t *at)
{
    ptrdiff_t extent = tl_type_extent(type);
    if (count == 0 || type->bytes == 0)
        return;
    if (tl_type_dense(type))
        copy_runs(c, at + type->first, 1, 0, count * type->bytes);
    else if (type->loops == 0)
        copy_runs(c, at + type->first, count, extent, type->bytes);
    else
        for (size_t i = 0; i < count; i++)
            copy_element(c, type, at + (ptrdiff_t)i * extent);
}

void tl_type_pack(const struct tl_type *type, size_t count, const uint8_t *from, uint8_t *packed)
{
    struct cursor c = {packed, false};
    copy_elements(&c, type, count, (uint8_t *)(uintptr_t)from);
}

void tl_type_unpack(const struct tl_type *type, size_t count, const uint8_t *packed, uint8_t *to)
{
    struct cursor c = {(uint8_t *)(uintptr_t)packed, true};
    copy_elements(&c, type, count, to);
}

/* ---- properties ---- */

ptrdiff_t tl_type_extent(const struct tl_type *type)
{
    return type->upper - type->lower;
}

bool tl_type_dense(const struct tl_type *type)
{
    return type->loops == 0 && tl_type_extent(type) == (ptrdiff_t)type->bytes;
}

bool tl_type_span(const struct tl_type *type, size_t count, ptrdiff_t *begin, ptrdiff_t *end)
{
    ptrdiff_t last = 0; /* address of the last element; extents are not negative */
    *begin = type->first;
    return !__builtin_mul_overflow(count - 1, tl_type_extent(type), &last) &&
           !__builtin_add_overflow(last, type->end, end);
}

struct tl_type *tl_type_find(const torus_context *c, int number, struct tl_type *basic)
{
    if (number >= TL_TYPE_FIRST) {
        struct tl_type *t = c->types;
        while (t && (t->number != number || t->freed))
            t = t->next;
        return t;
    }
    size_t bytes = number < 0 || number > UINT8_MAX ? 0 : td_type_bytes((unsigned)number);
    if (bytes == 0)
        return NULL;
    *basic = (struct tl_type){.bytes = bytes,
                              .upper = (ptrdiff_t)bytes,
                              .end = (ptrdiff_t)bytes,
                              .alignment =
                                  (uint32_t)td_call_alignment(TD_KIND_ALLREDUCE, (unsigned)number)};
    tl_signature_basic(&basic->signature, (uint8_t)number);
    return basic;
}

/* ---- use ---- */

void tl_type_use(struct tl_type *type)
{
    type->users++;
}

static void destroy(struct tl_type *t)
{
    tl_signature_free(&t->signature);
    free(t->form);
    free(t->loop);
    free(t->used);
    free(t);
}

/* end_use moves a type from its context to the list *dead, unless it has a user or a number. */
static void end_use(struct tl_type *t, struct tl_type **dead)
{
    if (--t->users > 0 || !t->freed || !t->context)
        return;
    struct tl_type **link = &t->context->types;
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    t->next = *dead;
    *dead = t;
}

void tl_type_unuse(struct tl_type *type)
{
    struct tl_type *dead = NULL;
    end_use(type, &dead);
    while (dead) {
        struct tl_type *t = dead;
        dead = t->next;
        for (size_t i = 0; i < t->useds; i++)
            end_use(t->used[i], &dead);
        destroy(t);
    }
}

void tl_type_fini(torus_context *c)
{
    while (c->types) {
        struct tl_type *t = c->types;
        c->types = t->next;
        destroy(t);
    }
}

/* ---- construction ---- */

enum { INLINE_MAX = 16 /* loops of a single element that its outer type copies */ };

/* grow returns false if there is no memory for one more item; it doubles the room at powers of two.
 */
static bool grow(void **items, size_t count, size_t bytes)
{
    if (count & (count - 1))
        return true;
    void *grown = realloc(*items, (count ? 2 * count : 1) * bytes);
    if (grown)
        *items = grown;
    return grown != NULL;
}

bool tl_type_keep(struct tl_type *t, struct tl_type *of)
{
    if (!of->context || (t->useds && t->used[t->useds - 1] == of))
        return true;
    void *items = t->used;
    if (!grow(&items, t->useds, sizeof(struct tl_type *)))
        return false;
    t->used = items;
    t->used[t->useds++] = of;
    tl_type_use(of);
    return true;
}

/* joins makes one loop of two, in *a; it returns false if they are no arithmetic sequence. */
static bool join(struct tl_loop *a, const struct tl_loop *b)
{
    ptrdiff_t step = 0, next = 0;
    if (a->bytes != b->bytes || a->inner != b->inner || __builtin_sub_overflow(b->at, a->at, &next))
        return false;
    step = a->count > 1 ? a->step : b->count > 1 ? b->step : next;
    if (__builtin_mul_overflow(a->count, step, &step))
        return false;
    if (step != next || (a->count > 1 && b->count > 1 && a->step != b->step))
        return false;
    a->step = a->count > 1 ? a->step : step;
    a->count += b->count;
    return true;
}

/* settle joins the last loop with the one before it. */
static void settle(struct tl_type *t)
{
    if (t->loops > 1 && join(&t->loop[t->loops - 2], &t->loop[t->loops - 1]))
        t->loops--;
}

/* append adds a loop after those of t. A run that continues the last run lengthens it. */
static const char *append(struct tl_type *t, struct tl_loop l)
{
    if (!l.inner && l.step == (ptrdiff_t)l.bytes) {
        l.bytes *= l.count; /* below the bytes of t */
        l.count = 1;
    }
    struct tl_loop *last = t->loops ? &t->loop[t->loops - 1] : NULL;
    bool runs = last && !last->inner && last->count == 1 && !l.inner && l.count == 1;
    ptrdiff_t next = 0;
    if (runs && !__builtin_add_overflow(last->at, last->bytes, &next) && next == l.at) {
        last->bytes += l.bytes;
        return NULL;
    }
    settle(t);
    void *items = t->loop;
    if (!grow(&items, t->loops, sizeof l))
        return TL_NO_MEMORY;
    t->loop = items;
    t->loop[t->loops++] = l;
    uint32_t depth = 1 + (l.inner ? l.inner->depth : 0);
    t->depth = depth > t->depth ? depth : t->depth;
    return t->depth > TL_TYPE_DEPTH_MAX ? "the type nests more than 32 loops" : NULL;
}

/* append_all adds the loops of one element of a type. */
static const char *append_all(struct tl_type *t, ptrdiff_t at, const struct tl_type *of)
{
    const char *wrong = NULL;
    for (size_t i = 0; !wrong && i < of->loops; i++) {
        struct tl_loop l = of->loop[i];
        l.at += at;
        wrong = append(t, l);
    }
    return wrong;
}

static void widen(ptrdiff_t *from, ptrdiff_t *to, ptrdiff_t begin, ptrdiff_t end)
{
    *from = begin < *from ? begin : *from;
    *to = end > *to ? end : *to;
}

/* add_bounds widens the bounds of t to `count` > 0 elements of `of`. Bounds that torus_type_resized
 * gave prevail over others, as MPI's markers do. It returns false if an address overflows. */
static bool add_bounds(struct tl_type *t, ptrdiff_t at, size_t count, ptrdiff_t step,
                       const struct tl_type *of)
{
    ptrdiff_t last = 0, lower = 0, upper = 0, first = 0, end = 0;
    if (__builtin_mul_overflow(count - 1, step, &last) || __builtin_add_overflow(at, last, &last))
        return false;
    ptrdiff_t low = step < 0 ? last : at, high = step < 0 ? at : last;
    /* without the padding, which is the outer type's matter */
    if (__builtin_add_overflow(low, of->bounded ? of->lower : of->first, &lower) ||
        __builtin_add_overflow(high, of->bounded ? of->upper : of->end, &upper) ||
        __builtin_add_overflow(low, of->first, &first) ||
        __builtin_add_overflow(high, of->end, &end))
        return false;
    if (of->bounded && !t->bounded) {
        t->bounded = true;
        t->lower = lower;
        t->upper = upper;
    } else if (of->bounded == t->bounded) {
        widen(&t->lower, &t->upper, lower, upper);
    }
    if (of->bytes)
        widen(&t->first, &t->end, first, end);
    return true;
}

/* add appends `count` elements of `of`: the first at `at`, the others `step` bytes apart. It
 * returns NULL or the sentence of the error. */
static const char *add(struct tl_type *t, ptrdiff_t at, size_t count, ptrdiff_t step,
                       struct tl_type *of)
{
    size_t bytes = 0;
    if (count == 0 || (of->bytes == 0 && !of->bounded)) {
        tl_signature_add(&t->signature, &of->signature, 0);
        return NULL;
    }
    if (!add_bounds(t, at, count, step, of) || __builtin_mul_overflow(count, of->bytes, &bytes) ||
        __builtin_add_overflow(t->bytes, bytes, &t->bytes) || t->bytes > PTRDIFF_MAX)
        return TOO_LARGE;
    if (!tl_type_keep(t, of) || !tl_signature_add(&t->signature, &of->signature, count))
        return TL_NO_MEMORY;
    t->alignment = of->alignment > t->alignment ? of->alignment : t->alignment;
    if (of->bytes == 0)
        return NULL;
    if (of->loops == 0)
        return append(t, (struct tl_loop){at + of->first, step, count, of->bytes, NULL});
    if (count == 1 && of->loops <= INLINE_MAX)
        return append_all(t, at, of);
    struct tl_loop one = *of->loop;
    ptrdiff_t length = 0; /* of the loop, if it goes on in the next element */
    bool goes_on = !__builtin_mul_overflow(one.count, one.step, &length) && length == step;
    if (of->loops > 1 || !goes_on)
        return append(t, (struct tl_loop){at, step, count, 0, of});
    one.at += at;
    one.count *= count;
    return append(t, one);
}

/* finish ends the construction of t: bounds, padding, loops and signature. */
static const char *finish(struct tl_type *t)
{
    if (t->lower > t->upper)
        t->lower = t->upper = 0;
    if (t->bytes == 0)
        t->first = t->end = 0;
    ptrdiff_t extent = 0, padding = 0;
    if (__builtin_sub_overflow(t->upper, t->lower, &extent))
        return TOO_LARGE;
    if (!t->bounded) /* as in an array of C structs */
        padding = (ptrdiff_t)((t->alignment - (size_t)extent % t->alignment) % t->alignment);
    if (__builtin_add_overflow(t->upper, padding, &t->upper) ||
        __builtin_sub_overflow(t->upper, t->lower, &extent))
        return TOO_LARGE;
    settle(t);
    if (t->loops == 1 && t->loop->count == 1 && !t->loop->inner) {
        free(t->loop);
        t->loop = NULL;
        t->loops = t->depth = 0;
    }
    tl_signature_finish(&t->signature);
    return NULL;
}

struct tl_type *tl_type_new(torus_context *c)
{
    struct tl_type *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    *t = (struct tl_type){.next = c->types,
                          .context = c,
                          .users = 1,
                          .freed = true,
                          .lower = PTRDIFF_MAX,
                          .upper = PTRDIFF_MIN,
                          .first = PTRDIFF_MAX,
                          .end = PTRDIFF_MIN,
                          .alignment = 1};
    c->types = t;
    return t;
}

int tl_type_publish(struct tl_type *t, const char *wrong, const char *function, int *made)
{
    torus_context *c = t->context;
    if (!wrong) {
        t->number = TL_TYPE_FIRST + c->next_type++;
        t->freed = false;
        *made = t->number;
    }
    tl_type_unuse(t);
    if (!wrong)
        return TORUS_OK;
    return tl_fail(c, strcmp(wrong, TL_NO_MEMORY) == 0 ? TORUS_ERR_NO_MEMORY : TORUS_ERR_INVALID,
                   "%s: %s", function, wrong);
}

/* begin checks the arguments that all constructors have. It sets *of to the type of the elements
 * and *t to a new type. */
static int begin(torus_context *c, const char *function, int type, struct tl_type *basic, int *made,
                 struct tl_type **of, struct tl_type **t)
{
    if (!c)
        return tl_null(NULL, function, "context");
    if (!made)
        return tl_fail(c, TORUS_ERR_INVALID, "%s: made is NULL", function);
    if (!(*of = tl_type_find(c, type, basic)))
        return tl_fail(c, TORUS_ERR_INVALID, "%s: type %d is unknown or was freed", function, type);
    if ((*of)->pair[0])
        return tl_fail(c, TORUS_ERR_INVALID, "%s: " TL_PAIR, function);
    if (c->next_type > INT32_MAX - TL_TYPE_FIRST)
        return tl_fail(c, TORUS_ERR_INVALID, "%s: the context has no more numbers of types",
                       function);
    *t = tl_type_new(c);
    return *t ? TORUS_OK : tl_fail(c, TORUS_ERR_NO_MEMORY, "%s: %s", function, TL_NO_MEMORY);
}

/* ---- constructors ---- */

int torus_type_contiguous(torus_context *c, size_t count, int type, int *made)
{
    TL_GUARD(c);
    static const char *const function = "torus_type_contiguous";
    struct tl_type basic, *of = NULL, *t = NULL;
    int error = begin(c, function, type, &basic, made, &of, &t);
    if (error != TORUS_OK)
        return error;
    const char *wrong = add(t, 0, count, tl_type_extent(of), of);
    return tl_type_publish(t, wrong ? wrong : finish(t), function, made);
}

/* add_blocks appends `count` blocks of `block` elements, `step` bytes apart. A block is a type
 * without a number. */
static const char *add_blocks(struct tl_type *t, size_t count, size_t block, ptrdiff_t step,
                              struct tl_type *of)
{
    struct tl_type *whole = tl_type_new(t->context);
    if (!whole)
        return TL_NO_MEMORY;
    const char *wrong = add(whole, 0, block, tl_type_extent(of), of);
    if (!wrong)
        wrong = finish(whole);
    if (!wrong)
        wrong = add(t, 0, count, step, whole);
    tl_type_unuse(whole);
    return wrong;
}

int torus_type_vector(torus_context *c, size_t count, size_t block, ptrdiff_t stride, int type,
                      int *made)
{
    TL_GUARD(c);
    static const char *const function = "torus_type_vector";
    struct tl_type basic, *of = NULL, *t = NULL;
    int error = begin(c, function, type, &basic, made, &of, &t);
    if (error != TORUS_OK)
        return error;
    const char *wrong = NULL;
    ptrdiff_t step = 0;
    if (block && count > 1 && __builtin_mul_overflow(stride, tl_type_extent(of), &step))
        wrong = TOO_LARGE;
    else
        wrong = add_blocks(t, count, block, step, of);
    return tl_type_publish(t, wrong ? wrong : finish(t), function, made);
}

int torus_type_indexed(torus_context *c, size_t count, const size_t *blocks,
                       const ptrdiff_t *places, int type, int *made)
{
    TL_GUARD(c);
    static const char *const function = "torus_type_indexed";
    struct tl_type basic, *of = NULL, *t = NULL;
    int error = begin(c, function, type, &basic, made, &of, &t);
    if (error != TORUS_OK)
        return error;
    const char *wrong = count && (!blocks || !places) ? "blocks or places is NULL" : NULL;
    for (size_t i = 0; !wrong && i < count; i++) {
        ptrdiff_t at = 0;
        if (__builtin_mul_overflow(places[i], tl_type_extent(of), &at))
            wrong = TOO_LARGE;
        else
            wrong = add(t, at, blocks[i], tl_type_extent(of), of);
    }
    return tl_type_publish(t, wrong ? wrong : finish(t), function, made);
}

int torus_type_struct(torus_context *c, size_t count, const size_t *blocks,
                      const ptrdiff_t *offsets, const int *types, int *made)
{
    TL_GUARD(c);
    static const char *const function = "torus_type_struct";
    struct tl_type basic, *of = NULL, *t = NULL;
    int error = begin(c, function, TORUS_BYTE, &basic, made, &of, &t);
    if (error != TORUS_OK)
        return error;
    const char *wrong =
        count && (!blocks || !offsets || !types) ? "blocks, offsets or types is NULL" : NULL;
    for (size_t i = 0; !wrong && i < count; i++) {
        of = tl_type_find(c, types[i], &basic);
        wrong = !of           ? "one of the types is unknown or was freed"
                : of->pair[0] ? TL_PAIR
                              : add(t, offsets[i], blocks[i], tl_type_extent(of), of);
    }
    return tl_type_publish(t, wrong ? wrong : finish(t), function, made);
}

int torus_type_resized(torus_context *c, int type, ptrdiff_t lower, size_t extent, int *made)
{
    TL_GUARD(c);
    static const char *const function = "torus_type_resized";
    struct tl_type basic, *of = NULL, *t = NULL;
    int error = begin(c, function, type, &basic, made, &of, &t);
    if (error != TORUS_OK)
        return error;
    const char *wrong = add(t, 0, 1, tl_type_extent(of), of);
    t->bounded = true;
    t->lower = lower;
    if (!wrong && __builtin_add_overflow(lower, extent, &t->upper))
        wrong = TOO_LARGE;
    return tl_type_publish(t, wrong ? wrong : finish(t), function, made);
}

/* ---- other public calls ---- */

int torus_type_free(torus_context *c, int type)
{
    TL_GUARD(c);
    struct tl_type basic, *t = c && type >= TL_TYPE_FIRST ? tl_type_find(c, type, &basic) : NULL;
    if (!c)
        return tl_null(NULL, "torus_type_free", "context");
    if (!t)
        return tl_fail(c, TORUS_ERR_INVALID,
                       "torus_type_free: %d is not a derived type of this context, or was freed",
                       type);
    tl_type_use(t);
    t->freed = true;
    tl_type_unuse(t);
    return TORUS_OK;
}

int torus_type_bytes(torus_context *c, int type, size_t *bytes)
{
    TL_GUARD(c);
    struct tl_type basic, *t = c ? tl_type_find(c, type, &basic) : NULL;
    if (!c)
        return tl_null(NULL, "torus_type_bytes", "context");
    if (!t || !bytes || t->pair[0])
        return tl_fail(c, TORUS_ERR_INVALID, "torus_type_bytes: %s",
                       !t       ? "the type is unknown or was freed"
                       : !bytes ? "bytes is NULL"
                                : TL_PAIR);
    *bytes = t->bytes;
    return TORUS_OK;
}

int torus_type_extent(torus_context *c, int type, ptrdiff_t *lower, size_t *extent)
{
    TL_GUARD(c);
    struct tl_type basic, *t = c ? tl_type_find(c, type, &basic) : NULL;
    if (!c)
        return tl_null(NULL, "torus_type_extent", "context");
    if (!t || !lower || !extent || t->pair[0])
        return tl_fail(c, TORUS_ERR_INVALID, "torus_type_extent: %s",
                       !t                  ? "the type is unknown or was freed"
                       : !lower || !extent ? "lower or extent is NULL"
                                           : TL_PAIR);
    *lower = t->lower;
    *extent = (size_t)tl_type_extent(t);
    return TORUS_OK;
}
