/* SPDX-License-Identifier: Apache-2.0 */
/* inspect: what torusctl may see. Reads, never changes.
 * Who sees what: a job shows to its owner, to root and to the daemon's own uid (the driver puts the
 * torus group's members among them). */
#ifndef TD_CORE_INSPECT_H
#define TD_CORE_INSPECT_H

#include "core/membership/client.h"

/* td_inspect_reply answers a STATUS request with one page. */
void td_inspect_reply(struct td_core *core, const struct td_client *client,
                      const struct td_request *request);

#endif
