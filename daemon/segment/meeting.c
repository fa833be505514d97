/* SPDX-License-Identifier: Apache-2.0 */
#include "meeting.h"

#include "access.h"

/* A bug that a test plants, by its number, to see that it finds it. */
#ifndef TD_SEGMENT_BUG
#define TD_SEGMENT_BUG 0
#endif

/* ---- the state of a slot ---- */

/* Phase ROUND + i is round i. */
enum phase { REQUESTED, OPEN, DONE, ROUND };
/* A zeroed word is a call before all others that went by request: the key of a call is its number
 * plus 1. Keys wrap around after 2^40 calls: they are compared by their distance. `count`: ranks
 * that have arrived, and when all have, the number of the last one more; in a round, ranks that
 * have done their part of it; if DONE, the rank that has the result. */
enum { KEY_BITS = 40, COUNT_BITS = 16 };

static uint64_t key_of(uint64_t number)
{
    return (number + 1) & ((UINT64_C(1) << KEY_BITS) - 1);
}

static uint64_t word(uint64_t key, uint32_t phase, uint32_t count)
{
    return key << (64 - KEY_BITS) | (uint64_t)count << 8 | phase;
}

static uint64_t key_in(uint64_t state)
{
    return state >> (64 - KEY_BITS);
}

static enum phase phase_in(uint64_t state)
{
    unsigned phase = (unsigned)(state & 0xff);
    return phase >= ROUND + TD_SEGMENT_ROUNDS_MAX ? REQUESTED
           : phase >= ROUND                       ? ROUND
                                                  : (enum phase)phase;
}

/* round_in returns the round of a state whose phase is ROUND. */
static uint32_t round_in(uint64_t state)
{
    return (uint32_t)(state & 0xff) - ROUND;
}

static uint32_t count_in(uint64_t state)
{
    return (uint32_t)(state >> 8) & ((1u << COUNT_BITS) - 1);
}

/* before returns true if the call of the state is earlier than that of the key. */
static bool before(uint64_t state, uint64_t key)
{
    uint64_t distance = (key - key_in(state)) << (64 - KEY_BITS);
    return distance != 0 && distance < UINT64_C(1) << 63;
}

_Static_assert(2 * TD_SEGMENT_RANKS_MAX <= 1 << COUNT_BITS,
               "the count holds all ranks and the last");

/* ---- steps ---- */

enum at {
    AT_CLOSED,
    AT_FIRST,    /* the state before this rank's part */
    AT_SEARCH,   /* for a later call that is DONE */
    AT_OPEN,     /* take the slot */
    AT_ARRIVE,   /* the line is written */
    AT_COMBINED, /* end the call, or begin its first round */
    AT_WORKED,   /* this rank's part of a round is done */
    AT_GATE,     /* wake the sleepers */
    AT_SLEEPERS,
    AT_LOOK, /* has the call ended, or does a round await this rank? */
    AT_WISH,
    AT_REST_GATE, /* sleep */
    AT_REST_CLOSED,
    AT_REST_LOOK,
    AT_RESTED,
    AT_ENDING,
};

static struct td_segment_slot *slot_of(const struct td_meeting *m, uint64_t number)
{
    return &m->segment->slot[number % TD_SEGMENT_SLOTS];
}

static struct td_segment_slot *own(const struct td_meeting *m)
{
    return m->slot;
}

static enum td_meeting_next go(struct td_meeting *m, enum at at)
{
    m->at = at;
    return TD_MEETING_STEP;
}

static enum td_meeting_next end(struct td_meeting *m, enum td_meeting_next ending)
{
    m->at = AT_ENDING;
    m->ending = ending;
    return ending;
}

/* is_open returns true if the state is that of this call while ranks arrive. */
static bool is_open(const struct td_meeting *m, uint64_t state)
{
    return key_in(state) == key_of(m->number) && phase_in(state) == OPEN;
}

/* is_in_round returns true if the state is that of this call in one of its rounds. Ranks whose
 * calls agree have the same rounds: another state is of a process that writes what it likes. */
static bool is_in_round(const struct td_meeting *m, uint64_t state)
{
    return key_in(state) == key_of(m->number) && phase_in(state) == ROUND &&
           round_in(state) < m->rounds;
}

/* awaits_this returns true if a round awaits this rank's part. */
static bool awaits_this(const struct td_meeting *m, uint64_t state)
{
    return is_in_round(m, state) && round_in(state) == m->round;
}

/* awaits_others returns true if the call goes on when other ranks have arrived, or have done their
 * parts of a round. */
static bool awaits_others(const struct td_meeting *m, uint64_t state)
{
    return is_open(m, state) || (is_in_round(m, state) && round_in(state) != m->round);
}

/* conclude ends this rank's part after the call has ended. */
static enum td_meeting_next conclude(struct td_meeting *m, uint64_t state)
{
    m->by = count_in(state);
    bool done =
        key_in(state) == key_of(m->number) && phase_in(state) == DONE && m->by < m->segment->ranks;
    return end(m, done ? TD_MEETING_DONE : TD_MEETING_REQUEST);
}

