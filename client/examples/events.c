/* SPDX-License-Identifier: Apache-2.0 */
/* events: collectives in an event-driven program (libuv).
 *
 * Three chains of operations are in flight at the same time while a timer ticks: sums, exchanges
 * with the neighbours on a ring, and gathers. An operation completes by a callback inside
 * torus_dispatch, which starts the next operation of its chain. The program never blocks. Run it
 * with torusctl emulate 3x3 -- ./events
 */
#include <stdio.h>
#include <stdlib.h>
#include <torus/torus.h>
#include <uv.h>

/* struct chain: operations that start one after the other. Each chain has its own group, because
 * all ranks of a group must make the same calls in the same order, and the chains advance
 * independently. */
struct chain {
    /* step checks the result of the previous operation and starts the next */
    int (*step)(const struct chain *chain, torus_request **request);
    int length, done;
    torus_group *group;
};

static torus_context *context;
static int32_t rank, size;
static int running;
static uv_timer_t ticker;
static uv_poll_t service;

static void must(int error)
{
    if (error == TORUS_OK)
        return;
    fprintf(stderr, "%s: %s\n", torus_strerror(error), torus_last_error(context));
    exit(1);
}

static void expect(int true_thing)
{
    if (true_thing)
        return;
    fprintf(stderr, "rank %d: wrong result\n", rank);
    exit(1);
}

static int64_t value, sum;

static int step_sum(const struct chain *c, torus_request **request)
{
    expect(c->done == 0 || sum == size * value);
    value = c->done;
    return torus_iallreduce(c->group, &value, &sum, 1, TORUS_INT64, TORUS_SUM, request);
}

static torus_persistent *exchange; /* created once, started repeatedly */
static int32_t here[2], there[2];

static int step_exchange(const struct chain *c, torus_request **request)
{
    int32_t before = here[0] - rank; /* offset of the previous round */
    expect(c->done == 0 || there[0] == (rank + size - 1) % size + before);
    expect(c->done == 0 || there[1] == (rank + 1) % size + before);
    here[0] = here[1] = rank + c->done;
    return torus_persistent_start(exchange, request);
}

static int32_t *ranks; /* at the root, which changes every round */

static int step_gather(const struct chain *c, torus_request **request)
{
    expect(c->done == 0 || (c->done - 1) % size != rank || ranks[size - 1] == size - 1);
    return torus_igather(c->group, &rank, ranks, 1, TORUS_INT32, (uint32_t)(c->done % size),
                         request);
}

/* ---- events ---- */

static void next(struct chain *chain);

static void done(torus_request *request, int error, void *user)
{
    struct chain *chain = user;
    (void)request;
    must(error);
    if (++chain->done < chain->length) {
        next(chain);
    } else if (--running == 0) {
        uv_close((uv_handle_t *)&ticker, NULL);
        uv_close((uv_handle_t *)&service, NULL);
    }
}

static void next(struct chain *chain)
{
    torus_request *request = NULL;
    must(chain->step(chain, &request));
    must(torus_set_callback(request, done, chain));
}

static void tick(uv_timer_t *timer)
{
    ++*(int *)timer->data;
}

static void readable(uv_poll_t *poll, int status, int events)
{
    (void)poll, (void)status, (void)events;
    must(torus_dispatch(context));
}

int main(void)
{
    struct chain chain[3] = {
        {step_sum, 20, 0, NULL}, {step_exchange, 20, 0, NULL}, {step_gather, 40, 0, NULL}};
    struct torus_grid ring = {.size = sizeof ring, .dimensions = 1, .periodic = {1}};
    torus_group *world = NULL;
    int ticks = 0;
    must(torus_open(&context, NULL));
    must(torus_join(context, NULL, &world));
    rank = (int32_t)torus_rank(world);
    size = (int32_t)(ring.extent[0] = torus_size(world));
    ranks = calloc(ring.extent[0], sizeof *ranks);
    for (int i = 0; i < 3; i++)
        must(torus_dup(world, &chain[i].group));
    must(torus_neighbour_alltoall_init(chain[1].group, &ring, here, there, 1, TORUS_INT32,
                                       &exchange));
    uv_timer_init(uv_default_loop(), &ticker);
    ticker.data = &ticks;
    uv_timer_start(&ticker, tick, 1, 1);
    uv_poll_init(uv_default_loop(), &service, torus_fd(context));
    uv_poll_start(&service, UV_READABLE, readable);
    for (running = 0; running < 3; running++)
        next(&chain[running]);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    printf("rank %d: %d + %d + %d operations, %d ticks\n", rank, chain[0].done, chain[1].done,
           chain[2].done, ticks);
    must(torus_barrier(world)); /* no rank leaves before all have finished */
    free(ranks);
    torus_close(context);
    return 0;
}
