/* SPDX-License-Identifier: Apache-2.0 */
/* unformed: sentences about jobs that did not form. The registry records such a job (waits.h) for
 * torusctl why, and notes it for the log (core/notes.h). */
#ifndef TD_CORE_MEMBERSHIP_UNFORMED_H
#define TD_CORE_MEMBERSHIP_UNFORMED_H

#include "registry.h"

/* td_unformed_why_late returns the sentence for the ranks of a job that has not formed in time;
 * td_unformed_why_gone that for a job whose last join is withdrawn or lost. Both are valid until
 * the next step. */
const char *td_unformed_why_late(struct td_core *core, const struct td_job *job);
const char *td_unformed_why_gone(struct td_core *core, const struct td_job *job);
/* td_unformed_cancel keeps who cancels the joins of a job that forms here (uid, name): `by`, for
 * the sentence of td_unformed_why_gone. td_unformed_join forgets it: another join has come. */
void td_unformed_cancel(struct td_core *core, const char *name, uint64_t uid, const char *by);
void td_unformed_join(struct td_core *core, struct td_job *job);
/* td_unformed_note records and notes the end of a job that did not form, once. */
void td_unformed_note(struct td_core *core, struct td_job *job, td_err error, const char *text);

#endif
