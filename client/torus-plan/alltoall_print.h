/* SPDX-License-Identifier: Apache-2.0 */
/* alltoall_print: the program of an all-to-all as text and as JSON. */
#ifndef TORUSCTL_EXPLAIN_ALLTOALL_PRINT_H
#define TORUSCTL_EXPLAIN_ALLTOALL_PRINT_H

#include "alltoall.h"

void explain_alltoall_print(const struct explain_alltoall *x);
void explain_alltoall_json(const struct explain_alltoall *x);

#endif
