/* SPDX-License-Identifier: Apache-2.0 */
#include "tour.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rows.h"
#include "wire/client.h"

enum { TICK_MS = 20, SECTIONS = 3, TEXT_BYTES = 200, OPERATIONS_MAX = 1024 };
#define PATIENCE_NS UINT64_C(2000000000) /* for an answer */
#define ROUND_NS UINT64_C(1000000000)    /* between the beginnings of two rounds, at least */

static const uint32_t sections[SECTIONS] = {TD_STATUS_LINKS, TD_STATUS_OPERATIONS, TD_STATUS_WAITS};

/* struct answer: what a node has said. */
struct answer {
    json_t *known;          /* of the last round that is over for it; NULL: there was none */
    json_t *coming;         /* of the round under way, or NULL */
    td_time at;             /* when `known` was complete; 0: never */
    char error[TEXT_BYTES]; /* why the last round brought no answer; "": it did */
};

/* struct question: an exchange with a node, section by section. */
struct question {
    bool used, due; /* due: the next page is to be asked for */
    uint32_t node, section, pages;
    uint64_t cursor, request; /* request: the number of the question; 0 before the first */
    td_time asked_at;
};

struct td_tour {
    struct td_loop *loop;
    uv_timer_t tick;
    td_time watched_until, round_at;
    bool open; /* the core has its client */
    uint32_t nodes, next;
    uint64_t requests;
    struct question question[TD_TOUR_OPEN];
    struct td_wire_memory memory;
    struct td_reply page;
    uint8_t bytes[TD_DATAGRAM_MAX];
    struct answer answer[]; /* [nodes] */
};

/* ---- answers ---- */

/* bytes_to returns the bytes sent on the link to a node, or -1. */
static json_int_t bytes_to(const json_t *rows, json_int_t node)
{
    const json_t *links = json_object_get(rows, "links");
    for (size_t i = 0; i < json_array_size(links); i++) {
        const json_t *l = json_array_get(links, i);
        if (json_integer_value(json_object_get(l, "to")) == node)
            return json_integer_value(json_object_get(l, "bytes"));
    }
    return -1;
}

/* add_rates adds to the links of an answer the bytes per second since the answer before. */
static void add_rates(const struct answer *a, td_time now)
{
    const json_t *links = json_object_get(a->coming, "links");
    json_int_t ms = a->at ? (json_int_t)((now - a->at) / 1000000) : 0;
    for (size_t i = 0; i < json_array_size(links); i++) {
        json_t *l = json_array_get(links, i);
        json_int_t before = bytes_to(a->known, json_integer_value(json_object_get(l, "to")));
        json_int_t more = json_integer_value(json_object_get(l, "bytes")) - before;
        bool good = before >= 0 && more >= 0 && more < INT64_MAX / 1000 && ms > 0;
        json_object_set_new(l, "rate", json_integer(good ? more * 1000 / ms : 0));
    }
}

/* end ends the exchange with a node; error: NULL if it has answered. */
static void end(struct td_tour *s, struct question *q, const char *error)
{
    struct answer *a = &s->answer[q->node];
    q->used = false;
    snprintf(a->error, sizeof a->error, "%s", error ? error : "");
    if (!error) {
        add_rates(a, td_loop_now());
        json_decref(a->known);
        a->known = a->coming;
        a->at = td_loop_now();
    } else {
        json_decref(a->coming);
    }
    a->coming = NULL;
}

/* unpack returns the page of a reply; that of another node is encoded. NULL: it is malformed. */
static const struct td_reply *unpack(struct td_tour *s, const struct td_reply *r)
{
    const char *why = NULL;
    if (!r->u.status.page)
        return r;
    size_t bytes = td_wire_encode_reply(r, s->bytes, sizeof s->bytes);
    if (!bytes || td_wire_decode_reply(s->bytes, bytes, &s->memory, &s->page, &why) != TD_OK)
        return NULL;
    return &s->page;
}

void td_tour_reply(struct td_tour *s, const struct td_reply *r)
{
    struct question *q = s->question;
    while (q < s->question + TD_TOUR_OPEN && !(q->used && q->request == r->id))
        q++;
    if (q == s->question + TD_TOUR_OPEN)
        return; /* of HELLO, or too late */
    if (r->kind == TD_REPLY_ERROR) {
        end(s, q, r->text);
        return;
    }
    const struct td_reply *page = r->kind == TD_REPLY_STATUS ? unpack(s, r) : NULL;
    if (!page) {
        end(s, q, "its answer is malformed");
        return;
    }
    json_t *to = s->answer[q->node].coming;
    for (uint32_t i = 0; i < page->u.status.rows; i++)
        td_rows_add(to, &page->u.status.row[i]);
    q->pages++;
    q->cursor = page->u.status.next;
    if (q->cursor && q->pages == TD_TOUR_PAGES)
        json_object_set_new(to, "partial", json_true());
    if (!q->cursor || q->pages == TD_TOUR_PAGES) {
        q->cursor = q->pages = 0;
        q->section++;
    }
    q->due = true;
    q->request = 0;
    if (q->section == SECTIONS)
        end(s, q, NULL);
}

/* ---- questions ---- */

static void feed(struct td_tour *s, const struct td_request *request)
{
    td_loop_feed(s->loop, &(struct td_event){.kind = TD_EVENT_CLIENT_REQUEST,
                                             .u.request = {TD_TOUR_CLIENT, request}});
}

