/* SPDX-License-Identifier: Apache-2.0 */
/* own: the machine of the daemon of this node, which torusctl explain takes by default. */
#ifndef TORUSCTL_EXPLAIN_OWN_H
#define TORUSCTL_EXPLAIN_OWN_H

#include "machine.h"

/* explain_own takes what the options have not given from the daemon of this node: the shape, the
 * fabric and the payload of a packet. Without a daemon nothing changes. */
void explain_own(struct explain_machine *m);

#endif
