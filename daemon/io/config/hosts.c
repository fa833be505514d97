/* SPDX-License-Identifier: Apache-2.0 */
#include "hosts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 256, NUMBER_MAX = 1000000 };

/* number reads digits at *at and writes their count to *width. */
static bool number(const char *list, size_t *at, unsigned *value, int *width)
{
    size_t begin = *at;
    *value = 0;
    while (isdigit((unsigned char)list[*at]) && *value < NUMBER_MAX)
        *value = *value * 10 + (unsigned)(list[(*at)++] - '0');
    *width = (int)(*at - begin);
    return *width > 0;
}

/* brackets expands prefix[a-b,c]suffix. A name has at most one pair of brackets. */
static const char *brackets(const char *list, size_t *at, const char *prefix,
                            bool (*add)(void *, const char *), void *user)
{
    size_t close = *at;
    while (list[close] && list[close] != ']')
        close++;
    if (!list[close])
        return "missing ] after [";
    size_t end = close + 1;
    while (list[end] && list[end] != ',' && !isspace((unsigned char)list[end]) &&
           list[end] != '[' && list[end] != ']')
        end++;
    do {
        unsigned first = 0, last = 0;
        int width = 0, other = 0;
        (*at)++; /* past [ or , */
        if (!number(list, at, &first, &width))
            return "expected a number";
        last = first;
        if (list[*at] == '-') {
            (*at)++;
            if (!number(list, at, &last, &other) || last < first)
                return "expected a number at or above the first";
        }
        if (list[*at] != ',' && list[*at] != ']')
            return "expected -, a comma or ]";
        for (unsigned i = first; i <= last; i++) {
            char name[NAME_MAX_BYTES];
            int length = snprintf(name, sizeof name, "%s%0*u%.*s", prefix, width, i,
                                  (int)(end - close - 1), list + close + 1);
            if (length >= (int)sizeof name)
                return "the name is too long";
            if (!add(user, name))
                return "too many hosts";
        }
    } while (list[*at] == ',');
    *at = end;
    return NULL;
}

/* separator skips a comma, spaces, or both between two names. */
static const char *separator(const char *list, size_t *at, bool first)
{
    size_t begin = *at;
    bool comma = false;
    for (; list[*at] == ',' || isspace((unsigned char)list[*at]); (*at)++) {
        if (list[*at] != ',')
            continue;
        if (first || comma)
            return "no name before this comma";
        comma = true;
    }
    if (comma && !list[*at])
        return "no name after the last comma";
    if (first || *at > begin || !list[*at])
        return NULL;
    return list[*at] == '['   ? "a name may have one pair of brackets"
           : list[*at] == ']' ? "] without ["
                              : "the name is too long";
}

/* address returns the bytes of an address of IPv6 in brackets that follows `name`, the beginning of
 * a host or of an endpoint, or 0: other brackets have numbers. */
static size_t address(const char *list, const char *name)
{
    size_t length = strlen(name), end = strcspn(list, "]");
    bool begins = length == 0 || name[length - 1] == '/';
    return begins && list[0] == '[' && list[end] && memchr(list, ':', end) ? end + 1 : 0;
}

/* word reads a name up to a separator, or to brackets with numbers. */
static void word(const char *list, size_t *at, char name[NAME_MAX_BYTES])
{
    size_t length = 0, more = 0;
    name[0] = '\0';
    for (;; *at += more, length += more, name[length] = '\0') {
        char c = list[*at];
        more = address(list + *at, name);
        if (!c || (!more && (c == ',' || c == '[' || c == ']' || isspace((unsigned char)c))))
            return;
        more = more ? more : 1;
        if (length + more >= NAME_MAX_BYTES)
            return;
        memcpy(name + length, list + *at, more);
    }
}

const char *td_hosts_expand(const char *list, bool (*add)(void *user, const char *name), void *user,
                            size_t *position)
{
    size_t at = 0;
    for (bool first = true;; first = false) {
        const char *gap = separator(list, &at, first);
        *position = at;
        if (gap || !list[at])
            return gap;
        char name[NAME_MAX_BYTES];
        word(list, &at, name);
        const char *wrong = NULL;
        if (list[at] == '[')
            wrong = brackets(list, &at, name, add, user);
        else if (list[at] == ']')
            wrong = "] without [";
        else if (!add(user, name))
            wrong = "too many hosts";
        if (wrong) {
            *position = at;
            return wrong;
        }
    }
}

bool td_hosts_similar(const char *a, const char *b)
{
    size_t length = strcspn(a, ".");
    return length > 0 && length == strcspn(b, ".") && strncmp(a, b, length) == 0 &&
           (!a[length] || !b[length]);
}
