/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include <string.h>

#include "client.pb-c.h"
#include "client_table.h"
#include "memory.h"

enum { REPLY_TYPE = 0x100 };

/* The members of the body of a row are pointers at one place, of which this is the first. */
#define ANY node

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

/* ---- special types ---- */

static bool put_elements(const void *from, void *to, struct td_wire_scratch *scratch)
{
    const struct td_form *f = *(const struct td_form *const *)from;
    if (!f)
        return true;
    Torus__Client__Form *m = td_wire_scratch(scratch, sizeof *m);
    Torus__Client__Loop **loops = td_wire_scratch(scratch, TD_FORM_LOOPS_MAX * sizeof *loops),
                        *loop = td_wire_scratch(scratch, TD_FORM_LOOPS_MAX * sizeof *loop);
    if (!loop || f->loops > TD_FORM_LOOPS_MAX)
        return false;
    torus__client__form__init(m);
    for (uint32_t i = 0; i < f->loops; i++) {
        loops[i] = &loop[i];
        torus__client__loop__init(&loop[i]);
        loop[i].at = f->loop[i].at;
        loop[i].stride = f->loop[i].stride;
        loop[i].count = f->loop[i].count;
        loop[i].bytes = f->loop[i].bytes;
        loop[i].inner = f->loop[i].inner;
    }
    m->bytes = f->bytes;
    m->extent = f->extent;
    m->n_loop = f->loops;
    m->loop = loops;
    *(Torus__Client__Form **)to = m;
    return true;
}

static bool get_elements(const void *from, void *to, struct td_wire_memory *memory)
{
    const Torus__Client__Form *m = *(Torus__Client__Form *const *)from;
    if (!m)
        return true;
    uint32_t loops = (uint32_t)m->n_loop;
    struct td_form *f =
        m->n_loop > TD_FORM_LOOPS_MAX ? NULL : td_wire_allocate(memory, td_form_size(loops));
    *(const struct td_form **)to = f;
    if (!f)
        return false;
    f->bytes = m->bytes;
    f->extent = m->extent;
    f->loops = loops;
    for (uint32_t i = 0; i < loops; i++)
        f->loop[i] = (struct td_form_loop){.at = m->loop[i]->at,
                                           .stride = m->loop[i]->stride,
                                           .count = m->loop[i]->count,
                                           .bytes = m->loop[i]->bytes,
                                           .inner = m->loop[i]->inner};
    return true;
}

static bool put_shape(const void *from, void *to, struct td_wire_scratch *scratch)
{
    enum { BYTES = 128 };
    char *shape = td_wire_scratch(scratch, BYTES);
    if (shape)
        td_topology_print(from, shape, BYTES);
    *(char **)to = shape;
    return shape != NULL;
}

static bool get_shape(const void *from, void *to, struct td_wire_memory *memory)
{
    size_t at = 0;
    const char *wrong = NULL;
    (void)memory;
    return td_topology_parse(to, *(char *const *)from, &at, &wrong) == TD_OK;
}

typedef __typeof__(((struct td_reply *)0)->u.status) page;
_Static_assert(offsetof(Torus__Client__Reply, row) ==
                   offsetof(Torus__Client__Reply, n_row) + sizeof(size_t),
               "the pointer to the rows is behind their number");

static bool put_rows(const void *from, void *to, struct td_wire_scratch *scratch)
{
    const page *p = (const page *)(const void *)((const char *)from - offsetof(page, rows));
    Torus__Client__Row **list = td_wire_scratch(scratch, TD_STATUS_ROWS_MAX * sizeof *list);
    if (!list || p->rows > TD_STATUS_ROWS_MAX)
        return false;
    for (uint32_t i = 0; i < p->rows; i++) {
        const struct td_wire_kind *kind = td_wire_row(p->row[i].kind);
        ProtobufCMessage *body = kind ? td_wire_new(kind, scratch) : NULL;
        list[i] = td_wire_scratch(scratch, sizeof **list);
        if (!body || !list[i] || !td_wire_put_fields(kind, &p->row[i].u, body, scratch))
            return false;
        torus__client__row__init(list[i]);
        list[i]->body_case = (Torus__Client__Row__BodyCase)kind->number;
        list[i]->ANY = (void *)body;
    }
    *(size_t *)to = p->rows;
    *(Torus__Client__Row ***)(void *)((char *)to + sizeof(size_t)) = list;
    return true;
}

