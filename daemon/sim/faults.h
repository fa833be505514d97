/* SPDX-License-Identifier: Apache-2.0 */
/* faults: failures of daemons, links and forwarded messages, as a test requests them. */
#ifndef TD_SIM_FAULTS_H
#define TD_SIM_FAULTS_H

#include "world.h"

/* td_sim_kill_node kills the daemon and its clients. The links of other nodes to it go down. */
void td_sim_kill_node(struct td_sim *sim, uint32_t node);
/* td_sim_start_node starts a daemon where one was killed. Links to it come up within 10 ms. */
void td_sim_start_node(struct td_sim *sim, uint32_t node);
/* td_sim_freeze_node makes the daemon silent. Other nodes get no notice. */
void td_sim_freeze_node(struct td_sim *sim, uint32_t node);
/* td_sim_stop_node asks the daemon to stop: it drains (SIGTERM). */
void td_sim_stop_node(struct td_sim *sim, uint32_t node);
/* td_sim_break_link cuts the link of two nodes. It comes up again after 10 ms. */
void td_sim_break_link(struct td_sim *sim, uint32_t a, uint32_t b);

/* td_sim_incarnation returns the incarnation that other nodes see; td_sim_claim makes them see
 * another one, of a daemon that lies, from their next connections on. */
uint64_t td_sim_incarnation(const struct td_sim *sim, uint32_t node);
void td_sim_claim(struct td_sim *sim, uint32_t node, uint64_t incarnation);

/* td_sim_forge sends a message that the core of `from` did not send; td_sim_forge_packet sends a
 * packet, with packet->bytes bytes of payload (NULL: zeros). The nodes are connected. */
void td_sim_forge(struct td_sim *sim, uint32_t from, uint32_t to, const struct td_message *message);
void td_sim_forge_packet(struct td_sim *sim, uint32_t from, uint32_t to,
                         const struct td_packet *packet, const uint8_t *payload);

/* ---- for the files of this folder ---- */

/* faults_lose_forwarded returns true if the network loses the tree message that a node sends on. */
bool faults_lose_forwarded(struct td_sim *sim);
/* faults_tamper lets a hostile daemon change a message; it returns false if nothing is sent.
 * faults_tamper_packet lets it change the header of a packet. */
bool faults_tamper(const struct td_sim *sim, uint32_t from, uint32_t to,
                   struct td_message *message);
void faults_tamper_packet(const struct td_sim *sim, uint32_t from, uint32_t to,
                          struct td_packet *header);
/* faults_slow_worker returns the error with which a worker ends a computation, and writes how much
 * later it does. */
td_err faults_slow_worker(const struct td_sim *sim, uint32_t node, const struct td_compute *compute,
                          td_time *later);

#endif
