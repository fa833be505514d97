/* SPDX-License-Identifier: Apache-2.0 */
/* torus-array redist: redistribution of an array in a file by all ranks of a job. Each rank reads
 * its part by one layout and writes its part by the other to its position in the whole array. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/redist/redist_schedule.h"
#include "team.h"
#include "torus_array.h"

enum { NAME_BYTES = 4096 };

enum { PHASE_JOIN, PHASE_PLAN, PHASE_READ, PHASE_EXECUTE, PHASE_WRITE, PHASES };
static const char *const phase_names[PHASES] = {"join", "plan", "read", "execute", "write"};

struct run {
    const char *in, *out, *local_out;
    const char *layout[2];
    const char *transpose; /* NULL: no transposition */
    bool timing, as_json;
    enum td_schedule_kind schedule;
    struct team team;
    torus_plan *plan;
    int fd;
    struct npy npy[2];
    uint32_t axes[TORUS_DIMENSIONS_MAX];
    struct shard shard[2];
    void *data[2];
    double seconds[PHASES];
};

/* ---- command line ---- */

/* option reads an option that has a value. It returns false for an unknown option. */
static bool option(struct run *r, const char *name, const char *value, const char **wrong)
{
    static const char *const names[] = {"--from", "--to", "--transpose", "--local-out"};
    const char **to[] = {&r->layout[0], &r->layout[1], &r->transpose, &r->local_out};
    bool schedule = strcmp(name, "--schedule") == 0;
    for (size_t i = 0; i < sizeof to / sizeof to[0]; i++)
        if (strcmp(name, names[i]) == 0) {
            *to[i] = value;
            *wrong = value ? NULL : tool_no_option(name);
            return true;
        }
    if (schedule && !(value && td_schedule_named(value, &r->schedule)))
        *wrong = "--schedule must be auto, circulant, colouring, classes, matching or caterpillar";
    return schedule;
}

static const char *parse(int argc, char **argv, struct run *r)
{
    const char *wrong = NULL;
    for (int i = 1; i < argc && !wrong; i++) {
        if (strcmp(argv[i], "--timing") == 0)
            r->timing = true;
        else if (strcmp(argv[i], "--json") == 0)
            r->as_json = true;
        else if (option(r, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &wrong))
            i++;
        else if (argv[i][0] == '-')
            wrong = tool_no_option(argv[i]);
        else if (!r->in)
            r->in = argv[i];
        else if (!r->out)
            r->out = argv[i];
        else
            wrong = "expected one input and one output";
    }
    if (wrong)
        return wrong;
    if (!r->out)
        return "missing input or output: expected IN.npy OUT.npy";
    if (!r->layout[0] || !r->layout[1])
        return "missing --from or --to, such as '(block, *)' and '(*, cyclic(4))'";
    return r->local_out && !strstr(r->local_out, "%r")
               ? "--local-out needs %r, the rank, in its name: each rank writes a file of its own"
               : NULL;
}

/* read_axes reads a permutation such as 1,0. */
static bool read_axes(struct run *r)
{
    uint32_t seen = 0, count = 0, axes = (uint32_t)r->npy[0].axes;
    const char *at = r->transpose;
    for (uint32_t d = 0; d < axes; d++)
        r->axes[d] = d;
    if (!at)
        return true;
    for (; *at >= '0' && *at <= '9' && count < axes; at += *at == ',' && at[1]) {
        char *end = NULL;
        unsigned long axis = strtoul(at, &end, 10);
        if (axis >= axes)
            break;
        seen |= 1u << axis;
        r->axes[count++] = (uint32_t)axis;
        at = end;
    }
    return !*at && count == axes && seen == (1u << axes) - 1;
}

static void open_input(struct run *r)
{
    struct npy *n = &r->npy[0];
    r->fd = npy_open_any(r->in, n);
    if (r->fd < 0)
        team_complain(&r->team, "%s", n->text);
    else if (n->axes == 0)
        team_complain(&r->team, "%.300s is a single element, which cannot be distributed", r->in);
    else if (!read_axes(r))
        team_complain(&r->team,
                      "--transpose %.50s: expected the %d axes of the array, 0 to %d, each once",
                      r->transpose, n->axes, n->axes - 1);
    if (r->team.text[0])
        return;
    r->npy[1] = *n;
    for (int d = 0; d < n->axes; d++)
        r->npy[1].shape[d] = n->shape[r->axes[d]];
    for (int d = 0; d < n->axes; d++) /* in the order of the file */
        r->npy[1].size[d] = r->npy[1].shape[n->fortran ? n->axes - 1 - d : d];
}

static void read_layouts(struct run *r)
{
    size_t bytes = r->npy[0].item;
    if (team_shard(&r->team, "from", r->layout[0], &r->npy[0], bytes, &r->shard[0]))
        team_shard(&r->team, "to", r->layout[1], &r->npy[1], bytes, &r->shard[1]);
}

static void plan(struct run *r)
{
    struct torus_redist_desc d = {.size = sizeof d,
                                  .dimensions = (uint32_t)r->npy[0].axes,
                                  .transposed = 1,
                                  .element_bytes = r->npy[0].item,
                                  .from = r->layout[0],
                                  .to = r->layout[1],
                                  .schedule = (int32_t)r->schedule};
    for (uint32_t i = 0; i < d.dimensions; i++) {
        d.shape[i] = r->npy[0].shape[i];
        d.axes[i] = r->axes[i];
    }
    if (torus_plan_redist(r->team.world, &d, &r->plan) != TORUS_OK)
        team_complain(&r->team, "%s", torus_last_error(r->team.context));
}

