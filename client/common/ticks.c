/* SPDX-License-Identifier: Apache-2.0 */
#include "ticks.h"

double td_tick_step(double span, int most)
{
    static const double lead[] = {1, 2, 5};
    double power = 1;
    while (span / power <= most)
        power /= 10;
    for (int i = 0;; i = (i + 1) % 3) {
        if (span / (lead[i] * power) <= most)
            return lead[i] * power;
        power *= i == 2 ? 10 : 1;
    }
}
