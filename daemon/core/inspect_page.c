/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect_page.h"

#include <string.h>

#include "scheduler.h"

/* row_bytes returns how many bytes a row takes at most, encoded. */
static uint32_t row_bytes(const struct td_status_row *row)
{
    enum { PLAIN = 260, ABSENT = 100, RANK = 5 };
    size_t text = 0;
    if (row->kind == TD_ROW_PEER)
        text = strlen(row->u.peer.endpoint) + strlen(row->u.peer.error);
    else if (row->kind == TD_ROW_RECORD)
        text = strlen(row->u.record.job) + strlen(row->u.record.text) + row->u.record.nodes.bytes;
    else if (row->kind == TD_ROW_JOB)
        text = strlen(row->u.job.name) + row->u.job.ranks.bytes + row->u.job.gone_nodes.bytes;
    else if (row->kind == TD_ROW_OPERATION)
        text = strlen(row->u.operation.job) + strlen(row->u.operation.kind) +
               row->u.operation.arrived.bytes + row->u.operation.absents * ABSENT;
    else if (row->kind == TD_ROW_CLIENT)
        text = strlen(row->u.client.program) + strlen(row->u.client.job);
    else if (row->kind == TD_ROW_NODE)
        text = strlen(row->u.node.endpoint);
    else if (row->kind == TD_ROW_LINK)
        text = strlen(row->u.link.error);
    else if (row->kind == TD_ROW_GROUP)
        text = strlen(row->u.group.job) + strlen(row->u.group.text) + row->u.group.ranks.bytes +
               row->u.group.member_nodes.bytes;
    else if (row->kind == TD_ROW_FACT)
        text = strlen(row->u.fact.name) + strlen(row->u.fact.value) + strlen(row->u.fact.unit);
    else if (row->kind == TD_ROW_SIDE)
        text = strlen(row->u.side.call) + row->u.side.ranks * RANK;
    return PLAIN + (uint32_t)text;
}

/* fits returns true if one more row of a kind, the largest one, fits a page for another node. */
static bool fits(struct td_page *p, enum td_row_kind kind)
{
    enum { HEAD = 100, MOST = 950, MOST_WITH_RANKS = TD_BITMAP_BYTES_MAX + 1400 };
    bool ranks = kind == TD_ROW_JOB || kind == TD_ROW_OPERATION || kind == TD_ROW_GROUP;
    uint32_t most = kind == TD_ROW_RECORD ? MOST + TD_GROUP_NODES_MAX / 8 : MOST;
    uint32_t rows = p->reply->u.status.rows;
    if (rows > 0)
        p->spent += row_bytes(&p->reply->u.status.row[rows - 1]);
    return HEAD + p->spent + (ranks ? MOST_WITH_RANKS : most) <= TD_PAGE_BYTES_MAX;
}

struct td_status_row *td_page_row(struct td_page *p, enum td_row_kind kind)
{
    uint64_t at = p->at++;
    if (at < p->cursor || p->full)
        return NULL;
    if (p->reply->u.status.rows == TD_STATUS_ROWS_MAX || (p->is_short && !fits(p, kind))) {
        p->full = true;
        p->reply->u.status.next = at;
        return NULL;
    }
    struct td_status_row *row = &p->reply->u.status.row[p->reply->u.status.rows++];
    *row = (struct td_status_row){.kind = kind};
    return row;
}

bool td_page_shows(const struct td_page *p, uint64_t uid)
{
    return p->sees_all || p->uid == uid;
}

uint8_t *td_page_bits(struct td_page *p, uint32_t size)
{
    uint8_t *bits = td_core_pad(p->core, td_bit_bytes(size));
    if (bits)
        memset(bits, 0, td_bit_bytes(size));
    return bits;
}

uint64_t td_page_age(const struct td_page *p, td_time at)
{
    return p->core->now - at + 1;
}