/* ---- phases ---- */

static uint64_t bytes_of(const struct run *r, unsigned side)
{
    return r->shard[side].elements * r->npy[side].item;
}

static void read_part(struct run *r)
{
    for (unsigned side = 0; side < 2; side++) {
        uint64_t bytes = bytes_of(r, side);
        r->data[side] = torus_alloc(r->team.context, bytes ? bytes : 1);
        if (!r->data[side])
            team_complain(&r->team, "%s", torus_last_error(r->team.context));
    }
    if (!r->team.text[0] && !shard_read(&r->shard[0], r->fd, &r->npy[0], NULL, r->data[0]))
        team_complain(&r->team, "%.300s: %.200s", r->in, r->npy[0].text);
}

static bool write_part(void *me, int fd, struct npy *file)
{
    const struct run *r = me;
    return shard_write(&r->shard[1], fd, file, NULL, r->data[1]);
}

static bool write_own(void *me, int fd, struct npy *file)
{
    const struct run *r = me;
    const struct shard alone = shard_alone(&r->shard[1]);
    return shard_write(&alone, fd, file, NULL, r->data[1]);
}

/* own_name replaces every %r by the rank. It returns false if the name is too long. */
static bool own_name(const struct run *r, char *name)
{
    size_t length = 0;
    for (const char *p = r->local_out; *p && length < NAME_BYTES; p++) {
        bool rank = p[0] == '%' && p[1] == 'r';
        int put =
            rank ? snprintf(name + length, NAME_BYTES - length, "%u", torus_rank(r->team.world))
                 : snprintf(name + length, NAME_BYTES - length, "%c", *p);
        length += (size_t)put;
        p += rank;
    }
    return length < NAME_BYTES;
}

/* write_own_part writes the part of this rank as an array of its own, axes in order. */
static void write_own_part(struct run *r)
{
    static char name[NAME_BYTES];
    struct npy own = r->npy[1];
    bool there = r->shard[1].there;
    own.fortran = false;
    own.count = r->shard[1].elements;
    for (int d = 0; d < own.axes; d++)
        own.shape[d] = own.size[d] = r->shard[1].count[d];
    if (there && !own_name(r, name))
        team_complain(&r->team, "the name of the local output is too long");
    else if (there)
        team_check_output(&r->team, name);
    if (team_agree(&r->team))
        team_write_own(&r->team, there ? name : NULL, &own, write_own, r);
}

static void report(const struct run *r)
{
    const struct team_report report = {
        .elements = {r->shard[0].elements, r->shard[1].elements},
        .bytes = {r->npy[0].item, r->npy[1].item},
        .phases = phase_names,
        .seconds = r->seconds,
        .count = PHASES,
    };
    if (r->as_json)
        team_print_report_json(&r->team, &report);
    if (r->timing)
        team_print_report(&r->team, &report);
}

static bool phase(struct run *r, int which, void (*act)(struct run *))
{
    double at = tool_seconds();
    act(r);
    r->seconds[which] += tool_seconds() - at;
    return team_agree(&r->team);
}

static void execute(struct run *r)
{
    if (torus_execute(r->plan, r->data[0], r->data[1]) != TORUS_OK)
        team_complain(&r->team, "%s", torus_last_error(r->team.context));
}

static void write_all(struct run *r)
{
    if (r->local_out)
        write_own_part(r);
    if (!r->team.failed)
        team_write(&r->team, r->out, &r->npy[1], write_part, r);
}

static void work(struct run *r)
{
    double at = tool_seconds();
    if (torus_join(r->team.context, NULL, &r->team.world) != TORUS_OK) {
        team_complain(&r->team, "%s", torus_last_error(r->team.context));
        return;
    }
    r->seconds[PHASE_JOIN] = tool_seconds() - at;
    open_input(r);
    team_check_output(&r->team, r->out);
    if (team_agree(&r->team) && phase(r, PHASE_PLAN, read_layouts) && phase(r, PHASE_PLAN, plan) &&
        phase(r, PHASE_READ, read_part) && phase(r, PHASE_EXECUTE, execute) &&
        phase(r, PHASE_WRITE, write_all))
        report(r);
}

static int run_redist(int argc, char **argv)
{
    struct run r = {.fd = -1};
    int code = EXIT_WELL;
    const char *wrong = parse(argc, argv, &r);
    if (wrong)
        return tool_usage("redist", wrong);
    if (!team_open(&r.team, "redist", &code))
        return code;
    work(&r);
    if (r.fd >= 0)
        close(r.fd);
    return team_end(&r.team);
}

const struct tool_command array_command_redist = {
    .name = "redist",
    .arguments = "IN.npy OUT.npy --from LAYOUT --to LAYOUT [options]",
    .what = "move an array in a .npy file to another layout; run by every rank of a job",
    .options =
        "  --from, --to LAYOUT  such as '(block, *)' and '(cyclic(4), cyclic) on 2x3 @0-5'\n"
        "  --transpose 1,0      axis 0 of the result is axis 1 of the input, and so on\n"
        "  --local-out PATTERN  also write each rank's part: 'part-%r.npy', %r is the rank\n"
        "  --schedule NAME      auto, circulant, colouring, classes, matching or caterpillar\n"
        "  --timing             print the time of each phase and the part of each rank\n"
        "  --json               print sizes and times as one JSON object per rank\n",
    .run = run_redist,
};
