/* SPDX-License-Identifier: Apache-2.0 */
/* Clients without the library, on sockets of their own: the daemon's reaction to malformed
 * requests, and to more connections than it has descriptors for. */
#include "raw.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static uint8_t bytes[TD_DATAGRAM_MAX];

static void garbage_hurts_its_sender_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {"x", "hello, world",
                                        "Toru\4\0\6\0\377\377\377\377\377\377"};
    torus_context *c[2];
    torus_group *g[2];
    start(1, "");
    join_all(c, g, 2);
    for (size_t i = 0; i < 3; i++) {
        struct td_reply reply;
        int fd = raw_open();
        assert_true(send(fd, texts[i], i == 2 ? 14 : strlen(texts[i]), 0) > 0);
        assert_true(raw_reply(fd, &reply));
        assert_int_equal(reply.error, TD_ERR_PROTOCOL);
        assert_false(raw_reply(fd, &reply));
        close(fd);
    }
    barrier_all(g, 2);
    close_all(c, 2);
    stop();
}

static void other_version_is_refused_with_both_numbers(void **state)
{
    (void)state;
    struct td_reply reply;
    start(1, "");
    int fd = raw_open();
    assert_true(send(fd, "Toru\11\3\1\0", 8, 0) == 8);
    assert_true(raw_reply(fd, &reply));
    assert_int_equal(reply.error, TD_ERR_VERSION);
    assert_non_null(strstr(reply.text, "9.3"));
    char own[16];
    snprintf(own, sizeof own, "%d.%d", TD_WIRE_MAJOR, TD_WIRE_MINOR);
    assert_non_null(strstr(reply.text, own));
    close(fd);
    stop();
}

static void unfit_memory_is_refused(void **state)
{
    (void)state;
    start(1, "");
    int fd = raw_greeted();
    struct td_request q = {.kind = TD_REQUEST_REGION, .id = 2};
    q.u.region.region = 1;
    q.u.region.bytes = 65536;
    assert_non_null(strstr(raw_ask(fd, q, -1).text, "no file descriptor"));

    int memory = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    assert_int_equal(fallocate(memory, 0, 0, 65536), 0);
    assert_non_null(strstr(raw_ask(fd, q, memory).text, "sealed"));
    fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK);
    q.u.region.bytes = 65537;
    assert_non_null(strstr(raw_ask(fd, q, memory).text, "65536"));

    int sparse = memfd_create("sparse", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    assert_int_equal(ftruncate(sparse, 65536), 0);
    fcntl(sparse, F_ADD_SEALS, F_SEAL_SHRINK);
    q.u.region.bytes = 65536;
    assert_non_null(strstr(raw_ask(fd, q, sparse).text, "populated"));

    int file = open("/etc/hostname", O_RDONLY | O_CLOEXEC);
    q.u.region.bytes = 1;
    assert_int_equal(raw_ask(fd, q, file).error, TD_ERR_INVALID);
    q.u.region.bytes = 65536;
    assert_int_equal(raw_ask(fd, q, memory).kind, TD_REPLY_DONE); /* the daemon still serves */
    close(memory);
    close(sparse);
    close(file);
    close(fd);
    stop();
}

static long ticks(pid_t pid)
{
    char path[64];
    long user = 0, kernel = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld",
                            &user, &kernel),
                     2);
    fclose(f);
    return user + kernel;
}

static bool readable(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1;
}

static int try_open(torus_context **c, char *why, size_t why_bytes)
{
    char path[128];
    snprintf(path, sizeof path, "%s/s0", folder);
    struct torus_open_options o = {.size = sizeof o, .socket = path};
    int error = torus_open(c, &o);
    snprintf(why, why_bytes, "%s", torus_last_error(*c));
    return error;
}

