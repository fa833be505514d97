/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

void td_trace_pack(const struct td_trace_event *e, uint64_t *n)
{
    n[0] = e->number;
    n[1] = e->at;
    n[2] = e->at - e->since;
    n[3] = e->world;
    n[4] = e->sequence;
    n[5] = e->a;
    n[6] = e->b;
    n[7] = (uint64_t)e->group << 32 | e->subject;
    n[8] = (uint64_t)e->error << 16 | (uint64_t)e->call << 8 | e->kind;
}

void td_trace_unpack(const uint64_t *n, struct td_trace_event *e)
{
    *e = (struct td_trace_event){.number = n[0],
                                 .at = n[1],
                                 .since = n[1] - n[2],
                                 .world = n[3],
                                 .sequence = n[4],
                                 .a = n[5],
                                 .b = n[6],
                                 .group = (uint32_t)(n[7] >> 32),
                                 .subject = (uint32_t)n[7],
                                 .kind = (uint8_t)n[8],
                                 .call = (uint8_t)(n[8] >> 8),
                                 .error = (uint16_t)(n[8] >> 16)};
}