static bool get_rows(const void *from, void *to, struct td_wire_memory *memory)
{
    page *p = (page *)(void *)((char *)to - offsetof(page, rows));
    size_t rows = *(const size_t *)from;
    Torus__Client__Row *const *list =
        *(Torus__Client__Row *const *const *)(const void *)((const char *)from + sizeof(size_t));
    if (rows > TD_STATUS_ROWS_MAX)
        return false;
    for (p->rows = 0; p->rows < rows; p->rows++) {
        const Torus__Client__Row *m = list[p->rows];
        const struct td_wire_kind *kind = td_wire_row((unsigned)m->body_case);
        struct td_status_row *row = &p->row[p->rows];
        if (!kind)
            return false;
        row->kind = (enum td_row_kind)kind->number;
        if (!td_wire_get_fields(kind, m->ANY, &row->u, memory))
            return false;
    }
    return true;
}

const struct td_wire_special td_wire_elements = {put_elements, get_elements};
const struct td_wire_special td_wire_shape = {put_shape, get_shape};
const struct td_wire_special td_wire_rows = {put_rows, get_rows};

/* ---- requests ---- */

/* put_datagram writes the header and the message. It returns 0 if they do not fit. */
static size_t put_datagram(unsigned type, const ProtobufCMessage *m, uint8_t *bytes, size_t size)
{
    if (size < TD_WIRE_HEADER_BYTES)
        return 0;
    size_t packed = td_wire_pack(m, bytes + TD_WIRE_HEADER_BYTES, size - TD_WIRE_HEADER_BYTES);
    if (packed == 0 && protobuf_c_message_get_packed_size(m) != 0)
        return 0;
    return put_header(bytes, type) + packed;
}

size_t td_wire_encode_request(const struct td_request *q, uint8_t *bytes, size_t size)
{
    Torus__Client__Request m = TORUS__CLIENT__REQUEST__INIT;
    _Alignas(16) uint8_t room[2 * TD_FORM_LOOPS_MAX * (sizeof(Torus__Client__Loop) + 16) + 4096];
    struct td_wire_scratch scratch = {room, sizeof room, 0};
    const struct td_wire_kind *kind = td_wire_request(q->kind);
    m.id = q->id;
    if (!kind || !td_wire_put_fields(kind, &q->u, &m, &scratch))
        return 0;
    return put_datagram(kind->number, &m.base, bytes, size);
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
    const struct td_wire_kind *kind = td_wire_request(type);
    if (!m || !kind)
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "malformed request of type %u", type);
    *q = (struct td_request){.kind = (enum td_request_kind)type, .id = m->id};
    if (!td_wire_get_fields(kind, m, &q->u, memory))
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL,
                              "request of type %s with a value out of range", kind->name);
    return TD_OK;
}

/* ---- replies ---- */

size_t td_wire_encode_reply(const struct td_reply *r, uint8_t *bytes, size_t size)
{
    Torus__Client__Reply m = TORUS__CLIENT__REPLY__INIT;
    _Alignas(16) uint8_t room[TD_STATUS_ROWS_MAX * 1024];
    struct td_wire_scratch scratch = {room, sizeof room, 0};
    const struct td_wire_kind *kind = td_wire_reply(r->kind);
    m.id = r->id;
    m.error = r->error;
    m.text = td_wire_string(r->text);
    m.refused = r->refused;
    if (!kind || !td_wire_put_fields(kind, &r->u, &m, &scratch))
        return 0;
    size_t at = put_datagram(REPLY_TYPE + kind->number, &m.base, bytes, size);
    if (at && r->kind == TD_REPLY_STATUS && r->u.status.page_bytes) { /* its fields follow these */
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
    struct td_reply short_reply = *r;
    short_reply.id = 0;
    size_t used = td_wire_encode_reply(&short_reply, whole, sizeof whole);
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
    const struct td_wire_kind *kind = type > REPLY_TYPE ? td_wire_reply(type - REPLY_TYPE) : NULL;
    if (!m || !kind || m->error > TD_OK || m->error < TD_ERR_PERMISSION ||
        (kind->number == TD_REPLY_ERROR && m->error == TD_OK))
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL, "type %#x with error %d", type,
                              m ? (int)m->error : 0);
    *r = (struct td_reply){.kind = (enum td_reply_kind)kind->number,
                           .id = m->id,
                           .error = (td_err)m->error,
                           .text = m->text,
                           .refused = m->refused};
    if (!td_wire_get_fields(kind, m, &r->u, memory))
        return td_wire_refuse(memory, why, TD_ERR_PROTOCOL,
                              "reply of type %s with a value out of range", kind->name);
    return TD_OK;
}
