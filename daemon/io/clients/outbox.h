/* SPDX-License-Identifier: Apache-2.0 */
/* outbox: the replies to a client that its socket did not accept at once, with their descriptors.
 * Their bytes count to the client's user. Owns: copies of the replies and of their descriptors. */
#ifndef TD_IO_CLIENTS_OUTBOX_H
#define TD_IO_CLIENTS_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "passing.h"

enum { TD_OUTBOX_BUCKETS = 64 };

struct td_outbox_reply;
struct td_outbox_user;

/* struct td_outbox_all: of all clients. Zeroed, but for passing.most: none waits. */
struct td_outbox_all {
    size_t bytes;
    struct td_passing_all passing;
    struct td_outbox_user *user[TD_OUTBOX_BUCKETS]; /* those with clients */
};

/* struct td_outbox: of one client. Zeroed: td_outbox_fini does nothing. */
struct td_outbox {
    struct td_outbox_all *all;
    struct td_outbox_user *user;
    int socket;
    struct td_outbox_reply *first, **last;
    uint32_t count;
    size_t bytes;
    bool
        held; /* the system has no room for the first one's descriptor: nothing tells when it has */
    struct td_passing passing;
};

/* td_outbox_init begins the outbox of a client's socket. It returns false if memory runs out. */
bool td_outbox_init(struct td_outbox *box, struct td_outbox_all *all, uint64_t uid, int socket);
void td_outbox_fini(struct td_outbox *box);
/* td_outbox_put sends a reply, or keeps it, with a copy of its descriptor (-1: none) if that
 * `may_copy`. It returns 0: the reply is sent; EAGAIN: it waits; EMFILE: neither, since its
 * descriptor has no room; ENOSPC: neither, since the client reads nothing; or the socket's error.
 */
int td_outbox_put(struct td_outbox *box, const uint8_t *bytes, size_t size, int fd, bool may_copy);
/* td_outbox_flush sends what waits, as far as the socket accepts it. It returns 0, or the socket's
 * error. */
int td_outbox_flush(struct td_outbox *box);
static inline bool td_outbox_waits(const struct td_outbox *box)
{
    return box->first != NULL;
}
/* td_outbox_has_room returns true if another reply to the client may have to wait: most bytes of
 * all replies, and the share of one user in percent. A client that reads always has room. */
bool td_outbox_has_room(const struct td_outbox *box, uint64_t most, uint32_t share_percent);

#endif
