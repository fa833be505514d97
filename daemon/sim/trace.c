/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <stdarg.h>
#include <stdio.h>

void trace_print(struct td_sim *sim, uint32_t node, char direction, const char *format, ...)
{
    va_list arguments;
    fprintf(sim->options.trace, "[%10llu] %3u %c ", (unsigned long long)sim->now, node, direction);
    va_start(arguments, format);
    vfprintf(sim->options.trace, format, arguments);
    va_end(arguments);
    fputc('\n', sim->options.trace);
}