static void ask(struct td_tour *s, struct question *q)
{
    struct td_request request = {.kind = TD_REQUEST_STATUS, .id = ++s->requests};
    request.u.status.section = sections[q->section];
    request.u.status.cursor = q->cursor;
    request.u.status.node = q->node + 1;
    q->due = false;
    q->request = request.id;
    q->asked_at = td_loop_now();
    feed(s, &request);
}

static void begin(struct td_tour *s, struct question *q)
{
    struct answer *a = &s->answer[s->next];
    assert(!a->coming); /* one question a node */
    *q = (struct question){.node = s->next++};
    a->coming = td_rows_new();
    q->used = q->due = a->coming != NULL;
}

/* round_is_over returns true if all nodes have answered, or were too late. */
static bool round_is_over(const struct td_tour *s)
{
    bool over = s->next == s->nodes;
    for (const struct question *q = s->question; q < s->question + TD_TOUR_OPEN; q++)
        over = over && !q->used;
    return over;
}

static void expire(struct td_tour *s, td_time now)
{
    for (struct question *q = s->question; q < s->question + TD_TOUR_OPEN; q++)
        if (q->used && !q->due && now > q->asked_at + PATIENCE_NS)
            end(s, q, "no answer within 2 s");
}

static void open_client(struct td_tour *s)
{
    struct td_request hello = {.kind = TD_REQUEST_HELLO, .id = ++s->requests};
    hello.u.hello.program = "metrics page";
    s->open = true; /* the core may close it at once */
    td_loop_feed(s->loop, &(struct td_event){.kind = TD_EVENT_CLIENT_OPENED,
                                             .u.opened = {.client = TD_TOUR_CLIENT,
                                                          .uid = getuid(),
                                                          .pid = (uint64_t)getpid(),
                                                          .observes = true}});
    if (s->open)
        feed(s, &hello);
}

/* drop forgets the exchanges under way. */
static void drop(struct td_tour *s, const char *why)
{
    for (struct question *q = s->question; q < s->question + TD_TOUR_OPEN; q++)
        if (q->used)
            end(s, q, why);
}

static void close_client(struct td_tour *s)
{
    uv_timer_stop(&s->tick);
    drop(s, "the page was closed");
    if (s->open)
        td_loop_feed(s->loop, &(struct td_event){.kind = TD_EVENT_CLIENT_CLOSED,
                                                 .u.closed.client = TD_TOUR_CLIENT});
    s->open = false;
}

void td_tour_closed(struct td_tour *s)
{
    s->open = false;
    drop(s, "this daemon has too many clients, or stops");
}

static void on_tick(uv_timer_t *tick)
{
    struct td_tour *s = tick->data;
    td_time now = td_loop_now();
    uint32_t most = TD_TOUR_RATE * TICK_MS / 1000;
    if (now > s->watched_until || s->loop->stopped) {
        close_client(s);
        return;
    }
    expire(s, now);
    if (round_is_over(s) && now > s->round_at + ROUND_NS) {
        s->next = 0;
        s->round_at = now;
    }
    if (!s->open)
        open_client(s);
    for (struct question *q = s->question; q < s->question + TD_TOUR_OPEN && s->open; q++) {
        if (!q->used && s->next < s->nodes)
            begin(s, q);
        if (q->used && q->due && most > 0) {
            most--;
            ask(s, q);
        }
    }
}

void td_tour_watch(struct td_tour *s)
{
    bool runs = uv_is_active((uv_handle_t *)&s->tick);
    s->watched_until = td_loop_now() + TD_TOUR_WATCHED_S * UINT64_C(1000000000);
    if (!runs)
        uv_timer_start(&s->tick, on_tick, 0, TICK_MS);
}

/* leave_out drops the operations of a node once the nodes before it have OPERATIONS_MAX. */
static void leave_out(json_t *node, size_t *operations)
{
    json_t *list = json_object_get(node, "operations");
    *operations += json_array_size(list);
    if (!list || *operations <= OPERATIONS_MAX)
        return;
    json_object_set_new(node, "operations", json_array());
    json_object_set_new(node, "partial", json_true());
}

json_t *td_tour_nodes(const struct td_tour *s)
{
    json_t *nodes = json_array();
    td_time now = td_loop_now();
    size_t operations = 0;
    for (uint32_t n = 0; n < s->nodes; n++) {
        const struct answer *a = &s->answer[n];
        json_t *node =
            json_pack("{s:i s:I s:o}", "node", (int)n, "age_ns",
                      (json_int_t)(a->at ? now - a->at : 0), "error", td_rows_text(a->error));
        if (a->known)
            json_object_update_missing(node, a->known);
        leave_out(node, &operations);
        json_object_set_new(node, "known", json_boolean(a->known != NULL));
        json_array_append_new(nodes, node);
    }
    return nodes;
}

/* ---- life ---- */

struct td_tour *td_tour_create(struct td_loop *loop)
{
    uint32_t nodes = loop->config->topology.nodes;
    struct td_tour *s = calloc(1, sizeof *s + nodes * sizeof s->answer[0]);
    if (!s)
        return NULL;
    s->loop = loop;
    s->nodes = s->next = nodes;
    uv_timer_init(&loop->uv, &s->tick);
    s->tick.data = s;
    return s;
}

void td_tour_stop(struct td_tour *s)
{
    if (s)
        uv_timer_stop(&s->tick);
}

void td_tour_free(struct td_tour *s)
{
    for (uint32_t n = 0; s && n < s->nodes; n++) {
        json_decref(s->answer[n].known);
        json_decref(s->answer[n].coming);
    }
    free(s);
}
