/* SPDX-License-Identifier: Apache-2.0 */
#include "variables.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

/* TORUS_TEST_*: settings of the tests. TORUS_INCLUDE and TORUS_LIBRARY: of the build of the Python
 * package. */
static const char *const variables[] = {
    "TORUS_INCLUDE", "TORUS_JOB",  "TORUS_LIBRARY", "TORUS_NODE",
    "TORUS_RANK",    "TORUS_SIZE", "TORUS_SOCKET",  "TORUS_SOCKETS",
};
static const char begin[] = "TORUS_", of_tests[] = "TORUS_TEST_";

/* is_name_character returns true for characters of names that a shell accepts. */
static bool is_name_character(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_stray(const char *name, size_t length)
{
    if (strncmp(name, begin, strlen(begin)) != 0 || strncmp(name, of_tests, strlen(of_tests)) == 0)
        return false;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (strlen(variables[i]) == length && strncmp(name, variables[i], length) == 0)
            return false;
    for (size_t i = 0; i < length; i++)
        if (!is_name_character(name[i]))
            return false;
    return true;
}

const char *td_variables_strays(char *const *environment, char *names)
{
    size_t used = 0;
    names[0] = '\0';
    for (; environment && *environment; environment++) {
        size_t length = strcspn(*environment, "=");
        if (!is_stray(*environment, length) || used + length + 2 > TD_STRAYS_MAX)
            continue;
        used += (size_t)snprintf(names + used, TD_STRAYS_MAX - used, "%s%.*s", used ? " " : "",
                                 (int)length, *environment);
    }
    return used ? names : NULL;
}

static const char *nearest(const char *name)
{
    const char *best = variables[0];
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        size_t far = td_text_distance(name, variables[i]);
        best = far < least ? variables[i] : best;
        least = far < least ? far : least;
    }
    return best;
}

const char *td_variables_warning(const char **at, char *text)
{
    char name[64];
    *at += strspn(*at, " ");
    size_t length = strcspn(*at, " ");
    if (length == 0)
        return NULL;
    snprintf(name, sizeof name, "%.*s", (int)length, *at);
    *at += length;
    snprintf(text, TD_STRAY_TEXT_MAX,
             "%s is in the environment, but torusd has no such variable: the nearest is %s", name,
             nearest(name));
    return text;
}

const char *td_variables_misspelt(const char *at, const char *variable, char *name)
{
    char each[TD_STRAYS_MAX];
    size_t least = SIZE_MAX;
    while (at && *(at += strspn(at, " "))) {
        size_t length = strcspn(at, " ");
        snprintf(each, sizeof each, "%.*s", (int)length, at);
        at += length;
        size_t far = td_text_distance(each, variable);
        if (far >= least || strcmp(nearest(each), variable) != 0)
            continue;
        least = far;
        strcpy(name, each);
    }
    return least == SIZE_MAX ? NULL : name;
}
