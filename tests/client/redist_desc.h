/* SPDX-License-Identifier: Apache-2.0 */
/* redist_desc: the description of a random move, as a rank gives it to torus_plan_redist. */
#ifndef TD_TESTS_REDIST_DESC_H
#define TD_TESTS_REDIST_DESC_H

#include "sim/moves.h"
#include "torus/torus.h"

static inline struct torus_redist_desc redist_desc(const struct move *m)
{
    struct torus_redist_desc d = {.size = sizeof d,
                                  .dimensions = m->redist.dimensions,
                                  .transposed = 1,
                                  .element_bytes = m->redist.element,
                                  .from = m->text[0],
                                  .to = m->text[1],
                                  .schedule = (int32_t)m->redist.schedule};
    for (uint32_t i = 0; i < d.dimensions; i++) {
        d.shape[i] = m->redist.size[i];
        d.axes[i] = m->redist.axes[i];
    }
    return d;
}

#endif
