/* SPDX-License-Identifier: Apache-2.0 */
/* cables: daemons that reach their torus neighbours through this process, which can cut the way
 * from one node to another. A way is the connections, control, bulk and perhaps express, that one
 * daemon opens to another; a link is two ways. A failure ends the test. */
#ifndef TD_TESTS_CABLES_H
#define TD_TESTS_CABLES_H

#include <stdbool.h>
#include <stdint.h>

/* cables_lay is called between prepare and start_all; the torus is `columns` wide, and wraps. */
void cables_lay(void);
/* cables_count returns the number of ways. cables_way writes the two ends of one. The two ways of a
 * link are 2 i and 2 i + 1. */
uint32_t cables_count(void);
void cables_way(uint32_t way, uint32_t *from, uint32_t *to);
/* cables_carried returns the bytes that a way has carried over connections that are still open: 0
 * after a cut. */
uint64_t cables_carried(uint32_t way);
/* cables_block rejects all connections of a way, before daemons try it. cables_cut closes a way, in
 * the middle of a packet, and returns when its daemon has tried again and was rejected. cables_mend
 * accepts the next attempt. */
void cables_block(uint32_t way);
void cables_cut(uint32_t way);
void cables_mend(uint32_t way);
/* cables_snap closes the express connection of a way, and no other connection. It returns false if
 * the way has no express connection. */
bool cables_snap(uint32_t way);
/* cables_remove is a part of the teardown. */
void cables_remove(void);

#endif
