/* SPDX-License-Identifier: Apache-2.0 */
/* attack_local: a process of another user on the node of the attacked daemon, which has no rights
 * there. It tries everything that the first table of docs/security.md lists, until it is told to
 * end. It is a process of its own, so it records what it finds in shared memory. */
#ifndef TD_TESTS_ATTACK_LOCAL_H
#define TD_TESTS_ATTACK_LOCAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct local_attack {
    atomic_bool ends;
    atomic_uint rounds;
    atomic_uint expelled; /* connections that the daemon ended; its log counts them */
    atomic_uint refused;  /* requests that it refused with a sentence */
    atomic_uint denied;   /* attempts that the kernel denied */
    bool has_rights;  /* the test is not root, so the attacker is its user, and has its rights */
    char breach[200]; /* what succeeded and must not; "": nothing */
};

/* local_attack_start starts the attacker of node 0 of daemons.h. `daemon`: the daemon; `rank`: a
 * process that is a rank. It makes the folder of the daemons accessible to other users. */
struct local_attack *local_attack_start(pid_t daemon, pid_t rank);
/* local_attack_end waits until the attacker has ended its round, and fails the test after a breach.
 */
void local_attack_end(struct local_attack *attack);

#endif
