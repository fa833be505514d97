/* SPDX-License-Identifier: Apache-2.0 */
/* records: what the daemons have recorded of a job, also of one that is over: which ranks made
 * others wait, the first call that failed, and the first rank that died. */
#ifndef TORUSCTL_INSPECT_RECORDS_H
#define TORUSCTL_INSPECT_RECORDS_H

#include <jansson.h>

#include "machine.h"
#include "wanted.h"

/* ins_record returns the record of the wanted job that formed last, merged from the records of all
 * nodes; it also names others that may be meant, "other_jobs" (wanted.h). A job that forms is its
 * "forming"; if none of this name has formed before, the rest of the record is empty. Without a
 * record it prints an error of the command and returns NULL. The caller owns the record. */
json_t *ins_record(struct ins_machine *m, const char *command, const struct ins_wanted *wanted);
/* ins_record_print_job prints the job, and when it formed and ended; ins_record_print_failure its
 * first failure, if there was one. */
void ins_record_print_job(const json_t *record);
void ins_record_print_failure(const json_t *record);
/* ins_record_longest writes in which call the longest wait for a rank was, and since when: "barrier
 * 466, since 17:44:19". It writes nothing if that is not known. */
void ins_record_longest(char *text, size_t bytes, const json_t *record, const json_t *straggler);
/* ins_record_print_without prints which nodes' records are not in the sums, and why. */
void ins_record_print_without(const json_t *record);

typedef void ins_record_fn(const json_t *record);
/* ins_record_run runs a command whose argument is a job, and --user its owner: it prints the record
 * as JSON, or by `show`.
 */
int ins_record_run(int argc, char **argv, ins_record_fn *show);

#endif
