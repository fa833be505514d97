/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "libtorus/deadline.h"
#include "libtorus/socket.h"
#include "libtorus/status.h"

enum {
    ASKED_MAX = 64,     /* questions under way */
    AGAIN_NS = 5000000, /* a node that is not ready is asked again after this time */
    PAGES_MAX = 4096,   /* of one section of a node */
};

/* struct question: what one node is asked. */
struct question {
    uint64_t id;     /* of the request under way; 0: none */
    uint64_t cursor; /* of the next page */
    int64_t at;      /* it is not asked before this time */
    int64_t asked;   /* when it was asked last */
    uint32_t pages;
    bool over;
    json_t *rows;          /* that it has answered */
    char why[TD_TEXT_MAX]; /* the node is not ready yet */
};

void ins_machine_begin(struct ins_machine *m, torus_context *c, double timeout_s, bool here)
{
    uint32_t size[TORUS_DIMENSIONS_MAX], nodes = 1;
    int wrap[TORUS_DIMENSIONS_MAX], dimensions = torus_shape(c, size, wrap);
    for (int d = 0; d < dimensions; d++)
        nodes *= size[d];
    *m = (struct ins_machine){.c = c,
                              .nodes = nodes,
                              .timeout_s = timeout_s,
                              .here = here || nodes == 1,
                              .silent = json_array(),
                              .absent = json_array()};
}

void ins_machine_end(struct ins_machine *m)
{
    json_decref(m->silent);
    json_decref(m->absent);
    json_decref(m->listed);
    m->silent = m->absent = m->listed = NULL;
}

/* absent_json returns the setting [peers] absent. */
static json_t *absent_json(const struct td_status_row *row)
{
    return row->kind == TD_ROW_FACT && strcmp(row->u.fact.name, "peers.absent") == 0
               ? json_pack("{s:o}", "value", ins_text(row->u.fact.value))
               : NULL;
}

bool ins_machine_lists(struct ins_machine *m, json_int_t node)
{
    if (!m->listed) {
        bool deaf = ins_find(m->silent, "node", torus_node(m->c)); /* it would not answer this */
        json_t *facts = deaf ? NULL : ins_rows(m->c, TD_STATUS_SETTINGS, absent_json);
        m->listed = ins_numbers(ins_string(json_array_get(facts, 0), "value"), m->nodes, m->nodes);
        json_decref(facts);
    }
    return ins_has_number(m->listed, node);
}

static bool is_silent(const struct ins_machine *m, uint32_t node)
{
    for (size_t i = 0; i < json_array_size(m->silent); i++)
        if (ins_number(json_array_get(m->silent, i), "node") == node)
            return true;
    return ins_has_number(m->absent, node);
}

/* note_silent notes a node that does not answer. `stopped`: because its daemon was stopped. */
static void note_silent(struct ins_machine *m, uint32_t node, bool stopped, const char *error)
{
    json_array_append_new(m->silent, json_pack("{s:i s:o s:b}", "node", (int)node, "error",
                                               ins_text(error), "stopped", stopped));
}

/* ask_due asks nodes whose turn it is. It returns the number of questions under way, or -1. */
static int ask_due(const struct ins_machine *m, uint32_t section, struct question *q)
{
    int asked = 0;
    int64_t now = tl_now_ns();
    for (uint32_t n = 0; n < m->nodes; n++)
        asked += q[n].id != 0;
    for (uint32_t n = 0; n < m->nodes && asked < ASKED_MAX; n++) {
        if (q[n].over || q[n].id || q[n].at > now)
            continue;
        if (m->timed)
            now = tl_now_ns();
        if (tl_status_ask(m->c, n, section, q[n].cursor, &q[n].id) != TORUS_OK)
            return -1;
        q[n].asked = now;
        asked++;
    }
    return asked;
}

/* take_rows keeps the rows of a page, and readies the next question. */
static void take_rows(const struct ins_machine *m, struct question *q, uint32_t node,
                      const struct td_reply *r,
                      json_t *(*row_json)(const struct td_status_row *row))
{
    int64_t heard = m->timed ? tl_now_ns() : 0;
    for (uint32_t i = 0; i < r->u.status.rows; i++) {
        json_t *row = row_json(&r->u.status.row[i]);
        if (!row)
            continue;
        json_object_set_new(row, "at", json_integer(node));
        if (m->timed) {
            json_object_set_new(row, "asked_ns", json_integer(q->asked));
            json_object_set_new(row, "heard_ns", json_integer(heard));
        }
        json_array_append_new(q->rows, row);
    }
    q->cursor = r->u.status.next;
    q->over = q->cursor == 0 || ++q->pages == PAGES_MAX;
}

/* take handles a reply. */
static void take(struct ins_machine *m, struct question *q, const struct td_reply *r,
                 json_t *(*row_json)(const struct td_status_row *row))
{
    uint32_t n = 0;
    while (n < m->nodes && (q[n].id != r->id || r->id == 0))
        n++;
    if (n == m->nodes)
        return; /* it was given up */
    q[n].id = 0;
    if (r->kind == TD_REPLY_STATUS && r->error == TD_OK) {
        take_rows(m, &q[n], n, r, row_json);
        if (q[n].over && q[n].cursor)
            note_silent(m, n, false, "its list does not end");
    } else if (r->error == TD_ERR_BUSY) {
        q[n].at = tl_now_ns() + AGAIN_NS;
        snprintf(q[n].why, sizeof q[n].why, "%s", r->text);
    } else {
        q[n].over = true;
        note_silent(m, n, r->error == TD_ERR_SHUTDOWN, r->text);
    }
}

