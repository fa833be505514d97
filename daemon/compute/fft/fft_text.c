/* SPDX-License-Identifier: Apache-2.0 */
#include "fft_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void td_shape_print(const struct td_shape *s, char *text, size_t size)
{
    snprintf(text, size,
             "%" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId64
             " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
             " %" PRId64,
             s->kind, s->type, s->sign, s->in_place, s->alignment, s->to_alignment, s->length,
             s->batch, s->batch2, s->stride, s->distance, s->distance2, s->to_stride,
             s->to_distance, s->to_distance2);
}

static bool possible(const struct td_shape *s)
{
    enum { ALIGNMENT_MAX = 64 };
    bool complex = s->type == TD_TYPE_COMPLEX_FLOAT || s->type == TD_TYPE_COMPLEX_DOUBLE;
    bool real = s->type == TD_TYPE_FLOAT || s->type == TD_TYPE_DOUBLE;
    return s->kind >= 0 && s->kind < TD_TRANSFORM_KINDS &&
           (s->kind < TD_TRANSFORM_REDFT00 ? complex : real) && s->sign >= -1 && s->sign <= 1 &&
           s->alignment >= 0 && s->alignment < ALIGNMENT_MAX && s->to_alignment >= 0 &&
           s->to_alignment < ALIGNMENT_MAX && s->length > 0 && s->batch > 0 && s->batch2 > 0 &&
           s->stride >= 0 && s->distance >= 0 && s->distance2 >= 0 && s->to_stride >= 0 &&
           s->to_distance >= 0 && s->to_distance2 >= 0;
}

bool td_shape_parse(struct td_shape *s, const char *text, const char **rest)
{
    int length = 0;
    memset(s, 0, sizeof *s);
    int fields = sscanf(text,
                        "%" SCNd32 " %" SCNd32 " %" SCNd32 " %" SCNd32 " %" SCNd32 " %" SCNd32
                        " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
                        " %" SCNd64 " %" SCNd64 " %" SCNd64 "%n",
                        &s->kind, &s->type, &s->sign, &s->in_place, &s->alignment, &s->to_alignment,
                        &s->length, &s->batch, &s->batch2, &s->stride, &s->distance, &s->distance2,
                        &s->to_stride, &s->to_distance, &s->to_distance2, &length);
    if (rest)
        *rest = text + length;
    return fields == 15 && possible(s);
}

void td_fft_record_print(const struct td_fft_record *r, char *text, size_t size)
{
    td_shape_print(&r->shape, text, size);
    size_t length = strlen(text);
    snprintf(text + length, size - length,
             " %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, r->state, r->effort,
             r->uses, r->since_s, r->estimate_ns, r->measured_ns, r->planning_ns);
}

bool td_fft_record_parse(struct td_fft_record *r, const char *text)
{
    unsigned state = 0, effort = 0;
    const char *rest = NULL;
    memset(r, 0, sizeof *r);
    if (!td_shape_parse(&r->shape, text, &rest) ||
        sscanf(rest, "%u %u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &state,
               &effort, &r->uses, &r->since_s, &r->estimate_ns, &r->measured_ns,
               &r->planning_ns) != 7)
        return false;
    r->state = (uint8_t)state;
    r->effort = (uint8_t)effort;
    return state < TD_FFT_STATES && effort <= TD_FFT_PATIENT;
}
