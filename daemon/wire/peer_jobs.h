/* SPDX-License-Identifier: Apache-2.0 */
/* peer_jobs: tree messages of jobs: joins, members, and ranks that leave. */
#ifndef TD_WIRE_PEER_JOBS_H
#define TD_WIRE_PEER_JOBS_H

#include "peer_form.h"
#include "wire.h"

TD_WIRE_CODEC(Join, join)
TD_WIRE_CODEC(Unjoin, unjoin)
TD_WIRE_CODEC(Refuse, refuse)
TD_WIRE_CODEC(Members, members)
TD_WIRE_CODEC(RankLeft, rank_left)
TD_WIRE_CODEC(RegistryAsk, registry_ask)
TD_WIRE_CODEC(RegistryAnswer, registry_answer)
TD_WIRE_CODEC(Grant, grant)
TD_WIRE_CODEC(Granted, granted)
/* td_wire_get_runs copies the runs of a MEMBERS, as many as td_wire_get_members has allowed, into
 * memory. */
bool td_wire_get_runs(const Torus__Peer__Members *m, struct td_wire_memory *memory,
                      struct td_message_members *f);

#endif