static void clients_are_refused_while_descriptors_lack(void **state)
{
    (void)state;
    enum { MOST = 128 };
    int fd[MOST], count = 0, error = TORUS_OK, with_one = 0;
    struct td_reply reply;
    const struct td_request hello = {.kind = TD_REQUEST_HELLO, .id = 1};
    descriptors = MOST;
    start(1, "");
    for (bool served = true; served; count++) {
        assert_true(count < MOST);
        fd[count] = raw_open();
        size_t size = td_wire_encode_request(&hello, bytes, sizeof bytes);
        assert_int_equal(send(fd[count], bytes, size, 0), size);
        while (!(served = readable(fd[count], 10)) && !logged(0, "cannot accept new clients"))
            continue;
        with_one = with_one ? with_one : descriptors_of(daemon_pid[0]);
    }
    assert_true(count > 10);
    assert_true(raw_reply(fd[count - 1], &reply)); /* after a pause */
    assert_int_equal(reply.error, TD_ERR_BUSY);
    assert_int_equal(reply.id, 0);
    assert_non_null(strstr(reply.text, "refused: "));
    assert_non_null(strstr(reply.text, " of 128 descriptors are in use"));
    assert_non_null(strstr(reply.text, "raise LimitNOFILE"));
    assert_false(raw_reply(fd[count - 1], &reply)); /* the connection has ended */
    char why[300];
    torus_context *c = NULL;
    assert_int_equal(try_open(&c, why, sizeof why), TORUS_ERR_BUSY); /* a process reads it */
    assert_non_null(strstr(why, " of 128 descriptors are in use"));
    torus_close(c);
    long before = ticks(daemon_pid[0]);
    int waiting = raw_open();
    assert_false(readable(waiting, 1500) && !raw_reply(waiting, &reply));
    assert_in_range(ticks(daemon_pid[0]) - before, 0, 10); /* of 150: the daemon sleeps */
    close(waiting);

    /* clients with a connection are served, also with memory */
    struct td_request q = {.kind = TD_REQUEST_REGION, .id = 2};
    q.u.region.region = 1;
    q.u.region.bytes = 65536;
    int memory = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    assert_int_equal(fallocate(memory, 0, 0, 65536), 0);
    fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK);
    assert_true(raw_reply(fd[0], &reply));
    assert_int_equal(raw_ask(fd[0], q, memory).kind, TD_REPLY_DONE);
    close(memory);

    for (int i = 0; i < count; i++)
        close(fd[i]);
    do { /* the daemon notices their ends */
        error = try_open(&c, why, sizeof why);
        if (error)
            torus_close(c);
    } while (error == TORUS_ERR_BUSY);
    assert_int_equal(error, TORUS_OK);
    while (descriptors_of(daemon_pid[0]) > with_one) /* the refused connections end, too */
        usleep(1000);
    torus_close(c);
    assert_int_equal(logged(0, "cannot accept new clients"), 1);
    stop();
}

/* The counts of an all-to-all name more bytes than its buffers have, or overflow. */
static void counts_beyond_the_buffer_are_answered(void **state)
{
    (void)state;
    static const uint64_t fits[] = {8}, more[] = {70000}, huge[] = {UINT64_MAX / 2},
                          far[] = {65530};
    static const struct {
        const uint64_t *count, *at;
        td_err error;
    } cases[] = {{more, NULL, TD_ERR_INVALID}, {huge, NULL, TD_ERR_INVALID},
                 {fits, far, TD_ERR_INVALID},  {huge, huge, TD_ERR_INVALID},
                 {NULL, NULL, TD_ERR_INVALID}, {fits, NULL, TD_OK}};
    start(1, "");
    int fd = raw_greeted(), memory = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    assert_int_equal(fallocate(memory, 0, 0, 65536), 0);
    fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK);
    struct td_request region = {.kind = TD_REQUEST_REGION, .id = 2};
    region.u.region.region = 1;
    region.u.region.bytes = 65536;
    assert_int_equal(raw_ask(fd, region, memory).kind, TD_REPLY_DONE);
    struct td_request join = {.kind = TD_REQUEST_JOIN, .id = 3};
    join.u.join.name = "raw";
    join.u.join.size = 1;
    join.u.join.timeout_ns = -1;
    struct td_reply joined = raw_ask(fd, join, -1);
    assert_int_equal(joined.kind, TD_REPLY_JOINED);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = 10 + i};
        uint32_t counts = cases[i].count ? 1 : 0, ats = cases[i].at ? 1 : 0;
        q.u.operation.group = joined.u.joined.group;
        q.u.operation.call.kind = TD_KIND_ALLTOALLV;
        q.u.operation.call.type = TD_TYPE_BYTE;
        q.u.operation.timeout_ns = -1;
        q.u.operation.source = (struct td_place){.region = 1, .bytes = 32768};
        q.u.operation.destination = (struct td_place){.region = 1, .offset = 32768, .bytes = 32768};
        q.u.operation.from = (struct td_rank_counts){cases[i].count, cases[i].at, counts, ats};
        q.u.operation.to = q.u.operation.from;
        struct td_reply reply = raw_ask(fd, q, -1);
        assert_int_equal(reply.id, 10 + i);
        if (reply.error != cases[i].error)
            fail_msg("case %zu: %d %s", i, reply.error, reply.text);
    }
    close(memory);
    close(fd);
    stop();
}

