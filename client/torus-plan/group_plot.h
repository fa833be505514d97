/* SPDX-License-Identifier: Apache-2.0 */
/* group_plot: the picture of a group: its nodes, coloured by plane, and the edges of its tree. */
#ifndef TORUSCTL_EXPLAIN_GROUP_PLOT_H
#define TORUSCTL_EXPLAIN_GROUP_PLOT_H

#include "group.h"

/* explain_group_plot draws a group in at most three dimensions (SVG): slices of the first dimension
 * side by side. `me` is a struct explain_group. */
explain_draw_fn explain_group_plot;

#endif
