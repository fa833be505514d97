/* SPDX-License-Identifier: Apache-2.0 */
#include "forms.h"

#include "samples.h"
#include "random.h"
#include "wire/client_table.h"

static uint64_t state;

void forms_seed(uint64_t seed)
{
    state = seed;
}

uint64_t draw(void)
{
    return td_hash_next(&state);
}

uint64_t below(uint64_t n)
{
    return draw() % n;
}

static uint64_t wide(void)
{
    return some_number(AMOUNT_LARGE);
}

static uint32_t wide32(void)
{
    return (uint32_t)wide();
}

/* text draws up to length_max characters; the last eight drawn stay valid. */
const char *text(size_t length_max)
{
    static char pool[8][1024];
    static unsigned turn;
    char *t = pool[turn++ % 8];
    size_t length = below(length_max + 1);
    for (size_t i = 0; i < length; i++)
        t[i] = (char)(1 + below(255));
    t[length] = '\0';
    return t;
}

struct td_request some_request(enum td_request_kind kind)
{
    struct td_request q = {.kind = kind, .id = wide()};
    fresh_room();
    fill_fields(&q.u, td_wire_request(kind), AMOUNT_LARGE);
    return q;
}

struct td_reply some_reply(enum td_reply_kind kind)
{
    struct td_reply r = {.kind = kind,
                         .id = wide(),
                         .error = (td_err) - (int)below(1 - (unsigned)TD_ERR_PERMISSION),
                         .text = text(500),
                         .refused = below(2) == 1};
    if (kind == TD_REPLY_ERROR && r.error == TD_OK)
        r.error = TD_ERR_BUSY;
    fresh_room();
    fill_fields(&r.u, td_wire_reply(kind), AMOUNT_LARGE);
    return r;
}

struct td_handshake some_handshake(void)
{
    struct td_handshake g = {.major = wide32(),
                             .minor = wide32(),
                             .node = wide32(),
                             .incarnation = draw(),
                             .peer_incarnation = draw(),
                             .session = draw(),
                             .bulk = below(2),
                             .accepted = below(2),
                             .busy = below(2),
                             .seals = wide32(),
                             .ciphers = wide32(),
                             .has_random = below(2),
                             .shape = text(40),
                             .text = text(500)};
    for (int i = 0; g.has_random && i < TD_HANDSHAKE_RANDOM; i++)
        g.random[i] = (uint8_t)draw();
    static uint64_t term[TD_TERMS_MAX];
    g.terms = (struct td_term_list){(uint32_t)below(TD_TERMS_MAX + 1), term};
    for (uint32_t i = 0; i < g.terms.count; i++)
        term[i] = wide();
    return g;
}

struct td_packet some_packet(void)
{
    struct td_packet p = {.kind = below(2) ? TD_PACKET_DATA : TD_PACKET_CREDIT,
                          .session = wide32(),
                          .counts_session = wide32(),
                          .link_sequence = wide(),
                          .received = wide(),
                          .freed = wide(),
                          .instance = draw(),
                          .group = wide32(),
                          .sequence = wide(),
                          .family = wide32(),
                          .index = wide(),
                          .offset = wide(),
                          .bytes = wide32(),
                          .direction = (uint8_t)draw(),
                          .channel = (uint8_t)draw(),
                          .origin = wide32(),
                          .destination = wide32(),
                          .ticket = wide32()};
    for (int d = 0; d < TD_DIMENSIONS_MAX; d++)
        p.left[d] = (int16_t)draw();
    for (int c = 0; c < 3; c++)
        p.channel_freed[c] = wide32();
    return p;
}
