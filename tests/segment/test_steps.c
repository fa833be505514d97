/* SPDX-License-Identifier: Apache-2.0 */
/* test_steps: all interleavings of the accesses of two or three ranks that make a few calls in one
 * segment, short ones or with rounds, of a daemon that closes it, and of a death, an end of
 * patience or a withdrawal at each step. Stores to lines reach memory in any order until the next
 * release. An interleaving that ends a call twice, shows a rank a wrong result, or leaves a rank
 * asleep for ever fails the test.
 *
 * usage: test_steps [--bug]: with --bug the program, built with a planted bug, must find it. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TD_SEGMENT_SLOTS 2
#define TD_SEGMENT_ACCESS_H /* the accesses of this file instead */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- memory ---- */

enum { RANKS = 3, CALLS = 4, PENDING = 2, LINES = 2 * TD_SEGMENT_SLOTS * RANKS };
enum { OWN = 2 * RANKS }; /* of each rank: its source and its destination */

static void release(void);

static uint64_t td_access_load(const _Atomic uint64_t *word)
{
    return *word;
}

static bool td_access_swap_relaxed(_Atomic uint64_t *word, uint64_t *from, uint64_t to)
{
    bool same = *word == *from;
    if (same)
        *word = to;
    else
        *from = *word;
    return same;
}

static inline bool td_access_swap(_Atomic uint64_t *word, uint64_t *from, uint64_t to)
{
    release();
    return td_access_swap_relaxed(word, from, to);
}

static uint32_t td_access_look(const _Atomic uint32_t *word)
{
    return *word;
}

static void td_access_add(_Atomic uint32_t *word, uint32_t value)
{
    release();
    *word += value;
}

/* its accesses are those above. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "segment/meeting.c"

/* ---- the state of everything ---- */

enum doing { BETWEEN, IN_CALL, DROWSY, ASLEEP, COMBINES, READS, WORKS, AWAITS, FINISHED, DEAD };
enum outcome { NONE, BY_SEGMENT, BY_REQUEST };

struct rank {
    struct td_meeting m;
    uint8_t doing, call, reads; /* reads: lines that are read */
    bool wakes;                 /* it is to wake the sleepers */
    bool mixed;                 /* it has read something else than it should in a round */
    uint64_t sum;
    uint32_t pending; /* stores that have not reached memory */
    struct {
        uint32_t line;
        uint64_t value;
    } store[PENDING];
    uint8_t outcome[CALLS];
};

static struct all {
    struct td_segment_head head;
    struct td_segment_slot slot[TD_SEGMENT_SLOTS];
    uint64_t line[LINES + OWN]; /* of each slot and rank: data, result; then memory of the ranks */
    struct rank rank[RANKS];
    uint8_t deaths, daemon; /* daemon: its next step after a death */
} now;

static uint32_t ranks, calls, deaths_max, self, odd_call, rounds;
static bool withdrawals, patience;
/* a rank reads the memory of all others in one step, stores reach memory at once, and no rank
 * sleeps */
static bool coarse;
static struct td_segment segment;
static const char *violation;

static void must(bool good, const char *what)
{
    if (!good && !violation)
        violation = what;
}

static uint32_t line_of(uint64_t number, uint32_t rank, bool result)
{
    return (uint32_t)(number % TD_SEGMENT_SLOTS * RANKS + rank) * 2 + result;
}

/* own_of returns the place of a rank's source or destination, which its next call uses again. */
static uint32_t own_of(uint32_t rank, bool destination)
{
    return LINES + 2 * rank + destination;
}

/* flush lets a pending store of the rank reach memory. */
static void flush(struct rank *r, uint32_t i)
{
    now.line[r->store[i].line] = r->store[i].value;
    r->store[i] = r->store[--r->pending];
    memset(&r->store[r->pending], 0, sizeof r->store[0]);
}

