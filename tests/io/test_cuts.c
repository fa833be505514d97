/* SPDX-License-Identifier: Apache-2.0 */
/* Real daemons on the routed fabric while links are cut and daemons die. Data that can arrive
 * arrives once and unchanged; other operations fail with the name of the missing node. Also the
 * memory of a daemon meanwhile, and the times of links. The ranks are in this process.
 *
 * test_cuts METHOD SHAPE: every link is cut, under that method of all-to-all.
 * test_cuts express: one of the connections of a link ends.
 * test_cuts connections: the connections of the daemons of a torus.
 * test_cuts deaths: daemons die, or are late.
 * test_cuts memory METHOD: the memory of daemons.
 * test_cuts times: links with a rate and a latency. */
#include "daemons.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cables.h"
#include "libtorus/status.h"

static const char *method = "auto";
static uint32_t rows = 3, across = 3;

/* ---- all-to-all, round after round ---- */

struct job {
    uint32_t ranks, round, waiting;
    size_t words; /* of a pair */
    torus_context *c[NODES_MAX];
    torus_group *g[NODES_MAX];
    torus_request *r[NODES_MAX];
    uint32_t *from[NODES_MAX], *to[NODES_MAX];
};

/* job_join joins a job with one rank on each of the nodes. */
static void job_join(struct job *j, const char *name, const uint32_t *node, uint32_t count)
{
    *j = (struct job){.ranks = count};
    for (uint32_t i = 0; i < count; i++) {
        struct torus_join_options o = as(count, (int32_t)i);
        o.name = name;
        j->c[i] = open_at(node[i]);
        assert_int_equal(torus_ijoin(j->c[i], &o, &j->g[i], &j->r[i]), TORUS_OK);
    }
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(torus_wait(j->r[i], 20 * (int64_t)SECOND), TORUS_OK);
}

static void job_alloc(struct job *j, size_t words)
{
    j->words = words;
    for (uint32_t i = 0; i < j->ranks; i++) {
        j->from[i] = torus_alloc(j->c[i], words * 4 * j->ranks);
        j->to[i] = torus_alloc(j->c[i], words * 4 * j->ranks);
        assert_non_null(j->from[i]);
        assert_non_null(j->to[i]);
    }
}

static uint32_t word(const struct job *j, uint32_t from, uint32_t to, size_t i)
{
    return ((from * 64 + to) * 1024 + j->round) * 2654435761u + (uint32_t)i;
}

static void round_begin(struct job *j)
{
    j->round++;
    for (uint32_t me = 0; me < j->ranks; me++) {
        for (uint32_t to = 0; to < j->ranks; to++)
            for (size_t i = 0; i < j->words; i++)
                j->from[me][to * j->words + i] = word(j, me, to, i);
        memset(j->to[me], 0x5a, j->words * 4 * j->ranks);
    }
    for (uint32_t i = 0; i < j->ranks; i++)
        assert_int_equal(
            torus_ialltoall(j->g[i], j->from[i], j->to[i], j->words, TORUS_INT32, &j->r[i]),
            TORUS_OK);
    j->waiting = j->ranks;
}

static void round_check(const struct job *j)
{
    for (uint32_t me = 0; me < j->ranks; me++)
        for (uint32_t from = 0; from < j->ranks; from++)
            for (size_t i = 0; i < j->words; i++)
                if (j->to[me][from * j->words + i] != word(j, from, me, i))
                    fail_msg("round %u: rank %u has something else than what rank %u sent, at %zu",
                             j->round, me, from, i);
}

/* round_turn advances the round in progress. It returns true when the round has completed with the
 * right data. */
static bool round_turn(struct job *j)
{
    for (uint32_t i = 0; i < j->ranks && j->waiting; i++) {
        if (!j->r[i])
            continue;
        int error = torus_test(j->r[i]);
        if (error == TORUS_PENDING)
            continue;
        if (error != TORUS_OK)
            fail_msg("round %u, rank %u: %s", j->round, i, torus_last_error(j->c[i]));
        j->r[i] = NULL;
        j->waiting--;
    }
    if (j->waiting == 0)
        round_check(j);
    return j->waiting == 0;
}

