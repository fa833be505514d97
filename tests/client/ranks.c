/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>

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
    char name[16]; /* a new name each time: node 0 may not know yet that all ranks have left the
                      last job */
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

void play(const struct plays *p)
{
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < p->count; i++)
            p->execute(i);
        for (unsigned i = 0; i < p->count; i++)
            p->check(i);
    }
    for (unsigned i = 0; i < p->count; i++)
        p->drop(i);
}

static void cases(random_case_fn *run, uint32_t ranks, bool blocks, uint64_t sweep)
{
    const char *one = getenv("TORUS_TEST_CASE");
    uint64_t count = getenv("TORUS_TEST_LONG") ? 100 : 12;
    join_ranks(ranks, blocks);
    for (uint64_t i = 0; i < count && !one; i++)
        run(sweep * 1000 + i);
    if (one)
        run(strtoull(one, NULL, 10));
    close_all(context, ranks);
}

void cases_on_one_node(random_case_fn *one)
{
    start(1, "");
    cases(one, 1, false, 1);
    cases(one, 4, false, 2);
    cases(one, 13, false, 3);
    stop();
}

void cases_on_several_nodes(random_case_fn *one)
{
    start(4, "");
    cases(one, 3, false, 4);
    cases(one, 16, true, 5);
    cases(one, 9, false, 6);
    stop();
}

void cases_on_the_routed_fabric(random_case_fn *one)
{
    columns = 3;
    prepare(9);
    start_all("[torus]\nfabric = routed\nslots = 2\n[network]\npacket = 4KiB\n");
    cases(one, 9, false, 7);
    cases(one, 16, true, 8);
    cases(one, 16, false, 9);
    cases(one, 2, true, 10);
    stop();
}
