/* SPDX-License-Identifier: Apache-2.0 */
/* raw: clients without the library, on sockets of their own, at node 0 of daemons.h. */
#ifndef TD_TESTS_RAW_H
#define TD_TESTS_RAW_H

#include "daemons.h"

#include "wire/client.h"

enum { RAW_PASS_MAX = 253 }; /* descriptors that one message may carry (SCM_MAX_FD) */

/* raw_open connects; raw_greeted also sends HELLO and reads the reply. */
int raw_open(void);
int raw_greeted(void);
/* raw_send sends a request with `count` descriptors. */
void raw_send(int fd, struct td_request q, const int *pass, uint32_t count);
/* raw_reply reads one reply, valid until the next. It returns false at the end of the connection.
 */
bool raw_reply(int fd, struct td_reply *reply);
/* raw_reply_with reads one reply and returns its descriptor; -1: it has none. */
int raw_reply_with(int fd, struct td_reply *reply);
/* raw_ask sends a request with a descriptor (-1: none), and reads the reply. */
struct td_reply raw_ask(int fd, struct td_request q, int pass);

#endif
