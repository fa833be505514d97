/* SPDX-License-Identifier: Apache-2.0 */
/* plot: the picture of a measurement. Top: utilization of the links of each direction over time.
 * Bottom: one square for each link, by node and direction, coloured by its load. */
#ifndef TORUS_SIM_PLOT_H
#define TORUS_SIM_PLOT_H

#include "measure.h"

/* plot_measurement writes the picture (SVG). It returns false if it could not. */
bool plot_measurement(const struct td_measurement *m, FILE *f, const char *title);

#endif
