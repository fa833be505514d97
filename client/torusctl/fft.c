/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl fft: every rank reads its rows, all transform, every rank writes its rows. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npy.h"
#include "part.h"
#include "torusctl.h"

enum { PHASE_JOIN, PHASE_PLAN, PHASE_READ, PHASE_EXECUTE, PHASE_WRITE, PHASES };
static const char *const phase_names[PHASES] = {"join", "plan", "read", "execute", "write"};

struct run {
    const char *in, *out;
    bool inverse, real, timing, as_json, failed;
    int norm;
    torus_context *context;
    torus_group *world;
    torus_plan *plan;
    struct npy npy;
    int fd;
    bool single;
    struct torus_box box;
    void *data;
    double seconds[PHASES];
    char text[512]; /* this rank's complaint */
};

enum { NORM_BACKWARD, NORM_ORTHO, NORM_FORWARD };

static const char *parse(int argc, char **argv, struct run *r)
{
    static const char *const norms[] = {"backward", "ortho", "forward"};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--inverse") == 0) {
            r->inverse = true;
        } else if (strcmp(argv[i], "--real") == 0) {
            r->real = true;
        } else if (strcmp(argv[i], "--timing") == 0) {
            r->timing = true;
        } else if (strcmp(argv[i], "--json") == 0) {
            r->as_json = true;
        } else if (strcmp(argv[i], "--norm") == 0) {
            r->norm = -1;
            for (int n = 0; i + 1 < argc && n < 3; n++)
                if (strcmp(argv[i + 1], norms[n]) == 0)
                    r->norm = n;
            i++;
            if (r->norm < 0)
                return "--norm is backward, ortho or forward";
        } else if (argv[i][0] == '-') {
            return "there is no such option";
        } else if (!r->in) {
            r->in = argv[i];
        } else if (!r->out) {
            r->out = argv[i];
        } else {
            return "one input and one output";
        }
    }
    return r->out ? NULL : "an input and an output are needed";
}

/* agree tells all ranks whether all are well: all go on, or all stop with their own sentence. */
static bool agree(struct run *r)
{
    int32_t well = r->text[0] == '\0', all = 0;
    int error = torus_allreduce(r->world, &well, &all, 1, TORUS_INT32, TORUS_MIN);
    if (error != TORUS_OK && !r->text[0])
        snprintf(r->text, sizeof r->text, "%s", torus_last_error(r->context));
    r->failed = r->failed || error != TORUS_OK || !all;
    return !r->failed;
}

static void complain(struct run *r, const char *text)
{
    if (!r->text[0])
        snprintf(r->text, sizeof r->text, "%s", text);
}

static void open_input(struct run *r)
{
    r->fd = npy_open(r->in, &r->npy);
    if (r->fd < 0)
        complain(r, r->npy.text);
    else if (r->npy.axes != 2)
        snprintf(r->text, sizeof r->text, "%.300s has %d axes: an array of 2 is needed", r->in,
                 r->npy.axes);
    else if (r->npy.count == 0)
        snprintf(r->text, sizeof r->text, "%.300s has no elements", r->in);
    r->single = npy_is_single(&r->npy);
}

