/* SPDX-License-Identifier: Apache-2.0 */
/* fft_torus: the side_ functions for torusd. */
#include <time.h>

#include "compute/fft/fft.h"
#include "fft.h"
#include "libtorus/status.h"
#include "torus_side.h"

static torus_plan *plan;
static void *source, *destination;

const char *side_prepare(const struct problem *problem)
{
    (void)problem;
    if (plan)
        torus_plan_free(plan);
    torus_free(context, source);
    torus_free(context, destination);
    plan = NULL;
    source = destination = NULL;
    return NULL;
}

const char *side_plan(const struct problem *problem)
{
    struct torus_fft_desc desc = {.size = sizeof desc,
                                  .dimensions = problem->dimensions,
                                  .type = TORUS_COMPLEX_DOUBLE,
                                  .sign = TORUS_FORWARD,
                                  .scale = TORUS_SCALE_NONE};
    for (uint32_t d = 0; d < problem->dimensions; d++)
        desc.shape[d] = problem->size[d];
    return told(torus_plan_fft(world, &desc, &plan));
}

const char *side_parts(struct part *in, struct part *out)
{
    struct part *const parts[] = {in, out};
    for (int side = 0; side < 2; side++) {
        struct torus_box box;
        int error = torus_plan_local(plan, side, &box);
        if (error != TORUS_OK)
            return told(error);
        size_t bytes = torus_plan_bytes(plan, side);
        double *data = torus_alloc(context, bytes ? bytes : 1);
        if (!data)
            return "no memory";
        *parts[side] = (struct part){data, box.begin[0], bytes ? box.count[0] : 0};
    }
    source = in->data;
    destination = out->data;
    return NULL;
}

const char *side_run(void)
{
    return told(torus_execute(plan, source, destination));
}

/* settled returns true if no used plan is an estimate. */
static bool settled(void)
{
    static struct td_reply reply;
    uint64_t cursor = 0;
    do {
        if (tl_status_page(context, TD_STATUS_PLANS, cursor, &reply) != TORUS_OK)
            return true;
        for (uint32_t i = 0; i < reply.u.status.rows; i++)
            if (reply.u.status.row[i].u.plan.number[TD_PLAN_STATE] < TD_FFT_MEASURED)
                return false;
        cursor = reply.u.status.next;
    } while (cursor);
    return true;
}

const char *side_settle(uint32_t seconds)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    for (uint32_t i = 0; i < 10 * seconds && !settled(); i++)
        nanosleep(&pause, NULL);
    return settled() ? NULL : "plans are still being measured";
}
