/* SPDX-License-Identifier: Apache-2.0 */
#include "fft_options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/fft_names.h"
#include "tool/tool.h"

/* ---- command line ---- */

/* choice returns the index of a value among names; -1: none. */
static int choice(const char *value, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(value, names[i]) == 0)
            return i;
    return -1;
}

/* numbers reads up to six numbers of at least `least`, separated by a character. It returns their
 * number, or 0 if the text is malformed. */
static int numbers(const char *value, char between, long least, long *out)
{
    int count = 0;
    for (const char *at = value;; at++) {
        char *end = NULL;
        bool digit = (*at >= '0' && *at <= '9') || (*at == '-' && least < 0);
        long number = digit ? strtol(at, &end, 10) : 0;
        if (!digit || end == at || number < least || number > INT32_MAX ||
            count == TORUS_DIMENSIONS_MAX)
            return 0;
        out[count++] = number;
        at = end;
        if (!*at)
            return count;
        if (*at != between)
            return 0;
    }
}

static const char *parse_axes(struct fft_options *o, const char *value)
{
    long axis[TORUS_DIMENSIONS_MAX];
    o->axes = numbers(value, ',', -TORUS_DIMENSIONS_MAX, axis);
    for (int i = 0; i < o->axes; i++)
        o->axis[i] = (int)axis[i];
    return o->axes ? NULL : "--axes needs a list such as 0,2; -1 is the last axis";
}

static const char *parse_grid(struct fft_options *o, const char *value)
{
    long extent[TORUS_DIMENSIONS_MAX];
    int count = numbers(value, 'x', 1, extent);
    for (int i = 0; i < count; i++)
        o->grid[i] = (uint32_t)extent[i];
    return count ? NULL : "--grid needs numbers of nodes, such as 4x2";
}

static const char *parse_norm(struct fft_options *o, const char *value)
{
    static const char *const names[] = {"backward", "ortho", "forward"};
    o->norm = choice(value, names, 3);
    return o->norm < 0 ? "--norm must be backward, ortho or forward" : NULL;
}

static const char *parse_method(struct fft_options *o, const char *value)
{
    return fft_method_read(value, &o->method);
}

static const char *parse_kinds(struct fft_options *o, const char *value)
{
    o->kinds = fft_kinds_read(value, o->kind);
    bool good = o->kinds > 0;
    for (int i = 0; i < o->kinds; i++)
        good = good && fft_kind_is_real(o->kind[i]);
    return good ? NULL
                : "--kinds must be dct1 to dct4 or dst1 to dst4: one for all axes, or one for "
                  "each transformed axis, such as dct2,dst1";
}

static const char *parse_precision(struct fft_options *o, const char *value)
{
    static const char *const names[] = {"single", "double"};
    int which = choice(value, names, 2);
    o->precision = which == 0 ? 4 : 8;
    return which < 0 ? "--precision must be single or double" : NULL;
}

static const char *parse_last(struct fft_options *o, const char *value)
{
    long last = 0;
    int count = numbers(value, ',', 1, &last);
    o->last = (uint64_t)last;
    return count == 1 ? NULL : "--last needs the number of real numbers along the last axis";
}

static const char *parse_from(struct fft_options *o, const char *value)
{
    o->layout[0] = value;
    return NULL;
}

static const char *parse_to(struct fft_options *o, const char *value)
{
    o->layout[1] = value;
    return NULL;
}

/* option reads an option that has a value. It returns false for an unknown option. */
static bool option(struct fft_options *o, const char *name, const char *value, const char **wrong)
{
    static const struct {
        const char *name;
        const char *(*take)(struct fft_options *, const char *value);
    } options[] = {
        {"--axes", parse_axes}, {"--grid", parse_grid},     {"--norm", parse_norm},
        {"--from", parse_from}, {"--method", parse_method}, {"--precision", parse_precision},
        {"--last", parse_last}, {"--to", parse_to},         {"--kinds", parse_kinds}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strcmp(name, options[i].name) == 0) {
            *wrong = value ? options[i].take(o, value) : tool_no_option(name);
            return true;
        }
    return false;
}

/* flag reads an option without a value. It returns false for an unknown option. */
static bool flag(struct fft_options *o, const char *name)
{
    static const char *const names[] = {"--inverse", "--real", "--real-part",
                                        "--timing",  "--json", "--check"};
    bool *const to[] = {&o->inverse, &o->real, &o->real_part, &o->timing, &o->as_json, &o->check};
    int which = choice(name, names, sizeof names / sizeof names[0]);
    if (which >= 0)
        *to[which] = true;
    return which >= 0;
}

const char *fft_options_parse(int argc, char **argv, struct fft_options *o)
{
    const char *wrong = NULL;
    for (int i = 1; i < argc && !wrong; i++) {
        if (flag(o, argv[i]))
            continue;
        if (option(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &wrong))
            i++;
        else if (argv[i][0] == '-')
            wrong = tool_no_option(argv[i]);
        else if (!o->in)
            o->in = argv[i];
        else if (!o->out)
            o->out = argv[i];
        else
            wrong = "expected one input and one output";
    }
    if (wrong)
        return wrong;
    if (!o->out)
        return "missing input or output: expected IN.npy OUT.npy";
    if (o->last && !(o->real && o->inverse))
        return "--last, the length of the real axis, needs --inverse --real";
    if (o->kinds && (o->real || o->real_part))
        return "--kinds is real to real: it excludes --real and --real-part";
    return o->real && o->real_part ? "--real-part needs a complex result: it excludes --real"
                                   : NULL;
}

/* ---- array ---- */