static void release(void)
{
    while (self < ranks && now.rank[self].pending)
        flush(&now.rank[self], 0);
}

static void store(uint32_t line, uint64_t value)
{
    struct rank *r = &now.rank[self];
    for (uint32_t i = 0; i < r->pending; i++)
        if (r->store[i].line == line) { /* stores to one place keep their order */
            r->store[i].value = value;
            return;
        }
    if (r->pending == PENDING)
        flush(r, 0);
    r->store[r->pending].line = line;
    r->store[r->pending++].value = value;
    if (coarse)
        flush(r, 0);
}

static uint64_t load(uint32_t line)
{
    const struct rank *r = &now.rank[self];
    for (uint32_t i = r->pending; i-- > 0;)
        if (r->store[i].line == line)
            return r->store[i].value;
    return now.line[line];
}

static uint64_t value_of(uint32_t call, uint32_t rank)
{
    return UINT64_C(1000) * (call + 1) + (call == odd_call && rank == 1 ? 500 : 0) + rank;
}

static uint64_t sum_of(uint32_t call)
{
    uint64_t sum = 0;
    for (uint32_t r = 0; r < ranks; r++)
        sum += value_of(call, r);
    return sum;
}

/* ---- what ranks do ---- */

static bool ended(uint32_t rank, uint32_t call)
{
    return now.rank[rank].outcome[call] != NONE;
}

/* conclude records how a call ended for a rank: alike for all. */
static void conclude_call(struct rank *r, enum outcome outcome)
{
    for (uint32_t i = 0; i < ranks; i++)
        must(!ended(i, r->call) || now.rank[i].outcome[r->call] == outcome,
             "a call ended by the segment for one rank, and by request for another");
    must(outcome == BY_REQUEST || r->call != odd_call, "ranks with different calls agreed");
    r->outcome[r->call] = (uint8_t)outcome;
}

/* served returns true if the daemon has answered a request: all ranks have sent theirs, or one is
 * dead. */
static bool served(uint32_t call)
{
    bool all = true;
    for (uint32_t i = 0; i < ranks; i++)
        if (now.rank[i].doing == DEAD)
            return true;
        else
            all = all && now.rank[i].outcome[call] == BY_REQUEST;
    return all;
}

/* some_request returns true if a rank has made the call by request: the others wait for nothing. */
static bool some_request(uint32_t call)
{
    bool some = false;
    for (uint32_t i = 0; i < ranks; i++)
        some = some || now.rank[i].outcome[call] == BY_REQUEST;
    return some;
}

/* check_last checks the rank that arrived last, as whoever compares the calls knows it. A rank that
 * is dead has forgotten whether it was. */
static void check_last(const struct rank *r)
{
    uint32_t last = td_meeting_last(&r->m);
    const struct rank *l = &now.rank[last < ranks ? last : 0];
    must(last < ranks && (l->call != r->call || l->doing == DEAD || l->m.is_last),
         "another rank than the last one is known to be the last");
}

static void next_call(struct rank *r)
{
    memset(&r->m, 0, sizeof r->m);
    r->sum = 0;
    r->reads = 0;
    r->mixed = false;
    r->call++;
    r->doing = r->call == calls ? FINISHED : BETWEEN;
}

static void follow(struct rank *r, enum td_meeting_next next)
{
    switch (next) {
    case TD_MEETING_WRITE:
        store(line_of(r->call, self, false), value_of(r->call, self));
        return;
    case TD_MEETING_COMBINE:
        check_last(r);
        r->doing = COMBINES;
        r->reads = 0;
        r->sum = 0;
        return;
    case TD_MEETING_SLEEP:
        r->doing = DROWSY; /* the kernel compares the gate in the next step */
        return;
    case TD_MEETING_WAKE:
        r->wakes = true;
        return;
    case TD_MEETING_WORK:
        r->doing = WORKS;
        r->reads = 0;
        r->sum = 0;
        return;
    case TD_MEETING_DONE:
        conclude_call(r, BY_SEGMENT);
        must(!r->mixed, "a rank read memory before it was written, or after it was used again");
        if (rounds) {
            next_call(r);
            return;
        }
        r->doing = READS;
        r->reads = 0;
        return;
    case TD_MEETING_REQUEST:
        conclude_call(r, BY_REQUEST);
        if (r->m.withdraws)
            next_call(r);
        else
            r->doing = AWAITS;
        return;
    case TD_MEETING_STEP:
    case TD_MEETING_WAIT:
        return;
    }
}

