/* SPDX-License-Identifier: Apache-2.0 */
/* The size of the pieces of a vector that goes through a chain or tree of nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectives/cost/pipeline.h"

enum { MOST = 1 << 18 };

/* arrival returns the time at which the last node of a chain has the last piece, simulated message
 * by message: a node sends one at a time, and no piece before it has it. */
static uint64_t arrival(const struct td_pipeline *l, uint64_t each)
{
    uint64_t has[64] = {0}, done = 0; /* has[p]: when the current node has piece p */
    uint64_t pieces = l->bytes > each ? (l->bytes + each - 1) / each : 1;
    for (uint64_t node = 0; node < l->path; node++) {
        uint64_t free = 0;
        for (uint64_t p = 0; p < pieces; p++) {
            uint64_t begin = has[p] > free ? has[p] : free;
            has[p] = free = begin + (l->bytes < each ? l->bytes : each) + l->message_bytes;
            done = free;
        }
    }
    return done;
}

static void the_time_is_that_of_a_chain_of_messages(void **unused)
{
    (void)unused;
    for (uint64_t path = 1; path < 9; path++)
        for (uint64_t each = 1 << 13; each <= MOST; each *= 2)
            for (uint64_t bytes = 1; bytes < 40 * each; bytes += 1 + bytes / 3) {
                struct td_pipeline l = {
                    .bytes = bytes, .sends = 1, .path = path, .message_bytes = 5000};
                assert_int_equal(td_pipeline_time(&l, each), arrival(&l, each));
            }
}

static void the_piece_takes_the_least_time(void **unused)
{
    (void)unused;
    for (uint64_t message = 0; message <= 1 << 20; message = message ? message * 4 : 1 << 10)
        for (uint64_t bytes = 1; bytes < (uint64_t)1 << 40; bytes *= 3) {
            struct td_pipeline l = {
                .bytes = bytes, .sends = 2, .path = 5, .message_bytes = message};
            uint64_t piece = td_pipeline_piece(&l, MOST), time = td_pipeline_time(&l, piece);
            assert_true(piece >= 1 << 13 && piece <= MOST && (piece & (piece - 1)) == 0);
            for (uint64_t each = 1 << 13; each <= MOST; each *= 2)
                assert_true(time <= td_pipeline_time(&l, each));
        }
}

/* Four nodes, 1 MiB, messages of 8 KiB: the links are busy for at most a sixth longer than the data
 * needs, apart from the cost of the messages. */
static void a_chain_of_four_wastes_little(void **unused)
{
    (void)unused;
    struct td_pipeline l = {.bytes = 1 << 20, .sends = 1, .path = 3, .message_bytes = 8 << 10};
    uint64_t piece = td_pipeline_piece(&l, MOST);
    assert_true(piece >= 32 << 10 && piece <= 64 << 10);
    l.message_bytes = 0;
    assert_true(td_pipeline_time(&l, piece) <= l.bytes + l.bytes / 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_is_that_of_a_chain_of_messages),
        cmocka_unit_test(the_piece_takes_the_least_time),
        cmocka_unit_test(a_chain_of_four_wastes_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
