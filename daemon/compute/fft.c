/* SPDX-License-Identifier: Apache-2.0 */
#include "fft.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fft_plan.h"

enum { PLANS_MAX = 256 };

struct entry {
    struct td_shape shape;
    void *plan;
    uint64_t used_at;
    unsigned users; /* running with it: not to be destroyed */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry cache[PLANS_MAX];
static unsigned entries;
static uint64_t clock_ticks;

/* acquire finds or makes the plan; called with the lock. NULL: FFTW has no memory, or all plans of
 * the cache are running. */
static struct entry *acquire(const struct td_shape *shape, void *in, void *out)
{
    struct entry *oldest = NULL;
    for (unsigned i = 0; i < entries; i++) {
        struct entry *e = &cache[i];
        if (memcmp(&e->shape, shape, sizeof *shape) == 0 && e->plan)
            return e;
        if (e->users == 0 && (!oldest || e->used_at < oldest->used_at))
            oldest = e;
    }
    struct entry *e = entries < PLANS_MAX ? &cache[entries] : oldest;
    if (!e)
        return NULL;
    if (e == &cache[entries])
        entries++;
    td_fft_plan_destroy(&e->shape, e->plan);
    e->shape = *shape;
    e->plan = td_fft_plan_make(shape, in, out, FFTW_ESTIMATE);
    return e->plan ? e : NULL;
}

/* struct loop: of the results, in real numbers. */
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

/* scale multiplies every result, walking the shortest way last. */
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
    void *plan = NULL;
    if (e) {
        plan = e->plan;
        e->users++;
        e->used_at = ++clock_ticks;
    }
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

void td_fft_fini(void)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < entries; i++)
        td_fft_plan_destroy(&cache[i].shape, cache[i].plan);
    entries = 0;
    memset(cache, 0, sizeof cache);
    pthread_mutex_unlock(&lock);
    fftw_cleanup();
    fftwf_cleanup();
}
