/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and replies that take shared memory instead of the socket (segment/letter.h), with a
 * client without the library: rank 0 of a job of two nodes. */
#include "raw.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "random.h"
#include "segment/letter.h"

enum { ENOUGH = 10, SECONDS = 60 };

static struct td_wire_memory memory;
static uint8_t bytes[TD_DATAGRAM_MAX];

/* struct client: a rank 0. */
struct client {
    int fd;
    uint32_t group;
    uint64_t sequence, id;
    struct td_letters *letters;
    uint64_t sent, received; /* by the socket */
    uint64_t put, taken;     /* by letter */
};

static void *join_other(void *group)
{
    torus_context *c = open_at(1);
    struct torus_join_options options = as(2, 1);
    options.name = "letters";
    assert_int_equal(torus_join(c, &options, group), TORUS_OK);
    return c;
}

/* join joins rank 0, and rank 1 on the other node. */
static struct client join(torus_context **other, torus_group **group)
{
    pthread_t thread;
    void *joined = NULL;
    struct td_reply reply;
    struct client c = {.fd = raw_greeted(), .sent = 2, .received = 2, .id = 10};
    struct td_request q = {.kind = TD_REQUEST_JOIN, .id = 2};
    q.u.join.name = "letters";
    q.u.join.size = 2;
    q.u.join.timeout_ns = -1;
    assert_int_equal(pthread_create(&thread, NULL, join_other, group), 0);
    raw_send(c.fd, q, NULL, 0);
    int passed = raw_reply_with(c.fd, &reply);
    assert_int_equal(reply.kind, TD_REPLY_JOINED);
    assert_true(reply.u.joined.has_letters && !reply.u.joined.has_segment);
    assert_true(passed >= 0);
    c.group = reply.u.joined.group;
    c.letters = mmap(NULL, sizeof *c.letters, PROT_READ | PROT_WRITE, MAP_SHARED, passed, 0);
    assert_true(c.letters != MAP_FAILED);
    close(passed);
    pthread_join(thread, &joined);
    *other = joined;
    return c;
}

/* call sends the request of a barrier. */
static void call(struct client *c)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = c->id};
    q.u.operation.group = c->group;
    q.u.operation.sequence = c->sequence++;
    q.u.operation.call.kind = TD_KIND_BARRIER;
    q.u.operation.timeout_ns = -1;
    size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
    if (td_letter_put(&c->letters->request, c->sent, bytes, size)) {
        c->put++;
        return;
    }
    assert_int_equal(send(c->fd, bytes, size, 0), size);
    c->sent++;
}

