/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the environment variables of torusd: base/variables.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/variables.h"

static char names[TD_STRAYS_MAX], text[TD_STRAY_TEXT_MAX];

static void unknown_variables_are_found(void **state)
{
    (void)state;
    char *const none[] = {"TORUS_JOB=a",  "TORUS_SIZE=2",  "TORUS_TEST_CASE=1",
                          "TORUSD=x",     "PATH=/bin",     "TORUS_A B=no name",
                          "TORUS_\x1b=x", "XTORUS_SIZE=1", NULL};
    char *const some[] = {"TORUS_SIZES=2", "TORUS_JOB=a", "TORUS_JOBNAME=b", "TORUS_=", NULL};
    assert_null(td_variables_strays(none, names));
    assert_null(td_variables_strays(NULL, names));
    assert_string_equal(td_variables_strays(some, names), "TORUS_SIZES TORUS_JOBNAME TORUS_");
}

static void a_list_of_unknown_variables_is_bounded(void **state)
{
    (void)state;
    char entry[300], *many[40] = {NULL};
    memset(entry, 'X', sizeof entry - 1);
    memcpy(entry, "TORUS_", 6);
    entry[sizeof entry - 1] = '\0';
    many[0] = entry; /* too long: left out */
    for (size_t i = 1; i + 1 < sizeof many / sizeof many[0]; i++)
        many[i] = "TORUS_UNKNOWN=1";
    assert_non_null(td_variables_strays(many, names));
    assert_in_range(strlen(names), TD_STRAYS_MAX - 20, TD_STRAYS_MAX - 1);
}

static void a_warning_has_the_nearest_name(void **state)
{
    (void)state;
    static const struct {
        const char *name, *nearest;
    } cases[] = {{"TORUS_SIZES", ": the nearest is TORUS_SIZE"},
                 {"TORUS_RNAK", ": the nearest is TORUS_RANK"},
                 {"TORUS_JOB_NAME", ": the nearest is TORUS_JOB"},
                 {"TORUS_SOCK", ": the nearest is TORUS_SOCKET"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *at = cases[i].name;
        assert_non_null(td_variables_warning(&at, text));
        assert_int_equal(strncmp(text, cases[i].name, strlen(cases[i].name)), 0);
        assert_string_equal(strrchr(text, ':'), cases[i].nearest);
        assert_null(td_variables_warning(&at, text));
    }
    const char *two = " TORUS_A  TORUS_B ";
    assert_non_null(td_variables_warning(&two, text));
    assert_non_null(td_variables_warning(&two, text));
    assert_int_equal(strncmp(text, "TORUS_B ", 8), 0);
    assert_null(td_variables_warning(&two, text));
}

static void the_misspelling_of_a_variable_is_found(void **state)
{
    (void)state;
    char name[TD_STRAYS_MAX];
    assert_string_equal(
        td_variables_misspelt("TORUS_SIZESES TORUS_SZIE TORUS_RNAK", "TORUS_SIZE", name),
        "TORUS_SZIE");
    assert_null(td_variables_misspelt("TORUS_RNAK TORUS_JOBS", "TORUS_SIZE", name));
    assert_null(td_variables_misspelt(NULL, "TORUS_SIZE", name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_variables_are_found),
        cmocka_unit_test(a_list_of_unknown_variables_is_bounded),
        cmocka_unit_test(a_warning_has_the_nearest_name),
        cmocka_unit_test(the_misspelling_of_a_variable_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
