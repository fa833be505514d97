/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of clients in the daemon: which files it takes, and that their pages are mapped before
 * the first operation touches them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/clients/closer.h"
#include "io/clients/mapping.h"
#include "io/clients/regions.h"

#define UNCHECKED __attribute__((no_sanitize("address", "thread", "undefined")))

enum { MIB = 1 << 20, SMALL = MIB / 4, LARGE = 32 * MIB, PAGE = 4096, UID = 7, ROUNDS = 50 };

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
    td_regions_work_on(regions, closer);
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

/* share makes a region of a file, as the daemon does. *text is valid until the next call. */
static td_err share(int fd, uint64_t bytes, bool may_keep, uint32_t *handle, const char **text)
{
    static struct td_mapping m;
    m = (struct td_mapping){.fd = fd, .bytes = bytes, .uid = UID};
    if (fd >= 0)
        m.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    td_regions_reserve(regions, &m);
    td_mapping_make(&m);
    *text = m.text;
    td_err error = td_regions_add(regions, &m, may_keep, handle);
    td_mapping_fini(&m);
    return error;
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
    assert_int_equal(share(fd, bytes, true, &handle, &text), TD_OK);
    close(fd);
    return handle;
}

static void wait_for_closer(void)
{
    while (td_closer_pending(closer, UID) > 0)
        uv_run(&uv, UV_RUN_ONCE);
}

/* base_of returns the memory of a region. */
static uint8_t *base_of(uint32_t handle, size_t bytes)
{
    const struct td_memory memory = {.handle = handle, .bytes = bytes};
    const struct td_view view = {.ranks = 1, .source = &memory, .destination = &memory};
    struct td_slice slice;
    uint32_t in = 0;
    td_slice_set(&slice, TD_SPACE_SOURCE, 0, 0, (int64_t)bytes);
    uint8_t *base = td_regions_piece(regions, &view, &slice, 0, bytes, &in);
    assert_non_null(base);
    return base;
}

/* faults returns the page faults of this thread while it writes to each page of memory. A sanitizer
 * would touch pages of its own. */
UNCHECKED static long faults(volatile uint8_t *base, size_t bytes)
{
    struct rusage before, after;
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

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* they map terabytes */
/* limited maps a region in a process that may map little more, and returns its exit code. */
static int limited(void)
{
    const rlim_t spare = (rlim_t)256 << 20; /* that regions leave */
    unsigned long pages = 0;
    uint32_t handle = 0;
    const char *text = "";
    FILE *f = fopen("/proc/self/statm", "r");
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (!f || fscanf(f, "%lu", &pages) != 1 || fclose(f) != 0 || ftruncate(fd, LARGE) != 0 ||
        fallocate(fd, 0, 0, LARGE) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
        return 2;
    rlim_t most = pages * (rlim_t)PAGE + spare + LARGE / 2;
    setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
    td_err error = share(fd, LARGE, false, &handle, &text);
    return error == TD_ERR_NO_MEMORY && strstr(text, "(RLIMIT_AS)") ? 0 : 1;
}

static void regions_leave_address_space_to_the_daemon(void **state)
{
    (void)state;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(limited());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}
#endif

static void small_memory_is_populated_at_once(void **state)
{
    (void)state;
    skip_without_populate();
    uint32_t handle = map(SMALL);
    assert_in_range(faults(base_of(handle, SMALL), SMALL), 0, 8);
    td_regions_release(regions, handle);
}

static void large_memory_is_populated_on_a_thread(void **state)
{
    (void)state;
    skip_without_populate();
    uint32_t handle = map(LARGE);
    wait_for_closer();
    assert_in_range(faults(base_of(handle, LARGE), LARGE), 0, 8);
    td_regions_release(regions, handle);
    wait_for_closer();
}

/* The daemon's part of memory for the ranks of a job is made on a thread, the rest when it is used;
 * it is unmapped on a thread, too. */
static void shared_memory_is_made_on_a_thread(void **state)
{
    (void)state;
    enum { OWN = 4 * PAGE };
    uint32_t handle = 0;
    int fd = -1;
    uint8_t *base = td_regions_share(regions, SMALL, OWN, UID, &handle, &fd);
    struct stat st;
    assert_non_null(base);
    wait_for_closer();
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_blocks * 512, OWN);
    assert_int_equal(faults(base, OWN), 0);
    close(fd);
    uv_run(&uv, UV_RUN_NOWAIT);
    uint32_t before = closed;
    td_regions_release(regions, handle);
    wait_for_closer();
    uv_run(&uv, UV_RUN_NOWAIT);
    assert_true(closed > before);
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

/* ---- files that are refused ---- */

/* struct part: pages that a file has, in MiB. */
struct part {
    long at, size;
};

/* file_of returns a file of `bytes` with the pages of its parts, sealed against shrinking. */
static int file_of(off_t bytes, const struct part *part, size_t parts)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, bytes), 0);
    for (size_t i = 0; i < parts; i++)
        assert_int_equal(fallocate(fd, FALLOC_FL_KEEP_SIZE, part[i].at * MIB, part[i].size * MIB),
                         0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    return fd;
}

static blkcnt_t blocks_of(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return st.st_blocks;
}

/* refuse checks that a file is refused with a sentence that has these words, and that nobody has
 * given it pages. It closes the file. */
static void refuse(int fd, uint64_t bytes, const char *words)
{
    uint32_t handle = 0;
    const char *text = NULL;
    blkcnt_t before = blocks_of(fd);
    assert_int_equal(share(fd, bytes, true, &handle, &text), TD_ERR_INVALID);
    if (!text || !strstr(text, words))
        fail_msg("expected \"%s\": %s", words, text ? text : "(none)");
    wait_for_closer();
    assert_true(blocks_of(fd) <= before);
    close(fd);
}

