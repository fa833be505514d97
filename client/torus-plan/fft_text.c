/* SPDX-License-Identifier: Apache-2.0 */
#include "fft_text.h"

#include <stdio.h>
#include <string.h>

#include "model/layout_text.h"

const char *explain_grid_text(const struct explain_grid *grid, char *text, size_t size)
{
    size_t at = 0;
    snprintf(text, size, "none");
    for (uint32_t f = 0; f < grid->factors && at < size; f++)
        at += (size_t)snprintf(text + at, size - at, "%s%u", f ? "x" : "", grid->factor[f]);
    return text;
}

size_t explain_array_size(const struct td_array *array)
{
    return (size_t)td_layout_print(&array->layout, NULL, 0) + 32;
}

/* in_order returns true if the distributed axes are in order, the first one outermost. */
static bool in_order(const struct td_layout *l)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < l->dimensions; i++) {
        uint32_t d = l->grid_order[i];
        if (d < last && l->axis[d].parts > 1)
            return false;
        last = l->axis[d].parts > 1 ? d : last;
    }
    return true;
}

const char *explain_array_text(const struct td_array *array, char *text, size_t size)
{
    const struct td_layout *l = &array->layout;
    bool all = l->box == NULL;
    for (uint32_t o = 0; all && o < l->owners; o++)
        all = l->rank[o] == o;
    size_t length = (size_t)td_layout_print(l, text, size);
    if (all)
        text[length = strcspn(text, "@") - 1] = '\0';
    for (uint32_t i = 0; l->box == NULL && !in_order(l) && i < l->dimensions && length < size; i++)
        if (l->axis[l->grid_order[i]].parts > 1)
            length += (size_t)snprintf(text + length, size - length, "%s%u",
                                       strstr(text, "by") ? "," : " by ", l->grid_order[i]);
    if (length >= size)
        snprintf(text + size - 4, 4, "...");
    return text;
}

const char *explain_seconds_text(double s, char *text, size_t size)
{
    static const char *const units[] = {"s", "ms", "us"};
    unsigned unit = 0;
    for (; s < 1 && unit < 2; unit++)
        s *= 1000;
    snprintf(text, size, "%.3g %s", s, units[unit]);
    return text;
}