/* check_output: the result takes its name from what is there, so that must be a file or nothing. */
static void check_output(struct run *r)
{
    struct stat st;
    if (stat(r->out, &st) == 0 && !S_ISREG(st.st_mode) && !r->text[0])
        snprintf(r->text, sizeof r->text, "%.300s is %s: the output must be a regular file, or new",
                 r->out, S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
}

static int scale_of(const struct run *r)
{
    if (r->norm == NORM_ORTHO)
        return TORUS_SCALE_ORTHO;
    return (r->norm == NORM_FORWARD) != r->inverse ? TORUS_SCALE_FULL : TORUS_SCALE_NONE;
}

static void plan(struct run *r)
{
    struct torus_fft_desc d = {.size = sizeof d,
                               .dimensions = 2,
                               .shape = {r->npy.size[0], r->npy.size[1]},
                               .type = r->single ? TORUS_COMPLEX_FLOAT : TORUS_COMPLEX_DOUBLE,
                               .sign = r->inverse ? TORUS_BACKWARD : TORUS_FORWARD,
                               .scale = scale_of(r)};
    if (torus_plan_fft(r->world, &d, &r->plan) != TORUS_OK) {
        complain(r, torus_last_error(r->context));
        return;
    }
    torus_plan_local(r->plan, TORUS_SIDE_INPUT, &r->box);
}

/* bytes_of this rank's part of the array. */
static uint64_t bytes_of(const struct run *r)
{
    return r->box.count[0] * r->box.count[1] * (r->single ? 8 : 16);
}

static void read_part(struct run *r)
{
    uint64_t count = r->box.count[0] * r->box.count[1];
    r->data = torus_alloc(r->context, bytes_of(r) ? bytes_of(r) : 1);
    if (!r->data)
        complain(r, torus_last_error(r->context));
    else if (!npy_read(r->fd, &r->npy, r->box.begin[0] * r->npy.size[1], count, r->single, r->data))
        complain(r, r->npy.text);
}

/* begin_part: all agree on rank 0's number, so that two jobs never share a file. */
static void begin_part(struct run *r)
{
    uint32_t nonce = 0;
    if (torus_rank(r->world) == 0 && getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
        nonce = (uint32_t)getpid();
    if (torus_broadcast(r->world, &nonce, sizeof nonce, TORUS_BYTE, 0) != TORUS_OK)
        complain(r, torus_last_error(r->context));
    else if (!part_begin(r->out, nonce))
        complain(r, "the output's name is too long");
}

/* create_output is rank 0's: a temporary file beside the output, of its final size. */
static int create_output(struct run *r, struct npy *out)
{
    part_sweep(r->out);
    int fd = npy_create(part_name(), out, r->single, r->real);
    if (fd < 0)
        complain(r, out->text);
    else if (!part_hold(fd))
        complain(r, "another job took the temporary file for one that was left behind");
    return fd;
}

static int open_output(struct run *r, struct npy *out)
{
    int fd = open(part_name(), O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        snprintf(r->text, sizeof r->text, "%.300s: %s", part_name(), strerror(errno));
        return -1;
    }
    part_hold(fd);
    int read_fd = npy_open(part_name(), out); /* where its elements begin */
    if (read_fd < 0)
        complain(r, out->text);
    else
        close(read_fd);
    return fd;
}

static void write_rows(struct run *r)
{
    struct npy out = r->npy;
    bool first = torus_rank(r->world) == 0;
    int fd = first ? create_output(r, &out) : -1;
    bool well = agree(r);
    if (well && !first)
        fd = open_output(r, &out);
    if (well && !r->text[0] &&
        !npy_write(fd, &out, r->box.begin[0] * r->npy.size[1], r->box.count[0] * r->box.count[1],
                   r->single, r->data))
        complain(r, out.text);
    int held = first && fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1; /* until it has its name */
    if (fd >= 0 && close(fd) != 0)
        complain(r, strerror(errno));
    if (well && agree(r)) {
        if (first && !part_finish(r->out))
            snprintf(r->text, sizeof r->text, "%.300s: %s", r->out, strerror(errno));
        agree(r);
    }
    if (held >= 0)
        close(held);
}

static void write_part(struct run *r)
{
    begin_part(r);
    if (agree(r))
        write_rows(r);
    part_end();
}

static void report_json(const struct run *r)
{
    json_t *seconds = json_object();
    for (int p = 0; p < PHASES; p++)
        json_object_set_new(seconds, phase_names[p], json_real(r->seconds[p]));
    json_t *all = json_pack("{s:i s:i s:i s:I s:I s:I s:o}", "version", 1, "node",
                            (int)torus_node(r->context), "rank", (int)torus_rank(r->world), "rows",
                            (json_int_t)r->box.count[0], "columns", (json_int_t)r->box.count[1],
                            "bytes", (json_int_t)bytes_of(r), "seconds", seconds);
    char *text = json_dumps(all, JSON_COMPACT);
    puts(text ? text : "");
    free(text);
    json_decref(all);
}

static void report(struct run *r)
{
    double most[PHASES];
    uint32_t coordinates[TORUS_DIMENSIONS_MAX];
    char place[80] = "";
    int dimensions = torus_coords(r->context, coordinates);
    for (int d = 0; d < dimensions; d++)
        snprintf(place + strlen(place), sizeof place - strlen(place), "%s%u", d ? "," : "",
                 coordinates[d]);
    printf("node %u (%s), rank %u: %llu rows of %llu, %llu bytes\n", torus_node(r->context), place,
           torus_rank(r->world), (unsigned long long)r->box.count[0],
           (unsigned long long)r->box.count[1], (unsigned long long)bytes_of(r));
    fflush(stdout);
    torus_allreduce(r->world, r->seconds, most, PHASES, TORUS_DOUBLE, TORUS_MAX);
    if (torus_rank(r->world) != 0)
        return;
    printf("slowest rank:");
    for (int p = 0; p < PHASES; p++)
        printf(" %s %.1f ms%s", phase_names[p], 1e3 * most[p], p + 1 < PHASES ? "," : "\n");
}

static void work(struct run *r)
{
    double at = ctl_seconds();
    double *seconds = r->seconds;
    if (torus_join(r->context, NULL, &r->world) != TORUS_OK) {
        complain(r, torus_last_error(r->context));
        return;
    }
    seconds[PHASE_JOIN] = ctl_seconds() - at;
    open_input(r);
    check_output(r);
    if (!agree(r))
        return;
    at = ctl_seconds();
    plan(r);
    seconds[PHASE_PLAN] = ctl_seconds() - at;
    if (!agree(r))
        return;
    at = ctl_seconds();
    read_part(r);
    seconds[PHASE_READ] = ctl_seconds() - at;
    if (!agree(r))
        return;
    at = ctl_seconds();
    if (torus_execute(r->plan, TORUS_IN_PLACE, r->data) != TORUS_OK)
        complain(r, torus_last_error(r->context));
    seconds[PHASE_EXECUTE] = ctl_seconds() - at;
    if (!agree(r))
        return;
    at = ctl_seconds();
    write_part(r);
    seconds[PHASE_WRITE] = ctl_seconds() - at;
    if (r->failed)
        return;
    if (r->as_json)
        report_json(r);
    if (r->timing)
        report(r);
}

int ctl_fft(int argc, char **argv)
{
    struct run r = {.fd = -1};
    int code = EXIT_WELL;
    const char *wrong = parse(argc, argv, &r);
    if (wrong)
        return ctl_usage("fft", wrong);
    r.context = ctl_open(NULL, &code);
    if (!r.context)
        return code;
    work(&r);
    if (r.failed && !r.text[0] && torus_rank(r.world) == 0)
        complain(&r, "another rank has failed, and says why");
    if (r.text[0])
        fprintf(stderr, "torusctl fft: %s\n", r.text);
    if (r.text[0] || r.failed)
        code = EXIT_FAILED;
    if (r.fd >= 0)
        close(r.fd);
    torus_close(r.context);
    return code;
}
