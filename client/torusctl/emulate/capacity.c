/* SPDX-License-Identifier: Apache-2.0 */
#include "capacity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torusctl/torusctl.h"
#include "base/quantity.h"

/* directed_links returns the number of links of a torus, counting both directions. */
static uint64_t directed_links(const struct td_topology *t)
{
    uint64_t links = 0;
    for (uint32_t n = 0; n < t->nodes; n++)
        for (uint32_t d = 0; d < t->dimensions; d++)
            for (int sign = -1; sign <= 1; sign += 2)
                links += td_topology_neighbour(t, n, d, sign) != n;
    return links;
}

/* copy_rate measures memcpy for about 30 ms, in bytes per second; 0 if memory runs out. */
static double copy_rate(void)
{
    enum { BYTES = 16 << 20, PIECE = 1 << 18 }; /* larger than most caches; a packet */
    char *from = malloc(BYTES), *to = malloc(BYTES);
    double begun = 0, passed = 0, copied = 0;
    if (from && to) {
        memset(from, 1, BYTES);
        memset(to, 2, BYTES);
        for (begun = tool_seconds(); passed < 0.03; passed = tool_seconds() - begun) {
            for (size_t at = 0; at < BYTES; at += PIECE)
                memcpy(to + at, from + at, PIECE);
            from[0] = to[BYTES - 1]; /* keeps the compiler from removing the copies */
            copied += BYTES;
        }
    }
    free(from);
    free(to);
    return passed > 0 ? copied / passed : 0;
}

bool ctl_links_fit(const struct td_topology *t, uint64_t rate, char *text, size_t bytes)
{
    double links = (double)directed_links(t), machine = copy_rate();
    double sum = links * (double)rate;
    char each[32], all[32], copies[32], fifth[32];
    if (sum <= machine / 5)
        return true;
    snprintf(text, bytes,
             "the links would carry up to %s (%.0f of %s); this machine copies %s, and at most a "
             "fifth of that, %s, can be emulated: lower --link-rate",
             td_quantity_print_rate(sum, all, sizeof all), links,
             td_quantity_print_rate((double)rate, each, sizeof each),
             td_quantity_print_rate(machine, copies, sizeof copies),
             td_quantity_print_rate(machine / 5, fifth, sizeof fifth));
    return false;
}
