/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/allowance.h"

enum {
    MOST = 256,            /* replies from which on there is no room */
    MOST_BYTES = 1 << 16,  /* and bytes */
    KEPT_BYTES = 16 << 20, /* of replies that come without room */
};

struct td_outbox_reply {
    struct td_outbox_reply *next;
    int fd; /* that goes with it, or -1 */
    size_t size;
    uint8_t bytes[];
};

struct td_outbox_user {
    struct td_outbox_user *next; /* of a bucket */
    uint64_t uid;
    uint32_t clients;
    size_t bytes;
};

/* place_of returns the place of a user in the list of its bucket. */
static struct td_outbox_user **place_of(struct td_outbox_all *all, uint64_t uid)
{
    struct td_outbox_user **at = &all->user[uid % TD_OUTBOX_BUCKETS];
    while (*at && (*at)->uid != uid)
        at = &(*at)->next;
    return at;
}

bool td_outbox_init(struct td_outbox *box, struct td_outbox_all *all, uint64_t uid, int socket)
{
    struct td_outbox_user **at = place_of(all, uid);
    *box = (struct td_outbox){.all = all, .socket = socket, .passing.all = &all->passing};
    box->last = &box->first;
    if (!*at && (*at = calloc(1, sizeof **at)))
        (*at)->uid = uid;
    if ((box->user = *at))
        box->user->clients++;
    return box->user != NULL;
}

static void count(struct td_outbox *box, size_t more, size_t less)
{
    box->bytes += more - less;
    box->user->bytes += more - less;
    box->all->bytes += more - less;
}

/* drop ends the first reply. */
static void drop(struct td_outbox *box)
{
    struct td_outbox_reply *r = box->first;
    if (!(box->first = r->next))
        box->last = &box->first;
    box->count--;
    count(box, 0, r->size);
    if (r->fd >= 0) {
        td_passing_waited(&box->passing);
        close(r->fd);
    }
    free(r);
}

void td_outbox_fini(struct td_outbox *box)
{
    if (!box->user)
        return;
    while (box->first)
        drop(box);
    td_passing_forget(&box->passing);
    if (--box->user->clients == 0) {
        struct td_outbox_user **at = place_of(box->all, box->user->uid);
        *at = box->user->next;
        free(box->user);
    }
    box->user = NULL;
}

/* keep keeps a reply until the client reads, and returns EAGAIN, or why it does not. */
static int keep(struct td_outbox *box, const uint8_t *bytes, size_t size, int fd, bool may_copy)
{
    int copy = fd >= 0 && may_copy ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd >= 0 && copy < 0)
        return EMFILE;
    struct td_outbox_reply *r = box->bytes + size <= KEPT_BYTES ? malloc(sizeof *r + size) : NULL;
    if (!r) {
        if (copy >= 0)
            close(copy);
        return ENOSPC;
    }
    *r = (struct td_outbox_reply){.fd = copy, .size = size};
    memcpy(r->bytes, bytes, size);
    *box->last = r;
    box->last = &r->next;
    box->count++;
    count(box, size, 0);
    if (copy >= 0)
        td_passing_waits(&box->passing);
    return EAGAIN;
}

/* send_now returns 0, EAGAIN if the socket accepts the reply later, or another error. */
static int send_now(struct td_outbox *box, const uint8_t *bytes, size_t size, int fd)
{
    if (td_passing_send(box->socket, bytes, size, fd)) {
        td_passing_sent(&box->passing, size, fd >= 0);
        return 0;
    }
    return errno == EINTR ? EAGAIN : errno;
}

int td_outbox_put(struct td_outbox *box, const uint8_t *bytes, size_t size, int fd, bool may_copy)
{
    int error = box->first ? EAGAIN : send_now(box, bytes, size, fd);
    if (error == ETOOMANYREFS && fd >= 0)
        return EMFILE;
    return error == EAGAIN ? keep(box, bytes, size, fd, may_copy) : error;
}

int td_outbox_flush(struct td_outbox *box)
{
    int error = 0;
    while (box->first &&
           !(error = send_now(box, box->first->bytes, box->first->size, box->first->fd)))
        drop(box);
    box->held = error == ETOOMANYREFS;
    return box->held || error == EAGAIN ? 0 : error;
}

bool td_outbox_has_room(const struct td_outbox *box, uint64_t most, uint32_t share_percent)
{
    if (box->count == 0)
        return true; /* so that every client that reads goes on */
    if (box->count >= MOST || box->bytes >= MOST_BYTES)
        return false;
    if (box->all->bytes < most / TD_RESERVED_PART)
        return true;
    size_t own = box->user->bytes;
    return own < td_allowance(most, box->all->bytes - own, share_percent, false);
}
