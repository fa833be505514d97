/* SPDX-License-Identifier: Apache-2.0 */
#include "config_reader.h"

#include <stdarg.h>
#include <stdio.h>

/* print writes a sentence with the reader's place before it: the file, and in it the line and the
 * column. */
static void print(const struct td_config_reader *r, char *text, size_t bytes, const char *format,
                  va_list arguments)
{
    int length = r->line ? snprintf(text, bytes, "%s:%u:%zu: ", r->file, r->line, r->column)
                         : snprintf(text, bytes, "%s: ", r->file);
    if (length >= 0 && (size_t)length < bytes)
        vsnprintf(text + length, bytes - (size_t)length, format, arguments);
}

bool td_config_fail(struct td_config_reader *r, const char *format, ...)
{
    char text[TD_CONFIG_REFUSAL_MAX];
    va_list arguments;
    if (r->failed)
        return false;
    va_start(arguments, format);
    if (r->refusals) {
        print(r, text, sizeof text, format, arguments);
        td_config_refuse(r->refusals, r->key, text);
    } else {
        r->failed = true;
        print(r, r->text, r->text_bytes, format, arguments);
    }
    va_end(arguments);
    return false;
}

bool td_config_give_up(struct td_config_reader *r, const char *format, ...)
{
    va_list arguments;
    if (r->failed)
        return false;
    va_start(arguments, format);
    r->failed = true;
    print(r, r->text, r->text_bytes, format, arguments);
    va_end(arguments);
    return false;
}