static void round_end(struct job *j)
{
    double until = seconds() + 60;
    while (!round_turn(j)) {
        struct pollfd p[NODES_MAX];
        for (uint32_t i = 0; i < j->ranks; i++)
            p[i] = (struct pollfd){.fd = torus_fd(j->c[i]), .events = POLLIN};
        assert_true(seconds() < until);
        poll(p, j->ranks, 1000);
    }
}

/* ---- cuts ---- */

/* carry runs rounds until the way has carried data of them. */
static void carry(struct job *j, uint32_t way)
{
    enum { BYTES = 50000 };
    double until = seconds() + 20;
    while (cables_carried(way) < BYTES) {
        if (seconds() > until)
            fail_msg("way %u carries nothing", way);
        if (round_turn(j))
            round_begin(j);
        poll(NULL, 0, 1);
    }
}

/* resumes sums up the resumptions of a node's links, and counts the links that have resumed. */
static void resumes(uint32_t node, uint64_t *sum, uint32_t *links)
{
    struct td_reply reply;
    torus_context *c = open_at(node);
    assert_int_equal(tl_status_page(c, TD_STATUS_QUEUES, 0, &reply), TORUS_OK);
    *sum = *links = 0;
    for (uint32_t i = 1; i < reply.u.status.rows; i++) {
        uint64_t count = reply.u.status.row[i].u.direction.number[TD_WAY_RESUMES];
        *sum += count;
        *links += count > 0;
    }
    torus_close(c);
}

static void every_link_is_cut_while_all_to_alls_go_on(void **state)
{
    char more[400];
    struct job j;
    uint32_t node[NODES_MAX];
    (void)state;
    columns = across;
    prepare(rows * across);
    cables_lay();
    snprintf(more, sizeof more,
             "[torus]\nfabric = routed\nalltoall = %s\nslots = 3\n[network]\npacket = 16KiB\n"
             "heartbeat = 10s\n[alltoall]\nrelay = 1MiB\n",
             method);
    start_all(more);
    for (uint32_t n = 0; n < nodes; n++)
        node[n] = n;
    job_join(&j, "job", node, nodes);
    job_alloc(&j, 65536);
    round_begin(&j);
    for (uint32_t i = 0; i < cables_count(); i += 2) {
        carry(&j, i);
        carry(&j, i + 1);
        cables_cut(i); /* one way, while the other stays up, */
        if (i % 4)
            cables_cut(i + 1); /* or both */
        cables_mend(i);
        cables_mend(i + 1);
        carry(&j, i);
        carry(&j, i + 1);
        if (i % 4 == 0)
            cables_cut(i + 1);
        cables_mend(i + 1);
    }
    round_end(&j);
    uint64_t all = 0;
    for (uint32_t n = 0; n < nodes; n++) {
        uint64_t sum = 0;
        uint32_t links = 0;
        resumes(n, &sum, &links);
        assert_int_equal(links, 4);
        all += sum;
    }
    assert_true(all >= cables_count());
    print_message("%s: %u ways cut in %u rounds; sessions went on %llu times\n", method,
                  cables_count(), j.round, (unsigned long long)all);
    close_all(j.c, j.ranks);
    stop();
}

/* all_resumes sums up the resumptions of the links of all nodes. */
static uint64_t all_resumes(void)
{
    uint64_t all = 0;
    for (uint32_t n = 0; n < nodes; n++) {
        uint64_t sum = 0;
        uint32_t links = 0;
        resumes(n, &sum, &links);
        all += sum;
    }
    return all;
}

