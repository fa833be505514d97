/* SPDX-License-Identifier: Apache-2.0 */
/* no_options: for tests of modules that take options from the arguments, which the tests of the
 * programs give. */
#ifndef TD_TESTS_TOOLS_NO_OPTIONS_H
#define TD_TESTS_TOOLS_NO_OPTIONS_H

#include <stddef.h>

#include "torusctl.h"

const char *tool_take_option(int *argc, char **argv, const char *name)
{
    (void)argc;
    (void)argv;
    (void)name;
    return NULL;
}

#endif