static void wake_all(const _Atomic uint32_t *gate)
{
    for (uint32_t i = 0; i < ranks; i++)
        if (now.rank[i].doing == ASLEEP && now.rank[i].m.gate == gate)
            now.rank[i].doing = IN_CALL;
}

/* combine reads one line; after the last one it writes the result. */
static void combine(struct rank *r)
{
    uint64_t value = load(line_of(r->call, r->reads, false));
    if (r->reads == 0)
        r->m.agree = true;
    if (value % 1000 >= 500)
        r->m.agree = false;
    r->sum += value;
    if (++r->reads < ranks)
        return;
    store(line_of(r->call, self, true), r->sum);
    r->doing = IN_CALL;
}

/* work reads the memory of one rank: its source in the first round, its destination in the second.
 * After the last one of the first round it writes its own destination. */
static void work(struct rank *r)
{
    bool second = r->m.round > 0;
    uint64_t value = load(own_of(r->reads, second));
    r->mixed = r->mixed || value != (second ? sum_of(r->call) : value_of(r->call, r->reads));
    if (!second)
        r->sum += value;
    if (++r->reads < ranks)
        return;
    if (!second)
        store(own_of(self, true), r->sum);
    r->sum = 0;
    r->doing = IN_CALL;
}

/* read_result reads the result of the call and then the line of each rank. */
static void read_result(struct rank *r)
{
    if (r->reads == 0)
        must(load(line_of(r->call, r->m.by, true)) == sum_of(r->call), "a wrong result");
    else
        must(load(line_of(r->call, r->reads - 1u, false)) == value_of(r->call, r->reads - 1u),
             "data of another call");
    if (r->reads++ == ranks)
        next_call(r);
}

/* ---- choices ---- */

/* choose makes choice `way` of a rank, and returns false if it has fewer. */
static bool choose(uint32_t rank, uint32_t way)
{
    struct rank *r = &now.rank[rank];
    self = rank;
    if (way >= 4) { /* a pending store reaches memory */
        bool has = way - 4 < r->pending;
        if (has)
            flush(r, way - 4);
        return has;
    }
    if (r->doing == FINISHED || r->doing == DEAD)
        return false;
    if (way == 3) { /* it dies */
        if (now.deaths == deaths_max)
            return false;
        now.deaths++;
        r->doing = DEAD;
        memset(&r->m, 0, sizeof r->m);
        while (r->pending)
            flush(r, 0);
        return true;
    }
    if (r->doing == BETWEEN) {
        bool owes = false; /* a request in flight: the next call goes by request too */
        for (uint32_t call = 0; call < r->call; call++)
            owes = owes || (r->outcome[call] == BY_REQUEST && !served(call));
        if (way > 1 || (way == 0 && owes) || (way == 1 && !withdrawals))
            return false;
        if (way)
            td_meeting_withdraw(&r->m, &segment, rank, r->call);
        else
            td_meeting_start(&r->m, &segment, rank, r->call, rounds);
        if (rounds)
            store(own_of(rank, false), value_of(r->call, rank));
        r->doing = IN_CALL;
        return true;
    }
    if (r->doing == AWAITS) {
        if (way || !served(r->call))
            return false;
        next_call(r);
        return true;
    }
    if (r->doing == ASLEEP) { /* its sleep ends by itself only if some rank does not come */
        if (way || !some_request(r->call))
            return false;
        r->doing = IN_CALL;
        return true;
    }
    if (r->doing == IN_CALL && !r->wakes && r->m.at == AT_WISH) {
        bool must_expire = r->m.closed || some_request(r->call);
        if (way == 1 || (way == 2 && !patience))
            return false;
        if (coarse && way == 0 && !must_expire &&
            awaits_others(&r->m, now.slot[r->call % TD_SEGMENT_SLOTS].state))
            return false;
        r->m.wish = way == 2 || must_expire ? TD_MEETING_EXPIRE
                    : coarse                ? TD_MEETING_LOOK
                                            : TD_MEETING_REST;
        follow(r, td_meeting_step(&r->m));
        return true;
    }
    if (way)
        return false;
    if (r->doing == DROWSY)
        r->doing = *r->m.gate == r->m.gate_value ? ASLEEP : IN_CALL;
    else if (r->doing == COMBINES)
        do
            combine(r);
        while (coarse && r->doing == COMBINES);
    else if (r->doing == READS)
        read_result(r);
    else if (r->doing == WORKS)
        do
            work(r);
        while (coarse && r->doing == WORKS);
    else if (r->wakes) {
        wake_all(r->m.gate);
        r->wakes = false;
    } else {
        follow(r, td_meeting_step(&r->m));
    }
    return true;
}