/* The end of an express path ends its link, whose session resumes on new connections. */
static void every_express_path_ends_while_operations_go_on(void **state)
{
    struct job j;
    uint32_t node[NODES_MAX], ended = 0;
    (void)state;
    columns = 3;
    prepare(9);
    cables_lay();
    start_all("[torus]\nfabric = routed\n[network]\nheartbeat = 10s\n");
    for (uint32_t n = 0; n < nodes; n++)
        node[n] = n;
    job_join(&j, "job", node, nodes);
    job_alloc(&j, 64);
    round_begin(&j);
    round_end(&j);
    for (uint32_t i = 0; i < cables_count(); i++) {
        if (!cables_snap(i))
            continue;
        ended++;
        round_begin(&j);
        double until = seconds() + 20;
        while (all_resumes() < ended) {
            assert_true(seconds() < until);
            if (round_turn(&j))
                round_begin(&j);
        }
        round_end(&j);
    }
    assert_true(ended >= 2 * (nodes - 1)); /* both ways of each edge of the tree */
    print_message("%u express paths ended in %u rounds\n", ended, j.round);
    close_all(j.c, j.ranks);
    stop();
}

/* A daemon is ready for ranks before its links are up. The host of a daemon that is just starting
 * refuses connections. */
static void a_link_that_comes_up_late_is_waited_for(void **state)
{
    struct job j;
    uint32_t node[NODES_MAX], way = 0, from = 0, to = 0;
    (void)state;
    columns = 3;
    prepare(9);
    cables_lay();
    for (way = 0; from != 4 || to != 5; way++) /* the way of no tree message */
        cables_way(way, &from, &to);
    cables_block(--way);
    start_all("[torus]\nfabric = routed\n[network]\nheartbeat = 10s\n");
    for (uint32_t n = 0; n < nodes; n++)
        node[n] = n;
    wait_logged(4, "no link to node 5 yet");
    job_join(&j, "job", node, nodes);
    job_alloc(&j, 16384);
    round_begin(&j);
    cables_cut(way); /* another attempt failed */
    cables_mend(way);
    round_end(&j);
    close_all(j.c, j.ranks);
    stop();
}

/* ---- deaths ---- */

/* sent returns the bytes that a node has sent in a direction: 0 is + in dimension 0. */
static uint64_t sent(uint32_t node, uint32_t direction)
{
    struct td_reply reply;
    torus_context *c = open_at(node);
    uint64_t bytes = 0;
    assert_int_equal(tl_status_page(c, TD_STATUS_QUEUES, 0, &reply), TORUS_OK);
    for (uint32_t i = 1; i < reply.u.status.rows; i++)
        if (reply.u.status.row[i].u.direction.direction == direction)
            bytes = reply.u.status.row[i].u.direction.number[TD_WAY_BYTES];
    torus_close(c);
    return bytes;
}

/* round_fails waits until the round has ended with the error and the words on every rank. */
static void round_fails(struct job *j, int error, const char *words)
{
    for (uint32_t i = 0; i < j->ranks; i++) {
        assert_int_equal(torus_wait(j->r[i], 20 * (int64_t)SECOND), error);
        assert_says(j->c[i], words);
    }
    j->waiting = 0;
}

/* job_works checks that a new job of these nodes completes an all-to-all. */
static void job_works(const char *name, const uint32_t *node, uint32_t count, size_t words)
{
    struct job j;
    job_join(&j, name, node, count);
    job_alloc(&j, words);
    round_begin(&j);
    round_end(&j);
    close_all(j.c, count);
}

