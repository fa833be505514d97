/* SPDX-License-Identifier: Apache-2.0 */
/* faults: the faults of a case: they begin, hurt nodes, and end. */
#ifndef SWARM_FAULTS_H
#define SWARM_FAULTS_H

#include "state.h"

/* swarm_faults_begin begins the faults of a step. */
void swarm_faults_begin(struct swarm *s, uint32_t step);
/* swarm_faults_end ends the faults whose time is over; swarm_faults_next returns when the next one
 * ends, or TD_TIME_NEVER. swarm_faults_heal ends all faults, and starts all daemons. */
void swarm_faults_end(struct swarm *s);
td_time swarm_faults_next(const struct swarm *s);
void swarm_faults_heal(struct swarm *s);

#endif
