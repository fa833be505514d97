/* SPDX-License-Identifier: Apache-2.0 */
/* torus_reduce_local: inout[i] = in[i] op inout[i] in one process, compared with plain loops and
 * with the service. */
#include "random.h"
#include "ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 700, ELEMENT_MAX = 32, BYTES = MOST * ELEMENT_MAX, TYPES = 64, OPS = TORUS_MAXLOC };

static void fill(uint64_t *random, uint8_t *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (uint8_t)random_below(random, 256);
}

static int64_t plain(int op, int64_t a, int64_t b)
{
    switch (op) {
    case TORUS_SUM:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case TORUS_PROD:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case TORUS_MIN:
        return a < b ? a : b;
    case TORUS_MAX:
        return a > b ? a : b;
    case TORUS_BAND:
        return a & b;
    case TORUS_BOR:
        return a | b;
    case TORUS_BXOR:
        return a ^ b;
    case TORUS_LAND:
        return a && b;
    case TORUS_LOR:
        return a || b;
    default:
        return !a != !b;
    }
}

static void integers_are_combined_in_order_and_place(void **state)
{
    (void)state;
    static int64_t in[MOST + 1], inout[MOST + 1], before[MOST + 1];
    uint64_t random = 8;
    start(1, "");
    join_ranks(1, false);
    for (int op = TORUS_SUM; op <= TORUS_LXOR; op++)
        for (int round = 0; round < 20; round++) {
            size_t n = random_below(&random, MOST + 1), shift = random_below(&random, 8);
            uint8_t *x = (uint8_t *)in + shift, *y = (uint8_t *)inout + shift; /* any alignment */
            fill(&random, (uint8_t *)in, sizeof in);
            fill(&random, (uint8_t *)inout, sizeof inout);
            memcpy(before, inout, sizeof before);
            must(0, torus_reduce_local(context[0], x, y, n, TORUS_INT64, op));
            for (size_t i = 0; i < MOST; i++) {
                int64_t a = 0, b = 0, result = 0;
                memcpy(&a, x + i * 8, 8);
                memcpy(&b, (uint8_t *)before + shift + i * 8, 8);
                memcpy(&result, y + i * 8, 8);
                assert_int_equal(result, i < n ? plain(op, a, b) : b);
            }
        }
    close_all(context, 1);
    stop();
}

static bool is_padding(int type, size_t byte)
{
    return type == TORUS_LONG_DOUBLE && byte % 16 >= 10;
}

/* The service folds in the order of ranks: `in` is the operand of rank 0. */
static void every_type_has_the_bits_of_the_service(void **state)
{
    (void)state;
    static uint8_t operand[2][BYTES], result[BYTES];
    uint64_t random = 9;
    int pairs = 0;
    torus_request *r[2];
    start(1, "");
    join_ranks(2, false);
    for (int i = 0; i < 2; i++)
        must((uint32_t)i, torus_set_reproducible(world[i], TORUS_REPRODUCIBLE_ANY_PLACEMENT));
    for (int type = 0; type < TYPES; type++)
        for (int op = 1; op <= OPS; op++) {
            size_t n = 1 + random_below(&random, MOST);
            fill(&random, operand[0], BYTES);
            fill(&random, operand[1], BYTES);
            memcpy(result, operand[1], BYTES);
            int error = torus_reduce_local(context[0], operand[0], result, n, type, op);
            for (uint32_t i = 0; i < 2; i++)
                assert_int_equal(
                    torus_iallreduce(world[i], TORUS_IN_PLACE, operand[i], n, type, op, &r[i]),
                    error);
            if (error != TORUS_OK)
                continue;
            pairs++;
            for (uint32_t i = 0; i < 2; i++)
                finish(i, r[i]);
            for (size_t i = 0; i < BYTES; i++)
                if (result[i] != operand[1][i] && !is_padding(type, i))
                    fail_msg("type %d, operator %d, byte %zu: %u, not %u", type, op, i, result[i],
                             operand[1][i]);
        }
    assert_true(pairs >= 125);
    close_all(context, 2);
    stop();
}

