/* SPDX-License-Identifier: Apache-2.0 */
/* The rate of log lines that clients cause: io/log.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/log.h"

static char text[4096];

/* say tries to print `count` lines at a time, and returns how many were printed. `text` has the
 * last of them. */
static uint32_t say(struct td_log_rate *rate, uint64_t now_ns, uint32_t count)
{
    uint32_t printed = 0;
    int kept = dup(STDERR_FILENO);
    FILE *f = tmpfile();
    assert_non_null(f);
    dup2(fileno(f), STDERR_FILENO);
    for (uint32_t i = 0; i < count; i++)
        printed += td_log_rated(rate, now_ns, TD_LOG_WARNING, "process %u does not read", i);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(f);
    while (fgets(text, sizeof text, f))
        continue;
    fclose(f);
    return printed;
}

static void a_flood_of_lines_is_counted(void **state)
{
    (void)state;
    struct td_log_rate rate = {0};
    assert_int_equal(say(&rate, 1, 54884), TD_LOG_RATE_LINES);
    assert_int_equal(say(&rate, TD_LOG_RATE_NS, 10), 0);
    assert_int_equal(say(&rate, TD_LOG_RATE_NS + 1, 1), 1);
    assert_non_null(strstr(text, "process 0 does not read; 54889 such lines were suppressed"));
    assert_int_equal(say(&rate, 3 * TD_LOG_RATE_NS, 1), 1);
    assert_null(strstr(text, "suppressed"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flood_of_lines_is_counted),
    };
    td_log_init(TD_LOG_INFO, "test");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
