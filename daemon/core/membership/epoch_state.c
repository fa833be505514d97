/* SPDX-License-Identifier: Apache-2.0 */
#include "epoch_state.h"

#include "epoch.h"

#define EPOCH(state) TD_IN(TD_EPOCH_##state)

static const struct td_label states[] = {
    [TD_EPOCH_RESTING] = {"resting", "This node asks for no epoch. It votes for others' ballots."},
    [TD_EPOCH_POLLING] = {"polling", "Sweep 1: it waits for a quorum of votes for its ballot."},
    [TD_EPOCH_PROPOSING] = {"proposing", "Sweep 2: it waits until a quorum accepts the "
                                         "exclusions."},
    [TD_EPOCH_PAUSING] = {"pausing", "A quorum has answered, but not voted: another node polls, or "
                                     "daemons have just started. It polls again after a pause."},
};

static const struct td_label events[] = {
    [TD_EPOCH_POLL] = {"poll", "A node is to be excluded, or the pause is over."},
    [TD_EPOCH_PROPOSE] = {"propose", "A quorum has voted."},
    [TD_EPOCH_PAUSE] = {"pause", "The time of the sweep is over, and a quorum has answered."},
    [TD_EPOCH_END] = {"end", "A quorum has accepted; or none has answered in time; or another "
                             "node's epoch is known; or no node is to be excluded any more."},
};

static const struct td_transition rows[] = {
    {EPOCH(RESTING) | EPOCH(PAUSING), TD_EPOCH_POLL, TD_EPOCH_POLLING},
    {EPOCH(POLLING), TD_EPOCH_PROPOSE, TD_EPOCH_PROPOSING},
    {EPOCH(POLLING) | EPOCH(PROPOSING), TD_EPOCH_PAUSE, TD_EPOCH_PAUSING},
    {EPOCH(POLLING) | EPOCH(PROPOSING) | EPOCH(PAUSING), TD_EPOCH_END, TD_EPOCH_RESTING},
    {EPOCH(RESTING), TD_EPOCH_END, TD_STAY},
};

const struct td_machine td_epoch_machine = {
    .name = "Epoch",
    .meaning = "A node that asks the electorate for an epoch without silent nodes "
               "(`core/membership/epoch.h`).",
    TD_MACHINE(states, events, rows)};

void td_epoch_transition(struct td_epochs *e, enum td_epoch_event event)
{
    e->state = (enum td_epoch_state)td_machine_next(&td_epoch_machine, e->state, event);
}
