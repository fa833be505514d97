/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include <string.h>

#include "base/variables.h"
#include "client.pb-c.h"
#include "client_rows.h"
#include "memory.h"

enum { REPLY_TYPE = 0x100 };

static size_t put_header(uint8_t *bytes, unsigned type)
{
    memcpy(bytes, "Toru", 4);
    bytes[4] = TD_WIRE_MAJOR;
    bytes[5] = TD_WIRE_MINOR;
    bytes[6] = (uint8_t)type;
    bytes[7] = (uint8_t)(type >> 8);
    return TD_WIRE_HEADER_BYTES;
}

/* get_header checks the header and returns the type. */
static td_err get_header(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                         unsigned *type, const char **why)
{
    if (size < TD_WIRE_HEADER_BYTES || memcmp(bytes, "Toru", 4) != 0)
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL,
                              "malformed message of the local protocol (%zu bytes)", size);
    if (bytes[4] != TD_WIRE_MAJOR)
        return td_wire_refuse(
            memory, why, TD_ERR_VERSION,
            "the other side speaks version %d.%d of the local protocol, this side "
            "%d.%d: use a library and a daemon of the same release",
            bytes[4], bytes[5], TD_WIRE_MAJOR, TD_WIRE_MINOR);
    *type = bytes[6] | (unsigned)bytes[7] << 8;
    return TD_OK;
}

/* ---- requests ---- */

/* struct placed: the protobuf messages of a place, and the array they point to. */
struct placed {
    Torus__Client__Place place;
    Torus__Client__Form form;
    Torus__Client__Loop loop[TD_FORM_LOOPS_MAX], *loops[TD_FORM_LOOPS_MAX];
};

/* put_form adds a form to a place. It returns false if the form has too many loops. */
static bool put_form(const struct td_form *f, struct placed *m)
{
    torus__client__form__init(&m->form);
    if (f->loops > TD_FORM_LOOPS_MAX)
        return false;
    for (uint32_t i = 0; i < f->loops; i++) {
        m->loops[i] = &m->loop[i];
        torus__client__loop__init(&m->loop[i]);
        m->loop[i].at = f->loop[i].at;
        m->loop[i].stride = f->loop[i].stride;
        m->loop[i].count = f->loop[i].count;
        m->loop[i].bytes = f->loop[i].bytes;
        m->loop[i].inner = f->loop[i].inner;
    }
    m->form.bytes = f->bytes;
    m->form.extent = f->extent;
    m->form.n_loop = f->loops;
    m->form.loop = m->loops;
    m->place.form = &m->form;
    return true;
}

static bool put_place(const struct td_place *p, struct placed *m)
{
    torus__client__place__init(&m->place);
    m->place.region = p->region;
    m->place.offset = p->offset;
    m->place.bytes = p->bytes;
    return !p->form || put_form(p->form, m);
}

/* get_form returns NULL if there are too many loops, or no memory for them. */
static const struct td_form *get_form(const Torus__Client__Form *m, struct td_wire_memory *memory)
{
    uint32_t loops = (uint32_t)m->n_loop;
    struct td_form *f =
        m->n_loop > TD_FORM_LOOPS_MAX ? NULL : td_wire_allocate(memory, td_form_size(loops));
    if (!f)
        return NULL;
    f->bytes = m->bytes;
    f->extent = m->extent;
    f->loops = loops;
    for (uint32_t i = 0; i < loops; i++)
        f->loop[i] = (struct td_form_loop){.at = m->loop[i]->at,
                                           .stride = m->loop[i]->stride,
                                           .count = m->loop[i]->count,
                                           .bytes = m->loop[i]->bytes,
                                           .inner = m->loop[i]->inner};
    return f;
}

static bool get_place(const Torus__Client__Place *m, struct td_wire_memory *memory,
                      struct td_place *p)
{
    *p = (struct td_place){0};
    if (!m)
        return true;
    *p = (struct td_place){.region = m->region, .offset = m->offset, .bytes = m->bytes};
    p->form = m->form ? get_form(m->form, memory) : NULL;
    return !m->form || p->form;
}

static void put_call(const struct td_call *c, Torus__Client__Call *m)
{
    torus__client__call__init(m);
    m->kind = c->kind;
    m->type = c->type;
    m->op = c->op;
    m->root = c->root;
    m->count = c->count;
    m->plan = c->plan;
    m->digest = c->digest;
    m->mode = c->mode;
}

