/* SPDX-License-Identifier: Apache-2.0 */
/* call_print: the program of an operation as text and as JSON. */
#ifndef TORUSCTL_EXPLAIN_CALL_PRINT_H
#define TORUSCTL_EXPLAIN_CALL_PRINT_H

#include "call.h"

void explain_call_print(const struct explain_call *q);
void explain_call_json(const struct explain_call *q);

#endif
