/* SPDX-License-Identifier: Apache-2.0 */
/* capacity: whether this machine can play links of a rate. What emulated links carry is copied in
 * one memory, several times over; only when that costs little are they as fast as they say. */
#ifndef TORUSCTL_CAPACITY_H
#define TORUSCTL_CAPACITY_H

#include <stdint.h>

#include "core/topology.h"

/* ctl_directed_links counts the links of a torus, each direction by itself. */
uint64_t ctl_directed_links(const struct td_topology *topology);
/* ctl_copy_rate measures for some 30 ms what memcpy moves, in bytes a second; 0 without memory. */
double ctl_copy_rate(void);
/* ctl_links_fit: whether links of `rate` bytes a second in each direction take no more than a fifth
 * of what the machine copies; else false with the sentence in text. */
bool ctl_links_fit(const struct td_topology *topology, uint64_t rate, char *text, size_t bytes);

#endif
