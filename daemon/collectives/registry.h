/* SPDX-License-Identifier: Apache-2.0 */
/* registry: the table of all methods. Of methods with equal costs, the first in the table is
 * chosen. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REGISTRY_H
#define TD_COLLECTIVES_REGISTRY_H

#include "method.h"
#include "model/terms.h"

enum { TD_METHODS_MAX = 64 }; /* lines of the table */

/* The methods of an FFT, which other files refer to by name. */
extern const struct td_method td_method_fft, td_method_fft_rows;

/* td_registry returns the table and writes its length, at most TD_METHODS_MAX. */
const struct td_method *const *td_registry(unsigned *count);
/* td_registry_versions returns the version of each method, by its number; 0: no method has the
 * number. td_registry_name returns the name of the method with a number, or NULL. */
struct td_term_list td_registry_versions(void);
const char *td_registry_name(uint32_t number);

#endif
