/* SPDX-License-Identifier: Apache-2.0 */
/* registry: the table of all methods. Of methods with equal costs the first is taken.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REGISTRY_H
#define TD_COLLECTIVES_REGISTRY_H

#include "method.h"

enum { TD_METHODS_MAX = 64 }; /* of the table */

/* Methods that have to be told apart by name: those of an FFT. */
extern const struct td_method td_method_fft, td_method_fft_rows;

/* td_registry returns the table and sets its length, which is at most TD_METHODS_MAX. */
const struct td_method *const *td_registry(unsigned *count);

#endif
