/* SPDX-License-Identifier: Apache-2.0 */
#include "members.h"

uint32_t td_members_fill(struct td_core *core, const uint32_t *rank_node,
                         const uint64_t *rank_token, uint32_t first, struct td_message_members *m)
{
    uint32_t rank = first, size = m->size;
    struct td_member_run *member = td_core_pad(core, TD_MEMBERS_PER_MESSAGE * sizeof *member);
    assert(member); /* the sender has checked that there is room */
    m->run = member;
    m->runs = 0;
    while (rank < size && m->runs < TD_MEMBERS_PER_MESSAGE) {
        struct td_member_run run = {
            .first = rank, .count = 1, .node = rank_node[rank], .token = rank_token[rank]};
        /* processes that joined one after another have consecutive tokens */
        while (rank + run.count < size && rank_node[rank + run.count] == run.node &&
               rank_token[rank + run.count] == run.token + run.count)
            run.count++;
        member[m->runs++] = run;
        rank += run.count;
    }
    m->is_last_piece = rank == size;
    return rank;
}
