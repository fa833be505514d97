/* SPDX-License-Identifier: Apache-2.0 */
/* acceptor: accepts connections on a listening descriptor. If the process has no descriptors to
 * spare, it leaves the connections in the kernel's queue and pauses; otherwise the listener would
 * stay readable and the loop would spin. If descriptors still lack after the pause, it may refuse
 * them.
 * Owns: the descriptor. */
#ifndef TD_IO_ACCEPTOR_H
#define TD_IO_ACCEPTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct td_acceptor {
    int fd;
    uv_poll_t poll;
    uv_timer_t pause;   /* runs from when connections were left in the queue to `lacking` */
    uint64_t logged_at; /* time of the last log line about it, ns */
    const char *what;
    const struct td_acceptor_calls *calls;
    unsigned handles;
    void *user;
    void (*stopped)(void *user);
};

/* struct td_acceptor_calls: what the owner of an acceptor does. */
struct td_acceptor_calls {
    /* It returns true if there are descriptors for one more connection, beside those that are
     * reserved for other uses. */
    bool (*has_room)(void *user);
    /* It owns the descriptor of a new connection. */
    void (*accepted)(void *user, int fd);
    /* Descriptors have lacked for a pause: it may accept and refuse connections. listener -1: they
     * do not lack any more. NULL: connections wait. */
    void (*lacking)(void *user, int listener);
};

/* td_acceptor_start calls `accepted` with the descriptor of each new connection. `what` names the
 * connections in the log, e.g. "clients". It owns fd from now on. On false errno has the error and
 * fd is closed. */
bool td_acceptor_start(struct td_acceptor *acceptor, uv_loop_t *uv, int fd, const char *what,
                       const struct td_acceptor_calls *calls, void *user);
/* td_acceptor_resume tries again: call it when a descriptor was closed. The pause goes on, so that
 * `lacking` is called at its end. */
void td_acceptor_resume(struct td_acceptor *acceptor);
/* td_acceptor_renew accepts at another descriptor from now on, which it owns, and closes the first
 * one, after it has accepted the connections that wait there. */
void td_acceptor_renew(struct td_acceptor *acceptor, int fd);
/* td_acceptor_stop stops accepting. It calls `stopped`, if not NULL, when the acceptor's memory may
 * be freed. */
void td_acceptor_stop(struct td_acceptor *acceptor, void (*stopped)(void *user));

#endif
