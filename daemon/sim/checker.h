/* SPDX-License-Identifier: Apache-2.0 */
/* checker: what a world checks of its cores: they leave nothing behind, and they rely on no bytes
 * of scratch that they have not written. */
#ifndef TD_SIM_CHECKER_H
#define TD_SIM_CHECKER_H

#include "world.h"

struct node;

/* td_sim_drops returns the number of links that a core dropped. */
uint64_t td_sim_drops(const struct td_sim *sim);
/* td_sim_landings returns the number of packets of which some bytes were stored at their
 * destination before the rest. */
uint64_t td_sim_landings(const struct td_sim *sim);
/* td_sim_leftovers returns NULL if no live node holds anything; call it after all clients were
 * closed. Otherwise it returns a sentence, valid until the next call. */
const char *td_sim_leftovers(struct td_sim *sim);

/* ---- for the files of this folder ---- */

/* checker_touch marks the pages from the first to the last byte of each lane of a slice in scratch.
 * checker_poison overwrites the marked pages if the node uses no scratch. */
void checker_touch(struct node *n, const struct td_slice *slice, const struct td_lanes *lanes,
                   uint64_t scratch_offset);
void checker_poison(struct td_sim *sim, struct node *n);

#endif
