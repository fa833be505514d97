/* SPDX-License-Identifier: Apache-2.0 */
#include "shrinks.h"

#include "core/membership/shrink.h"
#include "core/net/link.h"

struct td_communicator *shrink_group;

void shrink_begin(uint32_t at)
{
    node_begin("4", at, NULL);
    shrink_group = node_group(GROUP);
}

void shrink_call(void)
{
    struct td_request q = {.kind = TD_REQUEST_SHRINK, .id = 20};
    q.u.shrink.group = shrink_group->number;
    q.u.shrink.timeout_ns = SECOND;
    td_shrink_request(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    node_run();
}

void shrink_lose(uint32_t rank)
{
    td_shrink_slot_lost(node.core, shrink_group, rank);
    node_run();
}

struct td_message shrink_about(enum td_message_kind kind)
{
    return (struct td_message){
        .kind = kind, .instance = shrink_group->instance, .group = shrink_group->index};
}

void shrink_hear_exclusions(uint32_t from, uint32_t nodes)
{
    enum { BYTES = 14, BALLOT_AT = 6, NODES_MAX = 8 };
    uint8_t bytes[NODES_MAX * BYTES] = {0};
    assert_true(nodes <= NODES_MAX);
    for (uint32_t n = 0; n < nodes; n++) {
        bytes[BYTES * n] = (uint8_t)n;
        bytes[BYTES * n + BALLOT_AT] = 5;
    }
    struct td_message m = {.kind = TD_MESSAGE_EPOCH_KNOWN};
    m.u.epoch_known.ballot = 5;
    m.u.epoch_known.exclusions = (struct td_bitmap){bytes, nodes * BYTES};
    node_message(from, &m);
}

uint64_t shrink_view(uint32_t asked)
{
    const struct td_message *m = node_sent_to(asked, TD_MESSAGE_SHRINK_ASK);
    assert_non_null(m);
    return m->u.shrink_ask.view;
}

void shrink_silence(uint32_t from)
{
    node.core->link[from].state = TD_LINK_GIVEN_UP;
    td_core_notices.node_lost(node.core, from, "it has been silent");
    node_run();
}

void shrink_vote(uint32_t from, uint64_t hash, const uint8_t *lost, const uint8_t *missing)
{
    struct td_message m = shrink_about(TD_MESSAGE_SHRINK_VOTE);
    m.u.shrink_vote.view = hash;
    m.u.shrink_vote.lost = (struct td_bitmap){lost, 1};
    m.u.shrink_vote.missing = (struct td_bitmap){missing, missing ? 1 : 0};
    m.u.shrink_vote.text = "";
    node_message(from, &m);
}

void shrink_accept(uint32_t from, uint64_t hash)
{
    struct td_message m = shrink_about(TD_MESSAGE_SHRINK_ACCEPT);
    m.u.shrink_accept.view = hash;
    node_message(from, &m);
}