static void memory_is_exactly_as_large_as_announced(void **state)
{
    (void)state;
    const struct part whole = {0, 8};
    refuse(file_of(8 * MIB, &whole, 1), 4 * MIB, "has 8388608 bytes, not the 4194304 announced");
    refuse(file_of(8 * MIB, &whole, 1), 8 * MIB - PAGE, "not the 8384512 announced");
    refuse(file_of(8 * MIB, &whole, 1), 8 * MIB - 1, "not the 8388607 announced");
    refuse(file_of(8 * MIB, &whole, 1), 8 * MIB + 1, "not the 8388609 announced");
    refuse(file_of(8 * MIB, &whole, 1), 0, "not the 0 announced");
    refuse(file_of(0, NULL, 0), 0, "has 0 bytes");
    refuse(file_of(0, NULL, 0), UINT64_MAX, "has 0 bytes");
    refuse(file_of(INT64_MAX, &whole, 1), INT64_MAX, "only 8388608 of");
}

/* Pages elsewhere do not count for those that are missing. */
static void memory_has_all_its_pages(void **state)
{
    (void)state;
    static const struct part after[] = {{8, 8}}, before[] = {{0, 4}, {8, 4}},
                             odd[] = {{0, 7}, {8, 1}}, between[] = {{0, 2}, {4, 4}, {100, 2}},
                             far[] = {{1 << 20, 8}}, much[] = {{0, 8}, {8, 3}},
                             more[] = {{0, 7}, {8, 3}};
    refuse(file_of(8 * MIB, NULL, 0), 8 * MIB, "only 0 of 8388608 bytes");
    refuse(file_of(8 * MIB, after, 1), 8 * MIB, "only 0 of 8388608 bytes");
    refuse(file_of(8 * MIB, before, 2), 8 * MIB, "only 4194304 of");
    refuse(file_of(8 * MIB, odd, 2), 8 * MIB, "only 7340032 of");
    refuse(file_of(8 * MIB, between, 3), 8 * MIB, "only 6291456 of");
    refuse(file_of(8 * MIB, far, 1), 8 * MIB, "only 0 of");
    refuse(file_of(8 * MIB, more, 2), 8 * MIB, "only 7340032 of");
    refuse(file_of(8 * MIB, much, 2), 8 * MIB, "has 3145728 bytes of pages beyond its end");
}

static void other_memory_is_refused(void **state)
{
    (void)state;
    const struct part whole = {0, 2};
    uint32_t handle = 0;
    const char *text = NULL;
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
    if (fd >= 0) /* this kernel has huge pages for files */
        refuse(fd, 2 * MIB, "not hugetlb");
    fd = file_of(2 * MIB, &whole, 1);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL), 0);
    refuse(fd, 2 * MIB, "without F_SEAL_SEAL");
    fd = file_of(2 * MIB, &whole, 1);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int only_read = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(share(only_read, 2 * MIB, true, &handle, &text),
                     TD_ERR_NO_MEMORY); /* it cannot be mapped */
    close(only_read);
    assert_int_equal(share(fd, 2 * MIB, true, &handle, &text), TD_OK);
    refuse(fd, 2 * MIB, "share it once");
    td_regions_release(regions, handle);
}

/* A region keeps its size and its pages, and has no others, however odd its size is. */
static void memory_of_a_region_stays_as_it_is(void **state)
{
    (void)state;
    const int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    static const off_t odd[] = {1, PAGE - 1, PAGE, PAGE + 1, 3 * MIB - 1, 3 * MIB + 5};
    static const struct part part[] = {{0, 4}}; /* as with huge pages: it ends beyond the file */
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        uint32_t handle = 0;
        const char *text = NULL;
        int fd = file_of(odd[i], NULL, 0);
        assert_int_equal(fallocate(fd, 0, 0, odd[i]), 0);
        if (odd[i] > 2 * MIB)
            assert_int_equal(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, part->size * MIB), 0);
        uint8_t *own = mmap(NULL, (size_t)odd[i], PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        assert_true(own != MAP_FAILED);
        own[odd[i] - 1] = 3;
        assert_int_equal(share(fd, (uint64_t)odd[i], true, &handle, &text), TD_OK);
        wait_for_closer();
        blkcnt_t pages = (odd[i] + PAGE - 1) / PAGE;
        assert_int_equal(blocks_of(fd), pages * (PAGE / 512));
        assert_int_equal(own[odd[i] - 1], 3);
        assert_int_equal(ftruncate(fd, odd[i] + PAGE), -1);
        assert_int_equal(ftruncate(fd, odd[i] - 1), -1);
        assert_int_equal(fallocate(fd, FALLOC_FL_KEEP_SIZE, odd[i], PAGE), -1);
        assert_int_equal(fallocate(fd, hole, 0, PAGE), -1);
        assert_int_equal(madvise(own, (size_t)odd[i], MADV_REMOVE), -1);
        assert_int_equal(blocks_of(fd), pages * (PAGE / 512));
        td_regions_release(regions, handle);
        munmap(own, (size_t)odd[i]);
        close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
        cmocka_unit_test_setup_teardown(regions_leave_address_space_to_the_daemon, set_up,
                                        tear_down),
#endif
        cmocka_unit_test_setup_teardown(small_memory_is_populated_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_memory_is_populated_on_a_thread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shared_memory_is_made_on_a_thread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pieces_in_several_regions_are_named_and_held, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(short_pieces_are_not_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scratch_memory_is_returned_to_the_system, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(memory_may_be_released_while_it_is_populated, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(memory_is_exactly_as_large_as_announced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_has_all_its_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_memory_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_of_a_region_stays_as_it_is, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
