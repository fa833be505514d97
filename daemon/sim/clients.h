/* SPDX-License-Identifier: Apache-2.0 */
/* clients: the processes of a node. A test plays them: it makes their requests and reads their
 * replies. */
#ifndef TD_SIM_CLIENTS_H
#define TD_SIM_CLIENTS_H

#include "world.h"

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
/* td_sim_lose_region loses the bytes of a region: they are zero from now on, and the daemon learns
 * it (SIGBUS) after the requests so far. */
void td_sim_lose_region(struct td_sim *sim, uint32_t client, uint32_t region);
/* td_sim_request sends a request with an id of its own and returns the id. */
uint64_t td_sim_request(struct td_sim *sim, uint32_t client, const struct td_request *request);
/* td_sim_reply returns the reply to a request, or NULL if none exists yet. Id 0: a message that
 * no request asked for. Status rows are not kept. */
const struct td_reply *td_sim_reply(const struct td_sim *sim, uint32_t client, uint64_t id);
/* td_sim_forget frees the replies of all clients so far. */
void td_sim_forget(struct td_sim *sim);

/* ---- for the files of this folder ---- */

/* clients_opened, clients_request and clients_closed pass an event of a client to its core. */
void clients_opened(struct td_sim *sim, uint32_t client);
void clients_request(struct td_sim *sim, uint32_t client, const uint8_t *bytes, size_t size);
void clients_region_lost(struct td_sim *sim, uint32_t client, uint32_t region);
void clients_closed(struct td_sim *sim, uint32_t client);
/* clients_receive_reply keeps a copy. */
void clients_receive_reply(struct td_sim *sim, uint32_t client, const struct td_reply *reply);
void clients_cut_off(struct td_sim *sim, uint32_t client);
void clients_fini(struct td_sim *sim);

#endif
