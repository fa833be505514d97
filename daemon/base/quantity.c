/* SPDX-License-Identifier: Apache-2.0 */
#include "quantity.h"

#include <stdio.h>
#include <string.h>

static bool parse(const char *text, size_t length, uint64_t *value)
{
    static const struct {
        const char *name;
        uint64_t factor;
    } units[] = {{"", 1},
                 {"B", 1},
                 {"K", (uint64_t)1 << 10},
                 {"KiB", (uint64_t)1 << 10},
                 {"M", (uint64_t)1 << 20},
                 {"MiB", (uint64_t)1 << 20},
                 {"G", (uint64_t)1 << 30},
                 {"GiB", (uint64_t)1 << 30},
                 {"T", (uint64_t)1 << 40},
                 {"TiB", (uint64_t)1 << 40},
                 {"kB", 1000},
                 {"MB", 1000000},
                 {"GB", 1000000000},
                 {"TB", 1000000000000}};
    uint64_t number = 0;
    size_t at = 0;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; at++)
        if (__builtin_mul_overflow(number, (uint64_t)10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[at] - '0'), &number))
            return false;
    if (at == 0)
        return false;
    while (at < length && (text[at] == ' ' || text[at] == '\t'))
        at++;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strlen(units[i].name) == length - at &&
            memcmp(text + at, units[i].name, length - at) == 0)
            return !__builtin_mul_overflow(number, units[i].factor, value);
    return false;
}

bool td_quantity_parse(const char *text, uint64_t *value)
{
    return parse(text, strlen(text), value);
}

bool td_quantity_parse_rate(const char *text, uint64_t *value)
{
    size_t length = strlen(text);
    if (length >= 2 && strcmp(text + length - 2, "/s") == 0)
        length -= 2;
    return parse(text, length, value);
}

static const char *print(double value, double step, const char *const units[5], char *text,
                         size_t size)
{
    size_t unit = 0;
    for (; value >= step && unit < 4; unit++)
        value /= step;
    snprintf(text, size, value < 10 && unit ? "%.3g %s" : "%.4g %s", value, units[unit]);
    return text;
}

const char *td_quantity_print(uint64_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    return print((double)bytes, 1024, units, text, size);
}

const char *td_quantity_print_rate(double rate, char *text, size_t size)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    return print(rate, 1000, units, text, size);
}
