/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl fft: every rank reads its rows, all transform, every rank writes its rows. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "team.h"

enum { PHASE_JOIN, PHASE_PLAN, PHASE_READ, PHASE_EXECUTE, PHASE_WRITE, PHASES };
static const char *const phase_names[PHASES] = {"join", "plan", "read", "execute", "write"};

struct run {
    const char *in, *out;
    bool inverse, real, timing, as_json;
    int norm;
    struct team team;
    torus_plan *plan;
    struct npy npy;
    int fd;
    bool single;
    struct torus_box box;
    void *data;
    double seconds[PHASES];
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

static void open_input(struct run *r)
{
    r->fd = npy_open(r->in, &r->npy);
    if (r->fd < 0)
        team_complain(&r->team, "%s", r->npy.text);
    else if (r->npy.axes != 2)
        team_complain(&r->team, "%.300s has %d axes: an array of 2 is needed", r->in, r->npy.axes);
    else if (r->npy.count == 0)
        team_complain(&r->team, "%.300s has no elements", r->in);
    r->single = npy_is_single(&r->npy);
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
    if (torus_plan_fft(r->team.world, &d, &r->plan) != TORUS_OK) {
        team_complain(&r->team, "%s", torus_last_error(r->team.context));
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
    r->data = torus_alloc(r->team.context, bytes_of(r) ? bytes_of(r) : 1);
    if (!r->data)
        team_complain(&r->team, "%s", torus_last_error(r->team.context));
    else if (!npy_read(r->fd, &r->npy, r->box.begin[0] * r->npy.size[1], count, r->single, r->data))
        team_complain(&r->team, "%s", r->npy.text);
}

static bool write_rows(void *me, int fd, struct npy *file)
{
    struct run *r = me;
    return npy_write(fd, file, r->box.begin[0] * r->npy.size[1], r->box.count[0] * r->box.count[1],
                     r->single, r->data);
}

static void write_part(struct run *r)
{
    struct npy out = r->npy;
    npy_become_complex(&out, r->single, r->real);
    team_write(&r->team, r->out, &out, write_rows, r);
}

static void report_json(const struct run *r)
{
    json_t *all = team_json(&r->team);
    json_object_set_new(all, "rows", json_integer((json_int_t)r->box.count[0]));
    json_object_set_new(all, "columns", json_integer((json_int_t)r->box.count[1]));
    json_object_set_new(all, "bytes", json_integer((json_int_t)bytes_of(r)));
    team_json_end(all, phase_names, r->seconds, PHASES);
}

static void report(const struct run *r)
{
    char place[200];
    team_place(&r->team, place, sizeof place);
    printf("%s: %llu rows of %llu, %llu bytes\n", place, (unsigned long long)r->box.count[0],
           (unsigned long long)r->box.count[1], (unsigned long long)bytes_of(r));
    team_slowest(&r->team, phase_names, r->seconds, PHASES);
}

static void work(struct run *r)
{
    double at = ctl_seconds();
    double *seconds = r->seconds;
    if (torus_join(r->team.context, NULL, &r->team.world) != TORUS_OK) {
        team_complain(&r->team, "%s", torus_last_error(r->team.context));
        return;
    }
    seconds[PHASE_JOIN] = ctl_seconds() - at;
    open_input(r);
    team_check_output(&r->team, r->out);
    if (!team_agree(&r->team))
        return;
    at = ctl_seconds();
    plan(r);
    seconds[PHASE_PLAN] = ctl_seconds() - at;
    if (!team_agree(&r->team))
        return;
    at = ctl_seconds();
    read_part(r);
    seconds[PHASE_READ] = ctl_seconds() - at;
    if (!team_agree(&r->team))
        return;
    at = ctl_seconds();
    if (torus_execute(r->plan, TORUS_IN_PLACE, r->data) != TORUS_OK)
        team_complain(&r->team, "%s", torus_last_error(r->team.context));
    seconds[PHASE_EXECUTE] = ctl_seconds() - at;
    if (!team_agree(&r->team))
        return;
    at = ctl_seconds();
    write_part(r);
    seconds[PHASE_WRITE] = ctl_seconds() - at;
    if (r->team.failed)
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
    if (!team_open(&r.team, "fft", &code))
        return code;
    work(&r);
    if (r.fd >= 0)
        close(r.fd);
    return team_end(&r.team);
}