/* serve makes the daemon's next step: after a death it closes the segment and wakes all. */
static bool serve(void)
{
    self = ranks;
    if (!now.deaths || now.daemon > 2 * TD_SEGMENT_SLOTS)
        return false;
    if (now.daemon == 0)
        now.head.closed = 1;
    else if (now.daemon % 2)
        now.slot[now.daemon / 2].gate++;
    else
        wake_all(&now.slot[now.daemon / 2 - 1].gate);
    now.daemon++;
    return true;
}

/* ---- exploration ---- */

static uint64_t *seen, seen_size, states;

static uint64_t mix(uint64_t h, uint64_t x)
{
    h ^= x;
    h *= UINT64_C(0x9fb21c651e98df25);
    return h ^ h >> 32;
}

/* is_new records a state by its hash, and returns false if it was recorded before. */
static bool is_new(void)
{
    uint64_t h = 1, word = 0;
    for (size_t i = 0; i + sizeof word <= sizeof now; i += sizeof word) {
        memcpy(&word, (const char *)&now + i, sizeof word);
        h = mix(h, word + i);
    }
    h += h == 0;
    uint64_t at = mix(h, 7) & (seen_size - 1);
    while (seen[at] && seen[at] != h)
        at = (at + 1) & (seen_size - 1);
    if (seen[at] == h)
        return false;
    seen[at] = h;
    states++;
    assert(states < seen_size - seen_size / 8);
    return true;
}

/* check_end checks a state that no choice leaves. */
static void check_end(void)
{
    for (uint32_t i = 0; i < ranks; i++)
        must(now.rank[i].doing >= FINISHED, "a rank waits for ever");
}

struct frame {
    struct all state;
    uint32_t choice;
    bool moved;
};

enum { WAYS = 4 + PENDING, DEPTH = 2000 };

static void explore(void)
{
    struct frame *stack = calloc(DEPTH, sizeof *stack);
    uint32_t depth = 1;
    assert(stack);
    stack[0].state = now;
    is_new();
    while (depth && !violation) {
        struct frame *f = &stack[depth - 1];
        if (f->choice > ranks * WAYS) {
            now = f->state;
            if (!f->moved)
                check_end();
            depth--;
            continue;
        }
        uint32_t choice = f->choice++;
        now = f->state;
        bool moves = choice == ranks * WAYS ? serve() : choose(choice / WAYS, choice % WAYS);
        /* a death is not a way out */
        f->moved = f->moved || (moves && (choice == ranks * WAYS || choice % WAYS != 3));
        if (!moves || violation || !is_new())
            continue;
        assert(depth < DEPTH);
        stack[depth].state = now;
        stack[depth].choice = 0;
        stack[depth++].moved = false;
    }
    free(stack);
}

