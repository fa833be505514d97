/* SPDX-License-Identifier: Apache-2.0 */
/* passing: the descriptors of replies that a client has not read yet.
 *
 * The system counts them to the daemon's user until they are read, and refuses more than
 * RLIMIT_NOFILE of them (ETOOMANYREFS); a reply that waits here takes a descriptor of the daemon.
 * So a client with TD_PASSING_MAX of them gets no more, nor one whose reply with a descriptor
 * waits. A client that has read everything gets a descriptor in any case, whatever others have
 * unread. Owns: counts. */
#ifndef TD_IO_CLIENTS_PASSING_H
#define TD_IO_CLIENTS_PASSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TD_PASSING_MAX = 16, TD_PASSING_MARKS = 32 };

/* struct td_passing_all: of all clients. From `most` on a client may have one. */
struct td_passing_all {
    uint64_t unread, most;
};

/* struct td_passing: of one client. Zeroed, and `all`: it has none. */
struct td_passing {
    struct td_passing_all *all;
    uint32_t waiting; /* not sent yet */
    uint32_t unread;  /* sent and not known to be read: those of the last marks */
    uint64_t sent;    /* bytes of all replies, at least, as the system counts unread ones */
    uint32_t marks;   /* of all replies with descriptors */
    uint64_t mark[TD_PASSING_MARKS]; /* `sent` before each of the last ones */
};

/* td_passing_may returns true if the client may get another descriptor. It asks the system how much
 * the client has not read, if that matters. */
bool td_passing_may(struct td_passing *passing, int socket);
/* td_passing_read takes up how many bytes the system says are unread. */
void td_passing_read(struct td_passing *passing, uint64_t unread_bytes);
/* td_passing_sent counts a reply that was sent, of so many bytes. passes: it has a descriptor. */
void td_passing_sent(struct td_passing *passing, size_t size, bool passes);
/* td_passing_waits counts a descriptor whose reply waits; td_passing_waited counts it no more. */
void td_passing_waits(struct td_passing *passing);
void td_passing_waited(struct td_passing *passing);
/* td_passing_forget counts the descriptors of a client no more. */
void td_passing_forget(struct td_passing *passing);
/* td_passing_send sends a reply, with a descriptor unless that is -1. It does not sleep, and
 * returns false with errno. */
bool td_passing_send(int socket, const uint8_t *bytes, size_t size, int fd);

#endif