/* get_call returns false for the same calls as get_witness in peer.c. The call travels on between
 * daemons as a witness; if it passed here and not there, it would end a link. */
static bool get_call(const Torus__Client__Call *m, struct td_call *c)
{
    *c = (struct td_call){0};
    if (!m || m->kind == 0 || m->kind >= TD_KIND_MAX || m->type >= TD_TYPE_MAX ||
        m->op >= TD_OP_END || m->mode >= TD_REPRODUCIBLES)
        return false;
    c->kind = (uint8_t)m->kind;
    c->type = (uint8_t)m->type;
    c->op = (uint8_t)m->op;
    c->root = m->root;
    c->count = m->count;
    c->plan = m->plan;
    c->digest = m->digest;
    c->mode = (uint8_t)m->mode;
    return true;
}

static void put_counts(const struct td_rank_counts *c, Torus__Client__Counts *m)
{
    torus__client__counts__init(m);
    m->n_count = c->counts;
    m->count = (uint64_t *)(uintptr_t)c->count;
    m->n_place = c->ats;
    m->place = (uint64_t *)(uintptr_t)c->at;
}

static struct td_rank_counts get_counts(const Torus__Client__Counts *m)
{
    if (!m)
        return (struct td_rank_counts){0};
    return (struct td_rank_counts){m->count, m->place, (uint32_t)m->n_count, (uint32_t)m->n_place};
}

/* struct described: the protobuf messages of a plan's description, and the arrays they point to. */
struct described {
    Torus__Client__Fft fft;
    Torus__Client__Redist redist;
    uint64_t size[TD_DIMENSIONS_MAX];
    uint32_t axis[TD_DIMENSIONS_MAX], grid[TD_DIMENSIONS_MAX];
};

static bool put_fft(const struct td_fft *f, struct described *d)
{
    torus__client__fft__init(&d->fft);
    if (f->dimensions > TD_DIMENSIONS_MAX)
        return false;
    for (uint32_t i = 0; i < f->dimensions; i++) {
        d->size[i] = f->size[i];
        d->axis[i] = f->transform[i];
        d->grid[i] = f->grid[i];
    }
    d->fft.type = f->type;
    d->fft.sign = f->sign;
    d->fft.scale = f->scale;
    d->fft.method = f->method;
    d->fft.n_size = d->fft.n_transform = d->fft.n_grid = f->dimensions;
    d->fft.grid = d->grid;
    d->fft.size = d->size;
    d->fft.transform = d->axis;
    return true;
}

static bool put_redist(const struct td_redist *r, struct described *d)
{
    torus__client__redist__init(&d->redist);
    if (r->dimensions > TD_DIMENSIONS_MAX)
        return false;
    for (uint32_t i = 0; i < r->dimensions; i++) {
        d->size[i] = r->size[i];
        d->axis[i] = r->axes[i];
    }
    d->redist.element = r->element;
    d->redist.schedule = r->schedule;
    d->redist.n_size = d->redist.n_axis = r->dimensions;
    d->redist.size = d->size;
    d->redist.axis = d->axis;
    return true;
}

/* put_description adds the description of a plan. It returns false if there are too many axes. */
static bool put_description(const struct td_description *from, unsigned kind, struct described *d,
                            Torus__Client__Request *m)
{
    m->layout_from = td_wire_string(from->from);
    m->layout_to = td_wire_string(from->to);
    if (kind == TD_KIND_PLAN_FFT) {
        m->fft = &d->fft;
        return put_fft(&from->fft, d);
    }
    m->redist = &d->redist;
    return put_redist(&from->redist, d);
}

static void put_end_calls(const struct td_request *q, Torus__Client__EndCalls *m)
{
    const struct td_message_end_calls *e = &q->u.end_calls.end;
    torus__client__end_calls__init(m);
    m->node = q->u.end_calls.node;
    m->job = td_wire_string(e->job);
    m->owner = e->owner;
    m->all = e->all;
    m->instance = e->instance;
    m->number = e->number;
    m->why = td_wire_string(e->why);
}

/* get_end_calls returns false without a body, or with a text that is too long. */
static bool get_end_calls(const Torus__Client__EndCalls *m, struct td_request *q)
{
    if (!m || strlen(m->job) >= TD_NAME_MAX || strlen(m->why) >= TD_TEXT_MAX)
        return false;
    q->u.end_calls.node = m->node;
    q->u.end_calls.end = (struct td_message_end_calls){.job = m->job,
                                                       .owner = m->owner,
                                                       .all = m->all,
                                                       .instance = m->instance,
                                                       .number = m->number,
                                                       .why = m->why};
    return true;
}