/* expect_done takes the reply of the call, either way. */
static void expect_done(struct client *c)
{
    struct td_reply reply = {0};
    const char *why = NULL;
    ssize_t size = 0;
    double begin = seconds();
    td_letter_look(&c->letters->reply);
    while (size <= 0 && seconds() < begin + 20) {
        size = (ssize_t)td_letter_take(&c->letters->reply, c->received, false, bytes, sizeof bytes);
        c->taken += size > 0;
        if (size == 0 && (size = recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
            c->received++;
        sched_yield();
    }
    assert_true(size > 0);
    assert_int_equal(td_wire_decode_reply(bytes, (size_t)size, &memory, &reply, &why), TD_OK);
    assert_int_equal(reply.kind, TD_REPLY_DONE);
    assert_int_equal(reply.error, TD_OK);
    assert_int_equal(reply.id, c->id++);
    (void)td_letter_leave(&c->letters->reply);
}

static void *barriers(void *group)
{
    while (torus_barrier(group) == TORUS_OK)
        continue; /* until rank 0 leaves */
    return NULL;
}

/* Which way a datagram takes depends on the time, and beside processes that compute few requests
 * take letters; so this goes on until both ways were taken. */
static void calls_and_replies_take_letters_or_the_socket(void **state)
{
    (void)state;
    torus_context *other = NULL;
    torus_group *group = NULL;
    pthread_t thread;
    start(2, "");
    struct client c = join(&other, &group);
    assert_int_equal(pthread_create(&thread, NULL, barriers, group), 0);
    double begin = seconds();
    while ((c.put < ENOUGH || c.taken < ENOUGH) && seconds() < begin + SECONDS) {
        call(&c);
        expect_done(&c);
    }
    print_message("%llu calls: %llu by letter, %llu replies by letter\n",
                  (unsigned long long)c.sequence, (unsigned long long)c.put,
                  (unsigned long long)c.taken);
    assert_true(c.put >= ENOUGH && c.taken >= ENOUGH);
    close(c.fd);
    pthread_join(thread, NULL);
    torus_close(other);
    munmap(c.letters, sizeof *c.letters);
    stop();
}

/* leave_by_letter puts a LEAVE, if the daemon looks. */
static bool leave_by_letter(struct client *c)
{
    struct td_request q = {.kind = TD_REQUEST_LEAVE, .id = c->id};
    q.u.leave.group = c->group;
    size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
    return td_letter_put(&c->letters->request, c->sent, bytes, size);
}

/* A letter is the last thing that a client sends before it ends: then it has left, and not died. */
static void a_letter_is_read_although_its_sender_has_ended(void **state)
{
    (void)state;
    torus_context *other = NULL;
    torus_group *group = NULL;
    torus_request *r = NULL;
    start(2, "");
    double begin = seconds();
    for (bool left = false; !left && seconds() < begin + SECONDS;) {
        struct client c = join(&other, &group);
        for (int i = 0; i < 20 && !left; i++) {
            assert_int_equal(torus_ibarrier(group, &r), TORUS_OK);
            call(&c);
            expect_done(&c);
            left = leave_by_letter(&c);
            if (left)
                close(c.fd);
            assert_int_equal(torus_wait(r, 20 * (int64_t)SECOND), TORUS_OK);
        }
        if (left) {
            assert_int_equal(torus_barrier(group), TORUS_ERR_RANK_FAILED);
            assert_says(other, "rank 0 has left job letters");
        } else {
            close(c.fd);
        }
        torus_close(other);
        munmap(c.letters, sizeof *c.letters);
    }
    assert_true(seconds() < begin + SECONDS);
    stop();
}

/* A letter that was put just before the daemon stops looking may wait for a datagram before it. */
static void a_letter_is_taken_with_the_datagram_that_it_waits_for(void **state)
{
    (void)state;
    torus_context *other = NULL;
    torus_group *group = NULL;
    torus_request *r = NULL;
    start(2, "");
    struct client c = join(&other, &group);
    double begin = seconds();
    while (c.letters->request.state != 0 && seconds() < begin + SECONDS)
        sched_yield(); /* until the daemon looks for none */
    assert_int_equal(torus_ibarrier(group, &r), TORUS_OK);
    assert_int_equal(torus_wait(r, SECOND / 5), TORUS_PENDING);
    td_letter_look(&c.letters->request); /* as if it had not stopped yet */
    c.sent++;                            /* the datagram below */
    call(&c);
    assert_int_equal(c.put, 1);
    raw_send(c.fd, (struct td_request){.kind = TD_REQUEST_CANCEL, .id = 999}, NULL, 0);
    assert_int_equal(torus_wait(r, 20 * (int64_t)SECOND), TORUS_OK);
    close(c.fd);
    torus_close(other);
    munmap(c.letters, sizeof *c.letters);
    stop();
}

static void nonsense_in_letters_disturbs_its_own_connection_only(void **state)
{
    (void)state;
    enum { ROUNDS = 2000, CALLS = 20 };
    torus_context *other = NULL, *context[2];
    torus_group *group = NULL, *good[2];
    uint64_t random = 7;
    start(2, "");
    join_all(context, good, 2);
    for (int k = 0; k < 5; k++) {
        struct client c = join(&other, &group);
        uint8_t *at = (uint8_t *)c.letters;
        call(&c); /* it keeps the daemon awake now and then */
        for (int i = 0; i < ROUNDS; i++) {
            for (size_t n = 0; n < sizeof *c.letters; n += 1 + random_below(&random, 64))
                at[n] = (uint8_t)random_below(&random, 256);
            c.letters->request.state = random_below(&random, 4);
            c.letters->request.after = random_below(&random, 6);
            c.letters->request.bytes = random_below(&random, 2 * TD_LETTER_BYTES);
            c.letters->reply.state = random_below(&random, 4);
            if (i % (ROUNDS / CALLS) == 0)
                barrier_all(good, 2);
        }
        close(c.fd);
        torus_close(other);
        munmap(c.letters, sizeof *c.letters);
    }
    barrier_all(good, 2);
    close_all(context, 2);
    stop();
}

static void clients_get_no_letters_if_the_node_shares_no_memory(void **state)
{
    (void)state;
    torus_context *context[2];
    torus_group *good[2];
    struct td_reply reply;
    start(1, "[node]\nsegments = no\n");
    struct td_request q = {.kind = TD_REQUEST_JOIN, .id = 2};
    q.u.join.name = "letters";
    q.u.join.size = 1;
    q.u.join.timeout_ns = -1;
    int fd = raw_greeted();
    raw_send(fd, q, NULL, 0);
    assert_int_equal(raw_reply_with(fd, &reply), -1);
    assert_false(reply.u.joined.has_letters || reply.u.joined.has_segment);
    join_all(context, good, 2);
    barrier_all(good, 2);
    close_all(context, 2);
    close(fd);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(calls_and_replies_take_letters_or_the_socket, clean_up),
        cmocka_unit_test_teardown(a_letter_is_read_although_its_sender_has_ended, clean_up),
        cmocka_unit_test_teardown(a_letter_is_taken_with_the_datagram_that_it_waits_for, clean_up),
        cmocka_unit_test_teardown(nonsense_in_letters_disturbs_its_own_connection_only, clean_up),
        cmocka_unit_test_teardown(clients_get_no_letters_if_the_node_shares_no_memory, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
