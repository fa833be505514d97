/* SPDX-License-Identifier: Apache-2.0 */
/* ticks: round numbers along the axis of a picture. */
#ifndef TD_COMMON_TICKS_H
#define TD_COMMON_TICKS_H

/* td_tick_step returns the least of the numbers 1, 2 and 5 times a power of ten that divides `span`
 * > 0 into at most `most` intervals. */
double td_tick_step(double span, int most);

#endif
