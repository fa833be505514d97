/* SPDX-License-Identifier: Apache-2.0 */
/* picture_text: a torus drawn in text. Columns are the last dimension, rows the one before; each
 * further coordinate has a drawing of its own. */
#ifndef TORUSCTL_INSPECT_PICTURE_TEXT_H
#define TORUSCTL_INSPECT_PICTURE_TEXT_H

#include <jansson.h>

#include "model/topology.h"

/* ins_picture_text prints the nodes [{node, state}] and links [{from, to, dimension, state, bytes}]
 * of a torus. */
void ins_picture_text(const struct td_topology *topology, const json_t *nodes, const json_t *links);
/* ins_picture_load writes bytes in at most 5 letters, such as 1.2M. */
void ins_picture_load(char *text, size_t bytes, json_int_t count);

#endif
