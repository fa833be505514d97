/* SPDX-License-Identifier: Apache-2.0 */
/* fft_plot: the picture of a transform's plan: the array in the layout of each stage, with the part
 * of this node in colour, arrows along the transformed axes, and bars for the times of the moves.
 */
#ifndef TORUSCTL_EXPLAIN_FFT_PLOT_H
#define TORUSCTL_EXPLAIN_FFT_PLOT_H

#include "fft_moves.h"

/* explain_fft_plot draws the stages (SVG). `me` is a struct explain_fft. */
explain_draw_fn explain_fft_plot;

#endif
