/* SPDX-License-Identifier: Apache-2.0 */
#include "terms.h"

#include "cost/constants.h"
#include "registry.h"

#define VALUE(name, value) value,
#define NAME(name, value) #name,

static const uint64_t costs[] = {TD_COST_CONSTANTS(VALUE)};
static const char *const names[] = {TD_COST_CONSTANTS(NAME)};
enum { COSTS = sizeof costs / sizeof *costs };
_Static_assert((int)COSTS <= (int)TD_TERMS_MAX, "all nodes hear of every constant");

struct td_term_list td_collectives_terms(enum td_terms_list list)
{
    return list == TD_TERMS_METHODS ? td_registry_versions() : (struct td_term_list){COSTS, costs};
}

const char *td_collectives_term_name(enum td_terms_list list, uint32_t index)
{
    if (list == TD_TERMS_METHODS)
        return td_registry_name(index);
    return list == TD_TERMS_COSTS && index < COSTS ? names[index] : NULL;
}
