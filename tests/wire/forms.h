/* SPDX-License-Identifier: Apache-2.0 */
/* forms: requests, replies, handshakes and packets, drawn from a seed; samples.h has the tree
 * messages. Their pointers are valid for the next draw only. */
#ifndef TD_TESTS_WIRE_FORMS_H
#define TD_TESTS_WIRE_FORMS_H

#include "wire/handshake.h"

/* forms_seed restarts the drawing. */
void forms_seed(uint64_t seed);
uint64_t draw(void);
uint64_t below(uint64_t n);
/* text draws up to length_max characters. */
const char *text(size_t length_max);

struct td_request some_request(enum td_request_kind kind);
struct td_reply some_reply(enum td_reply_kind kind);
struct td_handshake some_handshake(void);
struct td_packet some_packet(void);

#endif
