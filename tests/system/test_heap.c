/* SPDX-License-Identifier: Apache-2.0 */
/* What malloc keeps of a thread's memory, and what goes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <unistd.h>
#include <cmocka.h>

#include "system/heap.h"

enum {
    BLOCKS = 256,
    BLOCK = 1 << 17,
    ALL = BLOCKS * BLOCK /* 32 MiB: less than one heap of a thread */
};

/* struct sizes: resident memory; negative: it could not be read. */
struct sizes {
    long before, freed, returned;
};

static long resident_bytes(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*d %ld", &pages) != 1)
        pages = -1;
    if (f)
        fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

static void *use(void *argument)
{
    static void *block[BLOCKS];
    struct sizes *sizes = argument;
    sizes->before = resident_bytes();
    for (unsigned i = 0; i < BLOCKS; i++) {
        block[i] = malloc(BLOCK);
        if (block[i])
            memset(block[i], 1, BLOCK);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        free(block[i]);
    sizes->freed = resident_bytes();
    td_heap_return();
    sizes->returned = resident_bytes();
    return NULL;
}

static void check(const struct sizes *sizes)
{
    assert_true(sizes->before > 0 && sizes->freed > 0 && sizes->returned > 0);
    assert_in_range(sizes->freed - sizes->before, ALL * 3 / 4, ALL * 5 / 4);
    assert_true(sizes->returned - sizes->before < ALL / 8);
}

static void a_thread_keeps_freed_memory_until_it_returns_it(void **state)
{
    (void)state;
    struct sizes sizes;
    pthread_t thread;
    td_heap_keep();
    assert_int_equal(pthread_create(&thread, NULL, use, &sizes), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    check(&sizes);
}

static void so_does_the_first_thread(void **state)
{
    (void)state;
    struct sizes sizes;
    td_heap_keep();
    use(&sizes);
    check(&sizes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_keeps_freed_memory_until_it_returns_it),
        cmocka_unit_test(so_does_the_first_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