/* swap changes the state of the slot from the one that was read. */
static bool swap(struct td_meeting *m, uint64_t to)
{
    uint64_t from = m->state;
    bool swapped = td_access_swap(&own(m)->state, &from, to);
    m->state = swapped ? to : from;
    return swapped;
}

/* swap_count changes the count of ranks that have arrived, or have done their part. */
static bool swap_count(struct td_meeting *m, uint64_t to)
{
#if TD_SEGMENT_BUG == 1 || TD_SEGMENT_BUG == 7 /* it may overtake what this rank has written */
    bool bug = phase_in(to) == (TD_SEGMENT_BUG == 1 ? OPEN : ROUND);
    uint64_t from = m->state;
    bool swapped = bug && td_access_swap_relaxed(&own(m)->state, &from, to);
    m->state = swapped ? to : from;
    if (bug)
        return swapped;
#endif
    return swap(m, to);
}

static uint64_t requested(const struct td_meeting *m)
{
    return word(key_of(m->number), REQUESTED, 0);
}

/* begin_round returns the state after the last part of what precedes the round: DONE after the
 * last round. */
static uint64_t begin_round(const struct td_meeting *m, uint32_t round)
{
    bool last = round == m->rounds;
    return word(key_of(m->number), last ? DONE : ROUND + round, last ? m->rank : 0);
}

/* first decides from the state of the slot before this rank's part. */
static enum td_meeting_next first(struct td_meeting *m)
{
    if (is_open(m, m->state)) {
        if (m->withdraws)
            return go(m, AT_OPEN);
        m->at = AT_ARRIVE;
        return TD_MEETING_WRITE;
    }
    if (!before(m->state, key_of(m->number)) || phase_in(m->state) == OPEN ||
        phase_in(m->state) == ROUND)
        return end(m, TD_MEETING_REQUEST);
    bool left = phase_in(m->state) == REQUESTED;
#if TD_SEGMENT_BUG == 4 /* the slot of a call that some rank has not left is reused */
    left = true;
#endif
    m->look = 1;
    return go(m, left ? AT_OPEN : AT_SEARCH);
}

/* search looks for a call that is DONE and later than that of the slot: then all ranks have left
 * the earlier one. */
static enum td_meeting_next search(struct td_meeting *m)
{
    if (m->look == TD_SEGMENT_SLOTS || m->look > m->number)
        return end(m, TD_MEETING_REQUEST);
    uint64_t state = td_access_load(&slot_of(m, m->number - m->look)->state);
    m->look++;
    bool later = phase_in(state) == DONE && before(m->state, key_in(state));
    return later ? go(m, AT_OPEN) : TD_MEETING_STEP;
}

/* open takes the slot for this call, open or, to withdraw, as requested. */
static enum td_meeting_next open_slot(struct td_meeting *m)
{
    if (m->withdraws) {
        bool waited = is_open(m, m->state);
        if (!swap(m, requested(m)))
            return first(m);
        m->ending = TD_MEETING_REQUEST;
        return waited ? go(m, AT_GATE) : end(m, TD_MEETING_REQUEST);
    }
    uint32_t count = 0;
#if TD_SEGMENT_BUG == 5 /* the arrivals of the earlier call count again */
    count = count_in(m->state);
#endif
    if (!swap(m, word(key_of(m->number), OPEN, count)))
        return first(m);
    m->at = AT_ARRIVE;
    return TD_MEETING_WRITE;
}

static enum td_meeting_next arrive(struct td_meeting *m)
{
    if (!is_open(m, m->state))
        return conclude(m, m->state);
    uint32_t count = count_in(m->state) + 1;
    bool last = count >= m->segment->ranks;
    if (!swap_count(m, word(key_of(m->number), OPEN, last ? count + m->rank : count)))
        return go(m, AT_ARRIVE);
    if (!last)
        return go(m, AT_LOOK);
    m->is_last = true;
    m->at = AT_COMBINED;
    return TD_MEETING_COMBINE;
}

/* pass changes the state to one that other ranks may sleep for: the end of the call, or a round. It
 * returns false if another rank has changed it. */
static bool pass(struct td_meeting *m, uint64_t to)
{
    if (!swap(m, to))
        return false;
    enum phase phase = phase_in(to);
    m->by = m->rank;
    m->ending = phase == DONE    ? TD_MEETING_DONE
                : phase == ROUND ? TD_MEETING_STEP
                                 : TD_MEETING_REQUEST;
    m->at = AT_GATE;
    return true;
}

/* combined ends the call, or begins its first round, after this rank has compared the calls. */
static enum td_meeting_next combined(struct td_meeting *m)
{
    if (pass(m, m->agree ? begin_round(m, 0) : requested(m)))
        return TD_MEETING_STEP;
    return is_in_round(m, m->state) ? go(m, AT_LOOK) : conclude(m, m->state);
}

