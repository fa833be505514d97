/* SPDX-License-Identifier: Apache-2.0 */
/* variables: the environment variables whose names begin with TORUS_. docs/tutorial.md explains
 * them. Pure. */
#ifndef TD_BASE_VARIABLES_H
#define TD_BASE_VARIABLES_H

#include <stddef.h>

/* TD_STRAYS_MAX: bytes of a list of strays, with its terminator. */
enum { TD_STRAYS_MAX = 256, TD_STRAY_TEXT_MAX = 200 };

/* td_variables_strays writes the names of an environment that begin with TORUS_ and that torusd
 * does not know, with spaces between them, as many as fit TD_STRAYS_MAX bytes. It returns `names`,
 * or NULL if there is none. A name that has other characters than letters, digits and _ is left
 * out. */
const char *td_variables_strays(char *const *environment, char *names);
/* td_variables_warning reads the next name of such a list at *at, and writes a warning with the
 * variable of the most similar name to `text`, of TD_STRAY_TEXT_MAX bytes. It returns `text`, or
 * NULL behind the last one. */
const char *td_variables_warning(const char **at, char *text);

/* td_variables_misspelt returns the name in such a list that is most similar to a variable, and
 * writes it to `name`, of TD_STRAYS_MAX bytes; NULL if `variable` is the nearest one of none. */
const char *td_variables_misspelt(const char *at, const char *variable, char *name);

#endif