size_t td_wire_encode_request(const struct td_request *q, uint8_t *bytes, size_t size)
{
    Torus__Client__Request m = TORUS__CLIENT__REQUEST__INIT;
    Torus__Client__Call call;
    struct described described;
    struct placed source, destination;
    Torus__Client__Counts from, to;
    Torus__Client__EndCalls end_calls;
    if (size < TD_WIRE_HEADER_BYTES)
        return 0;
    m.id = q->id;
    switch (q->kind) {
    case TD_REQUEST_HELLO:
        m.program = td_wire_string(q->u.hello.program);
        m.strays = td_wire_string(q->u.hello.strays);
        break;
    case TD_REQUEST_REGION:
        m.region = q->u.region.region;
        m.bytes = q->u.region.bytes;
        break;
    case TD_REQUEST_UNREGION:
        m.region = q->u.unregion.region;
        break;
    case TD_REQUEST_JOIN:
        m.name = td_wire_string(q->u.join.name);
        m.size = q->u.join.size;
        m.rank = q->u.join.rank;
        m.timeout_ns = q->u.join.timeout_ns;
        break;
    case TD_REQUEST_LEAVE:
        m.group = q->u.leave.group;
        break;
    case TD_REQUEST_OPERATION:
        m.group = q->u.operation.group;
        m.timeout_ns = q->u.operation.timeout_ns;
        m.sequence = q->u.operation.sequence;
        m.by_segment = q->u.operation.by_segment;
        m.waited_ns = q->u.operation.waited_ns;
        put_call(&q->u.operation.call, &call);
        if (!put_place(&q->u.operation.source, &source) ||
            !put_place(&q->u.operation.destination, &destination))
            return 0;
        m.call = &call;
        m.source = &source.place;
        m.destination = &destination.place;
        if (td_call_has_counts(q->u.operation.call.kind)) {
            put_counts(&q->u.operation.from, &from);
            put_counts(&q->u.operation.to, &to);
            m.from = &from;
            m.to = &to;
        }
        if (td_call_plans(q->u.operation.call.kind) &&
            !put_description(&q->u.operation.description, q->u.operation.call.kind, &described, &m))
            return 0;
        break;
    case TD_REQUEST_UNPLAN:
        m.group = q->u.unplan.group;
        m.plan = q->u.unplan.plan;
        break;
    case TD_REQUEST_CANCEL:
        m.request = q->u.cancel.request;
        break;
    case TD_REQUEST_STATUS:
        m.section = q->u.status.section;
        m.cursor = q->u.status.cursor;
        m.node = q->u.status.node;
        break;
    case TD_REQUEST_GROUP:
        m.group = q->u.make.group;
        m.number = q->u.make.number;
        m.n_member = q->u.make.members;
        m.member = (uint64_t *)(uintptr_t)q->u.make.member;
        break;
    case TD_REQUEST_SHRINK:
        m.group = q->u.shrink.group;
        m.timeout_ns = q->u.shrink.timeout_ns;
        break;
    case TD_REQUEST_PEER_REGION:
        m.group = q->u.peer_region.group;
        m.rank = q->u.peer_region.rank;
        m.region = q->u.peer_region.region;
        break;
    case TD_REQUEST_END_CALLS:
        put_end_calls(q, &end_calls);
        m.end_calls = &end_calls;
        break;
    case TD_REQUEST_RELOAD:
        break;
    }
    size_t packed =
        td_wire_pack(&m.base, bytes + TD_WIRE_HEADER_BYTES, size - TD_WIRE_HEADER_BYTES);
    if (packed == 0 && protobuf_c_message_get_packed_size(&m.base) != 0)
        return 0;
    return put_header(bytes, (unsigned)q->kind) + packed;
}

static bool get_fft(const Torus__Client__Fft *m, struct td_fft *f)
{
    if (m->n_size > TD_DIMENSIONS_MAX || m->n_transform != m->n_size || m->n_grid != m->n_size ||
        m->method > UINT8_MAX)
        return false;
    f->method = (uint8_t)m->method;
    f->type = m->type;
    f->sign = m->sign;
    f->scale = m->scale;
    f->dimensions = (uint32_t)m->n_size;
    for (uint32_t d = 0; d < f->dimensions; d++) {
        if (m->transform[d] > UINT8_MAX)
            return false;
        f->size[d] = m->size[d];
        f->transform[d] = (uint8_t)m->transform[d];
        f->grid[d] = m->grid[d];
    }
    return true;
}