/* Node 1 is (0,1). Data between (0,0) and (1,1) passes through it, or through (1,0). */
static void death_of_a_transit_daemon_is_told_to_those_who_send_through_it(void **state)
{
    struct job through, around, guests;
    const uint32_t live[] = {0, 2, 3, 4, 5, 6, 7, 8}, all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    (void)state;
    columns = 3;
    start(9, "[torus]\nfabric = routed\nlink_rate = 4MB/s\n[network]\npacket = 16KiB\n"
             "[limits]\nprogress_timeout = 2s\n"); /* and then all daemons vote */
    job_join(&through, "through", (const uint32_t[]){0, 4}, 2);
    job_join(&around, "around", (const uint32_t[]){6, 7, 8}, 3);
    job_join(&guests, "guests", (const uint32_t[]){2, 1}, 2);
    job_alloc(&through, 4 << 20); /* some seconds */
    job_alloc(&around, 1 << 18);
    job_alloc(&guests, 4 << 20);
    round_begin(&through);
    round_begin(&around);
    round_begin(&guests);
    double until = seconds() + 20;
    while (sent(1, 0) == 0) /* to node 4: only node 0 sends that */
        assert_true(seconds() < until);
    kill(daemon_pid[1], SIGKILL);
    waitpid(daemon_pid[1], NULL, 0);
    round_fails(&through, TORUS_ERR_NODE_FAILED, "node 1 (0,1)");
    assert_int_equal(torus_wait(guests.r[0], 20 * (int64_t)SECOND), TORUS_ERR_NODE_FAILED);
    assert_says(guests.c[0], "node 1 (0,1)");
    assert_int_equal(torus_wait(guests.r[1], 20 * (int64_t)SECOND), TORUS_ERR_SHUTDOWN);
    round_end(&around);
    round_begin(&around);
    round_end(&around);
    close_all(through.c, 2);
    close_all(around.c, 3);
    close_all(guests.c, 2);

    job_works("live", live, 8, 1 << 16);
    job_works("again", (const uint32_t[]){0, 4}, 2, 1 << 20); /* control messages carry the data */
    start_daemon(1);
    wait_ready(1);
    job_works("all", all, 9, 16384);
    stop();
}

/* ---- memory ---- */

/* proc_kib returns a line of /proc/PID/status, in KiB. */
static uint64_t proc_kib(pid_t pid, const char *name)
{
    char path[64], line[256];
    unsigned long long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0)
            sscanf(line + strlen(name), ": %llu", &kib);
    fclose(f);
    return kib;
}

/* shared_kib returns the memory that a daemon shares with the ranks, and that of files. */
static uint64_t shared_kib(pid_t pid)
{
    return proc_kib(pid, "RssShmem") + proc_kib(pid, "RssFile");
}

