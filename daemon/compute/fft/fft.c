/* SPDX-License-Identifier: Apache-2.0 */
#include "fft.h"

#include <assert.h>
#include <fftw3.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED
/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): gcc has no header */
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

struct td_fft_plan {
    struct td_fft_plan *next; /* of the plans that are to be destroyed */
    struct td_shape shape;
    void *plan;
    uint64_t bytes; /* of memory, measured when it was made */
    unsigned users; /* the plan must not be destroyed */
    bool replaced;  /* the cache has another one, or none: the last user gives it up */
};

struct entry {
    struct td_fft_record record;
    struct td_fft_plan *plan;
    uint64_t uid; /* of the user that used the plan last, to whom it counts */
    uint64_t used_at;
    bool better_now; /* the plan is an estimate, but wisdom exists now */
    bool left;       /* its user was gone when td_fft_drop looked last */
};

/* `lock` protects the cache and is never held during a call of FFTW. `planner` serialises FFTW's
 * planner, which may take minutes. Who needs both takes `planner` first. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, planner = PTHREAD_MUTEX_INITIALIZER;
static struct entry cache[TD_FFT_RECORDS_MAX];
static uint64_t hash[TD_FFT_RECORDS_MAX]; /* of the shapes, compared first */
static unsigned entries;
static uint64_t bytes_held, bytes_max = TD_FFT_BYTES_DEFAULT; /* of the plans in the cache */
static uint64_t use_count;
static enum td_fft_effort effort_set;
static struct td_fft_plan *unneeded; /* to be destroyed by the next caller of the planner */
static bool elsewhere;               /* `no_planner` never calls the planner */
static pthread_t no_planner;

/* What the planner's lock protects: the wisdom of measurements, in double and float, the plans made
 * since FFTW knows more than that, and those that exist. FFTW adds to its wisdom with each plan
 * that it estimates. */
static char *measured[2];
static unsigned made;
static unsigned plans; /* that are not destroyed */

/* ---- FFTW's planner ---- */

static void planner_enter(void)
{
    pthread_mutex_lock(&lock);
    bool here = !elsewhere || !pthread_equal(pthread_self(), no_planner);
    pthread_mutex_unlock(&lock);
    assert(here);
    pthread_mutex_lock(&planner);
}

static void planner_leave(void)
{
    pthread_mutex_unlock(&planner);
}

void td_fft_plan_elsewhere(bool here)
{
    pthread_mutex_lock(&lock);
    elsewhere = here;
    no_planner = pthread_self();
    pthread_mutex_unlock(&lock);
}

/* stand_in returns an address with the alignment of one side of a shape. Planning without
 * measurement looks at nothing else of an address. */
static void *stand_in(const struct td_shape *s, unsigned side)
{
    enum { SIDE_BYTES = 1 << 20 };
    uintptr_t at = side && !s->in_place ? 2 * (uintptr_t)SIDE_BYTES : SIDE_BYTES;
    return (void *)(at + (uintptr_t)(side ? s->to_alignment
                                          : s->alignment)); /* NOLINT(performance-no-int-to-ptr):
                                                               never read */
}

/* make_plan makes a plan from the best wisdom for the shape, else by estimate. It never measures.
 */
static void *make_plan(const struct td_shape *shape, enum td_fft_effort effort)
{
    void *plan = NULL, *in = stand_in(shape, 0), *out = stand_in(shape, 1);
    if (effort != TD_FFT_ESTIMATE) {
        plan = td_fft_plan_make(shape, in, out, FFTW_PATIENT | FFTW_WISDOM_ONLY);
        if (!plan)
            plan = td_fft_plan_make(shape, in, out, FFTW_MEASURE | FFTW_WISDOM_ONLY);
    }
    return plan ? plan : td_fft_plan_make(shape, in, out, FFTW_ESTIMATE);
}

/* destroy_unneeded destroys the plans that nobody uses. The caller has entered the planner. malloc
 * keeps freed memory in steps of any size, so larger plans go back to the system explicitly. */
static void destroy_unneeded(void)
{
    enum { TRIMMED_BYTES = 1 << 20 };
    pthread_mutex_lock(&lock);
    struct td_fft_plan *list = unneeded;
    unneeded = NULL;
    pthread_mutex_unlock(&lock);
    uint64_t bytes = 0;
    while (list) {
        struct td_fft_plan *p = list;
        list = p->next;
        bytes += p->bytes;
        td_fft_plan_destroy(&p->shape, p->plan);
        free(p);
        plans--;
    }
    if (plans == 0) { /* FFTW's small tables lie between the blocks that the plans had */
        fftw_cleanup();
        fftwf_cleanup();
        made = TD_FFT_RECORDS_MAX; /* the next plan needs the measured wisdom again */
    }
    if (bytes >= TRIMMED_BYTES)
        malloc_trim(0);
}

