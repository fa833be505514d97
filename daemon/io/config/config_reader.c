/* SPDX-License-Identifier: Apache-2.0 */
#include "config_reader.h"

#include <stdarg.h>
#include <stdio.h>

bool td_config_fail(struct td_config_reader *r, const char *format, ...)
{
    if (r->failed)
        return false;
    r->failed = true;
    int length = snprintf(r->text, r->text_bytes, "%s:%u:%zu: ", r->file, r->line, r->column);
    va_list arguments;
    va_start(arguments, format);
    if (length >= 0 && (size_t)length < r->text_bytes)
        vsnprintf(r->text + length, r->text_bytes - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}