static bool get_redist(const Torus__Client__Redist *m, struct td_redist *r)
{
    if (m->n_size > TD_DIMENSIONS_MAX || m->n_axis != m->n_size)
        return false;
    r->element = m->element;
    r->schedule = m->schedule;
    r->dimensions = (uint32_t)m->n_size;
    for (uint32_t d = 0; d < r->dimensions; d++) {
        if (m->axis[d] > UINT8_MAX)
            return false;
        r->size[d] = m->size[d];
        r->axes[d] = (uint8_t)m->axis[d];
    }
    return true;
}

static bool get_operation(const Torus__Client__Request *m, struct td_wire_memory *memory,
                          struct td_request *q)
{
    q->u.operation.group = m->group;
    q->u.operation.timeout_ns = m->timeout_ns;
    q->u.operation.sequence = m->sequence;
    q->u.operation.by_segment = m->by_segment;
    q->u.operation.waited_ns = m->waited_ns;
    if (!get_call(m->call, &q->u.operation.call) ||
        !get_place(m->source, memory, &q->u.operation.source) ||
        !get_place(m->destination, memory, &q->u.operation.destination))
        return false;
    q->u.operation.from = get_counts(m->from);
    q->u.operation.to = get_counts(m->to);
    struct td_description *d = &q->u.operation.description;
    d->from = m->layout_from;
    d->to = m->layout_to;
    return (!m->fft || get_fft(m->fft, &d->fft)) &&
           (!m->redist || get_redist(m->redist, &d->redist));
}

td_err td_wire_decode_request(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                              struct td_request *q, const char **why)
{
    unsigned type = 0;
    memory->used = 0;
    td_err error = get_header(bytes, size, memory, &type, why);
    if (error != TD_OK)
        return error;
    ProtobufCAllocator allocator = td_wire_allocator(memory);
    Torus__Client__Request *m = torus__client__request__unpack(
        &allocator, size - TD_WIRE_HEADER_BYTES, bytes + TD_WIRE_HEADER_BYTES);
    if (!m || type < TD_REQUEST_HELLO || type > TD_REQUEST_RELOAD)
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "malformed request of type %u", type);
    *q = (struct td_request){.kind = (enum td_request_kind)type, .id = m->id};
    switch (q->kind) {
    case TD_REQUEST_HELLO:
        if (strlen(m->strays) >= TD_STRAYS_MAX)
            return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "too many unknown variables");
        q->u.hello.program = m->program;
        q->u.hello.strays = m->strays;
        break;
    case TD_REQUEST_REGION:
        q->u.region.region = m->region;
        q->u.region.bytes = m->bytes;
        break;
    case TD_REQUEST_UNREGION:
        q->u.unregion.region = m->region;
        break;
    case TD_REQUEST_JOIN:
        q->u.join.name = m->name;
        q->u.join.size = m->size;
        q->u.join.rank = m->rank;
        q->u.join.timeout_ns = m->timeout_ns;
        break;
    case TD_REQUEST_LEAVE:
        q->u.leave.group = m->group;
        break;
    case TD_REQUEST_OPERATION:
        if (!get_operation(m, memory, q))
            return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "malformed operation request");
        break;
    case TD_REQUEST_UNPLAN:
        q->u.unplan.group = m->group;
        q->u.unplan.plan = m->plan;
        break;
    case TD_REQUEST_CANCEL:
        q->u.cancel.request = m->request;
        break;
    case TD_REQUEST_STATUS:
        q->u.status.section = m->section;
        q->u.status.cursor = m->cursor;
        q->u.status.node = m->node;
        break;
    case TD_REQUEST_GROUP:
        q->u.make.group = m->group;
        q->u.make.number = m->number;
        q->u.make.members = (uint32_t)m->n_member;
        q->u.make.member = m->member;
        break;
    case TD_REQUEST_SHRINK:
        q->u.shrink.group = m->group;
        q->u.shrink.timeout_ns = m->timeout_ns;
        break;
    case TD_REQUEST_PEER_REGION:
        if (m->rank < 0 || m->rank > UINT32_MAX)
            return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "request with a rank out of range");
        q->u.peer_region.group = m->group;
        q->u.peer_region.rank = (uint32_t)m->rank;
        q->u.peer_region.region = m->region;
        break;
    case TD_REQUEST_END_CALLS:
        if (!get_end_calls(m->end_calls, q))
            return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "malformed request to end calls");
        break;
    case TD_REQUEST_RELOAD:
        break;
    }
    return TD_OK;
}