/* forget makes FFTW forget all but the wisdom of measurements. The caller has entered the planner.
 */
static void forget(void)
{
    fftw_forget_wisdom();
    fftwf_forget_wisdom();
    if (measured[0])
        fftwf_import_wisdom_from_string(measured[0]);
    if (measured[1])
        fftw_import_wisdom_from_string(measured[1]);
    made = 0;
}

/* allocated returns the bytes that malloc has given out. A sanitizer has a malloc of its own. */
static uint64_t allocated(void)
{
#ifdef SANITIZED
    return __sanitizer_get_current_allocated_bytes();
#else
    struct mallinfo2 all = mallinfo2();
    return (uint64_t)all.uordblks + (uint64_t)all.hblkhd;
#endif
}

/* bytes_of returns the bytes of a plan before whose making malloc had given out `before`.
 *
 * FFTW does not tell. The tables of a plan depend on the algorithm, not only on the length: with
 * FFTW 3.3.10, a complex double transform of 2,000,000 to 2,000,010 points has 9.6 to 68 bytes a
 * point, so a formula would be wrong by a factor of seven. malloc's sums are exact unless other
 * threads allocate meanwhile; the limits by length bound that error. */
static uint64_t bytes_of(const struct td_shape *shape, uint64_t before)
{
    uint64_t after = allocated(), points = (uint64_t)shape->length;
    uint64_t least = 1024 + points, most = (64 << 10) + 160 * points;
    uint64_t bytes = after > before ? after - before : 0;
    return bytes < least ? least : bytes > most ? most : bytes;
}

/* ---- the cache; the caller holds the lock ---- */

static void give_up(struct td_fft_plan *p)
{
    if (!p)
        return;
    p->replaced = true;
    if (p->users > 0)
        return;
    p->next = unneeded;
    unneeded = p;
}

/* put sets the plan of an entry, and gives up the plan that it had. */
static void put(struct entry *e, struct td_fft_plan *p)
{
    bytes_held += p ? p->bytes : 0;
    bytes_held -= e->plan ? e->plan->bytes : 0;
    give_up(e->plan);
    e->plan = p;
}

/* goes_before returns true if `a` is evicted before `b`: records without a measurement first, then
 * the least recently used. */
static bool goes_before(const struct entry *a, const struct entry *b)
{
    bool cheap = a->record.state != TD_FFT_MEASURED, other = b->record.state != TD_FFT_MEASURED;
    return cheap == other ? a->used_at < b->used_at : cheap;
}

static bool in_use(const struct entry *e)
{
    return e->plan && e->plan->users > 0;
}

/* find returns the entry of a shape, or NULL. */
static struct entry *find(const struct td_shape *shape)
{
    uint64_t h = td_hash_bytes(shape, sizeof *shape);
    for (unsigned i = 0; i < entries; i++)
        if (hash[i] == h && memcmp(&cache[i].record.shape, shape, sizeof *shape) == 0)
            return &cache[i];
    return NULL;
}

/* obtain returns the entry of a shape and creates it if necessary, or returns NULL if all entries
 * are in use. */
static struct entry *obtain(const struct td_shape *shape)
{
    struct entry *e = find(shape);
    if (e)
        return e;
    if (entries < TD_FFT_RECORDS_MAX)
        e = &cache[entries++];
    else
        for (unsigned i = 0; i < entries; i++)
            if (!in_use(&cache[i]) && (!e || goes_before(&cache[i], e)))
                e = &cache[i];
    if (!e)
        return NULL;
    put(e, NULL);
    memset(e, 0, sizeof *e);
    e->record.shape = *shape;
    e->record.since_s = (uint64_t)time(NULL);
    hash[e - cache] = td_hash_bytes(shape, sizeof *shape);
    return e;
}

/* held_by returns the bytes of the plans of a user, or of those in use. */
static uint64_t held_by(uint64_t uid, bool used)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < entries; i++)
        if (cache[i].plan && cache[i].uid == uid && (!used || in_use(&cache[i])))
            bytes += cache[i].plan->bytes;
    return bytes;
}

/* struct tally: the bytes of the plans of one user. */
struct tally {
    uint64_t uid, bytes;
};

