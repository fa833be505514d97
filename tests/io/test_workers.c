/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which computations of several jobs end: a job waits for parts of others, not for
 * all that they have queued. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compute/fft/step.h"
#include "io/workers.h"

enum { MIB = 1 << 20, SCRATCH = 256 * MIB, TASKS_MAX = 256, HOG = 1, OTHER = 2, TRANSFORMS = 8 };

static struct td_loop loop;
static struct td_config config;
static struct td_workers *workers;
static uint64_t ended[TASKS_MAX]; /* handles, in order */
static uint32_t ends;

static void begin(uint32_t threads)
{
    config = (struct td_config){.workers = threads};
    /* events stay in the loop's queue; the one that it works on lasts for no time */
    loop = (struct td_loop){
        .config = &config, .stepping = true, .busy = {.depth = 1, .began = UINT64_MAX / 2}};
    ends = 0;
    assert_int_equal(uv_loop_init(&loop.uv), 0);
    loop.regions = td_regions_create(SCRATCH, SCRATCH);
    assert_non_null(loop.regions);
    workers = td_workers_create(&loop);
    assert_non_null(workers);
}

static void close_handle(uv_handle_t *handle, void *user)
{
    (void)user;
    uv_close(handle, NULL);
}

static void end(void)
{
    loop.stopped = true;
    td_workers_drain(workers);
    uv_walk(&loop.uv, close_handle, NULL);
    uv_run(&loop.uv, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop.uv), 0);
    td_workers_destroy(workers);
    td_regions_destroy(loop.regions);
    free(loop.queue);
    td_fft_fini();
}

/* collect takes the events so far out of the loop's queue. */
static void collect(void)
{
    for (; loop.queue_count > 0; loop.queue_count--) {
        const struct td_event *e = &loop.queue[loop.queue_head];
        assert_int_equal(e->kind, TD_EVENT_COMPUTED);
        assert_int_equal(e->u.computed.error, TD_OK);
        assert_true(ends < TASKS_MAX);
        ended[ends++] = e->u.computed.handle;
        loop.queue_head = (loop.queue_head + 1) % loop.queue_capacity;
    }
}

/* position waits for the end of a computation, and returns how many ended before it. */
static uint32_t position(uint64_t handle)
{
    for (uint32_t i = 0;; i++) {
        while (i >= ends) {
            uv_run(&loop.uv, UV_RUN_ONCE);
            collect();
        }
        if (ended[i] == handle)
            return i;
    }
}

static uint8_t *scratch(void)
{
    static const struct td_view none;
    struct td_bases bases;
    uint8_t *addresses[1];
    td_regions_bases(loop.regions, &none, addresses, &bases);
    return bases.scratch;
}

/* copy copies bytes of scratch to `to`. The handle has the job in its upper half. */
static void copy(uint64_t job, uint64_t number, int64_t from, int64_t to, int64_t bytes)
{
    struct td_compute c = {.kind = TD_COMPUTE_STEP,
                           .handle = job << 32 | number,
                           .cost_bytes = 2 * (uint64_t)bytes,
                           .view.job = job};
    c.step.kind = TD_COPY;
    c.step.from = td_slice_at(TD_SPACE_SCRATCH, 0, from, bytes);
    c.step.to = td_slice_at(TD_SPACE_SCRATCH, 0, to, bytes);
    c.step.to_lanes.count = 1;
    td_workers_compute(workers, &c);
    td_workers_start(workers);
    collect();
}

/* make_plan makes the plan of a step, so that the step does not wait for the planning thread. */
static void make_plan(const struct td_step *step)
{
    static const struct td_view none;
    struct td_bases bases;
    struct td_shape shape[TD_STEP_SHAPES_MAX];
    uint8_t *addresses[1];
    td_regions_bases(loop.regions, &none, addresses, &bases);
    assert_int_equal(td_step_shapes(step, &bases, shape), 1);
    assert_int_equal(td_fft_make_plan(&shape[0], 0), TD_OK);
}

static void transform(uint64_t job, uint64_t number, int64_t points)
{
    struct td_compute c = {.kind = TD_COMPUTE_STEP,
                           .handle = job << 32 | number,
                           .cost_bytes = 8 * 16 * (uint64_t)points,
                           .view.job = job};
    c.step.kind = TD_TRANSFORM;
    c.step.from = td_slice_at(TD_SPACE_SCRATCH, 0, (int64_t)number * 16 * points, 16 * points);
    c.step.transform = (struct td_transform){.kind = TD_TRANSFORM_C2C,
                                             .type = TD_TYPE_COMPLEX_DOUBLE,
                                             .sign = -1,
                                             .length = points,
                                             .batch = 1,
                                             .stride = 1,
                                             .to_stride = 1,
                                             .factor = 1};
    make_plan(&c.step);
    td_workers_compute(workers, &c);
    td_workers_start(workers);
    collect();
}

static uint64_t handle(uint64_t job, uint64_t number)
{
    return job << 32 | number;
}

static void a_job_alone_is_computed_in_order(void **state)
{
    (void)state;
    begin(1);
    for (uint64_t i = 0; i < 100; i++)
        copy(HOG, i, 0, MIB, MIB / 8);
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(position(handle(HOG, i)), i);
    for (uint64_t i = 100; i < 105; i++)
        copy(HOG, i, 0, 32 * MIB, 32 * MIB);
    for (uint64_t i = 100; i < 105; i++)
        assert_int_equal(position(handle(HOG, i)), i);
    end();
}