/* ---- replies ---- */

static void put_box(struct td_box *box, Torus__Client__Box *m)
{
    torus__client__box__init(m);
    m->n_begin = m->n_count = box->dimensions;
    m->begin = box->begin;
    m->count = box->count;
}

static bool get_box(const Torus__Client__Box *m, struct td_box *box)
{
    *box = (struct td_box){0};
    if (!m)
        return true;
    if (m->n_begin > TD_DIMENSIONS_MAX || m->n_begin != m->n_count)
        return false;
    box->dimensions = (uint32_t)m->n_begin;
    for (uint32_t d = 0; d < box->dimensions; d++) {
        box->begin[d] = m->begin[d];
        box->count[d] = m->count[d];
    }
    return true;
}

size_t td_wire_encode_reply(const struct td_reply *r, uint8_t *bytes, size_t size)
{
    Torus__Client__Reply m = TORUS__CLIENT__REPLY__INIT;
    struct td_wire_row row[TD_STATUS_ROWS_MAX];
    Torus__Client__Row *rows[TD_STATUS_ROWS_MAX];
    Torus__Client__Box source, destination;
    struct td_box from, to;
    char shape[128];
    if (size < TD_WIRE_HEADER_BYTES)
        return 0;
    m.id = r->id;
    m.error = r->error;
    m.text = td_wire_string(r->text);
    m.refused = r->refused;
    switch (r->kind) {
    case TD_REPLY_WELCOME:
        td_topology_print(&r->u.welcome.topology, shape, sizeof shape);
        m.node = r->u.welcome.node;
        m.incarnation = r->u.welcome.incarnation;
        m.shape = shape;
        m.packet_bytes = r->u.welcome.packet_bytes;
        m.region_bytes_max = r->u.welcome.region_bytes_max;
        m.form_loops_max = r->u.welcome.form_loops_max;
        m.peer_regions = r->u.welcome.peer_regions;
        m.peers_known = r->u.welcome.peers_known;
        break;
    case TD_REPLY_JOINED:
        m.group = r->u.joined.group;
        m.rank = r->u.joined.rank;
        m.size = r->u.joined.size;
        m.instance = r->u.joined.instance;
        m.lost.len = r->u.joined.lost_bytes;
        m.lost.data = (uint8_t *)(uintptr_t)r->u.joined.lost;
        m.has_segment = r->u.joined.has_segment;
        m.has_letters = r->u.joined.has_letters;
        break;
    case TD_REPLY_PLANNED:
        from = r->u.planned.source;
        to = r->u.planned.destination;
        put_box(&from, &source);
        put_box(&to, &destination);
        m.plan = r->u.planned.plan;
        m.source = &source;
        m.destination = &destination;
        break;
    case TD_REPLY_STATUS:
        if (r->u.status.rows > TD_STATUS_ROWS_MAX)
            return 0;
        m.section = r->u.status.section;
        m.next = r->u.status.next;
        for (uint32_t i = 0; i < r->u.status.rows; i++) {
            td_wire_put_row(&r->u.status.row[i], &row[i]);
            rows[i] = &row[i].row;
        }
        m.n_row = r->u.status.rows;
        m.took_ns = r->u.status.took_ns;
        m.row = rows;
        break;
    case TD_REPLY_ERROR:
    case TD_REPLY_DONE:
    case TD_REPLY_NO_ROOM:
    case TD_REPLY_ROOM:
    case TD_REPLY_PEER_REGION:
        break;
    }
    size_t packed =
        td_wire_pack(&m.base, bytes + TD_WIRE_HEADER_BYTES, size - TD_WIRE_HEADER_BYTES);
    if (packed == 0 && protobuf_c_message_get_packed_size(&m.base) != 0)
        return 0;
    size_t at = put_header(bytes, REPLY_TYPE + (unsigned)r->kind) + packed;
    if (r->kind == TD_REPLY_STATUS && r->u.status.page_bytes) { /* its fields follow these */
        if (r->u.status.page_bytes > size - at)
            return 0;
        memcpy(bytes + at, r->u.status.page, r->u.status.page_bytes);
        at += r->u.status.page_bytes;
    }
    return at;
}

