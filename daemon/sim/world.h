/* SPDX-License-Identifier: Apache-2.0 */
/* world: driver 2. It runs the cores of all nodes of a torus in one process and in virtual time.
 * Links lose nothing unless a test breaks them, and a test plays the clients. The seed determines
 * every delay, and so every order that the real driver leaves open:
 *   - messages of a pair of nodes take different times but arrive in order, tree messages and
 *     packets apart;
 *   - the bytes of a packet are read at some time before SENT, and some of them are stored at
 *     their destination before the packet has arrived;
 *   - a computation ends at a time of its own. It reads and writes either when it is issued or when
 *     it ends, so tests find a step that starts too early and one that relies on a late step;
 *   - scratch is poisoned whenever a node does not use any.
 * Messages, requests, replies and packet headers pass through td_wire, as on sockets.
 *
 * With `modelled` links nothing is random: a packet takes the time of the settings' link rate, a
 * tree message a fixed time per hop, and all else no time. If memory is `hollow` too, no heartbeats
 * travel down the tree while no link was cut. This is the torus of torus-sim.
 *
 * Owns: cores, clients and their memory. A world's history is a function of its options and of the
 * calls on it. An error of the core towards its driver (a region used after its release, a tree
 * message that is too long) aborts. */
#ifndef TD_SIM_WORLD_H
#define TD_SIM_WORLD_H

#include <stdio.h>

#include "core/core.h"

struct td_sim;

struct td_sim_options {
    const char *shape;
    uint64_t seed;
    struct td_settings settings;
    td_time latency_ns_max; /* greatest latency of a message between nodes */
    td_time compute_ns_max; /* of a computation, and until the bytes of a packet are read */
    td_time request_ns_max; /* greatest latency of a request */
    FILE *trace;            /* a line for each event; NULL: none */
    bool modelled;
    bool hollow;                  /* packets and memory have sizes, but no bytes */
    td_time control_ns;           /* modelled: of a tree message, a hop */
    uint32_t relay_loss_permille; /* not modelled: forwarded tree messages that are lost */
    struct td_observer {          /* may be empty */
        /* modelled: a packet begins a hop, after it `waited` in a channel (hollow worlds only) */
        void (*hop)(void *me, td_time now, uint32_t node, unsigned direction, uint32_t bytes,
                    td_time waited);
        /* a root releases an operation */
        void (*release)(void *me, td_time now);
        void *me;
    } observer;
};
/* td_sim_options_default sets little memory and delays of microseconds. */
void td_sim_options_default(struct td_sim_options *options, const char *shape, uint64_t seed);

/* td_sim_create returns NULL if the shape is malformed or without memory. The links of all pairs
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

/* ---- time ---- */

td_time td_sim_now(const struct td_sim *sim);
/* td_sim_next returns the time of the next event, or TD_TIME_NEVER. */
td_time td_sim_next(const struct td_sim *sim);
/* td_sim_run handles the events of the next `duration_ns`. */
void td_sim_run(struct td_sim *sim, td_time duration_ns);
/* td_sim_settle runs until every request of an open client has its reply. It returns false if that
 * takes longer than `limit_ns`. */
bool td_sim_settle(struct td_sim *sim, td_time limit_ns);
/* td_sim_hash returns a hash of the history. */
uint64_t td_sim_hash(const struct td_sim *sim);

/* ---- clients ---- */

/* td_sim_open connects a process to its node's daemon, sends HELLO and returns the client's number.
 */
uint32_t td_sim_open(struct td_sim *sim, uint32_t node);
/* td_sim_close ends the process, whatever it does. */
void td_sim_close(struct td_sim *sim, uint32_t client);
/* td_sim_closed returns true if the daemon has closed the connection or died. */
bool td_sim_closed(const struct td_sim *sim, uint32_t client);
/* td_sim_region shares memory with the daemon and returns the region's number. */
uint32_t td_sim_region(struct td_sim *sim, uint32_t client, uint64_t bytes);
/* td_sim_memory returns the address of the region. It stays valid until the world ends. */
void *td_sim_memory(struct td_sim *sim, uint32_t client, uint32_t region);
/* td_sim_request sends a request with an id of its own and returns the id. */
uint64_t td_sim_request(struct td_sim *sim, uint32_t client, const struct td_request *request);
/* td_sim_reply returns the reply to a request, or NULL if there is none yet. Id 0: a message that
 * no request asked for. Status rows are not kept. */
const struct td_reply *td_sim_reply(const struct td_sim *sim, uint32_t client, uint64_t id);
/* td_sim_forget frees the replies of all clients so far. */
void td_sim_forget(struct td_sim *sim);

/* ---- faults ---- */

/* td_sim_kill_node kills the daemon and its clients. The links of other nodes to it go down. */
void td_sim_kill_node(struct td_sim *sim, uint32_t node);
/* td_sim_start_node starts a daemon where one was killed. The kill must be so long ago that none of
 * its messages is in flight. Links to it come up within 10 ms. */
void td_sim_start_node(struct td_sim *sim, uint32_t node);
/* td_sim_freeze_node makes the daemon silent. Other nodes get no notice. */
void td_sim_freeze_node(struct td_sim *sim, uint32_t node);
/* td_sim_break_link cuts the link of two nodes. It comes up again after 10 ms. */
void td_sim_break_link(struct td_sim *sim, uint32_t a, uint32_t b);

/* ---- checks ---- */

/* td_sim_drops returns the number of links that a core dropped. */
uint64_t td_sim_drops(const struct td_sim *sim);
/* td_sim_landings returns the number of packets of which some bytes were stored at their
 * destination before the rest. */
uint64_t td_sim_landings(const struct td_sim *sim);
/* td_sim_leftovers returns NULL if no live node holds anything; call it after all clients were
 * closed. Otherwise it returns a sentence, valid until the next call. */
const char *td_sim_leftovers(struct td_sim *sim);

#endif
