/* SPDX-License-Identifier: Apache-2.0 */
/* test_meetings: real threads that meet in a segment: all outcomes are alike and all results right.
 * In the first parts the data lies in plain memory, so that ThreadSanitizer sees each access that
 * the protocol does not order: lines, then sources and destinations of calls with two rounds.
 *
 * usage: test_meetings [--bug]: with --bug only the first parts; the sanitizer, or a wrong result,
 * must find the bug that the program is built with. */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "random.h"
#include "segment/meeting.h"
#include "segment/waits.h"

enum { RANKS = 4, CALLS = 4000, FEW_CALLS = 2000, KIND = 5, NOTHING = 0, BY_SEGMENT, BY_REQUEST };

static _Alignas(4096) uint8_t memory[TD_SEGMENT_BYTES_MAX];
static struct td_segment segment;
static uint64_t data[TD_SEGMENT_SLOTS][RANKS], result[TD_SEGMENT_SLOTS][RANKS];
static _Atomic int outcome[CALLS][RANKS];
static _Atomic uint32_t wrong, by_segment;
static uint64_t was_last[RANKS]; /* calls that are DONE; only the rank itself counts */
static bool plain;
static uint32_t rounds;
static uint64_t source[RANKS], destination[RANKS]; /* of calls with rounds */

static uint64_t value_of(uint64_t number, uint32_t rank)
{
    return (number + 1) * 1000 + rank;
}

static uint64_t sum_of(uint64_t number)
{
    uint64_t sum = 0;
    for (uint32_t r = 0; r < RANKS; r++)
        sum += value_of(number, r);
    return sum;
}

static void write_line(const struct td_meeting *m, uint64_t value)
{
    if (rounds)
        source[m->rank] = value;
    else if (plain)
        data[m->number % TD_SEGMENT_SLOTS][m->rank] = value;
    else
        td_segment_put(&segment, m->number, m->rank, TD_SEGMENT_DATA, 0, &value, sizeof value);
}

static uint64_t read_line(const struct td_meeting *m, uint32_t rank)
{
    uint64_t value = 0;
    if (plain)
        return data[m->number % TD_SEGMENT_SLOTS][rank];
    td_segment_get(&segment, m->number, rank, TD_SEGMENT_DATA, 0, &value, sizeof value);
    return value;
}

static void combine(struct td_meeting *m)
{
    uint64_t sum = 0;
    m->agree = true;
    if (m->is_last)
        td_segment_was_last(&segment, m->slot, td_segment_sum_of(m->rank, KIND));
    else
        td_segment_note_last(&segment, m->slot, td_segment_sum_of(td_meeting_last(m), KIND));
    if (rounds)
        return;
    for (uint32_t r = 0; r < RANKS; r++)
        sum += read_line(m, r);
    if (plain)
        result[m->number % TD_SEGMENT_SLOTS][m->rank] = sum;
    else
        td_segment_put(&segment, m->number, m->rank, TD_SEGMENT_RESULT, 0, &sum, sizeof sum);
}

/* work adds the sources of all ranks; then it reads the sums of all. */
static void work(const struct td_meeting *m, bool *good)
{
    uint64_t sum = 0;
    for (uint32_t r = 0; r < RANKS; r++)
        if (m->round == 0)
            sum += source[r];
        else
            *good = *good && destination[r] == sum_of(m->number);
    if (m->round == 0)
        destination[m->rank] = sum;
}

static void check(const struct td_meeting *m)
{
    uint64_t sum = 0;
    if (plain)
        sum = result[m->number % TD_SEGMENT_SLOTS][m->by];
    else
        td_segment_get(&segment, m->number, m->by, TD_SEGMENT_RESULT, 0, &sum, sizeof sum);
    wrong += sum != sum_of(m->number);
    for (uint32_t r = 0; r < RANKS; r++)
        wrong += read_line(m, r) != value_of(m->number, r);
}

static void sleep_at(const struct td_meeting *m, long ns)
{
    struct timespec time = {.tv_nsec = ns};
    syscall(SYS_futex, m->gate, FUTEX_WAIT, m->gate_value, &time, NULL, 0);
}

