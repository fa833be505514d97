/* SPDX-License-Identifier: Apache-2.0 */
/* load: CPU load by other programs during a comparison. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

/* cpus_taken returns the number of busy processors during a short time without measurements. */
double cpus_taken(void);

#endif
