/* SPDX-License-Identifier: Apache-2.0 */
#include "team.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "part.h"

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
    t->context = ctl_open(NULL, code);
    return t->context != NULL;
}

int team_end(struct team *t)
{
    if (t->failed && !t->text[0] && torus_rank(t->world) == 0)
        team_complain(t, "another rank has failed, and says why");
    if (t->text[0])
        fprintf(stderr, "torusctl %s: %s\n", t->command, t->text);
    torus_close(t->context);
    return t->text[0] || t->failed ? EXIT_FAILED : EXIT_WELL;
}

/* ---- a file of all ranks ---- */

void team_check_output(struct team *t, const char *out)
{
    struct stat st;
    if (stat(out, &st) == 0 && !S_ISREG(st.st_mode))
        team_complain(t, "%.300s is %s: the output must be a regular file, or new", out,
                      S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
}

static uint32_t random_number(void)
{
    uint32_t number = 0;
    return getrandom(&number, sizeof number, 0) == sizeof number ? number : (uint32_t)getpid();
}

/* begin_part: all agree on rank 0's number, so that two jobs never share a file. */
static void begin_part(struct team *t, const char *out)
{
    uint32_t nonce = random_number();
    if (torus_broadcast(t->world, &nonce, sizeof nonce, TORUS_BYTE, 0) != TORUS_OK)
        team_complain(t, "%s", torus_last_error(t->context));
    else if (!part_begin(out, nonce))
        team_complain(t, "the output's name is too long");
}

/* create_output makes file beside the output, of its final size. */
static int create_output(struct team *t, const char *out, struct npy *file)
{
    part_sweep(out);
    int fd = npy_create(part_name(), file);
    if (fd < 0)
        team_complain(t, "%s", file->text);
    else if (!part_hold(fd))
        team_complain(t, "another job took the temporary file for one that was left behind");
    return fd;
}

static int open_output(struct team *t, struct npy *file)
{
    int fd = open(part_name(), O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        team_complain(t, "%.300s: %s", part_name(), strerror(errno));
        return -1;
    }
    part_hold(fd);
    struct npy made;
    int read_fd = npy_open_any(part_name(), &made);
    if (read_fd < 0)
        team_complain(t, "%s", made.text);
    else
        close(read_fd);
    file->data = made.data; /* where its elements begin */
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
    int held = first && fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1; /* until it has its name */
    if (fd >= 0 && close(fd) != 0)
        team_complain(t, "%s", strerror(errno));
    if (well && team_agree(t)) {
        if (first && !part_finish(out))
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
    part_end();
}

void team_write_own(struct team *t, const char *out, const struct npy *like, team_write_fn *write,
                    void *me)
{
    struct npy file = *like;
    int fd = -1;
    if (out && !part_begin(out, random_number()))
        team_complain(t, "the output's name is too long");
    else if (out)
        fd = create_output(t, out, &file);
    if (fd >= 0 && !t->text[0] && !write(me, fd, &file))
        team_complain(t, "%s", file.text);
    if (team_agree(t) && out && !part_finish(out))
        team_complain(t, "%.300s: %s", out, strerror(errno));
    if (fd >= 0 && close(fd) != 0)
        team_complain(t, "%.300s: %s", out, strerror(errno));
    part_end();
    team_agree(t);
}

/* ---- what is told ---- */

void team_place(const struct team *t, char *text, size_t size)
{
    uint32_t coordinates[TORUS_DIMENSIONS_MAX];
    char place[80] = "";
    int dimensions = torus_coords(t->context, coordinates);
    for (int d = 0; d < dimensions; d++)
        snprintf(place + strlen(place), sizeof place - strlen(place), "%s%u", d ? "," : "",
                 coordinates[d]);
    snprintf(text, size, "node %u (%s), rank %u", torus_node(t->context), place,
             torus_rank(t->world));
}

void team_slowest(const struct team *t, const char *const *names, const double *seconds, int phases)
{
    double most[16];
    fflush(stdout);
    torus_allreduce(t->world, seconds, most, (size_t)phases, TORUS_DOUBLE, TORUS_MAX);
    if (torus_rank(t->world) != 0)
        return;
    printf("slowest rank:");
    for (int p = 0; p < phases; p++)
        printf(" %s %.1f ms%s", names[p], 1e3 * most[p], p + 1 < phases ? "," : "\n");
}

json_t *team_json(const struct team *t)
{
    return json_pack("{s:i s:i s:i}", "version", 1, "node", (int)torus_node(t->context), "rank",
                     (int)torus_rank(t->world));
}

void team_json_end(json_t *object, const char *const *names, const double *seconds, int phases)
{
    json_t *all = json_object();
    for (int p = 0; p < phases; p++)
        json_object_set_new(all, names[p], json_real(seconds[p]));
    json_object_set_new(object, "seconds", all);
    char *text = json_dumps(object, JSON_COMPACT);
    puts(text ? text : "");
    free(text);
    json_decref(object);
}
