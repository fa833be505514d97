/* SPDX-License-Identifier: Apache-2.0 */
/* emulation: the state of an emulated torus and its ranks, which the files of this folder share. Of
 * torusctl run it has ranks only: there are no nodes, and no daemon is started. */
#ifndef TORUSCTL_EMULATION_H
#define TORUSCTL_EMULATION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/limits.h"
#include "janitor.h"
#include "model/topology.h"
#include "torus/torus.h"
#include "output.h"

enum { SETTINGS_MAX = 64 };

struct rank {
    pid_t pid; /* 0: ended */
    uint32_t node;
    struct output output[2]; /* stdout and stderr */
};

struct emulation {
    /* options */
    struct td_topology topology;
    uint32_t ranks, ranks_per_node;
    uint32_t size;         /* ranks of the whole job */
    const char *socket;    /* of torusctl run; NULL: where the library looks */
    uint32_t metrics_port; /* of node 0; 0: none */
    bool tcp, verbose, keep_going;
    bool prefixed;                      /* all ranks print, each line after the rank's number */
    const char *settings[SETTINGS_MAX]; /* SECTION.KEY=VALUE */
    int settings_count;
    char **command;
    /* this process */
    char folder[64], job[TD_NAME_MAX];
    struct janitor janitor;
    int signals;      /* signalfd */
    int interrupted;  /* number of signals to end */
    uint64_t sent;    /* bit S: this process has sent signal S to the ranks */
    double kill_at_s; /* CLOCK_MONOTONIC: when ranks that a signal has not ended are killed; 0:
                         never */
    int code;         /* exit code */
    /* daemons */
    char daemon[PATH_MAX];
    unsigned base_port;
    int life[2];      /* pipe that the daemons watch */
    int notify;       /* socket on which they report that they are ready */
    pid_t *daemons;   /* [nodes], 0: ended; in memory shared with the janitor */
    bool served;      /* all daemons have been ready */
    bool daemon_lost; /* a daemon ended by itself */
    /* ranks */
    struct rank *rank;
    uint32_t running;
    double tell_at_s; /* CLOCK_MONOTONIC: when it is told that the job waits for ranks; 0: never */
    uint32_t joined;  /* ranks that had joined at the last look at a job that formed */
    struct {          /* the first rank that has ended (forming.h) */
        bool any;
        uint32_t rank;
        int code;
        double look_at_s,
            step_s;             /* CLOCK_MONOTONIC: the next look, and the time to the one after */
        torus_context *context; /* with node 0; NULL: none is open */
    } ended;
};

#endif
