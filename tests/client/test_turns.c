/* SPDX-License-Identifier: Apache-2.0 */
/* Two jobs on real daemons: the calls of one complete while the other has many large ones in
 * flight. The test counts what has completed; how long that takes does not matter. */
#include "daemons.h"

#include <stdlib.h>
#include <string.h>

enum {
    NODES = 2,
    LARGE = 12,         /* calls in flight */
    BLOCK = 8 << 20,    /* bytes of such a call from rank to rank */
    SMALL = 4,          /* calls after each other */
    ELEMENTS = 1 << 13, /* of a small one: too many to travel with the gate */
};

static torus_context *hog[NODES], *other[NODES];
static torus_group *hogs[NODES], *others[NODES];
static torus_request *large[NODES][LARGE];

static void must(torus_context *c, int error)
{
    if (error)
        fail_msg("%s", torus_last_error(c));
}

static void join(torus_context **c, torus_group **g, const char *name)
{
    torus_request *request[NODES];
    for (uint32_t i = 0; i < NODES; i++) {
        struct torus_join_options options = as(NODES, (int32_t)i);
        options.name = name;
        c[i] = open_at(i);
        must(c[i], torus_ijoin(c[i], &options, &g[i], &request[i]));
    }
    for (uint32_t i = 0; i < NODES; i++)
        must(c[i], torus_wait(request[i], -1));
}

static void issue_large(void)
{
    uint8_t *source[NODES], *destination[NODES][LARGE];
    for (uint32_t i = 0; i < NODES; i++) { /* before the first call, which may end meanwhile */
        source[i] = torus_alloc(hog[i], (size_t)NODES * BLOCK);
        assert_non_null(source[i]);
        memset(source[i], (int)i + 1, (size_t)NODES * BLOCK);
        for (int k = 0; k < LARGE; k++) {
            destination[i][k] = torus_alloc(hog[i], (size_t)NODES * BLOCK);
            assert_non_null(destination[i][k]);
        }
    }
    for (uint32_t i = 0; i < NODES; i++)
        for (int k = 0; k < LARGE; k++)
            must(hog[i], torus_ialltoall(hogs[i], source[i], destination[i][k], BLOCK, TORUS_BYTE,
                                         &large[i][k]));
}

static void reduce(double *const *data)
{
    torus_request *request[NODES];
    for (uint32_t i = 0; i < NODES; i++)
        must(other[i], torus_iallreduce(others[i], TORUS_IN_PLACE, data[i], ELEMENTS, TORUS_DOUBLE,
                                        TORUS_SUM, &request[i]));
    for (uint32_t i = 0; i < NODES; i++)
        must(other[i], torus_wait(request[i], -1));
}

/* Small calls complete after the first large ones and before the last one. */
static void share(const char *settings, int first)
{
    double *data[NODES];
    start(NODES, settings);
    join(hog, hogs, "hog");
    join(other, others, "other");
    for (uint32_t i = 0; i < NODES; i++) {
        data[i] = torus_alloc(other[i], ELEMENTS * sizeof **data);
        assert_non_null(data[i]);
        for (int k = 0; k < ELEMENTS; k++)
            data[i][k] = k + (double)i;
    }
    issue_large();
    for (int k = 0; k < first; k++) /* they are under way */
        must(hog[0], torus_wait(large[0][k], -1));
    for (int k = 0; k < SMALL; k++)
        reduce(data);
    assert_int_equal(torus_test(large[0][LARGE - 1]), TORUS_PENDING);
    for (uint32_t i = 0; i < NODES; i++)
        for (int k = i == 0 ? first : 0; k < LARGE; k++)
            must(hog[i], torus_wait(large[i][k], -1));
    for (int k = 0; k < ELEMENTS; k++)
        assert_true(data[1][k] == 16.0 * k + 8);
    close_all(hog, NODES);
    close_all(other, NODES);
    stop();
}

static void jobs_share_the_links_of_daemons(void **state)
{
    (void)state;
    share("[network]\npacket = 64KiB\n", 1);
}

static void jobs_share_the_links_of_a_torus(void **state)
{
    (void)state;
    /* there the large calls run at the same time, and end at the same time */
    share("[torus]\nfabric = routed\nlink_rate = 20MB/s\n[network]\npacket = 64KiB\n", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(jobs_share_the_links_of_daemons, clean_up),
        cmocka_unit_test_teardown(jobs_share_the_links_of_a_torus, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
