/* SPDX-License-Identifier: Apache-2.0 */
/* running: the ranks of one side of a comparison: started, until all have said over a Unix socket
 * who they are, and stopped. */
#ifndef BENCH_RUNNING_H
#define BENCH_RUNNING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { RUNNING_RANKS_MAX = 16 };

/* struct greeting: the first thing a rank says. */
struct greeting {
    uint32_t rank, ranks;
};

/* struct launch: what is to be started. */
struct launch {
    const char *bench;   /* which comparison, for messages */
    const char *side;    /* which side */
    const char *folder;  /* has the program and torusctl */
    const char *program; /* of the ranks */
    const char *socket;  /* the environment variable with the socket's path */
    bool mpi;            /* by mpirun, else by torusctl emulate */
    const char *setting; /* of the daemons, SECTION.KEY=VALUE; NULL: none */
    uint32_t nodes, ranks_per_node;
};

struct running {
    pid_t pid;
    const char *side;
    uint32_t ranks;
    int fd[RUNNING_RANKS_MAX]; /* of rank i */
};

/* running_start starts a side and waits until all its ranks are there; false: it said why. */
bool running_start(struct running *r, const struct launch *launch);
void running_stop(struct running *r);
/* running_readable waits until there is something to read. */
bool running_readable(int fd, int timeout_ms);

#endif
