/* SPDX-License-Identifier: Apache-2.0 */
#include "endings.h"

#include <stdio.h>

static struct td_ending *find(const struct td_core *core, uint64_t instance, uint64_t sequence)
{
    for (uint32_t i = 0; i < TD_ENDINGS_MAX; i++) {
        struct td_ending *e = &core->endings->ending[i];
        if (e->instance == instance && e->sequence == sequence && e->error != TD_OK)
            return e;
    }
    return NULL;
}

const struct td_ending *td_endings_find(const struct td_core *core, uint64_t instance,
                                        uint64_t sequence)
{
    const struct td_ending *e = find(core, instance, sequence);
    return e && !e->appealed ? e : NULL;
}

const struct td_ending *td_endings_appealed(const struct td_core *core, uint64_t instance,
                                            uint64_t sequence)
{
    const struct td_ending *e = find(core, instance, sequence);
    return e && e->appealed ? e : NULL;
}

/* obtain returns the record of an operation; a new one takes the place of the oldest. */
static struct td_ending *obtain(struct td_core *core, uint64_t instance, uint64_t sequence)
{
    struct td_ending *e = find(core, instance, sequence);
    if (e)
        return e;
    e = &core->endings->ending[core->endings->next++ % TD_ENDINGS_MAX];
    *e = (struct td_ending){.instance = instance, .sequence = sequence};
    return e;
}

void td_endings_note(struct td_core *core, uint64_t instance, uint64_t sequence, td_err error,
                     const char *text)
{
    struct td_ending *e = obtain(core, instance, sequence);
    if (e->error != TD_OK && !e->appealed)
        return;
    e->error = error;
    e->appealed = false;
    snprintf(e->text, sizeof e->text, "%s", text);
}

void td_endings_appeal(struct td_core *core, uint64_t instance, uint64_t sequence, td_err error,
                       const char *text)
{
    struct td_ending *e = obtain(core, instance, sequence);
    if (e->error != TD_OK)
        return;
    e->error = error;
    e->appealed = true;
    snprintf(e->text, sizeof e->text, "%s", text);
}

bool td_endings_has(const struct td_core *core, uint64_t instance)
{
    for (uint32_t i = 0; i < TD_ENDINGS_MAX; i++) {
        const struct td_ending *e = &core->endings->ending[i];
        if (e->instance == instance && e->error != TD_OK)
            return true;
    }
    return false;
}
