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

bool td_log_rated(struct td_log_rate *rate, uint64_t now_ns, enum td_log_level level,
                  const char *format, ...)
{
    char line[900];
    uint64_t suppressed = 0;
    va_list arguments;
    if (rate->lines == 0 || now_ns - rate->since_ns >= TD_LOG_RATE_NS) {
        suppressed = rate->suppressed;
        *rate = (struct td_log_rate){.since_ns = now_ns};
    }
    if (rate->lines == TD_LOG_RATE_LINES) {
        rate->suppressed++;
        return false;
    }
    rate->lines++;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (suppressed)
        td_log(level, "%s; %llu such lines were suppressed", line, (unsigned long long)suppressed);
    else
        td_log(level, "%s", line);
    return true;
}

void td_log_rate_end(const struct td_log_rate *rate, enum td_log_level level, const char *what)
{
    if (rate->suppressed)
        td_log(level, "%s: %llu such lines were suppressed", what,
               (unsigned long long)rate->suppressed);
}
