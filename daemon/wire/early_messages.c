/* SPDX-License-Identifier: Apache-2.0 */
#include "early_messages.h"

#include <stdlib.h>
#include <string.h>

bool td_early_messages_keep(struct td_early_messages *early, uint64_t number, const uint8_t *bytes,
                            size_t size)
{
    if (!early->place &&
        !(early->place = calloc(TD_EARLY_MESSAGES_MAX, sizeof(struct td_early_message *))))
        return false;
    struct td_early_message **place = &early->place[number % TD_EARLY_MESSAGES_MAX];
    struct td_early_message *m = malloc(sizeof *m + size);
    if (!m)
        return false;
    m->number = number;
    m->size = size;
    memcpy(m->bytes, bytes, size);
    free(*place);
    *place = m;
    return true;
}

struct td_early_message *td_early_messages_take(struct td_early_messages *early, uint64_t number)
{
    struct td_early_message **place =
        early->place ? &early->place[number % TD_EARLY_MESSAGES_MAX] : NULL;
    struct td_early_message *m = place ? *place : NULL;
    if (!m || m->number != number)
        return NULL;
    *place = NULL;
    return m;
}

void td_early_messages_forget(struct td_early_messages *early)
{
    for (unsigned i = 0; early->place && i < TD_EARLY_MESSAGES_MAX; i++)
        free(early->place[i]);
    free((void *)early->place);
    early->place = NULL;
}
