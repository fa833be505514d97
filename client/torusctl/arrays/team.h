/* SPDX-License-Identifier: Apache-2.0 */
/* team: the ranks of a job at one piece of work: all go on or all stop, each with its own sentence,
 * and a file that they write together is there whole or not at all.
 * Owns: the context, once opened. */
#ifndef TORUSCTL_TEAM_H
#define TORUSCTL_TEAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "npy.h"
#include "shard.h"
#include "torusctl/torusctl.h"

struct team {
    const char *command;
    torus_context *context;
    torus_group *world;
    bool failed;     /* some rank has */
    char text[1200]; /* this rank's complaint */
};

/* team_complain keeps the first complaint. */
void team_complain(struct team *team, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* team_agree tells all ranks whether all are well. Collective. */
bool team_agree(struct team *team);
/* team_open opens the context. False: *code says how to exit. */
bool team_open(struct team *team, const char *command, int *code);
/* team_end says what went wrong, closes the context and returns the exit code. */
int team_end(struct team *team);

/* team_shard reads a layout of the array: what this rank has by it, in elements of `bytes`. What is
 * wrong is the same everywhere, so that one rank complains, of --`option`. */
bool team_shard(struct team *team, const char *option, const char *text, const struct npy *npy,
                size_t bytes, struct shard *shard);

/* team_check_output: a result takes its name from what is there, so that must be a file or nothing.
 */
void team_check_output(struct team *team, const char *out);
/* team_write makes the file `out` of such elements and shape; every rank's `write` puts its part
 * there, false with a sentence in file->text. Collective. */
typedef bool team_write_fn(void *me, int fd, struct npy *file);
void team_write(struct team *team, const char *out, const struct npy *like, team_write_fn *write,
                void *me);

/* team_write_own makes a file of each rank's own, or none where `out` is NULL. Collective. */
void team_write_own(struct team *team, const char *out, const struct npy *like,
                    team_write_fn *write, void *me);

/* struct team_report: what a rank had before and after, and how long each phase took. */
struct team_report {
    uint64_t elements[2];
    size_t bytes[2]; /* of an element */
    const char *const *phases;
    const double *seconds;
    int count;
};
/* team_tell prints that, and rank 0 what each phase took where it took longest; team_tell_json
 * prints it as an object in a line. Collective. */
void team_tell(const struct team *team, const struct team_report *report);
void team_tell_json(const struct team *team, const struct team_report *report);

#endif
