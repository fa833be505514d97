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
#include "torusctl.h"

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

/* team_place writes "node 3 (1,0), rank 2". */
void team_place(const struct team *team, char *text, size_t size);
/* team_slowest prints what each phase took on the rank where it took longest. Collective. */
void team_slowest(const struct team *team, const char *const *names, const double *seconds,
                  int phases);
/* team_json begins a rank's object: version, node, rank. team_json_end adds the seconds, prints the
 * object as a line and frees it. */
json_t *team_json(const struct team *team);
void team_json_end(json_t *object, const char *const *names, const double *seconds, int phases);

#endif
