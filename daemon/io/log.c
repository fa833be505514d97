/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static enum td_log_level level_max = TD_LOG_INFO;
static char name[64] = "torusd";

void td_log_init(enum td_log_level level, const char *line_name)
{
    level_max = level;
    snprintf(name, sizeof name, "%s", line_name);
}

void td_log(enum td_log_level level, const char *format, ...)
{
    if (level > level_max)
        return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (getenv("JOURNAL_STREAM"))
        fprintf(stderr, "<%d>%s\n", (int)level, line);
    else
        fprintf(stderr, "%s: %s\n", name, line);
}