/* forget_peak resets VmHWM. */
static void forget_peak(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/clear_refs", (int)pid);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs("5", f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* peak_kib returns the greatest amount of private memory of any daemon during a round. The round
 * before it has touched all shared memory, so the shared memory does not change meanwhile. */
static uint64_t peak_kib(size_t words)
{
    struct job j;
    uint32_t node[NODES_MAX];
    uint64_t most = 0;
    for (uint32_t n = 0; n < nodes; n++)
        node[n] = n;
    job_join(&j, "job", node, nodes);
    job_alloc(&j, words);
    round_begin(&j);
    round_end(&j);
    for (uint32_t n = 0; n < nodes; n++)
        forget_peak(daemon_pid[n]);
    round_begin(&j);
    round_end(&j);
    for (uint32_t n = 0; n < nodes; n++) {
        uint64_t own = proc_kib(daemon_pid[n], "VmHWM") - shared_kib(daemon_pid[n]);
        most = own > most ? own : most;
    }
    close_all(j.c, nodes);
    return most;
}

/* slots_kept checks that no channel of a daemon ever held more packets than its slots. */
static void slots_kept(uint32_t node, uint64_t slots)
{
    struct td_reply reply;
    torus_context *c = open_at(node);
    assert_int_equal(tl_status_page(c, TD_STATUS_QUEUES, 0, &reply), TORUS_OK);
    for (int i = 0; i < 3; i++)
        assert_in_range(reply.u.status.row[0].u.router.number[TD_QUEUES_HELD_MAX + i], 0, slots);
    assert_in_range(reply.u.status.row[0].u.router.number[TD_QUEUES_HELD_MAX], 1, slots);
    torus_close(c);
}

/* The bound of a daemon's private memory: twice as many packets as its channels have slots, because
 * a forwarded packet is kept until the neighbour has it; the relay; and the rest: the daemon's
 * state, ZeroMQ's memory of each connection, and memory that malloc keeps. */
static void memory_does_not_grow_with_the_message(void **state)
{
    enum { PACKET_KIB = 16, SLOTS = 3, CHANNELS = 4 * 3, RELAY_KIB = 1024, REST_KIB = 8192 };
    const uint64_t held = 2 * CHANNELS * SLOTS * PACKET_KIB, bound = held + RELAY_KIB + REST_KIB;
    char more[300];
    (void)state;
    columns = 4;
    snprintf(more, sizeof more,
             "[torus]\nfabric = routed\nalltoall = %s\nslots = %d\n[network]\npacket = %dKiB\n"
             "[alltoall]\nrelay = %dKiB\n",
             method, SLOTS, PACKET_KIB, RELAY_KIB);
    start(16, more);
    uint64_t few = peak_kib(64 << 8), many = peak_kib(1024 << 8);
    print_message("%s: at most %llu KiB with 64 KiB a pair, %llu KiB with 1 MiB a pair; %llu is "
                  "the bound\n",
                  method, (unsigned long long)few, (unsigned long long)many,
                  (unsigned long long)bound);
    assert_in_range(many, 1, bound);
    assert_in_range(many, 1, few + held + 1024); /* the heap settles; 15 MiB more pass through it */
    for (uint32_t n = 0; n < nodes; n++)
        slots_kept(n, SLOTS);
    stop();
}

/* ---- time ---- */

/* On a ring of four, nodes 0 and 2 are two hops apart. */
static void packets_are_not_there_before_rate_and_latency_allow(void **state)
{
    enum { HOPS = 2, PACKET_BYTES = 65536 };
    const double rate = 1e6, latency_s = 0.1;
    struct job j;
    (void)state;
    start(4, "[torus]\nfabric = routed\nlink_rate = 1MB/s\nlink_latency = 100ms\n"
             "[network]\npacket = 64KiB\n");
    job_join(&j, "job", (const uint32_t[]){0, 2}, 2);
    job_alloc(&j, PACKET_BYTES / 4);
    double begun = seconds();
    round_begin(&j);
    round_end(&j);
    assert_true(seconds() - begun >= HOPS * (PACKET_BYTES / rate + latency_s));
    close_all(j.c, 2);
    stop();
}

/* ---- connections ---- */

/* connections counts the established connections to one of a daemon's Unix sockets, as the kernel
 * lists them. */
static unsigned connections(uint32_t node, const char *suffix)
{
    char path[128], line[256];
    unsigned count = 0;
    snprintf(path, sizeof path, " %s/p%u%s\n", folder, node, suffix);
    FILE *f = fopen("/proc/net/unix", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        unsigned state = 0;
        size_t length = strlen(line), end = strlen(path);
        bool named = length > end && strcmp(line + length - end, path) == 0;
        if (named && sscanf(line, "%*s %*s %*s %*s %*s %u", &state) == 1)
            count += state == 3; /* SS_CONNECTED; 1 is the listener */
    }
    fclose(f);
    return count;
}

/* Whatever the traffic, a daemon of a torus has the connections of its four neighbours, for
 * messages, for packets and, to neighbours in trees, the express path, and no others. */
static void daemons_connect_to_torus_neighbours_only(void **state)
{
    static const char *const methods[] = {"random", "phased", "pairwise", "two-phase"};
    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        char more[200];
        struct job j;
        bool express = i % 2 == 0;
        unsigned streams = 0;
        uint32_t node[NODES_MAX];
        torus_group *half[NODES_MAX], *left[NODES_MAX];
        torus_request *r[NODES_MAX];
        columns = 4;
        snprintf(more, sizeof more,
                 "[torus]\nfabric = routed\nalltoall = %s\n[network]\nexpress = %s\n", methods[i],
                 express ? "yes" : "no");
        start(16, more);
        for (uint32_t n = 0; n < nodes; n++)
            node[n] = n;
        job_join(&j, "job", node, nodes);
        job_alloc(&j, 4096);
        round_begin(&j);
        round_end(&j);
        for (uint32_t n = 0; n < nodes; n++)
            assert_int_equal(torus_isplit(j.g[n], (int32_t)(n % 3), (int32_t)n, &half[n], &r[n]),
                             TORUS_OK);
        for (uint32_t n = 0; n < nodes; n++)
            assert_int_equal(torus_wait(r[n], 20 * (int64_t)SECOND), TORUS_OK);
        barrier_all(half, nodes);
        torus_close(j.c[nodes - 1]);
        for (uint32_t n = 0; n + 1 < nodes; n++)
            assert_int_equal(torus_ishrink(j.g[n], &left[n], &r[n]), TORUS_OK);
        for (uint32_t n = 0; n + 1 < nodes; n++)
            assert_int_equal(torus_wait(r[n], 20 * (int64_t)SECOND), TORUS_OK);
        barrier_all(left, nodes - 1);
        for (uint32_t n = 0; n < nodes; n++) {
            assert_int_equal(connections(n, ""), 4);
            assert_in_range(connections(n, ".bulk"), 4, express ? 8 : 4);
            streams += connections(n, ".bulk");
        }
        assert_in_range(streams, express ? 4 * nodes + 2 * (nodes - 1) : 4 * nodes, 8 * nodes);
        close_all(j.c, nodes - 1);
        stop();
        clean_up(NULL);
    }
}

