/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon believes of the sums of waiting in a segment, which its processes write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/clients/regions.h"
#include "io/clients/segments.h"
#include "segment/segment.h"

enum { MIB = 1 << 20, UID = 7, GROUP = 3, RANKS = 4, KIND = 1 };
#define SECOND ((td_time)1000000000)
#define MADE (5 * SECOND)

static uv_loop_t loop;
static struct td_regions *regions;
static struct td_segments *segments;
static struct td_segment view;
static void *memory;

static int set_up(void **state)
{
    (void)state;
    regions = td_regions_create(MIB, (uint64_t)64 * MIB);
    assert_int_equal(uv_loop_init(&loop), 0);
    segments = td_segments_create(&loop, regions);
    assert_non_null(segments);
    int fd = td_segments_share(segments, GROUP, RANKS, UID, MADE);
    assert_true(fd >= 0);
    memory = mmap(NULL, td_segment_bytes(RANKS), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(memory != MAP_FAILED);
    td_segment_open(&view, memory, RANKS);
    return 0;
}

static void close_handle(uv_handle_t *handle, void *user)
{
    (void)user;
    uv_close(handle, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    munmap(memory, td_segment_bytes(RANKS));
    uv_walk(&loop, close_handle, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    td_segments_destroy(segments);
    assert_int_equal(uv_loop_close(&loop), 0);
    td_regions_destroy(regions);
    return 0;
}

static void write_sums(uint32_t rank, uint64_t last, uint64_t ns)
{
    size_t at = (size_t)rank * TD_SEGMENT_KINDS + KIND;
    atomic_store(&view.was_last[at], last);
    atomic_store(&view.waited[at], ns);
}

static void expect(uint32_t rank, td_time now, uint64_t last, uint64_t ns)
{
    uint64_t seen_last = 0, seen_ns = 0;
    (void)td_segments_waits(segments, GROUP, rank, KIND, now, &seen_last, &seen_ns);
    assert_int_equal(seen_last, last);
    assert_int_equal(seen_ns, ns);
}

static void possible_sums_are_believed(void **state)
{
    (void)state;
    uint64_t last = 0, ns = 0;
    assert_false(td_segments_waits(segments, GROUP, 0, KIND, MADE + SECOND, &last, &ns));
    write_sums(0, 1000, 3 * SECOND);
    write_sums(1, 10, SECOND / 2);
    expect(0, MADE + SECOND, 1000, 3 * SECOND);
    expect(1, MADE + SECOND, 10, SECOND / 2);
    assert_false(td_segments_waits(segments, GROUP, RANKS, KIND, MADE + SECOND, &last, &ns));
    assert_false(td_segments_waits(segments, GROUP + 1, 0, KIND, MADE + SECOND, &last, &ns));
}

/* All ranks together have not waited for longer than the segment exists, once for each rank. */
static void impossible_sums_are_cut_off(void **state)
{
    (void)state;
    write_sums(0, UINT64_MAX, UINT64_MAX);
    write_sums(1, UINT64_MAX, UINT64_MAX);
    expect(0, MADE + SECOND, SECOND / 20, RANKS * SECOND);
    expect(1, MADE + SECOND, 0, 0);
    expect(0, MADE, SECOND / 20, RANKS * SECOND); /* at an earlier time */
    expect(1, UINT64_MAX, (UINT64_MAX - MADE) / 20 - SECOND / 20, UINT64_MAX - RANKS * SECOND);
}

static void sums_do_not_become_less(void **state)
{
    (void)state;
    write_sums(2, 500, SECOND);
    expect(2, MADE + SECOND, 500, SECOND);
    write_sums(2, 3, 0);
    expect(2, MADE + 2 * SECOND, 500, SECOND);
    write_sums(2, 501, SECOND + 1);
    expect(2, MADE + 2 * SECOND, 501, SECOND + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(possible_sums_are_believed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(impossible_sums_are_cut_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sums_do_not_become_less, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