/* worked counts this rank's part of a round. The last one ends the round. */
static enum td_meeting_next worked(struct td_meeting *m)
{
    if (!awaits_this(m, m->state))
        return conclude(m, m->state);
    uint32_t count = count_in(m->state) + 1, last = m->segment->ranks;
#if TD_SEGMENT_BUG == 6 /* a round ends before the last rank has done its part */
    last--;
#endif
    if (!m->agree || count >= last) {
        bool passed = pass(m, m->agree ? begin_round(m, m->round + 1) : requested(m));
        m->round += passed;
        return passed ? TD_MEETING_STEP : go(m, AT_WORKED);
    }
    uint64_t to = word(key_of(m->number), ROUND + m->round, count);
    bool swapped = swap_count(m, to);
    m->round += swapped;
    return go(m, swapped ? AT_LOOK : AT_WORKED);
}

/* act follows the wish of a rank that waits. */
static enum td_meeting_next act(struct td_meeting *m)
{
    if (m->wish == TD_MEETING_LOOK)
        return go(m, AT_LOOK);
    if (m->wish == TD_MEETING_REST) {
        td_access_add(&own(m)->sleepers, 1);
        return go(m, AT_REST_GATE);
    }
    if (is_open(m, m->state) &&
        count_in(m->state) >= m->segment->ranks) { /* the last rank to arrive was stopped */
        m->at = AT_COMBINED;
        return TD_MEETING_COMBINE;
    }
#if TD_SEGMENT_BUG == 3 /* the call ends a second time */
    m->state = td_access_load(&own(m)->state);
#endif
    return pass(m, requested(m)) ? TD_MEETING_STEP : go(m, AT_LOOK);
}

static enum td_meeting_next look(struct td_meeting *m)
{
    m->state = td_access_load(&own(m)->state);
    if (awaits_this(m, m->state)) {
        m->at = AT_WORKED;
        m->agree = true;
        return TD_MEETING_WORK;
    }
    if (!awaits_others(m, m->state))
        return conclude(m, m->state);
    m->at = AT_WISH;
    return TD_MEETING_WAIT;
}

/* rest makes the accesses before a sleep: whoever ends the call, or a round, after them counts the
 * gate up. */
static enum td_meeting_next rest(struct td_meeting *m)
{
    m->gate = &own(m)->gate;
    if (m->at == AT_REST_GATE) {
        m->gate_value = td_access_look(m->gate);
        return go(m, AT_REST_CLOSED);
    }
    if (m->at == AT_REST_CLOSED) {
        m->closed = td_access_look(&m->segment->head->closed);
        return go(m, m->closed ? AT_RESTED : AT_REST_LOOK);
    }
    m->state = td_access_load(&own(m)->state);
    m->at = AT_RESTED;
    return awaits_others(m, m->state) ? TD_MEETING_SLEEP : TD_MEETING_STEP;
}

static enum td_meeting_next wake(struct td_meeting *m)
{
    m->gate = &own(m)->gate;
    if (m->at == AT_GATE) {
#if TD_SEGMENT_BUG != 2 /* 2: a rank that is about to sleep is not noticed */
        td_access_add(m->gate, 1);
#endif
        return go(m, AT_SLEEPERS);
    }
    m->at = m->ending == TD_MEETING_STEP ? AT_LOOK : AT_ENDING;
    return td_access_look(&own(m)->sleepers) > 0 ? TD_MEETING_WAKE : m->ending;
}

void td_meeting_start(struct td_meeting *m, const struct td_segment *s, uint32_t rank,
                      uint64_t number, uint32_t rounds)
{
    *m = (struct td_meeting){.segment = s,
                             .slot = &s->slot[number % TD_SEGMENT_SLOTS],
                             .rank = rank,
                             .number = number,
                             .rounds = rounds};
}

void td_meeting_withdraw(struct td_meeting *m, const struct td_segment *s, uint32_t rank,
                         uint64_t number)
{
    td_meeting_start(m, s, rank, number, 0);
    m->withdraws = true;
}

uint32_t td_meeting_last(const struct td_meeting *m)
{
    uint32_t last = count_in(m->state) - m->segment->ranks;
    return last < m->segment->ranks ? last : m->rank;
}

enum td_meeting_next td_meeting_step(struct td_meeting *m)
{
    switch ((enum at)m->at) {
    case AT_CLOSED:
        if (td_access_look(&m->segment->head->closed))
            return end(m, TD_MEETING_REQUEST);
        return go(m, AT_FIRST);
    case AT_FIRST:
        m->state = td_access_load(&own(m)->state);
        return first(m);
    case AT_SEARCH:
        return search(m);
    case AT_OPEN:
        return open_slot(m);
    case AT_ARRIVE:
        return arrive(m);
    case AT_COMBINED:
        return combined(m);
    case AT_WORKED:
        return worked(m);
    case AT_GATE:
    case AT_SLEEPERS:
        return wake(m);
    case AT_LOOK:
        return look(m);
    case AT_WISH:
        return act(m);
    case AT_REST_GATE:
    case AT_REST_CLOSED:
    case AT_REST_LOOK:
        return rest(m);
    case AT_RESTED:
        td_access_add(&own(m)->sleepers, UINT32_MAX);
        return go(m, AT_LOOK);
    case AT_ENDING:
        break;
    }
    return m->ending;
}
