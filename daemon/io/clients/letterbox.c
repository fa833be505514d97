/* SPDX-License-Identifier: Apache-2.0 */
#include "letterbox.h"

#include "regions.h"

int td_letterbox_make(struct td_letterbox *box, struct td_regions *regions, uint64_t uid)
{
    int fd = -1;
    if (!box->letters)
        box->letters = td_regions_share(regions, sizeof *box->letters, sizeof *box->letters, uid,
                                        &box->handle, &fd);
    return fd;
}

void td_letterbox_free(struct td_letterbox *box, struct td_regions *regions)
{
    if (box->letters)
        td_regions_release(regions, box->handle);
    box->letters = NULL;
}

bool td_letterbox_listens(struct td_letterbox *box, bool listens)
{
    if (!box->letters)
        return true;
    if (!listens)
        return td_letter_leave(&box->letters->request) || !td_letterbox_is_due(box);
    td_letter_look(&box->letters->request);
    return true;
}

bool td_letterbox_is_due(const struct td_letterbox *box)
{
    return box->letters && td_letter_is_due(&box->letters->request, box->received);
}

size_t td_letterbox_take(struct td_letterbox *box, bool listens, uint8_t bytes[TD_LETTER_BYTES])
{
    return box->letters ? td_letter_take(&box->letters->request, box->received, listens, bytes,
                                         TD_LETTER_BYTES)
                        : 0;
}

bool td_letterbox_put(struct td_letterbox *box, const uint8_t *bytes, size_t size)
{
    return box->letters && td_letter_put(&box->letters->reply, box->sent, bytes, size);
}
