/* SPDX-License-Identifier: Apache-2.0 */
/* own: the machine of the daemon of this node, which torus-plan takes by default. */
#ifndef TORUSCTL_EXPLAIN_OWN_H
#define TORUSCTL_EXPLAIN_OWN_H

#include "machine.h"

/* explain_own takes what the options have not given from the daemon of this node: the shape, the
 * fabric, the payload of a packet and the rate of a link. Without a daemon nothing changes. */
void explain_own(struct explain_machine *m);

#endif
