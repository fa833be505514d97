/* SPDX-License-Identifier: Apache-2.0 */
/* capacity: check that this machine is fast enough for emulated links of a rate. The data of all
 * links is copied several times in one memory; the rate is exact only if that is a small load. */
#ifndef TORUSCTL_CAPACITY_H
#define TORUSCTL_CAPACITY_H

#include <stdint.h>

#include "model/topology.h"

/* ctl_links_fit returns true if links of `rate` bytes per second in each direction need at most a
 * fifth of this machine's memory copy rate. Else it writes the sentence to text. */
bool ctl_links_fit(const struct td_topology *topology, uint64_t rate, char *text, size_t bytes);

#endif
