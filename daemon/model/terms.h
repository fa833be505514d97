/* SPDX-License-Identifier: Apache-2.0 */
/* terms: numbers that daemons must share, in lists. A number is known by its list and its place
 * there, which never changes: a new term is appended. Daemons of neighbouring minor versions may
 * have lists of different lengths. A term that one of them lacks counts as 0, so 0 must mean that
 * the daemon does as it did without the term.
 *
 * The daemons of a group share the settings, constants and methods that decide the programs of its
 * operations; the two ends of a link share what the link itself needs. Owns: nothing. Borrows:
 * values. Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_TERMS_H
#define TD_MODEL_TERMS_H

#include "settings.h"

enum td_terms_list {
    TD_TERMS_SETTINGS, /* of a group: settings and limits */
    TD_TERMS_COSTS,    /* of a group: constants of predicted costs (collectives/terms.h) */
    TD_TERMS_METHODS,  /* of a group: versions of methods (collectives/terms.h) */
    TD_TERMS_OF_GROUP, /* number of the lists above */
    TD_TERMS_LINK = TD_TERMS_OF_GROUP, /* of a link: settings */
};

/* struct td_term_list: at most TD_TERMS_MAX values. Borrows them. */
struct td_term_list {
    uint32_t count;
    const uint64_t *value;
};

/* struct td_terms: of a group. All empty: not known. */
struct td_terms {
    struct td_term_list list[TD_TERMS_OF_GROUP];
};

/* td_term_name_fn returns the name of a term of the lists COSTS and METHODS, or NULL if it is not
 * known here. The driver gives the core such a function (collectives/terms.h). */
typedef const char *td_term_name_fn(enum td_terms_list list, uint32_t index);

/* td_terms_settings writes a list of settings, SETTINGS or LINK, and returns their number. Settings
 * of the other fabric count as 0. */
uint32_t td_terms_settings(enum td_terms_list list, const struct td_settings *settings,
                           uint64_t value[TD_TERMS_MAX]);
/* td_terms_name writes the name of a setting, such as "[alltoall] burst", and returns text, or NULL
 * if the setting is not known here. td_terms_print writes its value as people read it, and returns
 * text. */
const char *td_terms_name(enum td_terms_list list, uint32_t index, char *text, size_t size);
const char *td_terms_print(enum td_terms_list list, uint32_t index, uint64_t value, char *text,
                           size_t size);
/* td_terms_is_fixed returns true if a release fixes the term, not the configuration. */
bool td_terms_is_fixed(enum td_terms_list list, uint32_t index);
/* td_terms_value returns a value of a list, or 0 beyond its end. */
static inline uint64_t td_terms_value(const struct td_term_list *list, uint32_t index)
{
    return index < list->count ? list->value[index] : 0;
}
/* td_terms_differ returns true if two lists differ, and writes the place of the first difference.
 */
bool td_terms_differ(const struct td_term_list *a, const struct td_term_list *b, uint32_t *index);

#endif
