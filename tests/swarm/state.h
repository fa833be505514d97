/* SPDX-License-Identifier: Apache-2.0 */
/* state: the records of a case that is played, which the files of this folder share. */
#ifndef SWARM_STATE_H
#define SWARM_STATE_H

#include "sim/checker.h"
#include "sim/clients.h"
#include "sim/clock.h"
#include "sim/disturbances.h"
#include "sim/faults.h"
#include "calls.h"
#include "play.h"

enum {
    SWARM_PROCESSES_MAX = 1200,
    SWARM_PARTIES_MAX = 1000,
    SWARM_JOBS_MAX = 5,
    SWARM_PROGRAMS_MAX = 24,
    SWARM_REQUEST_MS = 5000, /* the time limit of joins and shrinks */
    SWARM_NONE = UINT32_MAX,
};
#define SWARM_MS ((td_time)1000000)

/* struct swarm_process: a process with one job. */
struct swarm_process {
    uint32_t node, client, job, rank, region;
    bool dead;   /* it or its daemon died */
    bool left;   /* it left its job */
    bool buried; /* its daemon died */
};

/* struct swarm_seat: a member of a group. */
struct swarm_seat {
    uint32_t process;           /* SWARM_NONE: not known yet */
    uint32_t group;             /* its daemon's number */
    uint32_t next;              /* the call that it makes next */
    uint64_t making, shrinking; /* requests without reply */
    td_time shrunk_at;          /* when it last called a shrink; 0: it has not */
    bool again;                 /* its shrink ended, and it is to call again */
    bool has, left, told;       /* told: of the end of a shrink */
    td_err end;                 /* of the shrink */
};

/* struct swarm_operation: a call of a group. */
struct swarm_operation {
    struct swarm_call call;
    bool cancelled;
    uint32_t odd;  /* the member that makes another call; SWARM_NONE: none */
    uint32_t made; /* members that have made it */
    struct swarm_part {
        uint64_t request; /* 0: none under way */
        bool made, replied;
        uint32_t region; /* of the buffers */
        uint64_t hash;   /* of the buffers, at the reply */
    } * part;            /* [size] */
};

/* struct swarm_party: a job's world, or a group. */
struct swarm_party {
    uint32_t job, size;
    uint64_t instance; /* 0: no rank has the group */
    struct swarm_seat *seat;
    uint32_t parent;  /* of a group that was made of another one's ranks, */
    uint64_t *member; /* which are these */
    struct swarm_operation *operation;
    uint32_t operations, room;
    uint32_t successor; /* the latest one; SWARM_NONE: none */
    uint8_t *left_out;  /* bits of the members that are not in it */
    bool broken, shrinks, is_world;
};

/* struct swarm_program: steps that members of a group make, each at its own pace. */
enum swarm_step_kind {
    SWARM_STEP_MAKE,
    SWARM_STEP_SHRINK,
    SWARM_STEP_FREE_SUCCESSOR,
    SWARM_STEP_FREE,
};
struct swarm_program {
    uint32_t parent, size, steps;
    uint64_t *member; /* [size] the rank in the parent of each member */
    struct swarm_step {
        enum swarm_step_kind kind;
        uint32_t party;
    } * step;
    uint32_t *at;                /* [size] the next step of each member */
    uint32_t late, late_percent; /* a member that seldom makes a step until the faults are over */
    uint32_t skips;              /* the member that frees groups without calls; SWARM_NONE: none */
};

struct swarm {
    const struct swarm_case *c;
    uint32_t without;
    struct td_sim *sim;
    struct swarm_report *report;
    void (*fail)(const char *text);
    uint64_t random;
    uint32_t nodes;
    struct swarm_process process[SWARM_PROCESSES_MAX];
    uint32_t processes, jobs;
    uint64_t used; /* of the halves of all regions */
    struct swarm_party party[SWARM_PARTIES_MAX];
    uint32_t parties;
    struct swarm_program program[SWARM_PROGRAMS_MAX];
    uint32_t programs;
    uint64_t steps_made; /* of programs */
    bool settles;        /* the faults are over */
    char error[600];     /* the last one that a rank was told */
    /* nodes and ranks that a fault has hit: */
    bool daemon_dead[SWARM_NODES_MAX], hurt[SWARM_NODES_MAX], starved[SWARM_NODES_MAX];
    bool paused[SWARM_NODES_MAX], restarted[SWARM_NODES_MAX]; /* at any time */
    bool any_hurt, any_starved, any_slow, any_gone;           /* gone: a process died or left */
    td_time compute_ns[SWARM_NODES_MAX];
    struct swarm_active { /* a fault that has begun */
        const struct swarm_fault *fault;
        td_time end;
    } active[SWARM_FAULTS_MAX];
    uint32_t actives;
};

/* swarm_failed ends the case. */
_Noreturn void swarm_failed(const struct swarm *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
uint64_t swarm_below(struct swarm *s, uint64_t bound);
/* swarm_run lets time pass, and ends faults that are over. */
void swarm_run(struct swarm *s, td_time duration);

#endif