/* meet makes one call, and returns its outcome. */
static int meet(uint32_t rank, uint64_t number, uint64_t *random)
{
    struct td_meeting m;
    bool good = true;
    enum td_meeting_next next = TD_MEETING_STEP;
    bool withdraws = !plain && random_below(random, 50) == 0;
    if (withdraws)
        td_meeting_withdraw(&m, &segment, rank, number);
    else
        td_meeting_start(&m, &segment, rank, number, rounds);
    while (next != TD_MEETING_DONE && next != TD_MEETING_REQUEST) {
        next = td_meeting_step(&m);
        if (next == TD_MEETING_WRITE)
            write_line(&m, value_of(number, rank));
        else if (next == TD_MEETING_COMBINE)
            combine(&m);
        else if (next == TD_MEETING_WORK)
            work(&m, &good);
        else if (next == TD_MEETING_WAIT)
            m.wish = m.closed                                   ? TD_MEETING_EXPIRE
                     : !plain && random_below(random, 200) == 0 ? TD_MEETING_EXPIRE
                     : random_below(random, rounds ? 64 : 4)    ? TD_MEETING_LOOK
                                                                : TD_MEETING_REST;
        if (next == TD_MEETING_WAIT && m.wish == TD_MEETING_LOOK)
            sched_yield();
        if (next == TD_MEETING_SLEEP)
            sleep_at(&m, plain ? 900000000 : 2000000);
        else if (next == TD_MEETING_WAKE)
            syscall(SYS_futex, m.gate, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
    if (next == TD_MEETING_DONE && m.is_last)
        was_last[rank]++;
    else if (next == TD_MEETING_DONE)
        td_segment_waited(m.slot, rank + 1);
    if (next == TD_MEETING_DONE && rounds)
        wrong += !good;
    else if (next == TD_MEETING_DONE)
        check(&m);
    return next == TD_MEETING_DONE ? BY_SEGMENT : BY_REQUEST;
}

static void *run(void *argument)
{
    uint32_t rank = (uint32_t)(uintptr_t)argument;
    uint64_t random = rank + 1;
    for (uint64_t number = 0; number < (plain ? FEW_CALLS : CALLS); number++) {
        int is = meet(rank, number, &random);
        outcome[number][rank] = is;
        by_segment += is == BY_SEGMENT;
        /* as a rank whose request is in flight, it waits until the others have made theirs */
        for (uint32_t r = 0; is == BY_REQUEST && r < RANKS; r++)
            while (outcome[number][r] == NOTHING)
                sched_yield();
    }
    return NULL;
}

/* check_sums checks that each rank has waited for the last one of each call. */
static void check_sums(void)
{
    uint64_t last = 0, ns = 0;
    for (uint32_t r = 0; r < RANKS; r++)
        for (uint32_t kind = 0; kind < TD_SEGMENT_KINDS; kind++) {
            uint64_t others = RANKS * (RANKS + 1) / 2 - (r + 1);
            uint64_t calls = kind == KIND ? was_last[r] : 0;
            td_segment_waits(&segment, r, kind, &last, &ns);
            wrong += ns != calls * others;
            wrong += plain ? last != calls : last < calls; /* it counts before a call is DONE */
        }
}

static void play(bool is_plain, uint32_t round_count)
{
    pthread_t thread[RANKS];
    memset(memory, 0, sizeof memory);
    memset(outcome, 0, sizeof outcome);
    memset(was_last, 0, sizeof was_last);
    plain = is_plain;
    rounds = round_count;
    by_segment = 0;
    td_segment_open(&segment, memory, RANKS);
    for (uint32_t r = 0; r < RANKS; r++)
        if (pthread_create(&thread[r], NULL, run, (void *)(uintptr_t)r) != 0)
            exit(1);
    for (uint32_t r = 0; r < RANKS; r++)
        pthread_join(thread[r], NULL);
    uint32_t calls = plain ? FEW_CALLS : CALLS;
    for (uint32_t n = 0; n < calls; n++)
        for (uint32_t r = 1; r < RANKS; r++)
            wrong += outcome[n][r] != outcome[n][0];
    check_sums();
    printf("%u calls, %u of them in the segment, %u wrong\n", calls, by_segment / RANKS, wrong);
    wrong += plain && by_segment != RANKS * calls;
    wrong += by_segment == 0;
}

int main(int count, char **argument)
{
    bool bug = count > 1 && strcmp(argument[1], "--bug") == 0;
    play(true, 0);
    play(true, 2);
    if (!bug)
        play(false, 0);
    return wrong > 0;
}