/* peer_region asks for region 1 of rank 0, and returns the descriptor that comes, or -1. */
static int peer_region(int fd, uint32_t group)
{
    struct td_request q = {.kind = TD_REQUEST_PEER_REGION, .id = 4};
    q.u.peer_region.group = group;
    q.u.peer_region.region = 1;
    struct td_reply reply;
    raw_send(fd, q, NULL, 0);
    return raw_reply_with(fd, &reply);
}

static void memory_of_another_rank_can_only_be_read(void **state)
{
    (void)state;
    enum { BYTES = 65536 };
    struct td_reply joined;
    start(1, "");
    int fd[3], memory = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    assert_int_equal(fallocate(memory, 0, 0, BYTES), 0);
    fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK);
    uint8_t *own = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    assert_true(own != MAP_FAILED);
    for (int i = 0; i < 3; i++)
        fd[i] = raw_greeted();
    struct td_request region = {.kind = TD_REQUEST_REGION, .id = 2};
    region.u.region.region = 1;
    region.u.region.bytes = BYTES;
    assert_int_equal(raw_ask(fd[0], region, memory).kind, TD_REPLY_DONE);
    for (int i = 0; i < 2; i++) {
        struct td_request join = {.kind = TD_REQUEST_JOIN, .id = 3};
        join.u.join.name = "raw";
        join.u.join.size = 2;
        join.u.join.rank = i;
        join.u.join.timeout_ns = -1;
        size_t size = td_wire_encode_request(&join, bytes, sizeof bytes);
        assert_int_equal(send(fd[i], bytes, size, 0), size);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(raw_reply(fd[i], &joined));
        assert_int_equal(joined.kind, TD_REPLY_JOINED);
    }
    assert_int_equal(peer_region(fd[2], joined.u.joined.group), -1); /* it has not joined */
    int passed = peer_region(fd[1], joined.u.joined.group);
    assert_true(passed >= 0);
    void *all = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, passed, 0);
    assert_true(all == MAP_FAILED);
    uint8_t *seen = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, passed, 0);
    assert_true(seen != MAP_FAILED);
    assert_true(mprotect(seen, BYTES, PROT_READ | PROT_WRITE) != 0);
    assert_true(write(passed, "x", 1) < 0);
    assert_true(ftruncate(passed, 4096) != 0);
    assert_true(fallocate(passed, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) != 0);
    own[5] = 77;
    assert_int_equal(seen[5], 77);
    munmap(seen, BYTES);
    munmap(own, BYTES);
    close(passed);
    close(memory);
    for (int i = 0; i < 3; i++)
        close(fd[i]);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(garbage_hurts_its_sender_alone, clean_up),
        cmocka_unit_test_teardown(other_version_is_refused_with_both_numbers, clean_up),
        cmocka_unit_test_teardown(unfit_memory_is_refused, clean_up),
        cmocka_unit_test_teardown(counts_beyond_the_buffer_are_answered, clean_up),
        cmocka_unit_test_teardown(memory_of_another_rank_can_only_be_read, clean_up),
        cmocka_unit_test_teardown(clients_are_refused_while_descriptors_lack, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