static struct tally *tally_of(struct tally *tally, unsigned *users, uint64_t uid)
{
    unsigned i = 0;
    while (i < *users && tally[i].uid != uid)
        i++;
    if (i == *users)
        tally[(*users)++] = (struct tally){uid, 0};
    return &tally[i];
}

/* evictable returns the entry that loses its plan next, or NULL: of the user with the most bytes of
 * those that have a plan out of use, the one that was used longest ago. */
static struct entry *evictable(const struct entry *except)
{
    struct tally tally[TD_FFT_RECORDS_MAX];
    struct entry *first = NULL;
    uint64_t most = 0;
    unsigned users = 0;
    for (unsigned i = 0; i < entries; i++)
        if (cache[i].plan)
            tally_of(tally, &users, cache[i].uid)->bytes += cache[i].plan->bytes;
    for (unsigned i = 0; i < entries; i++) {
        struct entry *e = &cache[i];
        if (!e->plan || in_use(e) || e == except)
            continue;
        uint64_t held = tally_of(tally, &users, e->uid)->bytes;
        if (!first || held > most || (held == most && e->used_at < first->used_at)) {
            first = e;
            most = held;
        }
    }
    return first;
}

/* shrink gives plans up until the rest has at most bytes_max. */
static void shrink(const struct entry *except)
{
    struct entry *e = NULL;
    while (bytes_held > bytes_max && (e = evictable(except)))
        put(e, NULL);
}

/* ---- plans ---- */

struct td_fft_plan *td_fft_acquire(const struct td_shape *shape, uint64_t uid, bool *improvable)
{
    pthread_mutex_lock(&lock);
    struct entry *e = find(shape);
    struct td_fft_plan *p = e ? e->plan : NULL;
    if (p) {
        p->users++;
        e->uid = uid;
        e->left = false;
        e->used_at = ++use_count;
        e->record.uses++;
    }
    *improvable = p && e->better_now;
    pthread_mutex_unlock(&lock);
    return p;
}

void td_fft_release(struct td_fft_plan *p)
{
    pthread_mutex_lock(&lock);
    assert(p->users > 0);
    if (--p->users == 0 && p->replaced)
        give_up(p);
    shrink(NULL);
    pthread_mutex_unlock(&lock);
}

/* has_half returns true if half of all entries are in use by a user. */
static bool has_half(uint64_t uid)
{
    unsigned used = 0;
    for (unsigned i = 0; i < entries; i++)
        used += cache[i].uid == uid && in_use(&cache[i]);
    return used >= TD_FFT_RECORDS_MAX / 2;
}

/* store puts a plan into the cache, in place of an older one; false if all entries are in use, or
 * half of them by the user, or the plans in use take all bytes and some of them are the user's. */
static bool store(struct td_fft_plan *p, uint64_t uid)
{
    pthread_mutex_lock(&lock);
    struct entry *e = has_half(uid) ? NULL : obtain(&p->shape);
    if (e) {
        put(e, p);
        e->uid = uid;
        e->left = e->better_now = false;
        e->used_at = ++use_count;
        shrink(e);
        if (bytes_held > bytes_max && held_by(uid, true) > 0) {
            put(e, NULL);
            e = NULL;
        }
    } else {
        give_up(p);
    }
    pthread_mutex_unlock(&lock);
    return e != NULL;
}

/* needs_plan returns true if the shape has no plan, or a better one can be made now. */
static bool needs_plan(const struct td_shape *shape, enum td_fft_effort *effort)
{
    pthread_mutex_lock(&lock);
    const struct entry *e = find(shape);
    bool needs = !e || !e->plan || e->better_now;
    *effort = effort_set;
    pthread_mutex_unlock(&lock);
    return needs;
}

bool td_fft_is_planned(const struct td_shape *shape)
{
    enum td_fft_effort effort = TD_FFT_ESTIMATE;
    return !needs_plan(shape, &effort);
}

/* large_factor returns what is left of a length without the factors for which FFTW has code. */
static uint64_t large_factor(uint64_t length)
{
    static const unsigned small[] = {2, 3, 5, 7, 11, 13};
    for (unsigned i = 0; i < sizeof small / sizeof *small; i++)
        while (length > 1 && length % small[i] == 0)
            length /= small[i];
    return length > 1 ? length : 0;
}

