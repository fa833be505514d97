/* SPDX-License-Identifier: Apache-2.0 */
/* clients: the Unix socket for local processes. One datagram is one message.
 * Owns: the sockets, and replies that a slow client has not read. */
#ifndef TD_IO_CLIENTS_CLIENTS_H
#define TD_IO_CLIENTS_CLIENTS_H

#include "io/loop.h"

/* td_clients_create listens on config->socket. It returns NULL with a sentence in why. */
struct td_clients *td_clients_create(struct td_loop *loop, char *why, size_t why_bytes);
/* td_clients_stop closes all connections; td_clients_free follows once the loop has closed its
 * handles. */
void td_clients_stop(struct td_clients *clients);
void td_clients_free(struct td_clients *clients);
void td_clients_reply(struct td_clients *clients, uint32_t client, const struct td_reply *reply);
void td_clients_close(struct td_clients *clients, uint32_t client);
/* td_clients_observe takes up a new group of observers. It applies to new connections. */
void td_clients_observe(struct td_clients *clients);
/* td_clients_note logs a note of the core, before the replies of the same step; lost: notes that
 * were lost before it. td_clients_tick says now and then how many lines were suppressed. */
void td_clients_note(struct td_clients *clients, const struct td_note *note, uint64_t lost);
void td_clients_tick(struct td_clients *clients);
/* td_clients_listen says whether the loop stays awake: then clients may put requests into memory
 * where td_clients_look finds them without a system call (segment/letter.h). td_clients_look
 * returns true if it has handled one. td_clients_listen returns false if it was to stop, and one
 * has come that td_clients_look has to handle. */
bool td_clients_listen(struct td_clients *clients, bool listens);
bool td_clients_look(struct td_clients *clients);
uint32_t td_clients_count(const struct td_clients *clients);

#endif
