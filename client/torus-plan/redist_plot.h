/* SPDX-License-Identifier: Apache-2.0 */
/* redist_plot: the picture of a schedule: a row per step, a column per sender. A cell has the
 * receiver's colour and number. The bars beside the rows are as long as the step's longest message.
 */
#ifndef TORUSCTL_EXPLAIN_REDIST_PLOT_H
#define TORUSCTL_EXPLAIN_REDIST_PLOT_H

#include "redist.h"

/* explain_redist_plot draws the steps (SVG). `me` is a struct explain_redist. */
explain_draw_fn explain_redist_plot;

#endif
