/* SPDX-License-Identifier: Apache-2.0 */
/* capacity: whether this machine can play links of a rate. What emulated links carry is copied in
 * one memory, several times over; only when that costs little are they as fast as they say. */
#ifndef TORUSCTL_CAPACITY_H
#define TORUSCTL_CAPACITY_H

#include <stdint.h>

#include "model/topology.h"

/* ctl_links_fit: whether links of `rate` bytes a second in each direction take no more than a fifth
 * of what the machine copies; else false with the sentence in text. */
bool ctl_links_fit(const struct td_topology *topology, uint64_t rate, char *text, size_t bytes);

#endif