static int tear_down(void **state)
{
    clean_up(state);
    cables_remove();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest cuts[] = {
        cmocka_unit_test_teardown(every_link_is_cut_while_all_to_alls_go_on, tear_down),
    };
    const struct CMUnitTest deaths[] = {
        cmocka_unit_test_teardown(a_link_that_comes_up_late_is_waited_for, tear_down),
        cmocka_unit_test_teardown(death_of_a_transit_daemon_is_told_to_those_who_send_through_it,
                                  tear_down),
    };
    const struct CMUnitTest times[] = {
        cmocka_unit_test_teardown(packets_are_not_there_before_rate_and_latency_allow, tear_down),
    };
    if (argc > 1 && strcmp(argv[1], "times") == 0)
        return cmocka_run_group_tests(times, NULL, NULL);
    const struct CMUnitTest memory[] = {
        cmocka_unit_test_teardown(memory_does_not_grow_with_the_message, tear_down),
    };
    if (argc > 2 && strcmp(argv[1], "memory") == 0) {
        method = argv[2];
        return cmocka_run_group_tests(memory, NULL, NULL);
    }
    const struct CMUnitTest neighbours[] = {
        cmocka_unit_test_teardown(daemons_connect_to_torus_neighbours_only, clean_up),
    };
    if (argc > 1 && strcmp(argv[1], "connections") == 0)
        return cmocka_run_group_tests(neighbours, NULL, NULL);
    const struct CMUnitTest paths[] = {
        cmocka_unit_test_teardown(every_express_path_ends_while_operations_go_on, tear_down),
    };
    if (argc > 1 && strcmp(argv[1], "express") == 0)
        return cmocka_run_group_tests(paths, NULL, NULL);
    if (argc > 1 && strcmp(argv[1], "deaths") == 0)
        return cmocka_run_group_tests(deaths, NULL, NULL);
    if (argc > 1)
        method = argv[1];
    if (argc > 2 && (sscanf(argv[2], "%ux%u", &rows, &across) != 2 || rows * across > NODES_MAX))
        return 2;
    return cmocka_run_group_tests(cuts, NULL, NULL);
}
