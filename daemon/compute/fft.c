/* SPDX-License-Identifier: Apache-2.0 */
#include "fft.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PLANS_MAX = 256 };

/* struct key: what a plan is good for. Alignment counts: FFTW may use aligned vector loads. */
struct key {
    int64_t length, batch, stride, distance, to_stride, to_distance;
    int type, sign, in_place, alignment_in, alignment_out;
};

struct entry {
    struct key key;
    fftw_plan plan; /* one of the two */
    fftwf_plan planf;
    uint64_t used_at;
    unsigned users; /* running with it: not to be destroyed */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry cache[PLANS_MAX];
static unsigned entries;
static uint64_t clock_ticks;

static struct key make_key(const struct td_transform *t, void *in, void *out)
{
    struct key k;
    memset(&k, 0, sizeof k); /* compared as bytes: padding too */
    k.length = t->length;
    k.batch = t->batch;
    k.stride = t->stride;
    k.distance = t->distance;
    k.to_stride = t->to_stride;
    k.to_distance = t->to_distance;
    k.type = t->type;
    k.sign = t->sign;
    k.in_place = in == out;
    bool is_double = t->type == TD_TYPE_COMPLEX_DOUBLE;
    k.alignment_in = is_double ? fftw_alignment_of(in) : fftwf_alignment_of(in);
    k.alignment_out = is_double ? fftw_alignment_of(out) : fftwf_alignment_of(out);
    return k;
}

static bool make_plan(struct entry *e, void *in, void *out)
{
    const struct key *k = &e->key;
    fftw_iodim64 dim = {k->length, k->stride, k->to_stride};
    fftw_iodim64 many = {k->batch, k->distance, k->to_distance};
    /* by estimate the planner looks at addresses but not at what is there */
    if (k->type == TD_TYPE_COMPLEX_DOUBLE) {
        e->plan = fftw_plan_guru64_dft(1, &dim, 1, &many, in, out, k->sign, FFTW_ESTIMATE);
        return e->plan != NULL;
    }
    fftwf_iodim64 dimf = {k->length, k->stride, k->to_stride};
    fftwf_iodim64 manyf = {k->batch, k->distance, k->to_distance};
    e->planf = fftwf_plan_guru64_dft(1, &dimf, 1, &manyf, in, out, k->sign, FFTW_ESTIMATE);
    return e->planf != NULL;
}

static void destroy_plan(struct entry *e)
{
    if (e->plan)
        fftw_destroy_plan(e->plan);
    if (e->planf)
        fftwf_destroy_plan(e->planf);
    e->plan = NULL;
    e->planf = NULL;
}

/* acquire finds or makes the plan; called with the lock. NULL: FFTW has no memory, or all plans of
 * the cache are running. */
static struct entry *acquire(const struct key *key, void *in, void *out)
{
    struct entry *oldest = NULL;
    for (unsigned i = 0; i < entries; i++) {
        struct entry *e = &cache[i];
        if (memcmp(&e->key, key, sizeof *key) == 0 && (e->plan || e->planf))
            return e;
        if (e->users == 0 && (!oldest || e->used_at < oldest->used_at))
            oldest = e;
    }
    struct entry *e = entries < PLANS_MAX ? &cache[entries] : oldest;
    if (!e)
        return NULL;
    if (e == &cache[entries])
        entries++;
    else
        destroy_plan(e);
    e->key = *key;
    return make_plan(e, in, out) ? e : NULL;
}

/* scale multiplies every result, walking the longer loop inside. */
static void scale(const struct td_transform *t, void *out)
{
    bool points_inside = t->to_stride < t->to_distance;
    int64_t inner = points_inside ? t->length : t->batch,
            outer = points_inside ? t->batch : t->length;
    int64_t near = points_inside ? t->to_stride : t->to_distance;
    int64_t far = points_inside ? t->to_distance : t->to_stride;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            int64_t at = 2 * (o * far + i * near);
            if (t->type == TD_TYPE_COMPLEX_DOUBLE) {
                double *x = (double *)out + at;
                x[0] *= t->factor;
                x[1] *= t->factor;
            } else {
                float *x = (float *)out + at;
                x[0] = (float)(x[0] * t->factor);
                x[1] = (float)(x[1] * t->factor);
            }
        }
}

td_err td_fft_run(const struct td_transform *t, void *in, void *out)
{
    if (t->length == 0 || t->batch == 0)
        return TD_OK;
    struct key key = make_key(t, in, out);
    pthread_mutex_lock(&lock);
    struct entry *e = acquire(&key, in, out);
    if (e) {
        e->users++;
        e->used_at = ++clock_ticks;
    }
    pthread_mutex_unlock(&lock);
    if (!e)
        return TD_ERR_NO_MEMORY;
    if (t->type == TD_TYPE_COMPLEX_DOUBLE)
        fftw_execute_dft(e->plan, in, out);
    else
        fftwf_execute_dft(e->planf, in, out);
    pthread_mutex_lock(&lock);
    e->users--;
    pthread_mutex_unlock(&lock);
    if (t->factor != 1)
        scale(t, out);
    return TD_OK;
}

void td_fft_fini(void)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < entries; i++)
        destroy_plan(&cache[i]);
    entries = 0;
    memset(cache, 0, sizeof cache);
    pthread_mutex_unlock(&lock);
    fftw_cleanup();
    fftwf_cleanup();
}
