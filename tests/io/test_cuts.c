/* SPDX-License-Identifier: Apache-2.0 */
/* Real daemons on the routed fabric while links are cut and daemons die: what can arrive does, once
 * and unchanged; what cannot fails with the name of the node that is missing. And what a daemon
 * holds meanwhile. The ranks live in this process.
 *
 * test_cuts METHOD SHAPE: every link is cut, under that method of all-to-all.
 * test_cuts deaths: daemons die. */
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

/* job_join makes a job with a rank on each of the nodes. */
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

/* round_turn looks at the round under way; true: it is over, and was right. */
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

/* carry lets rounds go on until the way has carried something of them. */
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

/* resumes adds up how often the links of a node went on where they had been cut, and of how many of
 * them that is so. */
static void resumes(uint32_t node, uint64_t *sum, uint32_t *links)
{
    struct td_reply reply;
    torus_context *c = open_at(node);
    assert_int_equal(tl_status_page(c, TD_STATUS_QUEUES, 0, &reply), TORUS_OK);
    *sum = *links = 0;
    for (uint32_t i = 1; i < reply.u.status.rows; i++) {
        uint64_t count = reply.u.status.row[i].number[TD_WAY_RESUMES];
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
    print_message("%s: %u ways cut in %u rounds; sessions went on %llu times\n", method,
                  cables_count(), j.round, (unsigned long long)all);
    close_all(j.c, j.ranks);
    stop();
}

/* ---- deaths ---- */

/* sent returns the bytes that a node has sent in a direction: 0 is up in dimension 0. */
static uint64_t sent(uint32_t node, uint32_t direction)
{
    struct td_reply reply;
    torus_context *c = open_at(node);
    uint64_t bytes = 0;
    assert_int_equal(tl_status_page(c, TD_STATUS_QUEUES, 0, &reply), TORUS_OK);
    for (uint32_t i = 1; i < reply.u.status.rows; i++)
        if (reply.u.status.row[i].group == direction)
            bytes = reply.u.status.row[i].number[TD_WAY_BYTES];
    torus_close(c);
    return bytes;
}

/* round_fails waits until the round has ended with the error on every rank, with the words. */
static void round_fails(struct job *j, int error, const char *words)
{
    for (uint32_t i = 0; i < j->ranks; i++) {
        assert_int_equal(torus_wait(j->r[i], 20 * (int64_t)SECOND), error);
        assert_says(j->c[i], words);
    }
    j->waiting = 0;
}

/* job_works: a new job of these nodes has its all-to-all done. */
static void job_works(const char *name, const uint32_t *node, uint32_t count)
{
    struct job j;
    job_join(&j, name, node, count);
    job_alloc(&j, 16384);
    round_begin(&j);
    round_end(&j);
    close_all(j.c, count);
}

/* job_attempt: whether a new job of these nodes has its all-to-all done; else it fails with the
 * words. */
static bool job_attempt(const uint32_t *node, uint32_t count, const char *words)
{
    struct job j;
    bool good = true;
    job_join(&j, "attempt", node, count);
    job_alloc(&j, 1024);
    round_begin(&j);
    for (uint32_t i = 0; i < count; i++) {
        int error = torus_wait(j.r[i], 20 * (int64_t)SECOND);
        good = good && error == TORUS_OK;
        if (error != TORUS_OK)
            assert_says(j.c[i], words);
    }
    close_all(j.c, count);
    return good;
}

/* Node 1 is (0,1). What (0,0) and (1,1) have for each other goes through it, or through (1,0). */
static void death_of_a_transit_daemon_is_told_to_those_who_send_through_it(void **state)
{
    struct job through, around, guests;
    const uint32_t live[] = {3, 4, 5, 6, 7, 8}, all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    (void)state;
    columns = 3;
    start(9, "[torus]\nfabric = routed\nlink_rate = 4MB/s\n[network]\npacket = 16KiB\n");
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
    while (sent(1, 0) == 0) /* to node 4: that can only be from node 0 */
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

    job_works("live", live, 6); /* no shortest way of theirs leads through row 0 */
    job_join(&through, "again", (const uint32_t[]){0, 4}, 2);
    job_alloc(&through, 1 << 16);
    round_begin(&through);
    round_fails(&through, TORUS_ERR_NODE_FAILED, "node 1 (0,1)");
    close_all(through.c, 2);

    start_daemon(1);
    wait_ready(1);
    for (until = seconds() + 20; !job_attempt(all, 9, "node 1 (0,1)");) /* news of it spreads */
        assert_true(seconds() < until);
    job_works("all", all, 9);
    stop();
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
        cmocka_unit_test_teardown(death_of_a_transit_daemon_is_told_to_those_who_send_through_it,
                                  tear_down),
    };
    if (argc > 1 && strcmp(argv[1], "deaths") == 0)
        return cmocka_run_group_tests(deaths, NULL, NULL);
    if (argc > 1)
        method = argv[1];
    if (argc > 2 && (sscanf(argv[2], "%ux%u", &rows, &across) != 2 || rows * across > NODES_MAX))
        return 2;
    return cmocka_run_group_tests(cuts, NULL, NULL);
}
