/* SPDX-License-Identifier: Apache-2.0 */
#include "letter.h"

#include "access.h"

enum { AWAY, LOOKING, FULL };

_Static_assert(sizeof(struct td_letters) == 4096, "the letters of a connection fill a page");

#ifndef TD_LETTER_BUG
#define TD_LETTER_BUG 0
#endif

bool td_letter_put(struct td_letter *l, uint64_t sent, const void *bytes, size_t size)
{
    uint64_t looking = LOOKING;
    if (size > TD_LETTER_BYTES || td_access_load(&l->state) != LOOKING)
        return false;
    /* only the sender writes these until the letter is FULL */
    td_access_write(&l->after, sent);
    td_access_write(&l->bytes, size);
    td_access_copy_in(l->data, bytes, size);
#if TD_LETTER_BUG == 1 /* the letter may be seen before its bytes */
    return td_access_swap_relaxed(&l->state, &looking, FULL);
#else
    return td_access_swap(&l->state, &looking, FULL);
#endif
}

void td_letter_look(struct td_letter *l)
{
    uint64_t away = AWAY;
    (void)td_access_swap(&l->state, &away, LOOKING);
}

bool td_letter_is_full(const struct td_letter *l)
{
    return td_access_load(&l->state) == FULL;
}

bool td_letter_is_due(const struct td_letter *l, uint64_t received)
{
#if TD_LETTER_BUG == 2 /* a letter overtakes the datagrams that were sent before it */
    (void)received;
    return td_letter_is_full(l);
#else
    return td_letter_is_full(l) && td_access_read(&l->after) <= received;
#endif
}

size_t td_letter_take(struct td_letter *l, uint64_t received, bool looks, void *to, size_t room)
{
    uint64_t full = FULL;
    if (!td_letter_is_due(l, received))
        return 0;
    uint64_t size = td_access_read(&l->bytes);
    if (size > TD_LETTER_BYTES || size > room)
        size = 1; /* nonsense: decoding will refuse it */
    td_access_copy_out(to, l->data, (size_t)size);
    (void)td_access_swap(&l->state, &full, looks ? LOOKING : AWAY);
    return (size_t)size;
}

bool td_letter_leave(struct td_letter *l)
{
#if TD_LETTER_BUG == 3 /* a letter that comes at this moment is forgotten */
    if (td_access_load(&l->state) == LOOKING)
        td_access_write(&l->state, AWAY);
    return true;
#else
    uint64_t looking = LOOKING;
    return td_access_swap(&l->state, &looking, AWAY) || looking != FULL;
#endif
}
