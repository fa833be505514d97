/* SPDX-License-Identifier: Apache-2.0 */
#include "team.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "model/layout_text.h"
#include "partial_file.h"

/* Room for the layout of the largest job and for the parser. */
enum { LAYOUT_BYTES = 8 << 20 };

void team_complain(struct team *t, const char *format, ...)
{
    va_list arguments;
    if (t->text[0])
        return;
    va_start(arguments, format);
    vsnprintf(t->text, sizeof t->text, format, arguments);
    va_end(arguments);
}

bool team_agree(struct team *t)
{
    int32_t well = t->text[0] == '\0', all = 0;
    int error = torus_allreduce(t->world, &well, &all, 1, TORUS_INT32, TORUS_MIN);
    if (error != TORUS_OK)
        team_complain(t, "%s", torus_last_error(t->context));
    t->failed = t->failed || error != TORUS_OK || !all;
    return !t->failed;
}

bool team_open(struct team *t, const char *command, int *code)
{
    t->command = command;
    t->context = tool_open(NULL, 0, code);
    return t->context != NULL;
}

int team_end(struct team *t)
{
    if (t->failed && !t->text[0] && torus_rank(t->world) == 0)
        team_complain(t, "another rank has failed; see its message");
    if (t->text[0])
        fprintf(stderr, "torus-array %s: %s\n", t->command, t->text);
    torus_close(t->context);
    return t->text[0] || t->failed ? EXIT_FAILED : EXIT_WELL;
}

/* ---- layouts ---- */

static bool read_shard(struct team *t, const char *option, const char *text, const struct npy *n,
                       size_t bytes, struct shard *shard, struct td_arena *arena)
{
    struct td_layout layout;
    struct td_layout_wrong wrong;
    uint32_t ranks = torus_size(t->world);
    bool reports = torus_rank(t->world) == 0;
    char why[300];
    if (!td_layout_parse(&layout, arena, text, (uint32_t)n->axes, n->shape, ranks, &wrong)) {
        if (reports)
            team_complain(t, "--%s, character %zu: %s\n  %.300s\n  %*s", option, wrong.at + 1,
                          wrong.text, text, wrong.at < 300 ? (int)wrong.at + 1 : 1, "^");
        return false;
    }
    const char *unfit = td_layout_check(&layout, ranks, bytes, why, sizeof why);
    if (unfit && reports)
        team_complain(t, "--%s %.200s: %s", option, text, unfit);
    if (!unfit)
        *shard = shard_of(&layout, torus_rank(t->world));
    td_layout_free(&layout, arena);
    return !unfit;
}

bool team_shard(struct team *t, const char *option, const char *text, const struct npy *npy,
                size_t bytes, struct shard *shard)
{
    struct td_arena *arena = td_arena_create(LAYOUT_BYTES);
    bool good = arena && read_shard(t, option, text, npy, bytes, shard, arena);
    if (!arena)
        team_complain(t, "no memory for the layouts");
    td_arena_destroy(arena);
    return good;
}

/* ---- a file of all ranks ---- */

void team_check_output(struct team *t, const char *out)
{
    struct stat st;
    char folder[PATH_MAX];
    const char *slash = strrchr(out, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - out) + 1 : 1, slash ? out : ".");
    if (stat(folder, &st) != 0)
        team_complain(t, "cannot write %.300s: the directory %.300s: %s", out, folder,
                      strerror(errno));
    else if (stat(out, &st) == 0 && !S_ISREG(st.st_mode))
        team_complain(t, "%.300s is %s: the output must be a regular file, or new", out,
                      S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
}

static uint32_t random_number(void)
{
    uint32_t number = 0;
    return getrandom(&number, sizeof number, 0) == sizeof number ? number : (uint32_t)getpid();
}

/* begin_part sets the name of the partial file with rank 0's random number, so that two jobs never
 * share a file. */
static void begin_part(struct team *t, const char *out)
{
    uint32_t nonce = random_number();
    if (torus_broadcast(t->world, &nonce, sizeof nonce, TORUS_BYTE, 0) != TORUS_OK)
        team_complain(t, "%s", torus_last_error(t->context));
    else if (!partial_file_begin(out, nonce))
        team_complain(t, "the name of the output is too long");
}

/* create_output creates the partial file beside the output, with its final size. */
static int create_output(struct team *t, const char *out, struct npy *file)
{
    partial_file_sweep(out);
    int fd = npy_create(partial_file_name(), file);
    if (fd < 0)
        team_complain(t, "%s", file->text);
    else if (!partial_file_hold(fd))
        team_complain(t, "another job removed the temporary file: run the command again");
    return fd;
}

