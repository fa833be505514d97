/* SPDX-License-Identifier: Apache-2.0 */
/* picture_svg: a torus drawn as SVG: nodes as squares, links coloured by load, dead parts marked.
 */
#ifndef TORUSCTL_INSPECT_PICTURE_SVG_H
#define TORUSCTL_INSPECT_PICTURE_SVG_H

#include <jansson.h>
#include <stdbool.h>

#include "model/topology.h"

/* ins_picture_svg writes the picture of `all` (shape, nodes, links: torusctl topology --json) to a
 * file. On an error it prints a sentence and returns false. */
bool ins_picture_svg(const char *file, const struct td_topology *topology, const json_t *all);

#endif