/* next_time returns when a node is to be asked again, at most the deadline. */
static int64_t next_time(const struct ins_machine *m, const struct question *q)
{
    int64_t at = m->deadline_ns;
    for (uint32_t n = 0; n < m->nodes; n++)
        if (!q[n].over && !q[n].id && q[n].at < at)
            at = q[n].at;
    return at;
}

static bool all_over(const struct ins_machine *m, const struct question *q)
{
    for (uint32_t n = 0; n < m->nodes; n++)
        if (!q[n].over)
            return false;
    return true;
}

/* note_rest notes the nodes that have not answered in time. */
static void note_rest(struct ins_machine *m, struct question *q)
{
    char text[TD_TEXT_MAX];
    snprintf(text, sizeof text, "no answer within %.1f s", m->timeout_s);
    for (uint32_t n = 0; n < m->nodes; n++) {
        if (!q[n].over)
            note_silent(m, n, false, q[n].id || !q[n].why[0] ? text : q[n].why);
        q[n].over = true;
        q[n].id = 0; /* an answer is too late now */
    }
}

/* collect asks until all nodes have answered, or the time of a section is over, and notes the rest
 * as silent. It returns false if the connection is lost. */
static bool collect(struct ins_machine *m, uint32_t section, struct question *q,
                    json_t *(*row_json)(const struct td_status_row *row))
{
    static struct td_reply reply;
    m->deadline_ns = tl_now_ns() + (int64_t)(1e9 * m->timeout_s);
    while (!all_over(m, q) && tl_now_ns() < m->deadline_ns) {
        if (ask_due(m, section, q) < 0)
            return false;
        int got = tl_next(m->c, next_time(m, q), &reply);
        if (got == TORUS_OK)
            take(m, q, &reply, row_json);
        else if (got != TORUS_PENDING)
            return false;
    }
    note_rest(m, q);
    return true;
}

/* forget forgets what the nodes have answered that are not silent. */
static void forget(const struct ins_machine *m, struct question *q)
{
    for (uint32_t n = 0; n < m->nodes; n++) {
        if (is_silent(m, n) || q[n].asked == 0)
            continue;
        json_array_clear(q[n].rows);
        q[n] = (struct question){.rows = q[n].rows};
    }
}

/* spare_absent makes silent nodes absent that are not expected to be up. */
static void spare_absent(struct ins_machine *m)
{
    for (size_t i = json_array_size(m->silent); i-- > 0;) {
        json_int_t node = ins_number(json_array_get(m->silent, i), "node");
        if (node == (json_int_t)torus_node(m->c) || !ins_machine_lists(m, node))
            continue;
        json_array_insert_new(m->absent, 0, json_integer(node));
        json_array_remove(m->silent, i);
    }
}

json_t *ins_machine_rows(struct ins_machine *m, uint32_t section,
                         json_t *(*row_json)(const struct td_status_row *row))
{
    size_t silent = json_array_size(m->silent);
    json_t *list = json_array();
    struct question *q = calloc(m->nodes, sizeof *q);
    for (uint32_t n = 0; q && n < m->nodes; n++) {
        q[n].over = is_silent(m, n) || (m->here && n != torus_node(m->c));
        q[n].rows = json_array();
    }
    bool good = q && collect(m, section, q, row_json);
    if (good && !m->timed && json_array_size(m->silent) > silent) {
        forget(m, q); /* ages are of before the wait */
        good = collect(m, section, q, row_json);
    }
    if (good)
        spare_absent(m);
    for (uint32_t n = 0; q && n < m->nodes; n++) { /* in the order of nodes, not of answers */
        json_array_extend(list, q[n].rows);
        json_decref(q[n].rows);
    }
    free(q);
    if (good)
        return list;
    json_decref(list);
    return NULL;
}

const char *ins_machine_answers(const struct ins_machine *m, char *text, size_t bytes)
{
    size_t absent = json_array_size(m->absent), silent = json_array_size(m->silent);
    if (m->here) { /* a machine of one node, too */
        snprintf(text, bytes, "node %u", torus_node(m->c));
        return text;
    }
    int length = snprintf(text, bytes, "%zu of %u nodes", m->nodes - silent - absent, m->nodes);
    if (absent)
        snprintf(text + length, bytes - (size_t)length, " (%zu absent)", absent);
    return text;
}

void ins_machine_print_silent(const struct ins_machine *m)
{
    for (size_t i = 0; i < json_array_size(m->silent); i++) {
        const json_t *s = json_array_get(m->silent, i);
        char age[32];
        ins_duration(age, sizeof age, ins_number(s, "silent_ns"));
        if (json_is_true(json_object_get(s, "stopped"))) {
            printf("! node %lld was stopped by its operator%s%s\n",
                   (long long)ins_number(s, "node"), ins_number(s, "silent_ns") ? ", " : "",
                   ins_number(s, "silent_ns") ? strcat(age, " ago") : "");
            continue;
        }
        printf("! node %lld did not answer", (long long)ins_number(s, "node"));
        json_int_t silent_ns = ins_number(s, "silent_ns"), by = ins_number(s, "heard_by");
        if (silent_ns && by != (json_int_t)torus_node(m->c) &&
            1e-9 * (double)silent_ns < m->timeout_s)
            printf(", though node %lld heard from it %s ago", (long long)by, age);
        else if (silent_ns)
            printf(", silent for %s", age);
        printf(": %s\n", ins_string(s, "error"));
    }
}

bool ins_machine_seconds(const char *text, double *seconds)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end || !(value > 0) || value > 3600)
        return false;
    *seconds = value;
    return true;
}
