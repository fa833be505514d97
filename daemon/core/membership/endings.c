/* SPDX-License-Identifier: Apache-2.0 */
#include "endings.h"

#include <stdio.h>

const struct td_ending *td_endings_find(const struct td_core *core, uint64_t instance,
                                        uint64_t sequence)
{
    for (uint32_t i = 0; i < TD_ENDINGS_MAX; i++) {
        const struct td_ending *e = &core->endings->ending[i];
        if (e->error != TD_OK && e->instance == instance && e->sequence == sequence)
            return e;
    }
    return NULL;
}

void td_endings_note(struct td_core *core, uint64_t instance, uint64_t sequence, td_err error,
                     const char *text)
{
    if (td_endings_find(core, instance, sequence))
        return;
    struct td_ending *e = &core->endings->ending[core->endings->next++ % TD_ENDINGS_MAX];
    e->instance = instance;
    e->sequence = sequence;
    e->error = error;
    snprintf(e->text, sizeof e->text, "%s", text);
}

bool td_endings_has(const struct td_core *core, uint64_t instance)
{
    for (uint32_t i = 0; i < TD_ENDINGS_MAX; i++)
        if (core->endings->ending[i].error != TD_OK &&
            core->endings->ending[i].instance == instance)
            return true;
    return false;
}
