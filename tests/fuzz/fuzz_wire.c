/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders: requests, replies, tree messages, handshakes and packet headers (wire/feed.h). The
 * first byte chooses the form. Without its highest bit the bytes follow; with it a seed from which
 * a well-formed one is drawn, and then changes of its bytes. */
#include <string.h>

#include "decide.h"
#include "wire/client.h"
#include "wire/feed.h"
#include "wire/forms.h"
#include "wire/handshake.h"
#include "wire/messages.h"
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
    const struct kind *k = NULL;
    uint32_t kind = decide_below(d, 256);
    forms_seed(decide_bytes(d, 2));
    switch (form) {
    case 0:
        request = some_request((enum td_request_kind)(1 + kind % TD_REQUEST_SHRINK));
        return td_wire_encode_request(&request, bytes, room);
    case 1:
        reply = some_reply((enum td_reply_kind)(1 + kind % TD_REPLY_ROOM));
        return td_wire_encode_reply(&reply, bytes, room);
    case 2:
        k = &kinds[kind % kinds_count];
        message = some_fields(k, (enum amount)decide_below(d, 4));
        if (k->fields && decide_below(d, 2)) /* one field as long as it may be, or longer */
            fill_field(&message, &k->field[decide_below(d, k->fields)], AMOUNT_MOST,
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
    feed(form, bytes, change(&d, bytes, drawn, sizeof bytes));
    return 0;
}
