/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "facts.h"

json_t *td_rows_text(const char *text)
{
    char plain[2 * TD_TEXT_MAX];
    return json_string(td_text_show(text, plain, sizeof plain));
}

json_t *td_rows_new(void)
{
    return json_pack("{s:[] s:[] s:[] s:[]}", "links", "operations", "jobs", "waits");
}

/* append adds a row to a list that has room, or notes that rows are missing. */
static void append(json_t *to, const char *list, size_t most, json_t *row)
{
    json_t *rows = json_object_get(to, list);
    if (json_array_size(rows) < most) {
        json_array_append_new(rows, row);
        return;
    }
    json_decref(row);
    json_object_set_new(to, "partial", json_true());
}

static json_t *link_json(const struct td_row_link *r)
{
    return json_pack("{s:i s:b s:b s:I s:I s:I s:I s:I s:o}", "to", (int)r->to, "up", r->up, "dead",
                     !r->up && (r->since_ns || r->state == TD_PEER_DOWN), "since_ns",
                     (json_int_t)r->since_ns, "packets", (json_int_t)r->packets, "bytes",
                     (json_int_t)r->bytes, "repeated_packets", (json_int_t)r->repeated_packets,
                     "resumes", (json_int_t)r->resumes, "error", td_rows_text(r->error));
}

static json_t *absent_json(const struct td_row_absent *a)
{
    return json_pack("{s:i s:i s:i s:I s:s s:I s:I}", "rank", (int)a->rank, "job_rank",
                     (int)a->job_rank, "node", (int)a->node, "pid", (json_int_t)a->pid, "state",
                     td_facts_missing_name(td_facts_missing(a)), "since_ns",
                     (json_int_t)a->since_ns, "silent_ns", (json_int_t)a->silent_ns);
}

/* bits_json returns a set of ranks as hexadecimal digits, two a byte: rank n is bit n % 8 of byte n
 * / 8. */
static json_t *bits_json(const struct td_bitmap *set)
{
    static const char digits[] = "0123456789abcdef";
    char text[2 * TD_BITMAP_BYTES_MAX];
    size_t length = 0;
    for (uint32_t i = 0; i < set->bytes && i < TD_BITMAP_BYTES_MAX; i++) {
        text[length++] = digits[set->bits[i] >> 4];
        text[length++] = digits[set->bits[i] & 15];
    }
    return json_stringn(text, length);
}

static json_t *operation_json(const struct td_row_operation *r)
{
    char instance[24];
    json_t *absent = json_array();
    for (uint32_t i = 0; i < r->absents; i++)
        json_array_append_new(absent, absent_json(&r->absent[i]));
    snprintf(instance, sizeof instance, "%llx", (unsigned long long)r->instance);
    return json_pack("{s:o s:s s:o s:i s:i s:I s:I s:s s:I s:I s:o s:o}", "job",
                     td_rows_text(r->job), "instance", instance, "kind", td_rows_text(r->kind),
                     "group", (int)r->group, "size", (int)r->size, "sequence",
                     (json_int_t)r->sequence, "age_ns", (json_int_t)r->age_ns, "phase",
                     r->running ? "running" : "waiting", "steps_done", (json_int_t)r->step, "steps",
                     (json_int_t)r->steps, "arrived", bits_json(&r->arrived), "absent", absent);
}

static json_t *job_json(const struct td_row_record *r)
{
    char instance[24];
    snprintf(instance, sizeof instance, "%llx", (unsigned long long)r->instance);
    return json_pack("{s:o s:s s:I s:i s:I s:I s:i s:o s:I}", "job", td_rows_text(r->job),
                     "instance", instance, "uid", (json_int_t)r->uid, "size", (int)r->size,
                     "formed_ns", (json_int_t)r->formed_ns, "waited_ns", (json_int_t)r->waited_ns,
                     "error", (int)r->error, "text", td_rows_text(r->text), "failed_ns",
                     (json_int_t)r->failed_ns);
}

static json_t *wait_json(const struct td_row_wait *r)
{
    char instance[24];
    snprintf(instance, sizeof instance, "%llx", (unsigned long long)r->instance);
    return json_pack("{s:s s:i s:i s:s s:I s:I s:I s:I}", "instance", instance, "rank",
                     (int)r->rank, "node", (int)r->node, "kind", td_kind_name(r->kind), "pid",
                     (json_int_t)r->pid, "last", (json_int_t)r->last, "waited_ns",
                     (json_int_t)r->waited_ns, "longest_ns", (json_int_t)r->longest_ns);
}

void td_rows_add(json_t *to, const struct td_status_row *row)
{
    if (row->kind == TD_ROW_LINK && row->u.link.neighbours)
        append(to, "links", TD_ROWS_MAX, link_json(&row->u.link));
    else if (row->kind == TD_ROW_OPERATION)
        append(to, "operations", TD_ROWS_OPERATIONS_MAX, operation_json(&row->u.operation));
    else if (row->kind == TD_ROW_RECORD && !row->u.record.ended_ns)
        append(to, "jobs", TD_ROWS_MAX, job_json(&row->u.record));
    else if (row->kind == TD_ROW_WAIT)
        append(to, "waits", TD_ROWS_MAX, wait_json(&row->u.wait));
}