uint64_t td_fft_expected_bytes(const struct td_shape *s)
{
    enum { EACH = 20, COMPLEX_FACTOR = 120, REAL_FACTOR = 64 }; /* in double precision, measured */
    uint64_t points = (uint64_t)s->length;
    uint64_t whole = s->kind == TD_TRANSFORM_REDFT00   ? 2 * (points - (points > 0))
                     : s->kind == TD_TRANSFORM_RODFT00 ? 2 * (points + 1)
                                                       : points; /* of the Fourier transform */
    uint64_t factor = s->kind == TD_TRANSFORM_C2C ? COMPLEX_FACTOR : REAL_FACTOR;
    return (EACH * points + factor * large_factor(whole)) / (td_shape_is_double(s) ? 1 : 2);
}

static bool make(const struct td_shape *shape, uint64_t uid, enum td_fft_effort effort)
{
    struct td_fft_plan *p = calloc(1, sizeof *p);
    if (!p)
        return false;
    p->shape = *shape;
    if (++made > TD_FFT_RECORDS_MAX)
        forget();
    uint64_t before = allocated();
    p->plan = make_plan(shape, effort);
    p->bytes = bytes_of(shape, before);
    if (!p->plan) {
        free(p);
        return false;
    }
    plans++;
    return store(p, uid);
}

td_err td_fft_make_plan(const struct td_shape *shape, uint64_t uid)
{
    return td_fft_make_plan_within(shape, uid, UINT64_MAX);
}

td_err td_fft_make_plan_within(const struct td_shape *shape, uint64_t uid, uint64_t bytes)
{
    enum td_fft_effort effort = TD_FFT_ESTIMATE;
    planner_enter();
    bool good = !needs_plan(shape, &effort) ||
                (td_fft_expected_bytes(shape) <= bytes && make(shape, uid, effort));
    destroy_unneeded();
    planner_leave();
    return good ? TD_OK : TD_ERR_NO_MEMORY;
}

void td_fft_set_limit(uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    bytes_max = bytes;
    shrink(NULL);
    pthread_mutex_unlock(&lock);
}

uint64_t td_fft_bytes(uint64_t uid)
{
    pthread_mutex_lock(&lock);
    uint64_t bytes = uid == UINT64_MAX ? bytes_held : held_by(uid, false);
    pthread_mutex_unlock(&lock);
    return bytes;
}

bool td_fft_drop(bool (*is_there)(void *context, uint64_t uid), void *context)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < entries; i++) {
        struct entry *e = &cache[i];
        bool gone = e->plan && !in_use(e) && !is_there(context, e->uid);
        if (gone && e->left)
            put(e, NULL);
        e->left = gone;
    }
    bool due = unneeded != NULL;
    pthread_mutex_unlock(&lock);
    return due;
}

void td_fft_sweep(void)
{
    planner_enter();
    destroy_unneeded();
    planner_leave();
}

/* struct loop: a loop over the results; the stride is in real numbers. */
struct loop {
    int64_t count, stride;
};

static void order(struct loop *a, struct loop *b)
{
    if (a->stride >= b->stride)
        return;
    struct loop other = *a;
    *a = *b;
    *b = other;
}

/* scale multiplies each result by the factor. The innermost loop has the shortest stride. */
static void scale(const struct td_transform *t, void *out)
{
    bool complex = t->kind == TD_TRANSFORM_C2C || t->kind == TD_TRANSFORM_R2C;
    bool is_double = t->type == TD_TYPE_COMPLEX_DOUBLE || t->type == TD_TYPE_DOUBLE;
    int64_t parts = complex ? 2 : 1;
    int64_t points = t->kind == TD_TRANSFORM_R2C ? t->length / 2 + 1 : t->length;
    struct loop l[3] = {{t->batch2 > 0 ? t->batch2 : 1, t->to_distance2 * parts},
                        {t->batch, t->to_distance * parts},
                        {points, t->to_stride * parts}};
    order(&l[0], &l[1]);
    order(&l[1], &l[2]);
    order(&l[0], &l[1]);
    for (int64_t i = 0; i < l[0].count; i++)
        for (int64_t j = 0; j < l[1].count; j++) {
            int64_t at = i * l[0].stride + j * l[1].stride;
            for (int64_t k = 0; k < l[2].count; k++, at += l[2].stride)
                for (int64_t part = 0; part < parts; part++) {
                    if (is_double)
                        ((double *)out)[at + part] *= t->factor;
                    else
                        ((float *)out)[at + part] = (float)(((float *)out)[at + part] * t->factor);
                }
        }
}

