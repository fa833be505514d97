/* SPDX-License-Identifier: Apache-2.0 */
#include "unformed.h"

#include <stdio.h>
#include <string.h>

#include "waits.h"

const char *td_unformed_why_late(struct td_core *core, const struct td_job *job)
{
    char missing[200], namesake[120] = "";
    uint32_t any = 0;
    for (uint32_t i = 0; i < job->joined; i++)
        any += job->entry[i].asked == UINT32_MAX;
    uint32_t asked = td_bits_print(job->taken, job->size, false, missing, sizeof missing);
    if (job->namesake)
        snprintf(namesake, sizeof namesake,
                 ". User %llu has a job of the same name: ranks of two users never meet",
                 (unsigned long long)(job->namesake - 1));
    if (job->joined == job->size)
        return td_core_format(
            core, "job %s: all ranks joined, but a node did not confirm them in time", job->name);
    if (any)
        return td_core_format(core, "job %s: only %u of %u ranks joined in time%s", job->name,
                              job->joined, job->size, namesake);
    return td_core_format(core, "job %s: %u of %u ranks did not join in time: rank%s %s%s",
                          job->name, asked, job->size, asked == 1 ? "" : "s", missing, namesake);
}

/* why_cancelled returns the sentence for a job whose joins a user has cancelled. `never`: how many
 * ranks had not joined, which `missing` lists. */
static const char *why_cancelled(struct td_core *core, const struct td_job *job, uint32_t never,
                                 const char *missing)
{
    if (job->most == job->size)
        return td_core_format(core,
                              "job %s: its joins were cancelled by %s; all ranks had joined, and "
                              "were being confirmed",
                              job->name, job->cancelled);
    if (job->any || never == 0)
        return td_core_format(
            core, "job %s: its joins were cancelled by %s; at most %u of %u ranks had joined",
            job->name, job->cancelled, job->most, job->size);
    return td_core_format(
        core, "job %s: its joins were cancelled by %s; %u of %u ranks had never joined: rank%s %s",
        job->name, job->cancelled, never, job->size, never == 1 ? "" : "s", missing);
}

const char *td_unformed_why_gone(struct td_core *core, const struct td_job *job)
{
    const char *end = job->lost_joins
                          ? "its processes ended, were cancelled or were lost with their nodes"
                          : "its processes ended or were cancelled";
    char missing[200];
    uint32_t never = td_bits_print(job->ever, job->size, false, missing, sizeof missing);
    if (job->cancelled)
        return why_cancelled(core, job, never, missing);
    if (job->most == job->size)
        return td_core_format(core, "job %s: %s while the ranks were being confirmed", job->name,
                              end);
    if (job->any || never == 0)
        return td_core_format(core, "job %s: %s, and at most %u of %u ranks had joined at a time",
                              job->name, end, job->most, job->size);
    return td_core_format(core, "job %s: %s, and %u of %u ranks had never joined: rank%s %s",
                          job->name, end, never, job->size, never == 1 ? "" : "s", missing);
}

void td_unformed_join(struct td_core *core, struct td_job *job)
{
    td_core_free(core, job->cancelled);
    job->cancelled = NULL;
}

void td_unformed_cancel(struct td_core *core, const char *name, uint64_t uid, const char *by)
{
    for (struct td_job *job = core->registry->jobs; job; job = job->next)
        if (!job->instance && job->uid == uid && strcmp(job->name, name) == 0) {
            td_unformed_join(core, job);
            job->cancelled = td_core_copy_text(job->account->arena, by);
        }
}

void td_unformed_note(struct td_core *core, struct td_job *job, td_err error, const char *text)
{
    if (job->noted)
        return;
    job->noted = true;
    struct td_waits_unformed u = {.name = job->name,
                                  .uid = job->uid,
                                  .size = job->size,
                                  .begun_at = job->begun_at,
                                  .error = error,
                                  .text = text};
    td_waits_unformed(core, &u);
    struct td_note *note = td_notes_add(core->notes, TD_NOTE_JOB_UNFORMED);
    if (!note)
        return;
    snprintf(note->job, sizeof note->job, "%s", job->name);
    snprintf(note->text, sizeof note->text, "%s", text);
    note->uid = job->uid;
    note->size = job->size;
    note->error = error;
    note->age_ns = core->now - job->begun_at;
}
