/* SPDX-License-Identifier: Apache-2.0 */
/* judge: whether the errors that ranks are told are true. */
#ifndef SWARM_JUDGE_H
#define SWARM_JUDGE_H

#include "state.h"

/* swarm_judge ends the case if an error names something that was not hurt. `party` is the group of
 * the request; `o` is its operation, or NULL. */
void swarm_judge(struct swarm *s, const struct swarm_party *party, const struct swarm_operation *o,
                 const struct td_reply *reply, const char *what);

#endif
