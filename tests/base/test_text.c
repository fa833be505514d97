/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of texts that others chose: base/text.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"

/* NOLINTBEGIN(misc-misleading-bidirectional): text that is refused */
static const struct {
    const char *text, *fault, *shown;
} cases[] = {
    {"", NULL, ""},
    {"heat-3.7 'a b' \\x1b <&>", NULL, "heat-3.7 'a b' \\x1b <&>"},
    {"W\xc3\xa4rme \xe6\xb8\xa9\xe5\xba\xa6 \xf0\x9f\x94\xa5", NULL,
     "W\xc3\xa4rme \xe6\xb8\xa9\xe5\xba\xa6 \xf0\x9f\x94\xa5"},
    {"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbd", NULL, "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbd"},
    {"wait\x1b[31m\nx\r", "byte 5 is the control character U+001B",
     "wait\\u001b[31m\\u000ax\\u000d"},
    {"a\tb", "byte 2 is the control character U+0009", "a\\u0009b"},
    {"a\x7f", "byte 2 is the control character U+007F", "a\\u007f"},
    {"\xc2\x9b"
     "31m",
     "byte 1 is the control character U+009B", "\\u009b31m"},
    {"\x9b"
     "31m",
     "byte 1, 0x9B, is not UTF-8", "\\23331m"},
    {"a\xe2\x80\xa8"
     "b",
     "byte 2 is the line separator U+2028", "a\\u2028b"},
    {"a\xe2\x80\xaexe.b", "byte 2 is the bidirectional control U+202E", "a\\u202exe.b"},
    {"\xd8\x9c", "byte 1 is the bidirectional control U+061C", "\\u061c"},
    {"\xe2\x81\xa6", "byte 1 is the bidirectional control U+2066", "\\u2066"},
    {"\xef\xbb\xbf"
     "a",
     "byte 1 is the invisible character U+FEFF", "\\ufeffa"},
    {"a\xe2\x80\x8b", "byte 2 is the invisible character U+200B", "a\\u200b"},
    {"a\xf3\xa0\x81\x81", "byte 2 is the invisible character U+E0041", "a\\U000e0041"},
    {"\xef\xbf\xbf", "byte 1 is the noncharacter U+FFFF", "\\uffff"},
    {"\xc0\xaf", "byte 1, 0xC0, is not UTF-8", "\\300\\257"},          /* overlong / */
    {"\xe0\x80\x9b", "byte 1, 0xE0, is not UTF-8", "\\340\\200\\233"}, /* overlong */
    {"\xed\xa0\x80", "byte 1, 0xED, is not UTF-8", "\\355\\240\\200"}, /* a surrogate */
    {"\xf4\x90\x80\x80", "byte 1, 0xF4, is not UTF-8", "\\364\\220\\200\\200"},
    {"\xfe\xff", "byte 1, 0xFE, is not UTF-8", "\\376\\377"},
    {"a\xc3(", "byte 2, 0xC3, is not UTF-8", "a\\303("},
    {"a\xe6\xb8", "byte 2, 0xE6, is not UTF-8", "a"}, /* cut off */
};
/* NOLINTEND(misc-misleading-bidirectional) */

static void a_text_is_plain_or_has_its_first_fault_named(void **state)
{
    (void)state;
    char fault[TD_TEXT_FAULT_MAX], shown[64];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *found = td_text_fault(cases[i].text, fault);
        if (cases[i].fault) {
            assert_non_null(found);
            assert_string_equal(found, cases[i].fault);
        } else {
            assert_null(found);
        }
        assert_string_equal(td_text_show(cases[i].text, shown, sizeof shown), cases[i].shown);
        assert_null(td_text_fault(shown, fault));
    }
}

static void every_control_character_has_a_visible_form(void **state)
{
    (void)state;
    char fault[TD_TEXT_FAULT_MAX], shown[16];
    for (int c = 1; c < 0xa0; c++) {
        char text[3] = {(char)c};
        if (c >= 0x80) {
            text[0] = '\xc2';
            text[1] = (char)c;
        }
        bool control = c < 0x20 || c >= 0x7f;
        assert_true(control == (td_text_fault(text, fault) != NULL));
        td_text_show(text, shown, sizeof shown);
        assert_true(control == (shown[0] == '\\' && shown[1]));
    }
}

static void a_text_that_does_not_fit_is_cut_between_characters(void **state)
{
    (void)state;
    char to[8];
    assert_string_equal(td_text_show("abcdefghi", to, sizeof to), "abcdefg");
    assert_string_equal(td_text_show("abcdef\xc3\xa4", to, sizeof to), "abcdef");
    assert_string_equal(td_text_show("abc\x1b[0m", to, sizeof to), "abc");
    assert_string_equal(td_text_show("\x1b", to, 1), "");
}

static void the_distance_counts_the_edits_of_a_word(void **state)
{
    (void)state;
    char word[200];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_int_equal(td_text_distance("TORUS_SIZES", "TORUS_SIZE"), 1);
    assert_int_equal(td_text_distance("kitten", "sitting"), 3);
    assert_int_equal(td_text_distance("", "abc"), 3);
    assert_int_equal(td_text_distance(word, ""), 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_plain_or_has_its_first_fault_named),
        cmocka_unit_test(every_control_character_has_a_visible_form),
        cmocka_unit_test(a_text_that_does_not_fit_is_cut_between_characters),
        cmocka_unit_test(the_distance_counts_the_edits_of_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
