/* SPDX-License-Identifier: Apache-2.0 */
#include "fft.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"

struct entry {
    struct td_fft_record record;
    void *plan;
    uint64_t used_at;
    unsigned users;  /* executions in progress: the plan must not be destroyed */
    bool better_now; /* the plan is an estimate, but wisdom exists now */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry cache[TD_FFT_RECORDS_MAX];
static uint64_t hash[TD_FFT_RECORDS_MAX]; /* of the shapes, compared first */
static unsigned entries;
static uint64_t use_count;
static enum td_fft_effort effort_set;

/* make_plan makes a plan from the best wisdom for the shape, else by estimate. It never measures.
 */
static void *make_plan(const struct td_shape *shape, void *in, void *out)
{
    void *plan = NULL;
    if (effort_set != TD_FFT_ESTIMATE) {
        plan = td_fft_plan_make(shape, in, out, FFTW_PATIENT | FFTW_WISDOM_ONLY);
        if (!plan)
            plan = td_fft_plan_make(shape, in, out, FFTW_MEASURE | FFTW_WISDOM_ONLY);
    }
    return plan ? plan : td_fft_plan_make(shape, in, out, FFTW_ESTIMATE);
}

/* goes_before returns true if `a` is evicted before `b`: records without a measurement first, then
 * the least recently used. */
static bool goes_before(const struct entry *a, const struct entry *b)
{
    bool cheap = a->record.state != TD_FFT_MEASURED, other = b->record.state != TD_FFT_MEASURED;
    return cheap == other ? a->used_at < b->used_at : cheap;
}

/* find returns the entry of a shape and creates it if necessary, or returns NULL if all entries are
 * in use. The caller holds the lock. */
static struct entry *find(const struct td_shape *shape)
{
    uint64_t h = td_hash_bytes(shape, sizeof *shape);
    for (unsigned i = 0; i < entries; i++)
        if (hash[i] == h && memcmp(&cache[i].record.shape, shape, sizeof *shape) == 0)
            return &cache[i];
    struct entry *e = NULL;
    if (entries < TD_FFT_RECORDS_MAX)
        e = &cache[entries++];
    else
        for (unsigned i = 0; i < entries; i++)
            if (cache[i].users == 0 && (!e || goes_before(&cache[i], e)))
                e = &cache[i];
    if (!e)
        return NULL;
    td_fft_plan_destroy(&e->record.shape, e->plan);
    memset(e, 0, sizeof *e);
    e->record.shape = *shape;
    e->record.since_s = (uint64_t)time(NULL);
    hash[e - cache] = h;
    return e;
}

/* acquire returns the entry of a shape with its plan; the caller releases it. It returns NULL if
 * FFTW has no memory or all entries are in use. The caller holds the lock. */
static struct entry *acquire(const struct td_shape *shape, void *in, void *out)
{
    struct entry *e = find(shape);
    if (e && e->better_now && e->users == 0) {
        td_fft_plan_destroy(shape, e->plan);
        e->plan = NULL;
        e->better_now = false;
    }
    if (e && !e->plan)
        e->plan = make_plan(shape, in, out);
    if (!e || !e->plan)
        return NULL;
    e->users++;
    e->used_at = ++use_count;
    e->record.uses++;
    return e;
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

td_err td_fft_run(const struct td_transform *t, void *in, void *out)
{
    if (t->length == 0 || t->batch == 0)
        return TD_OK;
    struct td_shape shape = td_shape_of(t, in, out);
    pthread_mutex_lock(&lock);
    struct entry *e = acquire(&shape, in, out);
    void *plan = e ? e->plan : NULL;
    pthread_mutex_unlock(&lock);
    if (!e)
        return TD_ERR_NO_MEMORY;
    td_fft_plan_run(&shape, plan, in, out);
    pthread_mutex_lock(&lock);
    e->users--;
    pthread_mutex_unlock(&lock);
    if (t->factor != 1)
        scale(t, out);
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
    pthread_mutex_lock(&lock);
    int good = is_double ? fftw_import_wisdom_from_string(wisdom)
                         : fftwf_import_wisdom_from_string(wisdom);
    pthread_mutex_unlock(&lock);
    return good;
}

void td_fft_update(const struct td_fft_record *record)
{
    pthread_mutex_lock(&lock);
    struct entry *e = find(&record->shape);
    if (e) {
        uint64_t uses = e->record.uses + record->uses;
        e->record = *record;
        e->record.uses = uses;
        e->better_now = e->plan && record->state == TD_FFT_MEASURED;
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

char *td_fft_export(bool is_double)
{
    pthread_mutex_lock(&lock);
    char *text = is_double ? fftw_export_wisdom_to_string() : fftwf_export_wisdom_to_string();
    pthread_mutex_unlock(&lock);
    return text;
}

void td_fft_fini(void)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < entries; i++)
        td_fft_plan_destroy(&cache[i].record.shape, cache[i].plan);
    entries = 0;
    memset(cache, 0, sizeof cache);
    fftw_cleanup();
    fftwf_cleanup();
    pthread_mutex_unlock(&lock);
}
