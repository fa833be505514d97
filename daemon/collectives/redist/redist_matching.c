/* SPDX-License-Identifier: Apache-2.0 */
/* One maximum matching after the other, as in the schedules to which the circulant form is compared
 * (Desprez, Dongarra, Petitet, Randriamaro, Robert 1998). Every matching covers all owners with the
 * most remaining pairs, so that this number decreases with each step, and there are as many steps
 * as an owner has pairs. Such senders are covered because searches start from them first. For such
 * receivers, a search may end at a receiver with fewer remaining pairs, which then gives up its
 * sender (Mendelsohn, Dulmage 1958). */
#include "redist_matching.h"

#include <assert.h>
#include <string.h>

/* struct side: the owners of one side, each with a bitmap of the owners that it still has to meet.
 */
struct side {
    uint32_t owners, words;
    uint64_t *left;
    uint16_t *lefts; /* remaining pairs of each owner */
    uint16_t *mate;
    uint16_t *through; /* in a search: the owner from which each one was reached */
    uint64_t *new;     /* bitmap of the owners that the search has not reached */
};

struct matching {
    struct side side[2]; /* senders, receivers */
    uint16_t *queue;
    uint16_t most; /* greatest number of remaining pairs of an owner */
};

static void *carve(char **at, size_t bytes)
{
    void *piece = *at;
    *at += (bytes + 7) / 8 * 8;
    return piece;
}

/* side_bytes and side_init divide one allocation in the same way. */
static size_t side_init(struct side *side, uint32_t owners, uint32_t others, char *memory)
{
    char *at = memory;
    side->owners = owners;
    side->words = (others + 63) / 64;
    side->left = carve(&at, (size_t)owners * side->words * sizeof *side->left);
    side->new = carve(&at, (owners + 63) / 64 * sizeof *side->new);
    side->lefts = carve(&at, owners * sizeof *side->lefts);
    side->mate = carve(&at, owners * sizeof *side->mate);
    side->through = carve(&at, owners * sizeof *side->through);
    return (size_t)(at - memory);
}

static size_t side_bytes(uint32_t owners, uint32_t others)
{
    return (size_t)owners * ((others + 63) / 64) * 8 + (owners + 63) / 64 * 8 +
           3 * (((size_t)owners * 2 + 7) / 8 * 8);
}

/* turn exchanges matched and unmatched pairs on the path from the start of the search to `other`.
 */
static void turn(struct side *here, struct side *there, uint32_t other)
{
    for (uint16_t at = (uint16_t)other, next; at != TD_SCHEDULE_IDLE; at = next) {
        uint16_t from = there->through[at];
        next = here->mate[from];
        there->mate[at] = from;
        here->mate[from] = at;
    }
}

/* search finds an augmenting path: from an unmatched owner to an unmatched one of the other side
 * or, with `give`, to one of its own side with fewer than the most remaining pairs. It returns
 * false if none exists. */
static bool search(struct matching *m, unsigned from, uint32_t start, bool give)
{
    struct side *here = &m->side[from], *there = &m->side[1 - from];
    memset(there->new, 0xff, (there->owners + 63) / 64 * sizeof *there->new);
    uint32_t head = 0, tail = 0;
    m->queue[tail++] = (uint16_t)start;
    while (head < tail) {
        uint32_t owner = m->queue[head++];
        const uint64_t *left = here->left + (size_t)owner * here->words;
        for (uint32_t w = 0; w < here->words; w++)
            for (uint64_t bits = left[w] & there->new[w]; bits; bits &= bits - 1) {
                uint32_t other = w * 64 + (uint32_t)__builtin_ctzll(bits);
                uint16_t mate = there->mate[other];
                there->new[w] &= ~(bits & -bits);
                there->through[other] = (uint16_t)owner;
                if (mate != TD_SCHEDULE_IDLE && give && here->lefts[mate] < m->most) {
                    here->mate[mate] = TD_SCHEDULE_IDLE;
                    mate = TD_SCHEDULE_IDLE;
                }
                if (mate == TD_SCHEDULE_IDLE) {
                    turn(here, there, other);
                    return true;
                }
                m->queue[tail++] = mate;
            }
    }
    return false;
}

/* match makes a maximum matching of the remaining pairs that covers all owners with the most
 * remaining pairs. */
static void match(struct matching *m)
{
    struct side *senders = &m->side[0], *receivers = &m->side[1];
    memset(senders->mate, 0xff, senders->owners * sizeof *senders->mate);
    memset(receivers->mate, 0xff, receivers->owners * sizeof *receivers->mate);
    for (int most = 1; most >= 0; most--)
        for (uint32_t p = 0; p < senders->owners; p++)
            if (senders->lefts[p] && (senders->lefts[p] == m->most) == most)
                search(m, 0, p, false);
    for (uint32_t q = 0; q < receivers->owners; q++)
        if (receivers->lefts[q] == m->most && receivers->mate[q] == TD_SCHEDULE_IDLE) {
            bool covered = search(m, 1, q, true);
            assert(covered);
        }
}

/* remove_matched writes the matching as a step and removes its pairs. */
static void remove_matched(struct matching *m, uint16_t *send, uint16_t *receive)
{
    struct side *senders = &m->side[0], *receivers = &m->side[1];
    memcpy(send, senders->mate, senders->owners * sizeof *send);
    memcpy(receive, receivers->mate, receivers->owners * sizeof *receive);
    for (uint32_t p = 0; p < senders->owners; p++) {
        uint32_t q = senders->mate[p];
        if (q == TD_SCHEDULE_IDLE)
            continue;
        senders->left[(size_t)p * senders->words + q / 64] &= ~((uint64_t)1 << q % 64);
        receivers->left[(size_t)q * receivers->words + p / 64] &= ~((uint64_t)1 << p % 64);
        senders->lefts[p]--;
        receivers->lefts[q]--;
    }
}

bool td_pairs_match(const struct td_pairs *pairs, struct td_arena *arena, struct td_schedule *s)
{
    struct matching m = {.most = (uint16_t)pairs->degree};
    size_t first = side_bytes(pairs->p, pairs->q), second = side_bytes(pairs->q, pairs->p);
    char *memory = td_arena_alloc(arena, first + second + (pairs->p + pairs->q) * sizeof *m.queue);
    bool good = memory && td_pairs_table(s, arena, pairs->degree);
    s->kind = TD_SCHEDULE_MATCHING;
    if (good) {
        size_t taken = side_init(&m.side[0], pairs->p, pairs->q, memory);
        assert(taken == first);
        taken = side_init(&m.side[1], pairs->q, pairs->p, memory + first);
        assert(taken == second);
        m.queue = (uint16_t *)(void *)(memory + first + second);
    }
    for (uint32_t i = 0; good && i < pairs->count; i++) {
        uint32_t p = pairs->pair[i].p, q = pairs->pair[i].q;
        m.side[0].left[(size_t)p * m.side[0].words + q / 64] |= (uint64_t)1 << q % 64;
        m.side[1].left[(size_t)q * m.side[1].words + p / 64] |= (uint64_t)1 << p % 64;
        m.side[0].lefts[p]++;
        m.side[1].lefts[q]++;
    }
    for (uint32_t step = 0; good && step < pairs->degree; step++, m.most--) {
        match(&m);
        remove_matched(&m, td_pairs_row_send(s, step), td_pairs_row_receive(s, step));
    }
    td_arena_free(arena, memory);
    return good;
}
