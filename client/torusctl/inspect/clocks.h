/* SPDX-License-Identifier: Apache-2.0 */
/* clocks: the sentence about nodes whose clock no time service keeps. */
#ifndef TORUSCTL_INSPECT_CLOCKS_H
#define TORUSCTL_INSPECT_CLOCKS_H

#include <jansson.h>
#include <stddef.h>

/* ins_clocks_text writes that the kernel's clocks of these nodes, at least one, are not
 * synchronised. It names few nodes one by one, so that each can have its host beside it. */
void ins_clocks_text(char *text, size_t bytes, const json_t *nodes);

#endif
