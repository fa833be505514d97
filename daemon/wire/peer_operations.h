/* SPDX-License-Identifier: Apache-2.0 */
/* peer_operations: tree messages of operations: arrivals, releases, verdicts,
 * deliveries and carried data. */
#ifndef TD_WIRE_PEER_OPERATIONS_H
#define TD_WIRE_PEER_OPERATIONS_H

#include "peer_form.h"

TD_WIRE_CODEC(Arrive, arrive)
TD_WIRE_CODEC(Report, report)
TD_WIRE_CODEC(Release, release)
TD_WIRE_CODEC(Verdict, verdict)
TD_WIRE_CODEC(AnnounceAgain, announce_again)
TD_WIRE_CODEC(Waiting, waiting)
TD_WIRE_CODEC(Appeal, appeal)
TD_WIRE_CODEC(Sync, sync)
TD_WIRE_CODEC(Delivered, delivered)
TD_WIRE_CODEC(Carry, carry)

#endif
