/* SPDX-License-Identifier: Apache-2.0 */
#include "printed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static FILE *file;
static int out;

void printed_begin(void)
{
    file = tmpfile();
    fflush(stdout);
    out = dup(STDOUT_FILENO);
    assert_true(file && out >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
}

const char *printed_end(void)
{
    static char text[1024];
    fflush(stdout);
    assert_true(dup2(out, STDOUT_FILENO) >= 0);
    close(out);
    rewind(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    fclose(file);
    return text;
}
