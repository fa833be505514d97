/* SPDX-License-Identifier: Apache-2.0 */
/* load: what a comparison is disturbed by. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

/* cpus_taken returns how many processors were busy over a short while in which nothing is measured.
 */
double cpus_taken(void);

#endif