/* run explores one setting, and returns true if it found a violation. */
static bool run(uint32_t rank_count, uint32_t call_count, uint32_t round_count, uint32_t deaths,
                bool withdraws, bool expires, uint32_t odd)
{
    memset(&now, 0, sizeof now);
    ranks = rank_count;
    calls = call_count;
    rounds = round_count;
    coarse = ranks > 2 && rounds > 0;
    deaths_max = deaths;
    withdrawals = withdraws;
    patience = expires;
    odd_call = odd;
    violation = NULL;
    states = 0;
    segment = (struct td_segment){.head = &now.head, .slot = now.slot, .ranks = ranks};
    memset(seen, 0, seen_size * sizeof *seen);
    explore();
    printf(
        "%u ranks, %u calls of %u rounds, deaths %u, withdrawals %d, expiry %d, odd call %d: %llu "
        "states%s%s\n",
        ranks, calls, rounds, deaths, withdraws, expires, (int)odd, (unsigned long long)states,
        violation ? ": " : "", violation ? violation : "");
    return violation != NULL;
}

int main(int count, char **argument)
{
    enum { NO = 99, WITH_ROUNDS = 10, QUICK = 17, ROUNDS_BUG = 6 /* and the later ones */ };
    bool wanted = count > 1 && strcmp(argument[1], "--bug") == 0, found = false;
    seen_size = UINT64_C(1) << 25;
    seen = calloc(seen_size, sizeof *seen);
    if (!seen)
        return 1;
    static const struct {
        uint32_t ranks, calls, rounds, deaths;
        bool withdraws, expires;
        uint32_t odd;
    } setting[] = {
        {2, 4, 0, 0, false, false, NO},
        {2, 3, 0, 0, false, true, NO},
        {2, 3, 0, 0, true, false, NO},
        {2, 3, 0, 0, true, true, NO},
        {2, 2, 0, 1, true, true, NO},
        {2, 2, 0, 0, false, true, 1},
        {2, 3, 0, 1, false, false, NO},
        {3, 1, 0, 0, true, true, NO},
        {3, 2, 0, 0, false, false, NO},
        {3, 1, 0, 0, false, false, 0},
        {2, 3, 1, 0, false, false, NO},
        {2, 3, 2, 0, true, false, NO},
        {2, 2, 2, 0, true, true, NO},
        {2, 2, 2, 1, false, true, NO},
        {2, 2, 2, 0, false, true, 1},
        {3, 1, 2, 0, false, false, NO},
        {3, 1, 1, 0, false, true, NO},
        /* the others take minutes: */ {3, 1, 0, 1, false, true, NO},
        {3, 2, 0, 0, false, true, NO},
        {3, 2, 0, 0, true, false, NO},
        {3, 2, 0, 1, false, false, NO},
        {3, 3, 0, 0, false, false, NO},
        {2, 4, 0, 1, true, true, NO},
        {2, 3, 2, 1, true, true, NO},
        {3, 1, 2, 1, false, true, NO},
        {3, 2, 2, 0, false, false, NO},
    };
    size_t settings = getenv("TORUS_TEST_LONG") ? sizeof setting / sizeof setting[0] : QUICK;
    size_t first = wanted && TD_SEGMENT_BUG >= ROUNDS_BUG ? WITH_ROUNDS : 0;
    for (size_t i = first; i < settings && !(wanted && found); i++)
        found = run(setting[i].ranks, setting[i].calls, setting[i].rounds, setting[i].deaths,
                    setting[i].withdraws, setting[i].expires, setting[i].odd) ||
                found;
    free(seen);
    return found == wanted ? 0 : 1;
}
