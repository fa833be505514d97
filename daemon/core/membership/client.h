/* SPDX-License-Identifier: Apache-2.0 */
/* client: local processes, and the memory that they share with the daemon.
 * Owns: clients, and regions until nothing uses them. A region outlives its client while an
 * operation moves its bytes. The record of a client that is gone stays until all of its ranks are
 * lost: a client with many groups is forgotten in several steps.
 * Invariant: the driver keeps a region mapped exactly while it is on a client's list, in use, or on
 * clients->dead_regions. */
#ifndef TD_CORE_MEMBERSHIP_CLIENT_H
#define TD_CORE_MEMBERSHIP_CLIENT_H

#include "account.h"

#define TD_HELLO_NS ((td_time)5000000000)

enum { TD_PROGRAM_MAX = 64, TD_CLIENT_BUCKETS = 256 };

struct td_region {
    struct td_region *next;
    struct td_account *account;
    uint32_t number; /* the client's number for it */
    uint32_t handle; /* the driver's handle */
    uint64_t bytes;
    uint32_t uses; /* sources and destinations of operations */
    bool failed;   /* its bytes are lost (SIGBUS) */
    bool orphan;   /* off its client's list: freed after the last use */
};

/* struct td_client_stop: a process that was seen to be stopped (operation/stopped.h). */
struct td_client_stop {
    enum td_outage kind; /* TD_OUTAGE_NONE: it was not, when it was looked at last */
    td_time looked_at;   /* 0: never */
    td_time from, seen;  /* when it was seen to be stopped first and last */
};

struct td_client {
    struct td_client *next;
    uint32_t id; /* the driver's number */
    uint64_t uid, pid;
    struct td_account *account;
    td_time opened_at;
    bool greeted;           /* its HELLO has come */
    bool observes;          /* it may see the jobs of all users */
    bool spare;             /* [limits] clients does not count it, until it joins a job */
    uint32_t groups;        /* seats that it has */
    uint32_t regions_count; /* on the list */
    char program[TD_PROGRAM_MAX];
    struct td_region *regions;
    bool wants_room;   /* this node had no room for a call of it */
    td_time failed_at; /* its latest answer to a call for an operation was an error; 0: it was not.
                          Calls in a segment are not known here */
    struct td_client_stop stop;
    struct td_client *next_leaving; /* in the list `leaving` */
    /* It has lost its seats in the groups whose numbers are above left_from, up to left_to. */
    uint32_t left_from, left_to;
};

struct td_clients {
    struct td_client *bucket[TD_CLIENT_BUCKETS]; /* by number */
    struct td_region *dead_regions;              /* still to be released by the driver */
    struct td_task dead_task;
    bool room_wanted; /* by some client */
    struct td_task room_task;
    struct td_client *leaving; /* gone, but not all of its ranks are lost yet */
    struct td_task leaving_task;
    uint32_t silent; /* clients whose HELLO has not come */
    uint32_t spare;  /* clients that the limit does not count */
};

/* td_client_init prepares the task for clients that leave. */
void td_client_init(struct td_core *core);
/* td_client_timers expels clients that have sent no HELLO in TD_HELLO_NS. */
void td_client_timers(struct td_core *core);
/* td_client_resumed gives them more time, after a time in which this daemon did not run. */
void td_client_resumed(struct td_core *core, td_time ns);
/* td_client_find returns the client with that number, or NULL. */
struct td_client *td_client_find(struct td_core *core, uint32_t id);
/* Root and the daemon's own user can look at a daemon that has [limits] clients, and end calls
 * there: so many more connections are accepted from them. A join on one of them is refused. */
enum { TD_CLIENTS_SPARE = 8 };

/* td_client_open accepts a new connection, or refuses it with a sentence. */
void td_client_open(struct td_core *core, uint32_t id, uint64_t uid, uint64_t pid);
/* td_client_observes records whether a client may see the jobs of all users. */
void td_client_observes(struct td_core *core, uint32_t id, bool observes);
/* td_client_request handles HELLO, REGION, UNREGION and a JOIN without a place, and returns NULL.
 * It returns the client if the request is of another kind, for another module. It also returns NULL
 * if the client is gone, or breaks the protocol and is expelled. */
struct td_client *td_client_request(struct td_core *core, uint32_t id,
                                    const struct td_request *request);
/* td_client_close forgets a client that is gone: its ranks are lost. */
void td_client_close(struct td_core *core, uint32_t id);
/* td_client_expel closes the connection of a client that broke the protocol, with a sentence. */
void td_client_expel(struct td_core *core, uint32_t id, td_err error, const char *text);
/* td_client_wait_for_room notes that this node had no room for a call of a client. td_client_room
 * tells these clients that there may be room now. */
void td_client_wait_for_room(struct td_core *core, struct td_client *client);
void td_client_room(struct td_core *core);
/* td_client_region_failed marks a region whose bytes are lost. */
void td_client_region_failed(struct td_core *core, uint32_t handle);

/* td_client_region returns the driver's handle of a region of the client; 0: it has not shared that
 * region, or its bytes are lost. */
uint32_t td_client_region(struct td_client *client, uint32_t number);
/* td_region_use finds the region that a place of the client names, and checks that it holds
 * need_bytes. On TD_OK *region (NULL if need_bytes is 0) is in use until td_region_release.
 * Otherwise *text is a sentence; `what` is "source" or "destination". */
td_err td_region_use(struct td_core *core, struct td_client *client, const struct td_place *place,
                     uint64_t need_bytes, const char *what, struct td_region **region,
                     const char **text);
void td_region_release(struct td_core *core, struct td_region *region);

#endif
