/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of another process that the kernel copies: which process it is of, and when ranks lend it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libtorus/cma.h"

enum { ME, PEER, RANKS, BYTES = 1 << 20, HOLE = 65536 };

static struct tl_cma *me;
static struct tl_cma_told told; /* by the peer */
static pid_t peer;
static uint8_t *theirs; /* here and there, with different contents */

static uint8_t byte_of(size_t i)
{
    return (uint8_t)(i * 31 + i / 251);
}

static bool is_permitted(void)
{
    uint8_t byte = 0;
    struct iovec here = {&byte, 1}, there = {theirs, 1};
    return process_vm_readv(peer, &here, 1, &there, 1, 0) == 1;
}

/* begin starts the process of the peer. */
static void begin(void)
{
    int line[2];
    assert_int_equal(pipe(line), 0);
    theirs = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(theirs != MAP_FAILED);
    peer = fork();
    assert_true(peer >= 0);
    if (peer == 0) {
        alarm(60);
        struct tl_cma *c = tl_cma_new(PEER, RANKS);
        for (size_t i = 0; i < BYTES; i++)
            theirs[i] = byte_of(i);
        munmap(theirs + HOLE, HOLE);
        tl_cma_tell(c, &told);
        if (write(line[1], &told, sizeof told) == sizeof told)
            pause();
        _exit(1);
    }
    assert_int_equal(read(line[0], &told, sizeof told), sizeof told);
    close(line[0]);
    close(line[1]);
    me = tl_cma_new(ME, RANKS);
    assert_non_null(me);
    if (!is_permitted()) {
        print_message("this machine forbids to read the memory of a child\n");
        skip();
    }
}

static int end(void **state)
{
    (void)state;
    if (peer > 0) {
        kill(peer, SIGKILL);
        waitpid(peer, NULL, 0);
    }
    tl_cma_free(me);
    munmap(theirs, BYTES);
    return 0;
}

static bool reads(size_t at, size_t bytes)
{
    static uint8_t to[BYTES];
    memset(to, 0, sizeof to);
    errno = 4711;
    bool good = tl_cma_read(me, PEER, to, (uintptr_t)theirs + at, bytes);
    assert_int_equal(errno, 4711);
    for (size_t i = 0; i < bytes && good; i++)
        assert_int_equal(to[i], byte_of(at + i));
    return good;
}

static bool tells_that_it_sees(void)
{
    struct tl_cma_told mine;
    tl_cma_tell(me, &mine);
    return mine.sees;
}

static void bytes_of_the_peer_arrive(void **state)
{
    (void)state;
    begin();
    assert_false(tells_that_it_sees());
    assert_false(reads(0, 8)); /* not heard yet */
    tl_cma_free(me);
    me = tl_cma_new(ME, RANKS);
    tl_cma_hear(me, PEER, &told);
    assert_true(tells_that_it_sees());
    assert_true(reads(0, HOLE));
    assert_true(reads(12345, 1));
    assert_true(reads(2 * HOLE + 3, BYTES - 2 * HOLE - 3));
}

static void memory_is_lent_when_all_see_all(void **state)
{
    (void)state;
    begin();
    assert_false(tl_cma_may_lend(me));
    tl_cma_hear(me, PEER, &told);
    assert_false(tl_cma_may_lend(me)); /* the peer has not said that it sees this rank */
    told.sees = 1;
    tl_cma_hear(me, PEER, &told);
    assert_true(tl_cma_may_lend(me));
    told.sees = 0;
    tl_cma_hear(me, PEER, &told);
    assert_false(tl_cma_may_lend(me));
}

static void a_hole_is_found(void **state)
{
    (void)state;
    begin();
    tl_cma_hear(me, PEER, &told);
    assert_false(reads(HOLE - 8, 16));
    assert_true(reads(0, HOLE)); /* nothing else has changed */
}

static void calls_in_vain_end_lending_for_some_time(void **state)
{
    (void)state;
    begin();
    told.sees = 1;
    tl_cma_hear(me, PEER, &told);
    for (uint32_t round = 0; round < 3; round++) {
        uint32_t vain = 0, pause = 0;
        for (uint32_t i = 0; i < 3; i++) { /* one that is DONE makes up for those before */
            assert_true(tl_cma_may_lend(me));
            tl_cma_lent(me, i == 1);
        }
        for (; tl_cma_may_lend(me); vain++)
            tl_cma_lent(me, false);
        for (pause = 1; !tl_cma_may_lend(me); pause++)
            continue;
        assert_in_range(vain, 2, 20);
        assert_in_range(pause, 100, 1000);
        tl_cma_lent(me, true);
    }
}

static void another_process_is_not_read(void **state)
{
    (void)state;
    begin();
    struct tl_cma_told wrong = told;
    wrong.process = (uint32_t)getpid(); /* the number of the peer may be another one's here */
    tl_cma_hear(me, PEER, &wrong);
    assert_false(tells_that_it_sees());
    assert_false(reads(0, 8));
    tl_cma_free(me);
    me = tl_cma_new(ME, RANKS);
    wrong = told;
    wrong.mark++; /* or it came later */
    tl_cma_hear(me, PEER, &wrong);
    assert_false(tells_that_it_sees());
    assert_false(reads(0, 8));
}

static void a_process_that_ended_is_not_read(void **state)
{
    (void)state;
    begin();
    tl_cma_hear(me, PEER, &told);
    assert_true(reads(0, 8));
    kill(peer, SIGKILL);
    waitpid(peer, NULL, 0);
    peer = 0;
    assert_false(reads(0, 8));
}

static void few_attempts_are_made_if_they_fail(void **state)
{
    (void)state;
    begin();
    struct tl_cma_told wrong = told;
    for (uint32_t i = 0; i < 5; i++) {
        wrong.mark++;
        tl_cma_hear(me, PEER, &wrong);
    }
    tl_cma_hear(me, PEER, &told); /* not tried any more */
    assert_false(tells_that_it_sees());
    assert_false(reads(0, 8));
}

static void a_later_telling_is_tried(void **state)
{
    (void)state;
    begin();
    struct tl_cma_told wrong = told;
    wrong.mark++; /* from the line of another call */
    tl_cma_hear(me, PEER, &wrong);
    assert_false(tells_that_it_sees());
    tl_cma_hear(me, PEER, &told);
    assert_true(tells_that_it_sees());
    assert_true(reads(0, 8));
}

/* A child has the memory of its parent, but no mark. */
static void a_child_is_not_taken_for_its_parent(void **state)
{
    (void)state;
    begin();
    struct tl_cma *c = tl_cma_new(PEER, RANKS);
    struct tl_cma_told of_child;
    tl_cma_tell(c, &of_child);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        pause();
        _exit(1);
    }
    of_child.process = (uint32_t)child;
    tl_cma_hear(me, PEER, &of_child);
    assert_false(tells_that_it_sees());
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    tl_cma_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(bytes_of_the_peer_arrive, end),
        cmocka_unit_test_teardown(memory_is_lent_when_all_see_all, end),
        cmocka_unit_test_teardown(a_hole_is_found, end),
        cmocka_unit_test_teardown(another_process_is_not_read, end),
        cmocka_unit_test_teardown(a_process_that_ended_is_not_read, end),
        cmocka_unit_test_teardown(calls_in_vain_end_lending_for_some_time, end),
        cmocka_unit_test_teardown(few_attempts_are_made_if_they_fail, end),
        cmocka_unit_test_teardown(a_later_telling_is_tried, end),
        cmocka_unit_test_teardown(a_child_is_not_taken_for_its_parent, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
