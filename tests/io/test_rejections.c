/* SPDX-License-Identifier: Apache-2.0 */
/* The log of peers that are turned away, in the time of a loop that does not run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "io/control/door/rejections.h"
#include "io/log.h"

enum { SECOND = 1000, HOUR = 3600 * SECOND };
static uv_loop_t loop;
static struct td_rejections r;
static char text[65536];

/* lines_of reads a log into `text`, and returns its number of lines. */
static int lines_of(FILE *f)
{
    int lines = 0;
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    fclose(f);
    return lines;
}

/* play rejects a peer each `every` ms for some time, and returns the lines of the log. */
static int play(uint64_t time_ms, uint64_t every, const char *address, const char *why)
{
    FILE *f = tmpfile();
    int kept = dup(STDERR_FILENO);
    dup2(fileno(f), STDERR_FILENO);
    for (uint64_t end = loop.time + time_ms; loop.time < end; loop.time += every) {
        td_rejections_tick(&r);
        if (why)
            td_reject(&r, address, "ab12", why);
    }
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    return lines_of(f);
}

static int setup(void **state)
{
    (void)state;
    uv_loop_init(&loop);
    loop.time = HOUR; /* a loop that runs would set it */
    td_rejections_init(&r, &loop);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    td_rejections_close(&r);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop);
}

static void a_peer_that_comes_again_and_again_is_told_up_to_once_an_hour(void **state)
{
    (void)state;
    assert_int_equal(play(1, 1, "10.0.0.3", "its key is not in the list of peers"), 1);
    assert_non_null(strstr(text, "turned away a peer: 10.0.0.3, key ab12: its key is not in the "));
    assert_int_equal(play(9 * SECOND, 100, "10.0.0.3", "its key is not in the list of peers"), 1);
    assert_non_null(strstr(text, " more connections of peers were turned away, "));
    assert_non_null(
        strstr(text, "; the same reason: 10.0.0.3, key ab12: its key is not in the list"));
    int lines = play(24 * HOUR, 2 * SECOND, "10.0.0.3", "its key is not in the list of peers");
    assert_in_range(lines, 24, 24 + 10);
    /* a peer that has come in peace for as long is news again */
    assert_int_equal(play(2 * HOUR, 60 * SECOND, NULL, NULL), 1);
    assert_int_equal(play(1, 1, "10.0.0.3", "its key is not in the list of peers"), 1);
    assert_non_null(strstr(text, "turned away a peer: "));
}

static void two_peers_in_turn_do_not_make_each_other_news(void **state)
{
    (void)state;
    int lines = 0;
    for (int i = 0; i < 300; i++) {
        lines += play(SECOND, SECOND, "10.0.0.3", "another shape");
        lines += play(SECOND, SECOND, "10.0.0.4", "another shape");
    }
    assert_in_range(lines, 2, 2 + 2 * 8); /* 10 minutes: after 5, 10, 20, ... 320 s */
}

static void a_flood_of_reasons_is_counted(void **state)
{
    (void)state;
    char address[32];
    int lines = 0;
    for (int i = 0; i < 3000; i++) {
        snprintf(address, sizeof address, "10.0.%d.%d", i / 250, i % 250);
        lines += play(SECOND / 10, SECOND / 10, address, "malformed handshake");
    }
    assert_in_range(lines, TD_REJECTIONS_KEPT, 10 + 300 / 2 + 10); /* one in 2 s, and the sums */
    assert_true(r.total == 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_peer_that_comes_again_and_again_is_told_up_to_once_an_hour, setup, teardown),
        cmocka_unit_test_setup_teardown(two_peers_in_turn_do_not_make_each_other_news, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_flood_of_reasons_is_counted, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
