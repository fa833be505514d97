/* SPDX-License-Identifier: Apache-2.0 */
/* side: functions that each side of each comparison provides. */
#ifndef BENCH_SIDE_H
#define BENCH_SIDE_H

#include <stdint.h>

/* side_open and side_barrier return NULL or the error. */
const char *side_open(uint32_t *rank, uint32_t *ranks);
void side_close(void);
const char *side_barrier(void);

#endif
