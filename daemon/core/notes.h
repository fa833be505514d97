/* SPDX-License-Identifier: Apache-2.0 */
/* notes: what an operator should read of jobs, operations and silent nodes, for the driver's log. A
 * note has facts as fields and the sentence that the ranks read. The driver takes notes after each
 * step. Owns: TD_NOTES_MAX notes. Borrows: nothing. Invariant: notes leave in the order in which
 * they came. Without a free place a note is counted as lost, and no other is overwritten. Pure: no
 * I/O, clock, or globals. */
#ifndef TD_CORE_NOTES_H
#define TD_CORE_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errors.h"
#include "base/limits.h"

enum { TD_NOTES_MAX = 64, TD_NOTE_NONE = -1 };

enum td_note_kind {
    TD_NOTE_JOB_FORMED,   /* this node has the first group of a job */
    TD_NOTE_JOB_ENDED,    /* this node has dropped that group */
    TD_NOTE_JOB_UNFORMED, /* the registry: a job did not form, and is over */
    TD_NOTE_RANK_DIED,    /* the process of a rank of this node has ended without leaving */
    TD_NOTE_FAILED,       /* an operation has ended with an error on this node */
    TD_NOTE_NODE_SILENT,  /* nothing has come from a node for some heartbeats */
    TD_NOTE_NODE_HEARD,   /* it is heard again, after a silence that was noted */
    TD_NOTE_KINDS
};

/* struct td_note: `rank` and `node` are those of the culprit, TD_NOTE_NONE if no single one is
 * known. Ranks are those of the job. Notes about nodes have `node` and `age_ns`. */
struct td_note {
    enum td_note_kind kind;
    char job[TD_NAME_MAX];
    uint64_t uid;       /* of the job */
    uint64_t instance;  /* of the group */
    uint32_t size;      /* ranks of the group */
    uint32_t group;     /* 0: the job's world */
    uint64_t operation; /* FAILED: its number, as ranks count their calls */
    int64_t rank, node;
    uint64_t age_ns; /* JOB_ENDED: since the job formed; JOB_UNFORMED: since its first rank joined;
                        FAILED: since the first rank's call; NODE_SILENT, NODE_HEARD: since the last
                        message before */
    td_err error;    /* FAILED; JOB_UNFORMED; JOB_ENDED: of the first call that failed, or TD_OK */
    /* the sentence of the error, or of the death; JOB_ENDED: of the first death of a rank of this
     * node, if no call has failed; NODE_SILENT: the reason, if one is known; else "" */
    char text[TD_TEXT_MAX];
};

struct td_notes {
    uint32_t first, count;
    uint64_t lost;                 /* since one was taken last */
    uint64_t noted[TD_NOTE_KINDS]; /* since the start, also those that were lost */
    struct td_note note[TD_NOTES_MAX];
};

/* td_notes_add returns a zeroed note to fill in, without rank and node, or NULL: it is lost. */
struct td_note *td_notes_add(struct td_notes *notes, enum td_note_kind kind);
/* td_notes_take removes the oldest note, and sets *lost to the number of notes that were lost since
 * the last call. It returns false if there is none. */
bool td_notes_take(struct td_notes *notes, struct td_note *note, uint64_t *lost);

#endif
