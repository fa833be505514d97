/* SPDX-License-Identifier: Apache-2.0 */
/* running: start and stop of the ranks of one side of a comparison. Each rank identifies itself
 * over a Unix socket. */
#ifndef BENCH_RUNNING_H
#define BENCH_RUNNING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { RUNNING_RANKS_MAX = 64 };

/* struct handshake: the first message of a rank. */
struct handshake {
    uint32_t rank, ranks;
};

/* What starts the ranks of a side. PLAIN: the bench itself; BENCH_RANK, BENCH_SIZE, BENCH_STORE (a
 * folder for the side's files) and BENCH_INTERFACE tell the ranks about each other. */
enum launcher { EMULATE, MPIRUN_OPENMPI, MPIRUN_MPICH, PLAIN };

/* struct launch: the ranks to start. */
struct launch {
    const char *bench;   /* name of the comparison, for messages */
    const char *side;    /* name of the side, for messages */
    const char *folder;  /* of the program and torusctl */
    const char *program; /* of the ranks */
    const char *socket;  /* the environment variable with the socket's path */
    enum launcher launcher;
    const char *setting;  /* of the daemons, SECTION.KEY=VALUE; NULL: none */
    const char *hosts;    /* the ranks run on hosts of this prefix (bench/hosts.sh); NULL: here */
    const char *security; /* on hosts: insecure, authenticate or encrypt */
    uint32_t nodes, ranks_per_node;
};

struct running {
    pid_t pid;
    const char *side;
    uint32_t ranks;
    int fd[RUNNING_RANKS_MAX]; /* socket of rank i */
    char store[64];            /* BENCH_STORE; empty: none */
};

/* running_start starts a side and waits until all its ranks have connected. It returns false after
 * a message. */
bool running_start(struct running *r, const struct launch *launch);
void running_stop(struct running *r);
/* running_readable waits until a socket is readable. */
bool running_readable(int fd, int timeout_ms);

#endif
