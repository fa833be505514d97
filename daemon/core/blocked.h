/* SPDX-License-Identifier: Apache-2.0 */
/* blocked: what this node waits for, in a sentence for the service manager's status line. All users
 * of the host can read that line, so it names users, ranks and nodes, but no jobs.
 * Owns: nothing. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_BLOCKED_H
#define TD_CORE_BLOCKED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"

struct td_core;

enum { TD_BLOCKED_S = 5 }; /* an operation that waits less is not blocked */

/* td_core_blocked writes what the oldest blocked operation waits for at time `now`; if no operation
 * is blocked, which node is down and why, or is silent. It returns false if none is. */
bool td_core_blocked(struct td_core *core, td_time now, char *text, size_t bytes);
/* td_core_silent returns how many nodes have a connection and are silent. */
uint32_t td_core_silent(const struct td_core *core);

#endif
