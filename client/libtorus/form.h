/* SPDX-License-Identifier: Apache-2.0 */
/* form: the description of a derived type for the daemon, which then moves its data without a
 * packed copy. */
#ifndef TORUS_FORM_H
#define TORUS_FORM_H

#include "model/form.h"
#include "type.h"

/* tl_form_of returns the form of a type with gaps, relative to its first byte of data; the type
 * owns it. It returns NULL if the type does not fit the limits of a form, or if memory runs out:
 * the library packs such elements. */
const struct td_form *tl_form_of(struct tl_type *type);

#endif
