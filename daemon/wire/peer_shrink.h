/* SPDX-License-Identifier: Apache-2.0 */
/* peer_shrink: tree messages of the agreement on the survivors of a group. */
#ifndef TD_WIRE_PEER_SHRINK_H
#define TD_WIRE_PEER_SHRINK_H

#include "peer_form.h"

TD_WIRE_CODEC(ShrinkAsk, shrink_ask)
TD_WIRE_CODEC(ShrinkVote, shrink_vote)
TD_WIRE_CODEC(ShrinkAcceptedBefore, shrink_accepted_before)
TD_WIRE_CODEC(ShrinkPropose, shrink_propose)
TD_WIRE_CODEC(ShrinkAccept, shrink_accept)
TD_WIRE_CODEC(ShrinkDecided, shrink_decided)
TD_WIRE_CODEC(ShrinkNobody, shrink_nobody)
TD_WIRE_CODEC(ShrinkPartitioned, shrink_partitioned)

#endif
