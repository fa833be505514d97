/* SPDX-License-Identifier: Apache-2.0 */
/* acceptor: takes connections off a listening descriptor, and leaves them in its queue while the
 * process has no descriptors for more: it would be readable for ever, and the loop would never
 * wait.
 * Owns: the descriptor. */
#ifndef TD_IO_ACCEPTOR_H
#define TD_IO_ACCEPTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct td_acceptor {
    int fd;
    uv_poll_t poll;
    uv_timer_t pause; /* runs while those who connect are left waiting */
    uint64_t told_at; /* that they are, ns */
    const char *whom;
    int spare; /* descriptors that are left to others */
    unsigned handles;
    void (*take)(void *user, int fd);
    void *user;
    void (*gone)(void *user);
};

/* td_acceptor_start calls `take` with the descriptor, which is then its, of each who connects,
 * while so many are left; `whom` is for the log, "clients". It takes over fd. False with errno: it
 * has closed fd. */
bool td_acceptor_start(struct td_acceptor *acceptor, uv_loop_t *uv, int fd, const char *whom,
                       int spare, void (*take)(void *user, int fd), void *user);
/* td_acceptor_resume looks again, since a descriptor has become free. */
void td_acceptor_resume(struct td_acceptor *acceptor);
/* td_acceptor_stop: `gone`, if not NULL, is called when the memory is not needed any more. */
void td_acceptor_stop(struct td_acceptor *acceptor, void (*gone)(void *user));

#endif
