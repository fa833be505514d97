/* SPDX-License-Identifier: Apache-2.0 */
#include "peer_fields.h"

#include <string.h>

#include "memory.h"

ProtobufCBinaryData td_wire_put_bitmap(const struct td_bitmap *bitmap)
{
    return (ProtobufCBinaryData){bitmap->bytes, (uint8_t *)(uintptr_t)bitmap->bits};
}

bool td_wire_get_bitmap(const ProtobufCBinaryData *bytes, size_t limit, struct td_bitmap *bitmap)
{
    if (bytes->len > limit)
        return false;
    *bitmap = (struct td_bitmap){bytes->data, (uint32_t)bytes->len};
    return true;
}

ProtobufCBinaryData td_wire_put_payload(const struct td_message_payload *payload)
{
    return (ProtobufCBinaryData){payload->bytes, (uint8_t *)(uintptr_t)payload->data};
}

bool td_wire_get_payload(const ProtobufCBinaryData *bytes, size_t limit,
                         struct td_message_payload *payload)
{
    if (bytes->len > limit)
        return false;
    *payload = (struct td_message_payload){bytes->data, (uint32_t)bytes->len};
    return true;
}

size_t td_wire_put_terms(const struct td_term_list *list, uint64_t **values)
{
    *values = (uint64_t *)(uintptr_t)list->value; /* protobuf-c only reads them */
    return list->count;
}

bool td_wire_get_terms(const uint64_t *values, size_t count, struct td_term_list *list)
{
    if (count > TD_TERMS_MAX)
        return false;
    *list = (struct td_term_list){(uint32_t)count, values};
    return true;
}

bool td_wire_get_ending(int32_t number, const char *from, td_err *error, const char **text)
{
    *text = from;
    if (number > TD_OK || number < TD_ERR_PERMISSION || strlen(from) >= TD_TEXT_MAX)
        return false;
    *error = (td_err)number;
    return true;
}

Torus__Peer__Witness *td_wire_put_witness(const struct td_witness *w, Torus__Peer__Witness *m)
{
    torus__peer__witness__init(m);
    m->kind = w->call.kind;
    m->type = w->call.type;
    m->op = w->call.op;
    m->root = w->call.root;
    m->count = w->call.count;
    m->plan = w->call.plan;
    m->digest = w->call.digest;
    m->mode = w->call.mode;
    m->rank = w->rank;
    return m;
}

bool td_wire_get_witness(const Torus__Peer__Witness *m, struct td_witness *w)
{
    if (!m || m->kind == 0 || m->kind >= TD_KIND_MAX || m->type >= TD_TYPE_MAX ||
        m->op >= TD_OP_END || m->mode >= TD_REPRODUCIBLES)
        return false;
    *w = (struct td_witness){.call = {.kind = (uint8_t)m->kind,
                                      .type = (uint8_t)m->type,
                                      .op = (uint8_t)m->op,
                                      .mode = (uint8_t)m->mode,
                                      .root = m->root,
                                      .count = m->count,
                                      .plan = m->plan,
                                      .digest = m->digest},
                             .rank = m->rank};
    return true;
}

Torus__Peer__Survey *td_wire_put_survey(const struct td_survey *s, Torus__Peer__Survey *m)
{
    torus__peer__survey__init(m);
    m->most = s->most;
    m->total = s->total;
    m->hash = s->hash;
    m->difference = s->difference;
    m->by_sender = s->by_sender;
    m->by_receiver = s->by_receiver;
    m->by_pair = s->by_pair;
    return m;
}

void td_wire_get_survey(const Torus__Peer__Survey *m, struct td_survey *s)
{
    *s = (struct td_survey){0};
    if (m)
        *s = (struct td_survey){m->most,      m->total,       m->hash,   m->difference,
                                m->by_sender, m->by_receiver, m->by_pair};
}

Torus__Peer__Outcome *td_wire_put_outcome(const struct td_outcome *o, Torus__Peer__Outcome *m)
{
    torus__peer__outcome__init(m);
    m->error = o->error;
    m->text = td_wire_string(o->text);
    m->lost = td_wire_put_bitmap(&o->lost);
    return m;
}

bool td_wire_get_outcome(const Torus__Peer__Outcome *m, struct td_outcome *o)
{
    return m && td_wire_get_ending(m->error, m->text, &o->error, &o->text) &&
           td_wire_get_bitmap(&m->lost, TD_BITMAP_BYTES_MAX, &o->lost);
}
