/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include <stdio.h>

torus_context *context[RANKS_MAX];
torus_group *world[RANKS_MAX];
uint32_t size;

void must(uint32_t rank, int error)
{
    if (error != TORUS_OK)
        fail_msg("rank %u of %u: %s", rank, size, torus_last_error(context[rank]));
}

void finish(uint32_t rank, torus_request *r)
{
    must(rank, torus_wait(r, 30 * (int64_t)SECOND));
}

void join_ranks(uint32_t count, bool blocks)
{
    static unsigned jobs;
    torus_request *r[RANKS_MAX];
    char name[16]; /* another one each time: node 0 may not know yet that all have left the last */
    snprintf(name, sizeof name, "job %u", jobs++);
    size = count;
    for (uint32_t i = 0; i < count; i++) {
        struct torus_join_options o = as(count, (int32_t)i);
        o.name = name;
        context[i] = open_at(blocks ? i * nodes / count : i % nodes);
        must(i, torus_ijoin(context[i], &o, &world[i], &r[i]));
    }
    for (uint32_t i = 0; i < count; i++)
        finish(i, r[i]);
}
