/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders: requests, replies, tree messages, handshakes and packet headers (wire/feed.h). The
 * first byte chooses the form. Without its highest bit the bytes follow; with it a seed from which
 * a well-formed one is drawn, a field to repeat, and changes of bytes. */
#include <string.h>

#include "decide.h"
#include "wire/client.h"
#include "wire/feed.h"
#include "wire/forms.h"
#include "wire/handshake.h"
#include "wire/samples.h"
#include "wire/packet.h"
#include "wire/peer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DRAWN = 0x80, CHANGES_MAX = 6 };

static size_t draw_form(unsigned form, struct decide *d, uint8_t *bytes, size_t room)
{
    struct td_request request;
    struct td_reply reply;
    struct td_handshake handshake;
    struct td_packet packet;
    struct td_message message;
    const struct td_wire_kind *k = NULL;
    uint32_t kind = decide_below(d, 256);
    forms_seed(decide_bytes(d, 2));
    switch (form) {
    case 0:
        request = some_request((enum td_request_kind)(1 + kind % TD_REQUEST_END_CALLS));
        return td_wire_encode_request(&request, bytes, room);
    case 1:
        reply = some_reply((enum td_reply_kind)(1 + kind % TD_REPLY_PEER_REGION));
        return td_wire_encode_reply(&reply, bytes, room);
    case 2:
        k = &td_wire_kinds[kind % td_wire_kinds_count];
        message = some_message(k, (enum amount)decide_below(d, 4));
        if (k->fields && decide_below(d, 2)) /* one field as long as it may be, or longer */
            fill_field(&message.u, &k->field[decide_below(d, k->fields)], AMOUNT_MOST,
                       decide_below(d, 2));
        return td_wire_encode_message(&message, bytes, room);
    case 3:
        handshake = some_handshake();
        return td_wire_encode_handshake(&handshake, bytes, room);
    default:
        packet = some_packet();
        td_wire_encode_packet(&packet, bytes);
        return TD_WIRE_PACKET_BYTES;
    }
}

/* change overwrites, removes or repeats some bytes. It returns the new size. */
static size_t change(struct decide *d, uint8_t *bytes, size_t size, size_t room)
{
    for (uint32_t n = decide_below(d, CHANGES_MAX); n > 0 && size > 0; n--) {
        size_t at = decide_bytes(d, 2) % size, count = 1 + decide_below(d, 16);
        count = count < size - at ? count : size - at;
        switch (decide_below(d, 4)) {
        case 0:
            memmove(bytes + at, bytes + at + count, size - at - count);
            size -= count;
            break;
        case 1: /* once more, such as one field or member too many */
            if (size + count > room)
                break;
            memmove(bytes + at + count, bytes + at, size - at);
            size += count;
            break;
        default:
            bytes[at] = (uint8_t)decide_bytes(d, 1);
        }
    }
    return size;
}

/* ---- protobuf ---- */

/* struct field: a field of a protobuf message: its tag, its length, its value. */
struct field_at {
    size_t tag, length, value, end; /* length: of the field's length, if it has one */
    unsigned wire;
};

/* varint reads a number. It returns the place after it, or 0. */
static size_t varint(const uint8_t *bytes, size_t at, size_t end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        *value |= (uint64_t)(bytes[at] & 127) << shift;
        if (bytes[at++] < 128)
            return at;
    }
    return 0;
}

/* next_field reads the field that starts at `at`. It returns false if no whole field starts there.
 */
static bool next_field(const uint8_t *bytes, size_t at, size_t end, struct field_at *f)
{
    uint64_t tag = 0, length = 0;
    f->tag = at;
    f->length = varint(bytes, at, end, &tag);
    f->wire = tag & 7;
    f->value = f->length;
    if (f->length == 0)
        return false;
    if (f->wire == 2)
        f->value = varint(bytes, f->length, end, &length);
    else if (f->wire == 0)
        f->value = varint(bytes, f->length, end, &tag);
    else
        length = f->wire == 1 ? 8 : 4;
    f->end = f->value + length;
    return f->value && length <= end - f->value;
}

/* some_field draws a field of the message in [at, end). It returns false if it has none. */
static bool some_field(struct decide *d, const uint8_t *bytes, size_t at, size_t end,
                       struct field_at *f)
{
    uint32_t fields = 0;
    for (size_t next = at; next < end; next = f->end, fields++)
        if (!next_field(bytes, next, end, f))
            return false;
    if (fields == 0)
        return false;
    for (uint32_t n = decide_below(d, fields) + 1; n > 0; n--, at = f->end)
        (void)next_field(bytes, at, end, f);
    return true;
}

/* lengthen adds to the length of a field. It returns by how much the message is longer then. */
static size_t lengthen(uint8_t *bytes, size_t size, const struct field_at *f, size_t more)
{
    uint8_t length[10];
    size_t digits = 0, before = f->value - f->length;
    for (uint64_t rest = f->end - f->value + more; digits == 0 || rest > 0; rest >>= 7)
        length[digits++] = (uint8_t)((rest & 127) | (rest > 127 ? 128 : 0));
    memmove(bytes + f->length + digits, bytes + f->value, size - f->value);
    memcpy(bytes + f->length, length, digits);
    return digits - before;
}

/* repeat_field repeats a field, at some depth, so often that it may exceed a limit. It returns the
 * new size. */
static size_t repeat_field(struct decide *d, uint8_t *bytes, size_t at, size_t size, size_t room)
{
    enum { DEPTH_MAX = 4 };
    static const uint32_t often[] = {1, 6, 64, 65, 128, 129, 300, 2000};
    struct field_at around[DEPTH_MAX], f, inner;
    uint32_t depth = 0;
    if (!some_field(d, bytes, at, size, &f))
        return size;
    while (depth < DEPTH_MAX && f.wire == 2 && decide_below(d, 4) &&
           some_field(d, bytes, f.value, f.end, &inner)) {
        around[depth++] = f;
        f = inner;
    }
    size_t one = f.end - f.tag, more = one * often[decide_below(d, 8)];
    if (more + 10 * DEPTH_MAX > room - size)
        return size;
    memmove(bytes + f.end + more, bytes + f.end, size - f.end);
    for (size_t i = 0; i < more; i++)
        bytes[f.end + i] = bytes[f.tag + i % one];
    for (size += more; depth > 0; depth--) {
        size_t grown = lengthen(bytes, size, &around[depth - 1], more);
        size += grown;
        more += grown;
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[TD_DATAGRAM_MAX];
    struct decide d = {data, size};
    if (size == 0)
        return 0;
    uint8_t first = (uint8_t)decide_bytes(&d, 1);
    unsigned form = (first & ~(unsigned)DRAWN) % FEED_FORMS;
    if (!(first & DRAWN)) {
        feed(form, d.at, d.left);
        return 0;
    }
    size_t drawn = draw_form(form, &d, bytes, sizeof bytes);
    if (form < 4 && decide_below(&d, 2))
        drawn = repeat_field(&d, bytes, form < 2 ? TD_WIRE_HEADER_BYTES : 0, drawn, sizeof bytes);
    feed(form, bytes, change(&d, bytes, drawn, sizeof bytes));
    return 0;
}
