/* SPDX-License-Identifier: Apache-2.0 */
/* closer: closes descriptors of clients, maps, unmaps and populates their memory, on threads of its
 * own.
 *
 * The loop closes nothing that a client has passed or connected, because close() may sleep for as
 * long as a client likes: on a socket with SO_LINGER, or on a file of a FUSE file system whose
 * server does not answer. close() of a connection also closes the descriptors of its unread
 * requests. To unmap gigabytes takes seconds, and so does mapping their pages, which the first
 * operation would do otherwise; to return what malloc keeps takes milliseconds. The threads are not
 * libuv's, which compute.
 *
 * A thread that sleeps harms its user alone: each user has a queue (closing.h) and occupies at most
 * TD_CLOSER_USER_THREADS of them, and the caller reads no more from a user with
 * TD_CLOSER_PENDING_MAX things to close.
 * Owns: what it was given, until it is closed. Borrows: the loop. */
#ifndef TD_IO_CLIENTS_CLOSER_H
#define TD_IO_CLIENTS_CLOSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum { TD_CLOSER_THREADS = 64, TD_CLOSER_USER_THREADS = 4, TD_CLOSER_PENDING_MAX = 32 };

#define TD_CLOSER_NOBODY UINT64_MAX /* the user of what no user waits for */

struct td_closer;

/* td_closer_create starts the first thread. It returns NULL if the system has no memory or thread.
 * The loop's thread calls `closed` when something was closed since its last call. */
struct td_closer *td_closer_create(uv_loop_t *uv, void (*closed)(void *user), void *user);
/* td_closer_stop ends the calls of `closed`. td_closer_destroy, after the loop has closed its
 * handles, waits for at most a second. What still sleeps then ends with the process. */
void td_closer_stop(struct td_closer *closer);
void td_closer_destroy(struct td_closer *closer);
/* td_closer_close closes a descriptor of a user; td_closer_unmap unmaps memory. td_closer_populate
 * maps the pages of memory that exist in its file; td_closer_touch does so with a few pages, and
 * makes those that do not exist. The memory is unmapped here, too. */
void td_closer_close(struct td_closer *closer, uint64_t uid, int fd);
void td_closer_unmap(struct td_closer *closer, uint64_t uid, void *base, size_t bytes);
void td_closer_populate(struct td_closer *closer, uint64_t uid, void *base, size_t bytes);
void td_closer_touch(struct td_closer *closer, uint64_t uid, void *base, size_t bytes);
/* struct td_closer_call: a part of the record of work that may sleep for as long as a client likes.
 * `work` runs on a thread, before what else waits there for its user; `done` follows on the loop's
 * thread. If the closer stops before that, `drop` frees the record instead, on any thread; `work`
 * may not have run. */
struct td_closer_call {
    void (*work)(struct td_closer_call *call);
    void (*done)(struct td_closer_call *call);
    void (*drop)(struct td_closer_call *call);
    struct td_closer_call *next;
};
/* td_closer_call returns false if there is no memory for it; the caller keeps the record then. */
bool td_closer_call(struct td_closer *closer, uint64_t uid, struct td_closer_call *call);
/* td_closer_trim returns the pages that malloc keeps to the system. */
void td_closer_trim(struct td_closer *closer);
/* td_closer_pending returns the number of things of a user that are not closed yet, in the same
 * time for any number of things. */
uint32_t td_closer_pending(struct td_closer *closer, uint64_t uid);

#endif
