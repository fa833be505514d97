/* SPDX-License-Identifier: Apache-2.0 */
/* team: the ranks of a job that work on one command together. All ranks continue or all stop, each
 * with its own sentence. A file that they write together appears complete or not at all.
 * Owns: the context, once opened. */
#ifndef TORUSCTL_TEAM_H
#define TORUSCTL_TEAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "npy.h"
#include "shard.h"
#include "tool/tool.h"

struct team {
    const char *command;
    torus_context *context;
    torus_group *world;
    bool failed;     /* on some rank */
    char text[1200]; /* the sentence of this rank's error */
};

/* team_complain records an error of this rank; the first one is kept. */
void team_complain(struct team *team, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* team_agree returns true on all ranks if no rank has an error. Collective. */
bool team_agree(struct team *team);
/* team_open opens the context. It returns false with the exit code in *code. */
bool team_open(struct team *team, const char *command, int *code);
/* team_end prints the error, closes the context and returns the exit code. */
int team_end(struct team *team);

/* team_shard reads a layout of the array and sets the part of this rank, in elements of `bytes`.
 * All ranks find the same error; one rank reports it, for --`option`. */
bool team_shard(struct team *team, const char *option, const char *text, const struct npy *npy,
                size_t bytes, struct shard *shard);

/* team_check_output reports an error unless `out` is a regular file or does not exist: the result
 * replaces it. */
void team_check_output(struct team *team, const char *out);
/* team_write creates the file `out` with the element type and shape of `like`. `write` of each rank
 * writes its part; it returns false with a sentence in file->text. Collective. */
typedef bool team_write_fn(void *me, int fd, struct npy *file);
void team_write(struct team *team, const char *out, const struct npy *like, team_write_fn *write,
                void *me);

/* team_write_own creates one file per rank; `out` NULL: none for this rank. Collective. */
void team_write_own(struct team *team, const char *out, const struct npy *like,
                    team_write_fn *write, void *me);

/* struct team_report: sizes of a rank's parts before and after, and the time of each phase. */
struct team_report {
    uint64_t elements[2];
    size_t bytes[2]; /* of an element */
    const char *const *phases;
    const double *seconds;
    int count;
};
/* team_print_report prints the report; rank 0 also prints the time of each phase on the slowest
 * rank. team_print_report_json prints it as one JSON object on a line. Collective. */
void team_print_report(const struct team *team, const struct team_report *report);
void team_print_report_json(const struct team *team, const struct team_report *report);

#endif