static bool refuse(struct fft_job *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(struct fft_job *job, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(job->text, sizeof job->text, format, arguments);
    va_end(arguments);
    return false;
}

/* choose_axes sets the axes to transform; *real is the last named axis. */
static bool choose_axes(const struct fft_options *o, const struct npy *in, struct fft_job *job,
                        int *real)
{
    *real = in->axes - 1;
    for (int d = 0; d < in->axes && !o->axes; d++)
        job->desc.transform[d] = TORUS_TRANSFORM_COMPLEX;
    for (int i = 0; i < o->axes; i++) {
        int axis = o->axis[i] < 0 ? o->axis[i] + in->axes : o->axis[i];
        if (axis < 0 || axis >= in->axes)
            return refuse(job, "--axes: no axis %d in an array of %d axes", o->axis[i], in->axes);
        if (job->desc.transform[axis])
            return refuse(job, "--axes names axis %d twice", axis);
        job->desc.transform[axis] = TORUS_TRANSFORM_COMPLEX;
        *real = axis;
    }
    return true;
}

/* set_real_kinds sets the real-to-real kinds of the named axes, in this order. */
static bool set_real_kinds(const struct fft_options *o, const struct npy *in, struct fft_job *job)
{
    int axes = o->axes ? o->axes : in->axes;
    if (in->kind == 'c')
        return refuse(job, "the numbers are complex, but --kinds needs real numbers");
    if (o->kinds != 1 && o->kinds != axes)
        return refuse(job, "--kinds has %d kinds for %d axes: give one for all, or one each",
                      o->kinds, axes);
    for (int i = 0; i < axes; i++) {
        int axis = o->axes ? o->axis[i] : i, kind = o->kind[o->kinds == 1 ? 0 : i];
        job->desc.transform[axis < 0 ? axis + in->axes : axis] =
            o->inverse ? fft_kind_back(kind) : kind;
    }
    job->desc.type = job->form[0].single ? TORUS_FLOAT : TORUS_DOUBLE;
    job->form[0].real = job->form[1].real = true;
    return true;
}

/* set_half_spectrum makes an axis real to complex or complex to real. */
static bool set_half_spectrum(const struct fft_options *o, const struct npy *in,
                              struct fft_job *job, int axis)
{
    uint64_t has = in->shape[axis], *shape = &job->after.shape[axis];
    job->desc.transform[axis] = o->inverse ? TORUS_TRANSFORM_C2R : TORUS_TRANSFORM_R2C;
    job->form[o->inverse].real = true;
    if (!o->inverse) {
        *shape = has / 2 + 1;
        return in->kind != 'c' ||
               refuse(job, "the numbers are complex, but --real needs real numbers");
    }
    *shape = job->desc.shape[axis] = o->last ? o->last : has > 1 ? 2 * (has - 1) : 1;
    return *shape / 2 + 1 == has ||
           refuse(job, "--last %llu: %llu complex numbers give %llu or %llu real numbers",
                  (unsigned long long)*shape, (unsigned long long)has,
                  (unsigned long long)(2 * has - (has > 1 ? 2 : 1)),
                  (unsigned long long)(2 * has - 1));
}

static int scale_of(const struct fft_options *o)
{
    if (o->norm == FFT_NORM_ORTHO)
        return TORUS_SCALE_ORTHO;
    return (o->norm == FFT_NORM_FORWARD) != o->inverse ? TORUS_SCALE_FULL : TORUS_SCALE_NONE;
}

bool fft_options_describe(const struct fft_options *o, const struct npy *in, struct fft_job *job)
{
    int real = 0;
    bool single = o->precision ? o->precision == 4 : npy_is_single(in);
    if (in->axes == 0)
        return refuse(job, "the array is a single element, which has no transform");
    if (in->count == 0)
        return refuse(job, "the array has no elements");
    job->after = *in;
    job->form[0].single = job->form[1].single = single;
    job->desc = (struct torus_fft_desc){.size = sizeof job->desc,
                                        .dimensions = (uint32_t)in->axes,
                                        .type = single ? TORUS_COMPLEX_FLOAT : TORUS_COMPLEX_DOUBLE,
                                        .sign = o->inverse ? TORUS_BACKWARD : TORUS_FORWARD,
                                        .scale = scale_of(o),
                                        .method = o->method};
    memcpy(job->desc.grid, o->grid, sizeof job->desc.grid);
    for (int d = 0; d < in->axes; d++)
        job->desc.shape[d] = in->shape[d];
    if (!choose_axes(o, in, job, &real) || (o->real && !set_half_spectrum(o, in, job, real)) ||
        (o->kinds && !set_real_kinds(o, in, job)))
        return false;
    if (o->grid[in->axes - 1])
        return refuse(job, "--grid must have fewer axes than the array, which has %d", in->axes);
    job->after.count = 1;
    for (int d = 0; d < in->axes; d++) { /* in the order of the file */
        job->after.size[d] = job->after.shape[in->fortran ? in->axes - 1 - d : d];
        job->after.count *= job->after.size[d];
    }
    npy_become(&job->after,
               (struct npy_form){.real = job->form[1].real || o->real_part, .single = single});
    return true;
}

struct torus_fft_desc fft_options_back(const struct torus_fft_desc *desc)
{
    static const int scales[] = {[TORUS_SCALE_NONE] = TORUS_SCALE_FULL,
                                 [TORUS_SCALE_ORTHO] = TORUS_SCALE_ORTHO,
                                 [TORUS_SCALE_FULL] = TORUS_SCALE_NONE};
    struct torus_fft_desc back = *desc;
    back.sign = -desc->sign;
    back.scale = scales[desc->scale];
    back.from = desc->to;
    back.to = desc->from;
    for (uint32_t d = 0; d < desc->dimensions; d++)
        back.transform[d] = fft_kind_back(desc->transform[d]);
    return back;
}