/* The loop computes a few MiB at once, and then of each job in turn. */
static void small_computations_take_turns_on_the_loop(void **state)
{
    (void)state;
    for (uint64_t others = 1; others <= 9; others += 8) {
        begin(1);
        for (uint64_t i = 0; i < 200; i++)
            copy(HOG, i, 0, MIB, MIB / 8);
        assert_in_range(ends, 1, 50); /* it looks at its sockets before the others */
        for (uint64_t job = OTHER; job < OTHER + others; job++)
            copy(job, 0, 0, 2 * MIB, 4096);
        for (uint64_t job = OTHER; job < OTHER + others; job++)
            assert_in_range(position(handle(job, 0)), 1, 60);
        assert_int_equal(position(handle(HOG, 199)), 199 + others);
        end();
    }
}

/* Copies that begin so many us before their event has lasted for its time are done in parts; the
 * first one begins later than that. */
static void small_computations_are_left_when_an_event_has_lasted(void **state)
{
    enum { COPIES = 60, BYTES = MIB / 4 };
    (void)state;
    begin(1);
    uint8_t *memory = scratch();
    for (int64_t i = 0; i < BYTES; i++)
        memory[i] = (uint8_t)(1 + (i ^ i >> 13) % 255);
    for (uint64_t us = 0; us < COPIES; us++) {
        loop.busy = (struct td_busy){.began = us ? td_loop_now() - 1000000 + us * 1000 : 0};
        copy(HOG, us, 0, (int64_t)(us + 1) * MIB, BYTES);
        if (us == 0)
            assert_int_equal(ends, 0);
        position(handle(HOG, us));
        assert_memory_equal(memory, memory + (us + 1) * MIB, BYTES);
    }
    end();
}

/* A copy of which a part is done is dropped, too. */
static void a_computation_that_was_begun_is_dropped_at_the_end(void **state)
{
    (void)state;
    for (uint64_t us = 0; us < 20; us++) {
        begin(1);
        loop.busy = (struct td_busy){.began = td_loop_now() - 1000000 + us * 1000};
        copy(HOG, 0, 0, MIB, MIB / 4);
        end();
        assert_true(ends <= 1);
    }
}

/* The last byte but one of a copy by the hog, which is not 0 when the copy is over. */
static uint8_t *mark(uint8_t *memory, uint64_t i)
{
    return memory + (i + 2) * 16 * MIB - 2;
}

/* With one thread, at most one copy of the hog ends between the begin of the other's and its end.
 * With two, the thread that has the other's may lose its processor meanwhile: the order in which
 * tasks begin is then test_pool's, which has a gate for it. */
static void a_large_copy_waits_for_parts_of_others(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        begin(threads);
        uint8_t *memory = scratch();
        for (int64_t i = 0; i < 16 * MIB; i++)
            memory[i] = (uint8_t)(i ^ i >> 13);
        for (uint64_t i = 0; i < 10; i++)
            *mark(memory, i) = 0;
        for (uint64_t i = 0; i < 10; i++)
            copy(HOG, i, 0, (int64_t)(i + 1) * 16 * MIB, 16 * MIB);
        copy(OTHER, 0, 0, 200 * MIB, MIB);
        uint64_t over = 0; /* at least those that were over when the other copy was added */
        for (uint64_t i = 0; i < 10; i++)
            over += __atomic_load_n(mark(memory, i), __ATOMIC_RELAXED) != 0;
        uint64_t before = position(handle(OTHER, 0));
        if (threads == 1)
            assert_in_range(before, 0, over + 1);
        for (uint64_t i = 0; i < 10; i++)
            position(handle(HOG, i));
        for (uint64_t i = 1; i <= 10; i++)
            assert_memory_equal(memory, memory + i * 16 * MIB, 16 * MIB);
        assert_memory_equal(memory, memory + 200 * MIB, MIB);
        end();
    }
}

/* A line of a transform has no parts. While it keeps all workers, another thread serves others. It
 * may get its processor late, but not after all transforms. */
static void a_copy_does_not_wait_for_long_transforms(void **state)
{
    (void)state;
    begin(1);
    for (uint64_t i = 0; i < TRANSFORMS; i++)
        transform(HOG, i, 1 << 20);
    copy(OTHER, 0, 128 * MIB, 160 * MIB, 4 * MIB);
    assert_in_range(position(handle(OTHER, 0)), 0, TRANSFORMS - 1);
    assert_int_equal(position(handle(HOG, TRANSFORMS - 1)), TRANSFORMS);
    end();
}

static void computations_that_wait_are_dropped_at_the_end(void **state)
{
    (void)state;
    begin(2);
    for (uint64_t i = 0; i < 100; i++) {
        copy(HOG, i, 0, (int64_t)(i + 2) * 3 * MIB / 2, 3 * MIB / 2);
        copy(OTHER, i, 0, 200 * MIB + (int64_t)i * MIB / 8, MIB / 8);
    }
    end();
    assert_true(ends < 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_alone_is_computed_in_order),
        cmocka_unit_test(small_computations_take_turns_on_the_loop),
        cmocka_unit_test(small_computations_are_left_when_an_event_has_lasted),
        cmocka_unit_test(a_computation_that_was_begun_is_dropped_at_the_end),
        cmocka_unit_test(a_large_copy_waits_for_parts_of_others),
        cmocka_unit_test(a_copy_does_not_wait_for_long_transforms),
        cmocka_unit_test(computations_that_wait_are_dropped_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
