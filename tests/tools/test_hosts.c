/* SPDX-License-Identifier: Apache-2.0 */
/* Host lists: expansion, and positions of errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "io/config/hosts.h"

struct names {
    char text[4096];
    int count, most;
};

static bool add(void *user, const char *name)
{
    struct names *n = user;
    size_t length = strlen(n->text);
    snprintf(n->text + length, sizeof n->text - length, "%s ", name);
    n->count++;
    return n->most == 0 || n->count < n->most;
}

static void check(const char *list, const char *expected)
{
    struct names n = {.count = 0};
    size_t position = 0;
    const char *wrong = td_hosts_expand(list, add, &n, &position);
    if (wrong)
        fail_msg("%s: refused at %zu: %s", list, position, wrong);
    assert_string_equal(n.text, expected);
}

static void refused(const char *list)
{
    struct names n = {.most = 100000};
    size_t position = SIZE_MAX;
    const char *wrong = td_hosts_expand(list, add, &n, &position);
    if (!wrong)
        fail_msg("%s was taken as %s", list, n.text);
    assert_true(position <= strlen(list));
}

static void names_stand_for_themselves(void **state)
{
    (void)state;
    check("login", "login ");
    check("a,b.example.org,10.0.0.7", "a b.example.org 10.0.0.7 ");
}

static void ranges_count_up_and_keep_their_width(void **state)
{
    (void)state;
    check("n[0-3]", "n0 n1 n2 n3 ");
    check("node[08-11]", "node08 node09 node10 node11 ");
    check("n[1,3-4]", "n1 n3 n4 ");
    check("node[00-01],spare[1,3-4],login", "node00 node01 spare1 spare3 spare4 login ");
    check("r[7]-ib", "r7-ib ");
}

static void names_stand_apart_by_commas_or_spaces(void **state)
{
    (void)state;
    check("a b\tc", "a b c ");
    check(" a , b,c ", "a b c ");
    check("", "");
}

static void a_name_that_is_too_long_is_refused(void **state)
{
    (void)state;
    char list[400];
    memset(list, 'x', sizeof list);
    list[sizeof list - 1] = '\0';
    refused(list);
    memcpy(list + 200, "[1-2]", 5);
    refused(list);
}

static void a_name_and_its_short_form_are_alike(void **state)
{
    (void)state;
    assert_true(td_hosts_similar("node03", "node03.cluster.local"));
    assert_true(td_hosts_similar("node03.cluster.local", "node03"));
    assert_true(td_hosts_similar("node03", "node03"));
    assert_false(td_hosts_similar("node03.a", "node03.b"));
    assert_false(td_hosts_similar("node03", "node031"));
    assert_false(td_hosts_similar("node03", "node0.cluster.local"));
    assert_false(td_hosts_similar("", ""));
}

static void wrong_lists_are_refused_at_their_place(void **state)
{
    static const char *const wrong[] = {
        "n[",   "n[]", "n[3-1]", "n[a-b]", "n[1-",  "n[1-]", "n1]",  "n[1][",   "n[1][2]",  "n[1]]",
        "a,,b", "a,",  ",a",     ",",      "a, ,b", " , a",  "a , ", "n[0-1],", "n[0-1],,b"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refused(wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stand_for_themselves),
        cmocka_unit_test(ranges_count_up_and_keep_their_width),
        cmocka_unit_test(names_stand_apart_by_commas_or_spaces),
        cmocka_unit_test(a_name_that_is_too_long_is_refused),
        cmocka_unit_test(a_name_and_its_short_form_are_alike),
        cmocka_unit_test(wrong_lists_are_refused_at_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
