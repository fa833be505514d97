/* SPDX-License-Identifier: Apache-2.0 */
/* world: driver 2. The cores of all nodes of a torus in one process and in virtual time, over
 * links that lose nothing unless a test breaks them, with clients that a test plays. Every delay,
 * and so every order that the real driver leaves open, is drawn from the seed:
 *   - messages of a pair of nodes take some time each, but come in order, tree and bulk apart;
 *   - the bytes of a packet are read at some time before SENT, and some of them are where they are
 *     to be before it has come;
 *   - a computation ends at a time of its own. It reads and writes either when it is issued or when
 *     it ends, so a step that starts too early and one that relies on being late are both found;
 *   - scratch is poisoned whenever a node has none in use.
 * Messages, requests, replies and packet headers pass through td_wire, as they do on sockets.
 *
 * With `modelled` links nothing is drawn: a packet takes as long as the link rate of the settings
 * says, a tree message a fixed time a hop, all else no time; and where memory is hollow, too, there
 * are no heartbeats down the tree while no link was torn. That is the torus of torus-sim.
 *
 * Owns: cores, clients and their memory. A world's history is a function of its options and of what
 * is called on it. Mistakes of the core towards its driver (a region used after it was released, a
 * tree message that is too long) abort. */
#ifndef TD_SIM_WORLD_H
#define TD_SIM_WORLD_H

#include <stdio.h>

#include "core/core.h"

struct td_sim;

struct td_sim_options {
    const char *shape;
    uint64_t seed;
    struct td_settings settings;
    td_time latency_ns_max; /* of a message between nodes */
    td_time compute_ns_max; /* of a computation, and until a packet's bytes are read */
    td_time request_ns_max; /* from a client to its daemon */
    FILE *trace;            /* what happens, a line each; NULL: none */
    bool modelled;
    bool hollow;         /* packets and memory have sizes, but no bytes */
    td_time control_ns;  /* modelled: of a tree message, a hop */
    struct td_observer { /* may be empty */
        /* modelled: a packet begins a hop, after it `waited` in a channel (hollow worlds only) */
        void (*hop)(void *me, td_time now, uint32_t node, unsigned direction, uint32_t bytes,
                    td_time waited);
        /* a root releases an operation */
        void (*release)(void *me, td_time now);
        void *me;
    } observer;
};
/* td_sim_options_default: settings with little memory, and delays of microseconds. */
void td_sim_options_default(struct td_sim_options *options, const char *shape, uint64_t seed);

/* td_sim_create returns NULL when the shape is wrong or there is no memory. The links of all pairs
 * come up at time 0. */
struct td_sim *td_sim_create(const struct td_sim_options *options);
void td_sim_destroy(struct td_sim *sim);
uint32_t td_sim_nodes(const struct td_sim *sim);
const struct td_router *td_sim_router(const struct td_sim *sim, uint32_t node);
/* td_sim_events returns how many things have happened. */
uint64_t td_sim_events(const struct td_sim *sim);
uint64_t td_sim_random(struct td_sim *sim, uint64_t below);

/* ---- time ---- */

td_time td_sim_now(const struct td_sim *sim);
/* td_sim_next returns when something is going to happen next, TD_TIME_NEVER when nothing is. */
td_time td_sim_next(const struct td_sim *sim);
/* td_sim_run handles what happens in the next `duration_ns`. */
void td_sim_run(struct td_sim *sim, td_time duration_ns);
/* td_sim_settle runs until every request of an open client has its reply; false when that takes
 * longer than `limit_ns`. */
bool td_sim_settle(struct td_sim *sim, td_time limit_ns);
/* td_sim_hash is equal for equal histories. */
uint64_t td_sim_hash(const struct td_sim *sim);

/* ---- clients ---- */

/* td_sim_open connects a process to its node's daemon and greets it; returns its number. */
uint32_t td_sim_open(struct td_sim *sim, uint32_t node);
/* td_sim_close ends the process, whatever it is doing. */
void td_sim_close(struct td_sim *sim, uint32_t client);
/* td_sim_closed: whether the daemon has closed the connection, or died. */
bool td_sim_closed(const struct td_sim *sim, uint32_t client);
/* td_sim_region shares memory with the daemon; returns the region's number. */
uint32_t td_sim_region(struct td_sim *sim, uint32_t client, uint64_t bytes);
/* td_sim_memory returns where the region is. It is the client's until the world ends. */
void *td_sim_memory(struct td_sim *sim, uint32_t client, uint32_t region);
/* td_sim_request sends a request, with an id of its own, and returns the id. */
uint64_t td_sim_request(struct td_sim *sim, uint32_t client, const struct td_request *request);
/* td_sim_reply returns the reply to a request, NULL while there is none. Id 0: what the daemon said
 * unasked. Status rows are not kept. */
const struct td_reply *td_sim_reply(const struct td_sim *sim, uint32_t client, uint64_t id);
/* td_sim_forget drops the replies so far, of all clients. */
void td_sim_forget(struct td_sim *sim);

/* ---- faults ---- */

/* td_sim_kill_node: the daemon dies with its clients; the others' links to it go down. */
void td_sim_kill_node(struct td_sim *sim, uint32_t node);
/* td_sim_start_node starts a daemon where one was killed, so long ago that nothing of it is under
 * way any more. Links to it come up within 10 ms. */
void td_sim_start_node(struct td_sim *sim, uint32_t node);
/* td_sim_freeze_node: it says and does nothing any more, and nobody is told. */
void td_sim_freeze_node(struct td_sim *sim, uint32_t node);
/* td_sim_break_link: the link of two nodes goes down, and up again after a while. */
void td_sim_break_link(struct td_sim *sim, uint32_t a, uint32_t b);

/* ---- judging ---- */

void td_sim_counts(const struct td_sim *sim, uint32_t node, struct td_usage *counts);
/* td_sim_drops counts the links that a core dropped. */
uint64_t td_sim_drops(const struct td_sim *sim);
/* td_sim_landings counts the packets of which some came to their place before the rest. */
uint64_t td_sim_landings(const struct td_sim *sim);
/* td_sim_leftovers returns NULL when no live node holds anything, after all clients were closed;
 * else a sentence, valid until the next call. */
const char *td_sim_leftovers(struct td_sim *sim);

#endif