/* first_is_kept: not commutative, and elements of three bytes. */
static void first_is_kept(const void *in, void *inout, size_t count, void *user)
{
    *(size_t *)user += count;
    memcpy(inout, in, 3 * count);
}

static void user_defined_operators_run_in_the_call(void **state)
{
    (void)state;
    size_t calls = 0;
    int op = 0;
    char in[] = "abcdef", inout[] = "uvwxyz";
    double left = -0.0, right = 0.0;
    start(1, "");
    join_ranks(1, false);
    torus_context *c = context[0];
    must(0, torus_op_create(c, "first", first_is_kept, &calls, 3, 0, &op));
    must(0, torus_reduce_local(c, in, inout, 1, TORUS_OPAQUE, op));
    assert_string_equal(inout, "abcxyz");
    must(0, torus_reduce_local(c, in, inout, 2, TORUS_OPAQUE, op));
    assert_string_equal(inout, in);
    must(0, torus_reduce_local(c, NULL, NULL, 0, TORUS_OPAQUE, op));
    assert_int_equal(calls, 3);
    must(0, torus_reduce_local(c, &left, &right, 1, TORUS_DOUBLE, TORUS_MIN));
    assert_true(signbit(right)); /* of equal values, the one of `in` */
    close_all(context, 1);
    stop();
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    size_t calls = 0;
    int op = 0, any = 0, a[4] = {1, 2, 3, 4};
    start(1, "");
    join_ranks(1, false);
    torus_context *c = context[0];
    must(0, torus_op_create(c, "first", first_is_kept, &calls, 3, 0, &op));
    must(0, torus_op_create(c, "any", first_is_kept, &calls, 0, 0, &any));
#define REFUSED(words, ...)                                                                        \
    do {                                                                                           \
        assert_int_equal(torus_reduce_local(c, __VA_ARGS__), TORUS_ERR_INVALID);                   \
        assert_says(c, "reduce_local: ");                                                          \
        assert_says(c, words);                                                                     \
    } while (0)
    REFUSED("operator", a, a + 2, 2, TORUS_INT32, 4711);
    REFUSED("operator", a, a + 2, 2, TORUS_INT32, -1);
    REFUSED("type", a, a + 2, 2, -1, TORUS_SUM);
    REFUSED("TORUS_OPAQUE needs an operator", a, a + 2, 2, TORUS_OPAQUE, TORUS_SUM);
    REFUSED("numbers", a, a + 2, 2, TORUS_BYTE, TORUS_SUM);
    REFUSED("NULL", NULL, a, 2, TORUS_INT32, TORUS_SUM);
    REFUSED("NULL", a, NULL, 2, TORUS_INT32, TORUS_SUM);
    REFUSED("overlap", a, a, 2, TORUS_INT32, TORUS_SUM);
    REFUSED("overlap", a, a + 1, 2, TORUS_INT32, TORUS_SUM);
    REFUSED("TORUS_IN_PLACE", TORUS_IN_PLACE, a, 2, TORUS_INT32, TORUS_SUM);
    REFUSED("overflow", a, a + 2, SIZE_MAX / 2, TORUS_INT32, TORUS_SUM);
    REFUSED("overflow", a, a + 2, SIZE_MAX / 2, TORUS_OPAQUE, op);
    REFUSED("size", a, a + 2, 2, TORUS_INT32, op);
    REFUSED("needs a type", a, a + 2, 2, TORUS_OPAQUE, any);
    assert_int_equal(torus_reduce_local(NULL, a, a + 2, 1, TORUS_INT32, TORUS_SUM),
                     TORUS_ERR_INVALID);
    assert_int_equal(calls, 0);
    close_all(context, 1);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(integers_are_combined_in_order_and_place, clean_up),
        cmocka_unit_test_teardown(every_type_has_the_bits_of_the_service, clean_up),
        cmocka_unit_test_teardown(user_defined_operators_run_in_the_call, clean_up),
        cmocka_unit_test_teardown(wrong_arguments_are_refused, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
