/* SPDX-License-Identifier: Apache-2.0 */
/* peer_epochs: tree messages of the agreement on silent nodes. */
#ifndef TD_WIRE_PEER_EPOCHS_H
#define TD_WIRE_PEER_EPOCHS_H

#include "peer_form.h"

TD_WIRE_CODEC(EpochPoll, epoch_poll)
TD_WIRE_CODEC(EpochVote, epoch_vote)
TD_WIRE_CODEC(EpochPropose, epoch_propose)
TD_WIRE_CODEC(EpochAccept, epoch_accept)
TD_WIRE_CODEC(EpochKnown, epoch_known)

#endif
