/* SPDX-License-Identifier: Apache-2.0 */
/* moves_torus: the side_ functions for torusd. */
#include <stdio.h>

#include "moves.h"
#include "torus_side.h"

static torus_plan *plan;
static double *part[2];

static void layout(const struct half *h, char *text, size_t size)
{
    snprintf(text, size, "(cyclic(%u), cyclic(%u)) on %ux%u @%u-%u", h->block[0], h->block[1],
             h->parts[0], h->parts[1], h->first, h->first + h->parts[0] * h->parts[1] - 1);
}

const char *side_plan(const struct move *m, const uint64_t elements[2], double *out[2])
{
    char from[96], to[96];
    struct torus_redist_desc d = {.size = sizeof d,
                                  .dimensions = 2,
                                  .element_bytes = sizeof(double),
                                  .shape = {m->size[0], m->size[1]},
                                  .from = from,
                                  .to = to};
    layout(&m->half[0], from, sizeof from);
    layout(&m->half[1], to, sizeof to);
    if (plan)
        torus_plan_free(plan);
    plan = NULL;
    int error = torus_plan_redist(world, &d, &plan);
    for (int side = 0; side < 2 && error == TORUS_OK; side++) {
        torus_free(context, part[side]);
        out[side] = part[side] = torus_alloc(context, elements[side] * sizeof(double) + 1);
        if (!part[side])
            return "no memory";
        if (torus_plan_bytes(plan, side) != elements[side] * sizeof(double))
            return "the part has another size";
    }
    return told(error);
}

const char *side_run(void)
{
    return told(torus_execute(plan, part[0], part[1]));
}
