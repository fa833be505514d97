/* SPDX-License-Identifier: Apache-2.0 */
/* endings: how operations of groups that are over have failed, for ranks that come later. They get
 * the same error and the same sentence as the others. So are those kept that have ended in a group
 * made of some ranks of a job before a rank of this node has made it. Owns: the sentences.
 * Invariant: one ending for each operation; the oldest is forgotten first. Pure: no I/O, clock, or
 * globals. */
#ifndef TD_CORE_MEMBERSHIP_ENDINGS_H
#define TD_CORE_MEMBERSHIP_ENDINGS_H

#include "core/core_internal.h"

enum { TD_ENDINGS_MAX = 32 };

/* the sequence of the creation of a group, which ranks that come later cannot make any more: it is
 * broken. A first call that has failed alone ends no other call. */
#define TD_ENDING_OF_CREATION UINT64_MAX

struct td_ending {
    uint64_t instance; /* of the group; 0: none */
    uint64_t sequence; /* of the operation, or TD_ENDING_OF_CREATION */
    td_err error;
    bool appealed; /* a child appeals for this error: the root has not decided yet */
    char text[TD_TEXT_MAX];
};

struct td_endings {
    uint32_t next;
    struct td_ending ending[TD_ENDINGS_MAX];
};

/* td_endings_note keeps the first ending of an operation. */
void td_endings_note(struct td_core *core, uint64_t instance, uint64_t sequence, td_err error,
                     const char *text);
/* td_endings_appeal keeps the appeal of a child in a group that this node has not made yet;
 * td_endings_appealed returns it, or NULL. */
void td_endings_appeal(struct td_core *core, uint64_t instance, uint64_t sequence, td_err error,
                       const char *text);
const struct td_ending *td_endings_appealed(const struct td_core *core, uint64_t instance,
                                            uint64_t sequence);
/* td_endings_find returns the ending of an operation, or NULL. */
const struct td_ending *td_endings_find(const struct td_core *core, uint64_t instance,
                                        uint64_t sequence);

/* td_endings_has returns true if an ending or an appeal of an operation of the group is kept. */
bool td_endings_has(const struct td_core *core, uint64_t instance);

#endif
