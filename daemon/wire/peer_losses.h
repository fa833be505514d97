/* SPDX-License-Identifier: Apache-2.0 */
/* peer_losses: tree messages of sessions, of the loss of ranks, nodes and links, and of the status
 * of other nodes. */
#ifndef TD_WIRE_PEER_LOSSES_H
#define TD_WIRE_PEER_LOSSES_H

#include "peer_form.h"

TD_WIRE_CODEC(RankGone, rank_gone)
TD_WIRE_CODEC(RankLost, rank_lost)
TD_WIRE_CODEC(NodeLost, node_lost)
TD_WIRE_CODEC(Parting, parting)
TD_WIRE_CODEC(NeighbourLost, neighbour_lost)
TD_WIRE_CODEC(NeighbourBack, neighbour_back)
TD_WIRE_CODEC(Resume, resume)
TD_WIRE_CODEC(Look, look)
TD_WIRE_CODEC(Seen, seen)
TD_WIRE_CODEC(EndCalls, end_calls)

#endif
