/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MALFORMED UINT32_MAX

/* struct kind: a range of characters that are not plain. */
static const struct kind {
    uint32_t first, last;
    const char *name;
} kinds[] = {
    {0x00, 0x1f, "control character"},         {0x7f, 0x9f, "control character"},
    {0xad, 0xad, "invisible character"},       {0x61c, 0x61c, "bidirectional control"},
    {0x180e, 0x180e, "invisible character"},   {0x200b, 0x200d, "invisible character"},
    {0x200e, 0x200f, "bidirectional control"}, {0x2028, 0x2029, "line separator"},
    {0x202a, 0x202e, "bidirectional control"}, {0x2060, 0x2065, "invisible character"},
    {0x2066, 0x2069, "bidirectional control"}, {0x206a, 0x206f, "invisible character"},
    {0xfdd0, 0xfdef, "noncharacter"},          {0xfeff, 0xfeff, "invisible character"},
    {0xfff9, 0xfffb, "invisible character"},   {0xe0000, 0xe0fff, "invisible character"},
};

/* kind_of returns the name of the kind of a character, or NULL if it is plain. */
static const char *kind_of(uint32_t c)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (c >= kinds[i].first && c <= kinds[i].last)
            return kinds[i].name;
    return (c & 0xfffe) == 0xfffe ? "noncharacter" : NULL;
}

/* next returns the character at `text`, or MALFORMED, and writes how many bytes it has: those of a
 * malformed sequence are read one by one. *ends: the text ends within a character. */
static uint32_t next(const char *text, size_t *bytes, bool *ends)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* of a character of n bytes */
    const unsigned char *at = (const unsigned char *)text;
    *bytes = 1;
    *ends = false;
    if (at[0] < 0x80)
        return at[0];
    if (at[0] < 0xc2 || at[0] > 0xf4)
        return MALFORMED;
    size_t length = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    uint32_t c = at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        *ends = !at[i];
        if ((at[i] & 0xc0) != 0x80)
            return MALFORMED;
        c = c << 6 | (at[i] & 0x3f);
    }
    if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return MALFORMED;
    *bytes = length;
    return c;
}

const char *td_text_fault(const char *text, char *fault)
{
    size_t bytes = 0;
    bool ends = false;
    for (const char *at = text; *at; at += bytes) {
        uint32_t c = next(at, &bytes, &ends);
        size_t place = (size_t)(at - text) + 1;
        const char *kind = c == MALFORMED ? NULL : kind_of(c);
        if (c == MALFORMED)
            snprintf(fault, TD_TEXT_FAULT_MAX, "byte %zu, 0x%02X, is not UTF-8", place,
                     (unsigned char)*at);
        else if (kind)
            snprintf(fault, TD_TEXT_FAULT_MAX, "byte %zu is the %s U+%04X", place, kind, c);
        if (c == MALFORMED || kind)
            return fault;
    }
    return NULL;
}

const char *td_text_show(const char *text, char *to, size_t size)
{
    size_t length = 0, bytes = 0;
    bool ends = false;
    for (; *text; text += bytes) {
        char shown[16];
        uint32_t c = next(text, &bytes, &ends);
        if (ends)
            break;
        if (c == MALFORMED)
            snprintf(shown, sizeof shown, "\\%03o", (unsigned char)*text);
        else if (kind_of(c))
            snprintf(shown, sizeof shown, c > 0xffff ? "\\U%08x" : "\\u%04x", c);
        else
            snprintf(shown, sizeof shown, "%.*s", (int)bytes, text);
        if (length + strlen(shown) >= size)
            break;
        memcpy(to + length, shown, strlen(shown));
        length += strlen(shown);
    }
    to[length] = '\0';
    return to;
}

size_t td_text_distance(const char *a, const char *b)
{
    enum { WORD_MAX = 63 };
    size_t row[WORD_MAX + 1], m = strnlen(a, WORD_MAX), n = strnlen(b, WORD_MAX);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = change < least ? change : least;
        }
    }
    return row[n];
}
