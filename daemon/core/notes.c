/* SPDX-License-Identifier: Apache-2.0 */
#include "notes.h"

#include <stddef.h>

struct td_note *td_notes_add(struct td_notes *notes, enum td_note_kind kind)
{
    notes->noted[kind]++;
    if (notes->count == TD_NOTES_MAX) {
        notes->lost++;
        return NULL;
    }
    struct td_note *note = &notes->note[(notes->first + notes->count++) % TD_NOTES_MAX];
    *note = (struct td_note){.kind = kind, .rank = TD_NOTE_NONE, .node = TD_NOTE_NONE};
    return note;
}

bool td_notes_take(struct td_notes *notes, struct td_note *note, uint64_t *lost)
{
    if (notes->count == 0)
        return false;
    *note = notes->note[notes->first];
    *lost = notes->lost;
    notes->first = (notes->first + 1) % TD_NOTES_MAX;
    notes->count--;
    notes->lost = 0;
    return true;
}
