/* SPDX-License-Identifier: Apache-2.0 */
/* letterbox: the letters (segment/letter.h) of one client, and what keeps them in order with the
 * datagrams of its socket.
 * Owns: the memory. Borrows: the regions. */
#ifndef TD_IO_CLIENTS_LETTERBOX_H
#define TD_IO_CLIENTS_LETTERBOX_H

#include "segment/letter.h"

struct td_regions;

/* struct td_letterbox: of zeros: without memory. */
struct td_letterbox {
    struct td_letters *letters; /* NULL: everything takes the socket */
    uint32_t handle;
    uint64_t received, sent; /* datagrams of the socket */
};

/* td_letterbox_make makes the memory for a client of uid, and returns its descriptor, which the
 * caller passes to the client and closes. -1: the node shares no memory, or the client has it. */
int td_letterbox_make(struct td_letterbox *box, struct td_regions *regions, uint64_t uid);
void td_letterbox_free(struct td_letterbox *box, struct td_regions *regions);
/* td_letterbox_listens says whether the daemon looks for letters. It returns false if it was to
 * stop, and one has come that is due. */
bool td_letterbox_listens(struct td_letterbox *box, bool listens);
/* td_letterbox_is_due returns true if a request is due. */
bool td_letterbox_is_due(const struct td_letterbox *box);
/* td_letterbox_take copies the request that is due, and returns its size; 0: none is. `listens`:
 * the daemon goes on looking. */
size_t td_letterbox_take(struct td_letterbox *box, bool listens, uint8_t bytes[TD_LETTER_BYTES]);
/* td_letterbox_put puts a reply if the client looks for it. */
bool td_letterbox_put(struct td_letterbox *box, const uint8_t *bytes, size_t size);

#endif
