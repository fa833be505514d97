/* SPDX-License-Identifier: Apache-2.0 */
/* fft_plot: the picture of a transform's plan: the array as it lies at each stage, cut where it is
 * dealt out, with this node's part in colour and arrows along the axes that are transformed; and
 * bars as long as the moves between take. */
#ifndef TORUSCTL_EXPLAIN_FFT_PLOT_H
#define TORUSCTL_EXPLAIN_FFT_PLOT_H

#include "fft_moves.h"

/* explain_fft_plot draws the stages (SVG). `me` is a struct explain_fft. */
explain_draw_fn explain_fft_plot;

#endif
