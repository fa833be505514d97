/* SPDX-License-Identifier: Apache-2.0 */
/* hostile_user: a user who takes all that the limits of a daemon allow, in one of several ways, and
 * goes on asking. It runs in a process of its own, at node 0 of daemons.h, until a time. */
#ifndef TD_TESTS_HOSTILE_USER_H
#define TD_TESTS_HOSTILE_USER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/client.h"

/* struct hostile: of one process, in memory that it shares with the test. */
struct hostile {
    double until;         /* seconds() */
    atomic_uint answered; /* requests */
    atomic_uint refused;  /* of these, with an error */
};

struct hostile_kind {
    const char *name;
    void (*run)(struct hostile *me);
};
extern const struct hostile_kind hostile_kinds[];
enum { HOSTILE_KINDS = 9 };

/* hostile_become gives up all rights: the process belongs to a user. It ends the process if it
 * cannot. */
void hostile_become(uint32_t uid);
/* hostile_open connects and says HELLO; -1: it was refused. */
int hostile_open(const char *program);
/* hostile_send sends a request with a descriptor (-1: none). It returns false if the connection has
 * ended, or its buffer is full. hostile_hear reads a reply, and closes a descriptor that comes with
 * it. */
bool hostile_send(int fd, const struct td_request *q, int pass);
bool hostile_hear(int fd, struct td_reply *reply);
/* hostile_memory returns a memfd of so many bytes that a daemon accepts. */
int hostile_memory(uint64_t bytes);

#endif
