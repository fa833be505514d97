/* SPDX-License-Identifier: Apache-2.0 */
#include "unacknowledged.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool td_unacknowledged_keep(struct td_unacknowledged *queue, uint64_t number, const uint8_t *bytes,
                            size_t size)
{
    assert(!queue->last || queue->last->number < number);
    struct td_unacknowledged_message *m = malloc(sizeof *m + size);
    if (!m)
        return false;
    m->next = NULL;
    m->number = number;
    m->size = size;
    memcpy(m->bytes, bytes, size);
    if (queue->last)
        queue->last->next = m;
    else
        queue->first = m;
    queue->last = m;
    return true;
}

void td_unacknowledged_acknowledge(struct td_unacknowledged *queue, uint64_t number)
{
    while (queue->first && queue->first->number <= number) {
        struct td_unacknowledged_message *m = queue->first;
        queue->first = m->next;
        free(m);
    }
    if (!queue->first)
        queue->last = NULL;
}

const struct td_unacknowledged_message *
td_unacknowledged_from(const struct td_unacknowledged *queue, uint64_t number)
{
    const struct td_unacknowledged_message *m = queue->first;
    while (m && m->number < number)
        m = m->next;
    return m;
}