size_t td_wire_encode_page(const struct td_reply *r, uint8_t *bytes, size_t size)
{
    uint8_t whole[TD_WIRE_HEADER_BYTES + TD_PAGE_BYTES_MAX];
    struct td_reply page = *r;
    page.id = 0;
    size_t used = td_wire_encode_reply(&page, whole, sizeof whole);
    size_t packed = used > TD_WIRE_HEADER_BYTES ? used - TD_WIRE_HEADER_BYTES : 0;
    if (packed > size)
        return 0;
    memcpy(bytes, whole + TD_WIRE_HEADER_BYTES, packed);
    return packed;
}

td_err td_wire_decode_reply(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                            struct td_reply *r, const char **why)
{
    unsigned type = 0;
    memory->used = 0;
    td_err error = get_header(bytes, size, memory, &type, why);
    if (error != TD_OK)
        return error;
    ProtobufCAllocator allocator = td_wire_allocator(memory);
    Torus__Client__Reply *m = torus__client__reply__unpack(&allocator, size - TD_WIRE_HEADER_BYTES,
                                                           bytes + TD_WIRE_HEADER_BYTES);
    if (!m || type < REPLY_TYPE + TD_REPLY_ERROR || type > REPLY_TYPE + TD_REPLY_PEER_REGION ||
        m->error > TD_OK || m->error < TD_ERR_PERMISSION ||
        (type == REPLY_TYPE + TD_REPLY_ERROR && m->error == TD_OK))
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "type %#x with error %d", type,
                              m ? (int)m->error : 0);
    *r = (struct td_reply){.kind = (enum td_reply_kind)(type - REPLY_TYPE),
                           .id = m->id,
                           .error = (td_err)m->error,
                           .text = m->text,
                           .refused = m->refused};
    bool good = true;
    size_t at = 0;
    const char *wrong = NULL;
    switch (r->kind) {
    case TD_REPLY_WELCOME:
        r->u.welcome.node = m->node;
        r->u.welcome.incarnation = m->incarnation;
        r->u.welcome.packet_bytes = m->packet_bytes;
        r->u.welcome.region_bytes_max = m->region_bytes_max;
        r->u.welcome.form_loops_max = m->form_loops_max;
        r->u.welcome.peer_regions = m->peer_regions;
        r->u.welcome.peers_known = m->peers_known;
        good = td_topology_parse(&r->u.welcome.topology, m->shape, &at, &wrong) == TD_OK &&
               m->node < r->u.welcome.topology.nodes;
        break;
    case TD_REPLY_JOINED:
        r->u.joined.group = m->group;
        r->u.joined.rank = m->rank;
        r->u.joined.size = m->size;
        r->u.joined.instance = m->instance;
        r->u.joined.lost = m->lost.data;
        r->u.joined.lost_bytes = (uint32_t)m->lost.len;
        r->u.joined.has_segment = m->has_segment;
        r->u.joined.has_letters = m->has_letters;
        good = m->lost.len <= TD_BITMAP_BYTES_MAX && m->size > 0 && m->size <= TD_JOB_RANKS_MAX &&
               m->rank < m->size && !(m->has_segment && m->has_letters);
        break;
    case TD_REPLY_PLANNED:
        r->u.planned.plan = m->plan;
        good = get_box(m->source, &r->u.planned.source) &&
               get_box(m->destination, &r->u.planned.destination);
        break;
    case TD_REPLY_STATUS:
        r->u.status.section = m->section;
        r->u.status.next = m->next;
        r->u.status.took_ns = m->took_ns;
        good = m->n_row <= TD_STATUS_ROWS_MAX;
        for (size_t i = 0; good && i < m->n_row; i++)
            good = td_wire_get_row(m->row[i], memory, &r->u.status.row[i]);
        r->u.status.rows = good ? (uint32_t)m->n_row : 0;
        break;
    case TD_REPLY_ERROR:
    case TD_REPLY_DONE:
    case TD_REPLY_NO_ROOM:
    case TD_REPLY_ROOM:
    case TD_REPLY_PEER_REGION:
        break;
    }
    return good ? TD_OK
                : td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "type %#x with a value out of range",
                                 type);
}