static int open_output(struct team *t, struct npy *file)
{
    int fd = open(partial_file_name(), O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        team_complain(t, "%.300s: %s", partial_file_name(), strerror(errno));
        return -1;
    }
    partial_file_hold(fd);
    struct npy made;
    int read_fd = npy_open_any(partial_file_name(), &made);
    if (read_fd < 0)
        team_complain(t, "%s", made.text);
    else
        close(read_fd);
    file->data = made.data; /* position of the elements */
    return fd;
}

static void write_together(struct team *t, const char *out, struct npy *file, team_write_fn *write,
                           void *me)
{
    bool first = torus_rank(t->world) == 0;
    int fd = first ? create_output(t, out, file) : -1;
    bool well = team_agree(t);
    if (well && !first)
        fd = open_output(t, file);
    if (well && !t->text[0] && !write(me, fd, file))
        team_complain(t, "%s", file->text);
    int held = first && fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0)
                                : -1; /* keeps the lock until the file has its final name */
    if (fd >= 0 && close(fd) != 0)
        team_complain(t, "%s", strerror(errno));
    if (well && team_agree(t)) {
        if (first && !partial_file_finish(out))
            team_complain(t, "%.300s: %s", out, strerror(errno));
        team_agree(t);
    }
    if (held >= 0)
        close(held);
}

void team_write(struct team *t, const char *out, const struct npy *like, team_write_fn *write,
                void *me)
{
    struct npy file = *like;
    begin_part(t, out);
    if (team_agree(t))
        write_together(t, out, &file, write, me);
    partial_file_end();
}

void team_write_own(struct team *t, const char *out, const struct npy *like, team_write_fn *write,
                    void *me)
{
    struct npy file = *like;
    int fd = -1;
    if (out && !partial_file_begin(out, random_number()))
        team_complain(t, "the name of the output is too long");
    else if (out)
        fd = create_output(t, out, &file);
    if (fd >= 0 && !t->text[0] && !write(me, fd, &file))
        team_complain(t, "%s", file.text);
    int held = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1; /* keeps the lock, as above */
    if (fd >= 0 && close(fd) != 0)
        team_complain(t, "%.300s: %s", out, strerror(errno));
    if (team_agree(t) && out && !partial_file_finish(out))
        team_complain(t, "%.300s: %s", out, strerror(errno));
    if (held >= 0)
        close(held);
    partial_file_end();
    team_agree(t);
}

/* ---- report ---- */

static void place(const struct team *t, char *text, size_t size)
{
    uint32_t coordinates[TORUS_DIMENSIONS_MAX];
    char at[80] = "";
    int dimensions = torus_coords(t->context, coordinates);
    for (int d = 0; d < dimensions; d++)
        snprintf(at + strlen(at), sizeof at - strlen(at), "%s%u", d ? "," : "", coordinates[d]);
    snprintf(text, size, "node %u (%s), rank %u", torus_node(t->context), at, torus_rank(t->world));
}

void team_print_report(const struct team *t, const struct team_report *r)
{
    double most[16];
    char where[200];
    place(t, where, sizeof where);
    unsigned long long before = r->elements[0], after = r->elements[1];
    if (r->bytes[0] == r->bytes[1])
        printf("%s: %llu elements before, %llu after, of %zu bytes\n", where, before, after,
               r->bytes[0]);
    else
        printf("%s: %llu elements of %zu bytes before, %llu of %zu after\n", where, before,
               r->bytes[0], after, r->bytes[1]);
    fflush(stdout);
    torus_allreduce(t->world, r->seconds, most, (size_t)r->count, TORUS_DOUBLE, TORUS_MAX);
    if (torus_rank(t->world) != 0)
        return;
    printf("slowest rank:");
    for (int p = 0; p < r->count; p++)
        printf(" %s %.1f ms%s", r->phases[p], 1e3 * most[p], p + 1 < r->count ? "," : "\n");
}

void team_print_report_json(const struct team *t, const struct team_report *r)
{
    static const char *const sides[] = {"from", "to"};
    json_t *seconds = json_object();
    json_t *all = json_pack("{s:i s:i s:i}", "version", 1, "node", (int)torus_node(t->context),
                            "rank", (int)torus_rank(t->world));
    for (unsigned side = 0; side < 2; side++)
        json_object_set_new(all, sides[side],
                            json_pack("{s:I s:I}", "elements", (json_int_t)r->elements[side],
                                      "bytes", (json_int_t)(r->elements[side] * r->bytes[side])));
    for (int p = 0; p < r->count; p++)
        json_object_set_new(seconds, r->phases[p], json_real(r->seconds[p]));
    json_object_set_new(all, "seconds", seconds);
    char *text = json_dumps(all, JSON_COMPACT);
    puts(text ? text : "");
    free(text);
    json_decref(all);
}
