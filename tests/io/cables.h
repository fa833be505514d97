/* SPDX-License-Identifier: Apache-2.0 */
/* cables: daemons that reach their neighbours in the torus through this process, which can cut the
 * way from one node to another. A way is the two connections, control and bulk, that one daemon
 * opens to the other; a link is two ways. What fails ends the test. */
#ifndef TD_TESTS_CABLES_H
#define TD_TESTS_CABLES_H

#include <stdbool.h>
#include <stdint.h>

/* cables_lay is called between prepare and start_all; the torus is `columns` wide, and wraps. */
void cables_lay(void);
/* cables_count returns how many ways there are; cables_way where one leads. The two ways of a link
 * are 2 i and 2 i + 1. */
uint32_t cables_count(void);
void cables_way(uint32_t way, uint32_t *from, uint32_t *to);
/* cables_carried returns how many bytes have gone that way over connections still open: 0 after it
 * was cut. */
uint64_t cables_carried(uint32_t way);
/* cables_block lets nobody through, before daemons are there to try. cables_cut closes a way, in
 * the middle of a packet as it comes, and returns when the daemon that opened it has tried again
 * and was turned away. cables_mend lets the next attempt through. */
void cables_block(uint32_t way);
void cables_cut(uint32_t way);
void cables_mend(uint32_t way);
/* cables_remove is part of the teardown. */
void cables_remove(void);

#endif
