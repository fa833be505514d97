/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a segment, which ranks share: segment/segment.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "segment/meeting.h"
#include "segment/segment.h"

enum { RANKS = 5 };

static void *memory;
static struct td_segment segment;

static void begin(uint32_t ranks)
{
    size_t bytes = (td_segment_bytes(ranks) + 4095) / 4096 * 4096;
    memory = aligned_alloc(4096, bytes);
    assert_non_null(memory);
    memset(memory, 0, bytes);
    td_segment_open(&segment, memory, ranks);
}

static void end(void)
{
    free(memory);
}

static void a_region_that_is_dropped_counts_for_its_rank_and_for_all(void **state)
{
    (void)state;
    begin(RANKS);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0; i < rank; i++)
            td_segment_drop(&segment, rank);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_int_equal(td_segment_dropped_by(&segment, rank), rank);
    assert_int_equal(td_segment_dropped(&segment), 1 + 2 + 3 + 4);
    end();
}

/* fill writes each part of each line. Lines of a number and a rank differ in their bytes. */
static void fill(uint8_t *bytes)
{
    for (uint64_t number = 0; number < TD_SEGMENT_SLOTS; number++)
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            int line = (int)(number * RANKS + rank);
            memset(bytes, 3 * line + 1, TD_SEGMENT_CALL_BYTES);
            td_segment_put(&segment, number, rank, TD_SEGMENT_CALL, 0, bytes,
                           TD_SEGMENT_CALL_BYTES);
            for (int part = 0; part < 2; part++) {
                memset(bytes, 3 * line + 2 + part, segment.data_bytes);
                td_segment_put(&segment, number, rank, part ? TD_SEGMENT_RESULT : TD_SEGMENT_DATA,
                               0, bytes, segment.data_bytes);
            }
        }
}

static void expect(uint64_t number, uint32_t rank, enum td_segment_part part, size_t bytes,
                   int value)
{
    for (size_t at = 0; at < bytes; at++) {
        uint8_t byte = 0;
        td_segment_get(&segment, number, rank, part, at, &byte, 1);
        assert_int_equal(byte, value);
    }
}

static void lines_keep_their_parts_and_the_counts(void **state)
{
    (void)state;
    begin(RANKS);
    uint8_t *bytes = malloc(segment.data_bytes);
    assert_non_null(bytes);
    td_segment_drop(&segment, 3);
    td_segment_set_busy(&segment, 77);
    fill(bytes);
    free(bytes);
    for (uint64_t number = 0; number < TD_SEGMENT_SLOTS; number++)
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            int line = (int)(number * RANKS + rank);
            uint64_t later = number + 7 * TD_SEGMENT_SLOTS; /* it uses the same slot */
            expect(later, rank, TD_SEGMENT_CALL, TD_SEGMENT_CALL_BYTES, 3 * line + 1);
            expect(later, rank, TD_SEGMENT_DATA, segment.data_bytes, 3 * line + 2);
            expect(later, rank, TD_SEGMENT_RESULT, segment.data_bytes, 3 * line + 3);
        }
    assert_int_equal(td_segment_dropped_by(&segment, 3), 1);
    assert_int_equal(td_segment_busy(&segment), 77);
    uint64_t last = 1, ns = 1;
    td_segment_waits(&segment, RANKS - 1, TD_SEGMENT_KINDS - 1, &last, &ns);
    assert_int_equal(last + ns, 0);
    end();
}

static void the_data_of_a_line_is_the_largest_that_fits(void **state)
{
    (void)state;
    for (uint32_t ranks = 1; ranks <= TD_SEGMENT_RANKS_MAX; ranks++) {
        uint32_t bytes = td_segment_data_bytes(ranks);
        assert_in_range(bytes, 64, TD_SEGMENT_DATA_MAX);
        assert_int_equal(bytes & (bytes - 1), 0);
        assert_true(td_segment_bytes(ranks) <= TD_SEGMENT_BYTES_MAX);
        size_t twice = td_segment_bytes(ranks) + TD_SEGMENT_SLOTS * (size_t)ranks * 2 * bytes;
        assert_true(bytes == TD_SEGMENT_DATA_MAX || twice > TD_SEGMENT_BYTES_MAX);
    }
}

static void a_segment_that_closes_opens_all_gates(void **state)
{
    (void)state;
    begin(RANKS);
    assert_int_equal(segment.head->closed, 0);
    td_segment_close(&segment);
    assert_int_equal(segment.head->closed, 1);
    for (uint32_t i = 0; i < TD_SEGMENT_SLOTS; i++)
        assert_int_equal(segment.slot[i].gate, 1);
    end();
}

/* meet makes the steps of a rank until it waits for others, or has ended. All calls agree. */
static enum td_meeting_next meet(struct td_meeting *m)
{
    enum td_meeting_next next = TD_MEETING_STEP;
    while (next != TD_MEETING_WAIT && next != TD_MEETING_DONE && next != TD_MEETING_REQUEST) {
        next = td_meeting_step(m);
        if (next == TD_MEETING_COMBINE)
            m->agree = true;
        assert_int_not_equal(next, TD_MEETING_WORK);
    }
    return next;
}

/* A fuzz target found it: the rank did its part of a round of a short call, which has none. */
static void a_round_that_the_call_does_not_have_sends_it_to_the_daemon(void **state)
{
    (void)state;
    struct td_meeting first, last;
    begin(2);
    td_meeting_start(&first, &segment, 0, 0, 0);
    td_meeting_start(&last, &segment, 1, 0, 1); /* which says that the calls agree */
    assert_int_equal(meet(&first), TD_MEETING_WAIT);
    while (segment.slot[0].gate == 0) /* until the round has begun */
        if (td_meeting_step(&last) == TD_MEETING_COMBINE)
            last.agree = true;
    first.wish = TD_MEETING_LOOK;
    assert_int_equal(meet(&first), TD_MEETING_REQUEST);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_region_that_is_dropped_counts_for_its_rank_and_for_all),
        cmocka_unit_test(lines_keep_their_parts_and_the_counts),
        cmocka_unit_test(the_data_of_a_line_is_the_largest_that_fits),
        cmocka_unit_test(a_segment_that_closes_opens_all_gates),
        cmocka_unit_test(a_round_that_the_call_does_not_have_sends_it_to_the_daemon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
