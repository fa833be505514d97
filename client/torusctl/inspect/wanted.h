/* SPDX-License-Identifier: Apache-2.0 */
/* wanted: which job a command is about, and which others there are. */
#ifndef TORUSCTL_INSPECT_WANTED_H
#define TORUSCTL_INSPECT_WANTED_H

#include <jansson.h>
#include <stdbool.h>

/* struct ins_wanted: the latest job of this name (NULL: of any name) and user (-1: of any user). */
struct ins_wanted {
    const char *job;
    json_int_t uid;
};

#define INS_USER_OPTION                                                                            \
    "  --user UID           the owner of the job, if several users have one of this name\n"
#define INS_USER_WRONG "--user takes the number of a user"

/* ins_wanted_take takes --user UID out of the arguments. It returns false if that is no number. */
bool ins_wanted_take(struct ins_wanted *w, int *argc, char **argv);
/* ins_wanted_owner writes whose jobs those are: "yours" or "user 1000". */
const char *ins_wanted_owner(const struct ins_wanted *w, char *text, size_t bytes);
bool ins_is_wanted(const struct ins_wanted *w, const char *name, json_int_t uid);

/* ins_other_jobs returns the jobs [{job, uid, runs, waits_ns}] that somebody may mean instead of
 * `record`, the one that was found: those that run or form, if no name is wanted, and those of the
 * same name of other users, also those that are over and have a row in `records`. waits_ns: how
 * long its oldest call has been in flight (0: none is); jobs in which that is a second or more come
 * first. `all`: the state of the machine (collect.h). */
json_t *ins_other_jobs(const struct ins_wanted *w, const json_t *record, const json_t *all,
                       const json_t *records);
/* ins_other_jobs_print prints a line about them, if there are any. */
void ins_other_jobs_print(const json_t *others, const char *command);

#endif
