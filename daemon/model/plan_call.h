/* SPDX-License-Identifier: Apache-2.0 */
/* plan_call: what the call that agrees on a plan says of its description, so that the sentence of a
 * mismatch shows people the field that differs. The digest alone decides whether descriptions are
 * equal. Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_PLAN_CALL_H
#define TD_MODEL_PLAN_CALL_H

#include "plan.h"

/* td_plan_call writes the fields of a plan to the call's type, count and plan. */
void td_plan_call(const struct td_plan *plan, struct td_call *call);
/* td_plan_call_print writes such a call, or its digest if it has no fields. Layouts and the grid
 * are hashes of some bits. It returns the length as snprintf does. */
int td_plan_call_print(const struct td_call *call, char *text, size_t size);
/* td_plan_call_difference says in which field two calls differ that plan the same kind of
 * operation, such as "the layout after differs"; NULL: they do not plan, or their kinds differ. */
const char *td_plan_call_difference(const struct td_call *a, const struct td_call *b);

#endif
