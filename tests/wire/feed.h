/* SPDX-License-Identifier: Apache-2.0 */
/* feed: passes bytes to a decoder and checks its contract: after TD_OK every byte of the structure
 * can be read; after an error there is a sentence. */
#ifndef TD_TESTS_WIRE_FEED_H
#define TD_TESTS_WIRE_FEED_H

#include <stddef.h>
#include <stdint.h>

/* Forms: 0 requests, 1 replies, 2 tree messages, 3 handshakes, 4 packet headers. */
enum { FEED_FORMS = 5 };

/* feed passes a copy in a heap block of exactly `size` bytes, so that a sanitizer finds a read
 * beyond it. */
void feed(unsigned form, const uint8_t *from, size_t size);

#endif
