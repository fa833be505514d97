/* SPDX-License-Identifier: Apache-2.0 */
#include "clocks.h"

#include <stdio.h>

#include "inspect.h"

enum { NAMED_MAX = 4 };

void ins_clocks_text(char *text, size_t bytes, const json_t *nodes)
{
    size_t count = json_array_size(nodes), length = 0;
    char list[120] = "";
    for (size_t i = 0; i < count && count <= NAMED_MAX; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%snode %lld",
                                   i == 0           ? ""
                                   : i + 1 == count ? " and "
                                                    : ", ",
                                   (long long)json_integer_value(json_array_get(nodes, i)));
    if (count > NAMED_MAX) {
        length = (size_t)snprintf(list, sizeof list, "nodes ");
        ins_rank_runs(list + length, sizeof list - length, nodes);
    }
    snprintf(text, bytes, "the kernel's clock%s of %s %s not synchronised", count == 1 ? "" : "s",
             list, count == 1 ? "is" : "are");
}
