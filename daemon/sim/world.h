/* SPDX-License-Identifier: Apache-2.0 */
/* world: the driver of simulations. It runs the cores of all nodes of a torus in one process and in
 * virtual time. Links lose nothing unless a test breaks them, and a test plays the clients. The
 * seed determines every delay, and so every order that the real driver leaves open:
 *   - messages of a pair of nodes take different times but arrive in order, tree messages and
 *     packets apart; if tree messages take two paths, those of each path;
 *   - the bytes of a packet are read at some time before SENT, and some of them are stored at
 *     their destination before the packet has arrived;
 *   - a computation ends at a time of its own. It reads and writes either when it is issued or when
 *     it ends, so tests find a step that starts too early and one that relies on a late step;
 *   - scratch is poisoned whenever a node does not use any.
 * Messages, requests, replies and packet headers pass through td_wire, as on sockets.
 *
 * With `modelled` links nothing is random: a packet takes the time of the settings' link rate, a
 * tree message a fixed time per hop, and all else no time. While no link was cut, a tree message is
 * one event, at its destination: the nodes on its route would forward it at once and keep nothing.
 * If memory is `timing_only` too, no heartbeats travel down the tree until then. This is the torus
 * of torus-sim.
 *
 * Owns: cores, clients and their memory. A world's history is a function of its options and of the
 * calls on it. An error of the core towards its driver (a region used after its release, a tree
 * message that is too long) aborts. */
#ifndef TD_SIM_WORLD_H
#define TD_SIM_WORLD_H

#include <stdio.h>

#include "core/core.h"

struct td_sim;

enum { TD_SIM_CONTROL_LATENCIES = 10 };

struct td_sim_options {
    const char *shape;
    uint64_t seed;
    struct td_settings settings;
    td_time latency_ns_max; /* greatest latency of a message between nodes */
    td_time compute_ns_max; /* of a computation, and until the bytes of a packet are read */
    td_time request_ns_max; /* greatest latency of a request */
    FILE *trace;            /* a line for each event; NULL: none */
    /* changes what one node is given at its start; NULL: all are given the same */
    void (*differ)(uint32_t node, struct td_core_options *options);
    bool modelled;
    bool timing_only;             /* packets and memory have sizes, but no bytes */
    td_time control_ns;           /* modelled: of a tree message, a hop */
    uint32_t relay_loss_permille; /* not modelled: forwarded tree messages that are lost */
    /* not modelled: numbered tree messages that take the express path. The other path is then
     * slower, TD_SIM_CONTROL_LATENCIES times. */
    uint32_t express_permille;
    struct td_observer { /* may be empty */
        /* modelled: a packet begins a hop, after it `waited` in a channel (timing-only worlds) */
        void (*hop)(void *me, td_time now, uint32_t node, unsigned direction, uint32_t bytes,
                    td_time waited);
        /* a node passes on a release, or a root's request to announce again */
        void (*release)(void *me, td_time now);
        /* a process has received a reply, which is valid, with the rows of a status, until `reply`
         * returns */
        void (*reply)(void *me, uint32_t client, const struct td_reply *reply);
        void *me;
    } observer;
    /* A hostile daemon changes what it sends (not modelled). Its messages may then be malformed. */
    struct td_tamper {
        /* false: the message is not sent */
        bool (*message)(void *me, uint32_t from, uint32_t to, struct td_message *message);
        void (*packet)(void *me, uint32_t from, uint32_t to, struct td_packet *header);
        void *me;
    } tamper;
    /* Workers that are slow or fail (not modelled). */
    struct td_sim_workers {
        /* returns the error with which a computation ends, and how much *later it ends */
        td_err (*compute)(void *me, uint32_t node, const struct td_compute *compute,
                          td_time *later);
        /* NULL, or hears of what the executions of a plan will use: a PREPARE_ action */
        void (*prepare)(void *me, uint32_t node, const struct td_action *action);
        void *me;
    } workers;
};
/* td_sim_options_default sets little memory and delays of microseconds. */
void td_sim_options_default(struct td_sim_options *options, const char *shape, uint64_t seed);

/* td_sim_create returns NULL if the shape is malformed or memory runs out. The links of all pairs
 * come up at time 0. */
struct td_sim *td_sim_create(const struct td_sim_options *options);
void td_sim_destroy(struct td_sim *sim);
uint32_t td_sim_nodes(const struct td_sim *sim);
/* td_sim_connected returns true if two nodes have a connection: on the routed fabric, torus
 * neighbours. */
bool td_sim_connected(const struct td_sim *sim, uint32_t a, uint32_t b);
const struct td_router *td_sim_router(const struct td_sim *sim, uint32_t node);
/* td_sim_events returns the number of events so far. */
uint64_t td_sim_events(const struct td_sim *sim);
uint64_t td_sim_random(struct td_sim *sim, uint64_t below);
/* td_sim_hash returns a hash of the history. */
uint64_t td_sim_hash(const struct td_sim *sim);

/* ---- for the files of this folder ---- */

/* world_start_node makes the core and the memory of a node. It returns false if memory runs out. */
bool world_start_node(struct td_sim *sim, uint32_t node);

#endif