void td_fft_execute(const struct td_fft_plan *p, const struct td_transform *t, void *in, void *out)
{
    td_fft_plan_run(&p->shape, p->plan, in, out);
    if (t->factor != 1)
        scale(t, out);
}

td_err td_fft_prepare(const struct td_shape *shape, struct td_fft_plan **plan)
{
    bool improvable = false;
    td_err error = TD_OK;
    while (!(*plan = td_fft_acquire(shape, 0, &improvable)) && error == TD_OK)
        error = td_fft_make_plan(shape, 0);
    if (improvable)
        (void)td_fft_make_plan(shape, 0); /* for the next one */
    return error;
}

td_err td_fft_run(const struct td_transform *t, void *in, void *out)
{
    struct td_fft_plan *p = NULL;
    if (t->length == 0 || t->batch == 0)
        return TD_OK;
    struct td_shape shape = td_shape_of(t, in, out);
    td_err error = td_fft_prepare(&shape, &p);
    if (error != TD_OK)
        return error;
    td_fft_execute(p, t, in, out);
    td_fft_release(p);
    return TD_OK;
}

void td_fft_set_effort(enum td_fft_effort effort)
{
    pthread_mutex_lock(&lock);
    effort_set = effort;
    pthread_mutex_unlock(&lock);
}

bool td_fft_next_shape(struct td_shape *shape)
{
    struct entry *most = NULL;
    pthread_mutex_lock(&lock);
    bool measures = effort_set == TD_FFT_MEASURE || effort_set == TD_FFT_PATIENT;
    for (unsigned i = 0; measures && i < entries; i++) {
        const struct td_fft_record *r = &cache[i].record;
        bool poor = r->state == TD_FFT_ESTIMATED ||
                    (r->state == TD_FFT_MEASURED && r->effort < (uint8_t)effort_set);
        if (poor && r->uses && (!most || r->uses > most->record.uses))
            most = &cache[i];
    }
    if (most) {
        most->record.state = TD_FFT_ASKED;
        *shape = most->record.shape;
    }
    pthread_mutex_unlock(&lock);
    return most != NULL;
}

bool td_fft_import(const char *wisdom, bool is_double)
{
    planner_enter();
    int good = is_double ? fftw_import_wisdom_from_string(wisdom)
                         : fftwf_import_wisdom_from_string(wisdom);
    char *copy = good ? strdup(wisdom) : NULL;
    if (copy) {
        free(measured[is_double]);
        measured[is_double] = copy;
    }
    planner_leave();
    return good;
}

void td_fft_update(const struct td_fft_record *record)
{
    pthread_mutex_lock(&lock);
    struct entry *e = obtain(&record->shape);
    if (e) {
        uint64_t uses = e->record.uses + record->uses;
        e->record = *record;
        e->record.uses = uses;
        bool slower = record->estimate_ns && record->measured_ns >= record->estimate_ns;
        e->better_now = e->plan && record->state == TD_FFT_MEASURED && !slower;
    }
    pthread_mutex_unlock(&lock);
}

bool td_fft_record(unsigned at, struct td_fft_record *out)
{
    pthread_mutex_lock(&lock);
    bool there = at < entries;
    if (there)
        *out = cache[at].record;
    pthread_mutex_unlock(&lock);
    return there;
}

/* begin_anew forgets all measurements of a precision; the shapes in use are measured again. */
static void begin_anew(bool is_double)
{
    free(measured[is_double]);
    measured[is_double] = NULL;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < entries; i++) {
        struct td_fft_record *r = &cache[i].record;
        if (r->state == TD_FFT_MEASURED && td_shape_is_double(&r->shape) == is_double)
            r->state = TD_FFT_ESTIMATED;
    }
    pthread_mutex_unlock(&lock);
}

char *td_fft_export(bool is_double)
{
    planner_enter();
    if (measured[is_double] && strlen(measured[is_double]) > TD_FFT_WISDOM_MAX)
        begin_anew(is_double);
    forget();
    char *text = is_double ? fftw_export_wisdom_to_string() : fftwf_export_wisdom_to_string();
    planner_leave();
    return text;
}

void td_fft_fini(void)
{
    planner_enter();
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < entries; i++)
        put(&cache[i], NULL);
    entries = 0;
    memset(cache, 0, sizeof cache);
    pthread_mutex_unlock(&lock);
    destroy_unneeded();
    for (unsigned is_double = 0; is_double < 2; is_double++) {
        free(measured[is_double]);
        measured[is_double] = NULL;
    }
    fftw_cleanup();
    fftwf_cleanup();
    planner_leave();
}
