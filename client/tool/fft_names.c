/* SPDX-License-Identifier: Apache-2.0 */
#include "fft_names.h"

#include <stdio.h>
#include <string.h>

#include "model/program.h"
#include "model/plan.h"
#include "torus/torus.h"

static const char *const kinds[] = {
    [TORUS_TRANSFORM_NONE] = "none",    [TORUS_TRANSFORM_COMPLEX] = "complex",
    [TORUS_TRANSFORM_R2C] = "r2c",      [TORUS_TRANSFORM_C2R] = "c2r",
    [TORUS_TRANSFORM_REDFT00] = "dct1", [TORUS_TRANSFORM_REDFT10] = "dct2",
    [TORUS_TRANSFORM_REDFT01] = "dct3", [TORUS_TRANSFORM_REDFT11] = "dct4",
    [TORUS_TRANSFORM_RODFT00] = "dst1", [TORUS_TRANSFORM_RODFT10] = "dst2",
    [TORUS_TRANSFORM_RODFT01] = "dst3", [TORUS_TRANSFORM_RODFT11] = "dst4"};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const char *fft_kind_name(int kind)
{
    return kind >= 0 && kind < KINDS ? kinds[kind] : "unknown";
}

const char *fft_pass_name(unsigned kind)
{
    return kind == TD_TRANSFORM_REAL_SPLIT   ? "real split"
           : kind == TD_TRANSFORM_REAL_MERGE ? "real merge"
                                             : fft_kind_name((int)kind + 1);
}

static bool find_kind(const char *text, size_t length, int *out)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (strlen(kinds[kind]) == length && memcmp(kinds[kind], text, length) == 0) {
            *out = kind;
            return true;
        }
    return false;
}

int fft_kinds_read(const char *text, int *kind)
{
    for (int count = 0; count < TORUS_DIMENSIONS_MAX; text++) {
        size_t length = strcspn(text, ",");
        if (!find_kind(text, length, &kind[count++]))
            return 0;
        text += length;
        if (!*text)
            return count;
    }
    return 0;
}

bool fft_kind_is_real(int kind)
{
    return kind >= TORUS_TRANSFORM_REDFT00 && kind <= TORUS_TRANSFORM_RODFT11;
}

int fft_kind_back(int kind)
{
    static const int back[KINDS] = {
        [TORUS_TRANSFORM_NONE] = TORUS_TRANSFORM_NONE,
        [TORUS_TRANSFORM_COMPLEX] = TORUS_TRANSFORM_COMPLEX,
        [TORUS_TRANSFORM_R2C] = TORUS_TRANSFORM_C2R,
        [TORUS_TRANSFORM_C2R] = TORUS_TRANSFORM_R2C,
        [TORUS_TRANSFORM_REDFT00] = TORUS_TRANSFORM_REDFT00,
        [TORUS_TRANSFORM_REDFT10] = TORUS_TRANSFORM_REDFT01,
        [TORUS_TRANSFORM_REDFT01] = TORUS_TRANSFORM_REDFT10,
        [TORUS_TRANSFORM_REDFT11] = TORUS_TRANSFORM_REDFT11,
        [TORUS_TRANSFORM_RODFT00] = TORUS_TRANSFORM_RODFT00,
        [TORUS_TRANSFORM_RODFT10] = TORUS_TRANSFORM_RODFT01,
        [TORUS_TRANSFORM_RODFT01] = TORUS_TRANSFORM_RODFT10,
        [TORUS_TRANSFORM_RODFT11] = TORUS_TRANSFORM_RODFT11,
    };
    return kind >= 0 && kind < KINDS ? back[kind] : TORUS_TRANSFORM_NONE;
}

/* is_planned returns true if a plan can use the method. */
static bool is_planned(enum td_alltoall method)
{
    struct td_fft fft = {.dimensions = 1,
                         .size = {1},
                         .type = TD_TYPE_COMPLEX_DOUBLE,
                         .sign = TD_FFT_FORWARD,
                         .method = (uint8_t)method};
    td_fft_all(&fft);
    return td_fft_check(&fft) == NULL;
}

const char *fft_method_read(const char *text, int *method)
{
    static char names[100];
    size_t at = 0;
    for (enum td_alltoall m = TD_ALLTOALL_AUTO; m < TD_ALLTOALLS; m++) {
        if (!is_planned(m))
            continue;
        if (strcmp(text, td_alltoall_name(m)) == 0) {
            *method = (int)m;
            return NULL;
        }
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s",
                               at ? ", " : "--method must be one of ", td_alltoall_name(m));
    }
    return names;
}
