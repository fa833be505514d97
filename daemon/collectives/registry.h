/* SPDX-License-Identifier: Apache-2.0 */
/* registry: the table of all methods. Of methods with equal costs, the first in the table is
 * chosen. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REGISTRY_H
#define TD_COLLECTIVES_REGISTRY_H

#include "method.h"

enum { TD_METHODS_MAX = 64 }; /* lines of the table */

/* The methods of an FFT, which other files refer to by name. */
extern const struct td_method td_method_fft, td_method_fft_rows;

/* td_registry returns the table and writes its length, at most TD_METHODS_MAX. */
const struct td_method *const *td_registry(unsigned *count);

#endif
