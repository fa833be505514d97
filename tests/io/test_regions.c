/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of clients in the daemon: its pages are mapped before the first operation touches it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/clients/closer.h"
#include "io/clients/regions.h"

#define UNCHECKED __attribute__((no_sanitize("address", "thread", "undefined")))

enum { MIB = 1 << 20, SMALL = MIB, LARGE = 32 * MIB, PAGE = 4096, UID = 7, ROUNDS = 50 };

static uv_loop_t uv;
static struct td_closer *closer;
static struct td_regions *regions;
static uint32_t closed;

static void on_closed(void *user)
{
    (void)user;
    closed++;
}

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(uv_loop_init(&uv), 0);
    closer = td_closer_create(&uv, on_closed, NULL);
    regions = td_regions_create(MIB, (uint64_t)4 * LARGE);
    assert_non_null(closer);
    assert_non_null(regions);
    td_regions_unmap_on(regions, closer);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    td_closer_stop(closer);
    uv_run(&uv, UV_RUN_DEFAULT);
    td_closer_destroy(closer);
    td_regions_destroy(regions);
    return uv_loop_close(&uv);
}

static uint32_t map(size_t bytes)
{
    uint32_t handle = 0;
    const char *text = NULL;
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    assert_int_equal(fallocate(fd, 0, 0, (off_t)bytes), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    assert_int_equal(td_regions_map(regions, fd, bytes, UID, true, &handle, &text), TD_OK);
    close(fd);
    return handle;
}

static void wait_for_closer(void)
{
    while (td_closer_pending(closer, UID) > 0)
        uv_run(&uv, UV_RUN_ONCE);
}

/* faults returns the page faults of this thread while it writes to each page of a region. A
 * sanitizer would touch pages of its own. */
UNCHECKED static long faults(uint32_t handle, size_t bytes)
{
    const struct td_memory memory = {.handle = handle, .bytes = bytes};
    const struct td_view view = {.ranks = 1, .source = &memory, .destination = &memory};
    struct td_slice slice;
    uint32_t in = 0;
    struct rusage before, after;
    td_slice_set(&slice, TD_SPACE_SOURCE, 0, 0, (int64_t)bytes);
    volatile uint8_t *base = td_regions_piece(regions, &view, &slice, 0, bytes, &in);
    assert_non_null(base);
    getrusage(RUSAGE_THREAD, &before);
    for (size_t at = 0; at < bytes; at += PAGE)
        base[at] = 1;
    getrusage(RUSAGE_THREAD, &after);
    return after.ru_minflt - before.ru_minflt;
}

/* skip_without_populate skips a test on a kernel before 5.14. */
static void skip_without_populate(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    int failed = madvise(page, PAGE, MADV_POPULATE_WRITE);
    munmap(page, PAGE);
    if (failed) {
        print_message("this kernel has no MADV_POPULATE_WRITE\n");
        skip();
    }
}

static void small_memory_is_populated_at_once(void **state)
{
    (void)state;
    skip_without_populate();
    uint32_t handle = map(SMALL);
    assert_in_range(faults(handle, SMALL), 0, 8);
    td_regions_release(regions, handle);
}

static void large_memory_is_populated_on_a_thread(void **state)
{
    (void)state;
    skip_without_populate();
    uint32_t handle = map(LARGE);
    wait_for_closer();
    assert_in_range(faults(handle, LARGE), 0, 8);
    td_regions_release(regions, handle);
    wait_for_closer();
}

/* Pages that were returned are empty, to the end of the last huge page; those before them stay. */
static void scratch_memory_is_returned_to_the_system(void **state)
{
    (void)state;
    const struct td_view view = {0};
    uint8_t *none[1] = {NULL};
    struct td_bases bases;
    td_regions_bases(regions, &view, none, &bases);
    const size_t begin = (size_t)3 * PAGE, huge = (size_t)2 * MIB;
    uintptr_t last = (uintptr_t)bases.scratch + begin;
    size_t end = begin + (huge - last % huge) % huge;
    memset(bases.scratch, 7, MIB);
    td_regions_return_scratch(regions, 2 * PAGE + 1, PAGE - 1);
    for (size_t i = 0; i < MIB; i++)
        assert_int_equal(bases.scratch[i], i >= begin && i < end ? 0 : 7);
    td_regions_return_scratch(regions, 2 * PAGE + 1, MIB - 2 * PAGE - 1);
    for (size_t i = 0; i < MIB; i++)
        assert_int_equal(bases.scratch[i], i >= begin ? 0 : 7);
}

/* Memory that is released at once is unmapped after the thread that populates it is done, so what
 * is mapped next at its place keeps its pages to itself. */
static void memory_may_be_released_while_it_is_populated(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        td_regions_release(regions, map(LARGE));
    wait_for_closer();
    assert_int_equal(td_closer_pending(closer, UID), 0);
    assert_true(closed > 0);
}

/* A message of rows of two ranks, whose memory is in two regions, is sent from where it is. */
static void pieces_in_several_regions_are_named_and_held(void **state)
{
    (void)state;
    enum { ROW = 4096, ROWS = 8, PITCH = 8192 };
    struct td_memory memory[2] = {{.handle = map(SMALL), .bytes = SMALL},
                                  {.handle = map(SMALL), .offset = ROW, .bytes = SMALL - ROW}};
    const struct td_view view = {.ranks = 2, .source = memory, .destination = memory};
    static struct td_pieces pieces;
    struct td_slice slice = td_slice_at(TD_SPACE_DESTINATION, 0, ROW, ROW);
    td_slice_loop(&slice, 2, 0, 1);
    td_slice_loop(&slice, ROWS, PITCH, 0);
    /* from the middle of a row of the first rank to that of a row of the other one */
    uint64_t offset = 3 * ROW / 2, bytes = (ROWS - 1) * ROW + (uint64_t)ROW;
    uint64_t left = bytes;
    assert_true(td_regions_pieces(regions, &view, &slice, offset, bytes, &pieces));
    assert_int_equal(pieces.count, ROWS + 1);
    assert_int_equal(pieces.regions, 2);
    for (unsigned i = 0; i < pieces.count; i++) {
        left -= pieces.piece[i].iov_len;
        if (i > 0 && i + 1 < ROWS - 1)
            assert_ptr_equal(pieces.piece[i + 1].iov_base,
                             (uint8_t *)pieces.piece[i].iov_base + PITCH);
    }
    assert_int_equal(left, 0);
    for (unsigned i = 0; i < 2; i++)
        td_regions_hold(regions, pieces.region[i]);
    for (unsigned i = 0; i < 2; i++) /* they stay mapped */
        td_regions_release(regions, memory[i].handle);
    for (unsigned i = 0; i < pieces.count; i++)
        memset(pieces.piece[i].iov_base, 1, pieces.piece[i].iov_len);
    for (unsigned i = 0; i < 2; i++)
        td_regions_drop(regions, pieces.region[i]);
}

/* Short pieces are packed: to name them to the system would cost more. */
static void short_pieces_are_not_named(void **state)
{
    (void)state;
    enum { SHORT = 64, PIECES = 1024 };
    static struct td_pieces pieces;
    const struct td_view view = {0};
    struct td_slice slice = td_slice_at(TD_SPACE_SCRATCH, 0, 0, SHORT);
    td_slice_loop(&slice, PIECES, 2 * SHORT, 0);
    assert_false(td_regions_pieces(regions, &view, &slice, 0, (uint64_t)SHORT * PIECES, &pieces));
    assert_true(td_regions_pieces(regions, &view, &slice, 7 * SHORT, SHORT, &pieces));
    assert_int_equal(pieces.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(small_memory_is_populated_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_memory_is_populated_on_a_thread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pieces_in_several_regions_are_named_and_held, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(short_pieces_are_not_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scratch_memory_is_returned_to_the_system, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(memory_may_be_released_while_it_is_populated, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
