/* SPDX-License-Identifier: Apache-2.0 */
#include "joins.h"

#include "core/membership/job.h"

struct td_message joins_message(uint64_t token, uint32_t size, uint32_t rank)
{
    struct td_message m = {.kind = TD_MESSAGE_JOIN};
    m.u.join = (struct td_message_join){.token = token,
                                        .uid = 1000,
                                        .pid = 100 + token,
                                        .timeout_ns = 10LL * SECOND,
                                        .name = "job",
                                        .size = size,
                                        .rank = rank,
                                        .terms = node.core->joins->terms};
    return m;
}

void joins_answer(void)
{
    for (uint32_t i = 0; i < node.sents; i++) {
        const struct td_message *q = &node.sent[i].message;
        struct td_message m = {.kind = TD_MESSAGE_GRANTED, .instance = q->instance};
        m.u.granted = (struct td_message_granted){
            .first = q->u.grant.first, .count = q->u.grant.count, .is_granted = true};
        if (q->kind == TD_MESSAGE_GRANT)
            node_message(node.sent[i].to, &m); /* another answer changes nothing */
    }
}

void joins_from(uint32_t from, uint64_t token, uint32_t size, uint32_t rank)
{
    struct td_message m = joins_message(token, size, rank);
    node_message(from, &m);
}

void joins_arrive(uint32_t from, uint64_t token, uint32_t size, uint32_t rank)
{
    joins_from(from, token, size, rank);
    joins_answer();
}

void joins_ask(uint32_t registry, uint64_t instance, uint64_t token, uint32_t count)
{
    struct td_message m = {.kind = TD_MESSAGE_GRANT, .instance = instance};
    m.u.grant = (struct td_message_grant){.first = 0, .count = count, .token = token};
    node_message(registry, &m);
}

void joins_request(uint32_t client, uint32_t size, int64_t rank)
{
    struct td_request q = {.kind = TD_REQUEST_JOIN, .id = 3};
    q.u.join.name = "job";
    q.u.join.size = size;
    q.u.join.rank = rank;
    q.u.join.timeout_ns = 100LL * SECOND;
    td_job_request(node.core, node_client(client), &q);
    node_run();
}

void joins_members(uint32_t from, const char *name, uint64_t token)
{
    const struct td_member_run run[] = {{0, 1, 1, token}, {1, 1, 2, 5}};
    struct td_message m = {.kind = TD_MESSAGE_MEMBERS, .instance = 9};
    m.u.members = (struct td_message_members){
        .uid = 1000, .name = name, .size = 2, .is_last_piece = true, .runs = 2, .run = run};
    node_message(from, &m);
}
