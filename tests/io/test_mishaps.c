/* SPDX-License-Identifier: Apache-2.0 */
/* Real daemons and failures. Each test starts its own daemons in a folder of its own. It checks
 * that the ranks concerned get a clear error, that no others do, and that nothing is left. Several
 * ranks are in this process, each with its own context. */
#include "daemons.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void readiness_is_told_when_the_daemon_serves(void **state)
{
    (void)state;
    start(1, "");
    torus_close(open_at(0)); /* ready means that a client is served at once */
    assert_string_equal(status_line,
                        "node 0 (0) of 1: 0 of 0 peers up, 0 clients, 0 groups, 0 operations");
    stop();
}

static void status_says_where_the_node_is_and_what_it_does(void **state)
{
    (void)state;
    torus_context *c[4];
    torus_group *g[4];
    torus_request *r = NULL;
    columns = 2;
    start(4, "");
    join_all(c, g, 4);
    wait_status("node 2 (1,0) of 2x2: 1 of 1 peers up, 1 client, 1 group, 0 operations");
    assert_int_equal(torus_ibarrier(g[2], &r), TORUS_OK);
    wait_status("node 2 (1,0) of 2x2: 1 of 1 peers up, 1 client, 1 group, 1 operation");
    torus_close(c[2]);
    wait_status("node 2 (1,0) of 2x2: 1 of 1 peers up, 0 clients, 0 groups, 0 operations");
    torus_close(c[0]);
    torus_close(c[1]);
    torus_close(c[3]);
    stop();
}

/* The service manager shows the last line of a unit that has stopped. */
static void the_last_status_of_a_daemon_is_that_it_has_stopped(void **state)
{
    (void)state;
    bool drains = false;
    start(1, "");
    torus_context *c = open_at(0);
    kill(daemon_pid[0], SIGTERM);
    wait_status("stopped");
    while (hears(0, "STATUS=", &drains))
        assert_false(drains);
    torus_close(c);
    stop();
}

static void absent_daemon_is_named_with_what_to_do(void **state)
{
    (void)state;
    torus_context *c = NULL;
    struct torus_open_options o = {.size = sizeof o, .socket = "/tmp/no/such.sock"};
    assert_int_equal(torus_open(&c, &o), TORUS_ERR_NO_DAEMON);
    assert_says(c, "/tmp/no/such.sock");
    assert_says(c, "systemctl start torusd");
    torus_close(c);
}

/* A user who is not in the group of the socket is not told to start a daemon. A process of root
 * must become another user to be refused. */
static void a_socket_that_a_user_may_not_use_is_named_as_such(void **state)
{
    (void)state;
    char closed[] = "/tmp/torus-closed.XXXXXX";
    assert_non_null(mkdtemp(closed));
    char path[64];
    snprintf(path, sizeof path, "%s/s", closed);
    assert_int_equal(chmod(closed, 0), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        torus_context *c = NULL;
        struct torus_open_options o = {.size = sizeof o, .socket = path};
        bool well = (geteuid() != 0 || setuid(65534) == 0) &&
                    torus_open(&c, &o) == TORUS_ERR_PERMISSION &&
                    strstr(torus_last_error(c), "may not connect to torusd at") &&
                    !strstr(torus_last_error(c), "Start one");
        torus_close(c);
        _exit(well ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(rmdir(closed), 0);
    assert_int_equal(status, 0);
}

static void rank_taken_and_rank_out_of_range_are_refused(void **state)
{
    (void)state;
    torus_context *a = NULL, *b = NULL;
    torus_group *ga = NULL, *gb = NULL;
    torus_request *r = NULL;
    start(2, "");
    a = open_at(0);
    b = open_at(1);
    struct torus_join_options o = as(2, 0), out = as(2, 2);
    assert_int_equal(torus_ijoin(a, &o, &ga, &r), TORUS_OK);
    assert_int_equal(torus_wait(r, SECOND / 10), TORUS_PENDING);
    assert_int_equal(torus_join(b, &o, &gb), TORUS_ERR_RANK_TAKEN);
    assert_says(b, "rank 0 of job job is taken by process");
    assert_says(b, "give this process another rank or job");
    assert_int_equal(torus_join(b, &out, &gb), TORUS_ERR_INVALID);
    assert_says(b, "rank 2 is not in a job of size 2: ranks are 0 to 1 (TORUS_RANK)");
    o = as(2, 1);
    assert_int_equal(torus_join(b, &o, &gb), TORUS_OK);
    assert_int_equal(torus_wait(r, -1), TORUS_OK);
    torus_close(a);
    torus_close(b);
    stop();
}

static void ranks_that_do_not_join_are_named(void **state)
{
    (void)state;
    torus_group *g = NULL;
    start(2, "");
    torus_context *c = open_at(1);
    struct torus_join_options o = as(4, 2);
    o.timeout_ns = SECOND / 5;
    assert_int_equal(torus_join(c, &o, &g), TORUS_ERR_TIMEOUT);
    assert_says(c, "ranks 0-1, 3");
    torus_close(c);
    stop();
}

static void different_operations_are_named_on_both_sides(void **state)
{
    (void)state;
    torus_context *c[3];
    torus_group *g[3];
    torus_request *r[3];
    double x[3] = {1, 2, 3};
    start(3, "");
    join_all(c, g, 3);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            torus_iallreduce(g[i], TORUS_IN_PLACE, &x[i], 1, TORUS_DOUBLE, TORUS_SUM, &r[i]),
            TORUS_OK);
    assert_int_equal(torus_ibarrier(g[2], &r[2]), TORUS_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(torus_wait(r[i], 10 * (int64_t)SECOND), TORUS_ERR_MISMATCH);
        assert_says(c[i], "rank 2 called barrier");
        assert_says(c[i], "allreduce(sum, double, 1)");
    }
    barrier_all(g, 3); /* the group continues */
    close_all(c, 3);
    stop();
}

static void late_ranks_are_named(void **state)
{
    (void)state;
    torus_context *c[4];
    torus_group *g[4];
    start(2, "");
    join_all(c, g, 4);
    torus_set_timeout(g[0], SECOND / 5);
    assert_int_equal(torus_barrier(g[0]), TORUS_ERR_TIMEOUT);
    assert_says(c[0], "ranks 1-3");
    for (int i = 1; i < 4; i++)
        assert_int_equal(torus_barrier(g[i]), TORUS_ERR_TIMEOUT); /* the recorded verdict */
    barrier_all(g, 4);
    close_all(c, 4);
    stop();
}

static void death_of_a_client_is_told_to_its_job_alone(void **state)
{
    (void)state;
    torus_context *c[2], *other[2];
    torus_group *g[2], *other_g[2];
    torus_request *r = NULL;
    int pipe_fd[2];
    start(2, "");
    assert_int_equal(pipe(pipe_fd), 0);
    pid_t child = fork();
    if (child == 0) { /* rank 1 of a job of two: joins, reports, and waits to be killed */
        torus_group *mine = NULL;
        struct torus_join_options o = as(2, 1);
        char done = torus_join(open_at(1), &o, &mine) == TORUS_OK ? 'y' : 'n';
        if (write(pipe_fd[1], &done, 1) == 1)
            pause();
        _exit(0);
    }
    char joined = 'n';
    struct torus_join_options o = as(2, 0);
    c[0] = open_at(0);
    assert_int_equal(torus_join(c[0], &o, &g[0]), TORUS_OK);
    assert_int_equal(read(pipe_fd[0], &joined, 1), 1);
    assert_int_equal(joined, 'y');
    for (int i = 0; i < 2; i++) {
        struct torus_join_options elsewhere = as(2, i);
        torus_request *join_request = NULL;
        elsewhere.name = "other";
        other[i] = open_at((uint32_t)i);
        assert_int_equal(torus_ijoin(other[i], &elsewhere, &other_g[i], &join_request), TORUS_OK);
        if (i == 0)
            r = join_request;
        else
            assert_int_equal(torus_wait(join_request, -1), TORUS_OK);
    }
    assert_int_equal(torus_wait(r, -1), TORUS_OK);
    assert_int_equal(torus_ibarrier(g[0], &r), TORUS_OK);
    kill(child, SIGKILL);
    assert_int_equal(torus_wait(r, 10 * (int64_t)SECOND), TORUS_ERR_RANK_FAILED);
    assert_says(c[0], "rank 1 of job job died");
    assert_int_equal(torus_barrier(g[0]), TORUS_ERR_RANK_FAILED);
    assert_int_equal(logged(0, "job job of user "), 1);
    assert_int_equal(logged(0, " formed: 2 ranks"), 2);
    assert_int_equal(logged(0, "RANK_FAILED: rank 1 of job job died"), 1);
    assert_int_equal(logged(0, "operation 0 of job job failed after "), 1);
    assert_int_equal(logged(0, "RANK_FAILED, told to process "), 0); /* it is the same sentence */
    assert_int_equal(logged(1, "torusd[1]: rank 1 of job job died: process "), 1);
    assert_int_equal(logged(0, "job other of user "), 1);
    barrier_all(other_g, 2);
    waitpid(child, NULL, 0);
    close(pipe_fd[0]);
    close(pipe_fd[1]);
    torus_close(c[0]);
    close_all(other, 2);
    stop();
}

static void death_of_a_daemon_is_told_at_once(void **state)
{
    (void)state;
    torus_context *c[4];
    torus_group *g[4];
    torus_request *r[4];
    start(4, "[limits]\nprogress_timeout = 2s\n"); /* and then all daemons vote */
    join_all(c, g, 4);
    for (int i = 0; i < 3; i++)
        assert_int_equal(torus_ibarrier(g[i], &r[i]), TORUS_OK);
    double at = seconds();
    kill(daemon_pid[3], SIGKILL);
    waitpid(daemon_pid[3], NULL, 0);
    daemon_pid[3] = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_ERR_NODE_FAILED);
        assert_says(c[i], "node 3 (3)");
    }
    assert_true(seconds() - at < 5);
    assert_int_equal(torus_barrier(g[3]), TORUS_ERR_SHUTDOWN);
    close_all(c, 4);
    stop();
}

static void silent_daemon_is_given_up_after_progress_timeout(void **state)
{
    (void)state;
    torus_context *c[3];
    torus_group *g[3];
    torus_request *r[3];
    start(3, "[network]\nheartbeat = 200ms\n[limits]\nprogress_timeout = 1s\n");
    join_all(c, g, 3);
    kill(daemon_pid[2], SIGSTOP);
    for (int i = 0; i < 2; i++)
        assert_int_equal(torus_ibarrier(g[i], &r[i]), TORUS_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(torus_wait(r[i], 10 * (int64_t)SECOND), TORUS_ERR_NODE_FAILED);
        assert_says(c[i], "node 2 (2)");
    }
    kill(daemon_pid[2], SIGCONT);
    close_all(c, 3);
    stop();
}

static void daemon_that_comes_back_serves_new_jobs(void **state)
{
    (void)state;
    torus_context *c[3];
    torus_group *g[3];
    start(3, "[limits]\nprogress_timeout = 2s\n"); /* and then all daemons vote */
    join_all(c, g, 3);
    kill(daemon_pid[1], SIGKILL);
    waitpid(daemon_pid[1], NULL, 0);
    assert_int_equal(torus_barrier(g[0]), TORUS_ERR_NODE_FAILED);
    close_all(c, 3);
    torus_context *early = open_at(0);
    struct torus_join_options o = as(3, 0);
    o.timeout_ns = SECOND / 2; /* several attempts to connect fail meanwhile */
    assert_int_equal(torus_join(early, &o, &g[0]), TORUS_ERR_TIMEOUT);
    torus_close(early);
    start_daemon(1);
    wait_ready(1);
    join_all(c, g, 3);
    barrier_all(g, 3);
    assert_int_equal(logged(0, "link to node 1 is down"), 1);
    wait_logged(0, "node 1 is up");
    assert_true(logged(0, "no link to node 1 yet") <= 1); /* at the start of all */
    close_all(c, 3);
    stop();
}

/* Each attempt at a link that goes down often waits longer than the one before it. */
static void daemon_that_is_restarted_often_is_connected_when_it_starts(void **state)
{
    (void)state;
    enum { RESTARTS = 10 };
    torus_context *c[2];
    torus_group *g[2];
    double waited = 0;
    start(2, "");
    for (int i = 0; i < RESTARTS; i++) {
        join_all(c, g, 2);
        close_all(c, 2);
        kill(daemon_pid[1], SIGKILL);
        waitpid(daemon_pid[1], NULL, 0);
        start_daemon(1);
        wait_ready(1);
        double at = seconds();
        join_all(c, g, 2);
        waited += seconds() - at;
        close_all(c, 2);
    }
    assert_true(waited < 3); /* the pauses sum up to 6 s */
    stop();
}

static void daemon_with_other_settings_is_refused_in_one_line(void **state)
{
    (void)state;
    start(2, "");
    kill(daemon_pid[1], SIGTERM);
    waitpid(daemon_pid[1], NULL, 0);
    write_config(1, "[limits]\nprogress_timeout = 29s\n");
    start_daemon(1);
    wait_ready(1);
    wait_logged(0, "rejected the handshake of node 1: [limits] progress_timeout is");
    wait_logged(1, "node 0: it rejected the handshake: [limits] progress_timeout is");
    torus_close(open_at(0)); /* all other messages are in the log */
    assert_int_equal(logged(0, "rejected the handshake of"), 1); /* of two handshakes */
    assert_int_equal(logged(1, "it rejected the handshake"), 1);
    stop();
}

/* start_refused starts one more daemon with node 0's configuration, which must end by itself. */
static void start_refused(const char *words)
{
    int code = 0;
    pid_t first = daemon_pid[0];
    start_daemon(0);
    assert_int_equal(waitpid(daemon_pid[0], &code, 0), daemon_pid[0]);
    daemon_pid[0] = first;
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 1);
    if (logged(0, words) != 1)
        fail_msg("the log does not say '%s'", words);
}

static void second_daemon_is_told_who_has_its_sockets(void **state)
{
    char words[200], path[128];
    (void)state;
    start(2, "");
    snprintf(words, sizeof words, "torusd (process %d) serves %s/s0: stop it", (int)daemon_pid[0],
             folder);
    start_refused(words);
    torus_close(open_at(0)); /* the first one still serves */
    snprintf(path, sizeof path, "%s/s0", folder);
    kill(daemon_pid[0], SIGSTOP); /* it would make its socket again */
    unlink(path);
    snprintf(words, sizeof words, "peers on ipc://%s/p0: torusd (process %d) serves", folder,
             (int)daemon_pid[0]);
    start_refused(words);
    int fd = open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    start_refused("is not a socket");
    assert_int_equal(access(path, F_OK), 0);
    close(fd);
    unlink(path); /* a file of others, which the first one leaves alone */
    kill(daemon_pid[0], SIGCONT);
    stop();
}

static void forked_child_is_refused(void **state)
{
    (void)state;
    start(1, "");
    torus_context *c = open_at(0);
    pid_t child = fork();
    if (child == 0)
        _exit(torus_dispatch(c) == TORUS_ERR_FORKED && !torus_alloc(c, 1) ? 0 : 1);
    int code = 0;
    waitpid(child, &code, 0);
    assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    assert_non_null(torus_alloc(c, 1));
    torus_close(c);
    stop();
}

/* held counts a daemon's descriptors and mappings. */
static int held(pid_t pid)
{
    char path[64], line[512];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    while (d && readdir(d))
        count++;
    if (d)
        closedir(d);
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        count += strstr(line, "memfd:torus") != NULL;
    if (f)
        fclose(f);
    return count;
}

static void clients_that_come_and_go_leave_nothing(void **state)
{
    (void)state;
    start(1, "");
    torus_close(open_at(0));
    int before = held(daemon_pid[0]);
    for (int i = 0; i < 50; i++) {
        torus_group *g = NULL;
        torus_context *c = open_at(0);
        struct torus_join_options o = as(1, 0);
        double *x = torus_alloc(c, 1 << 20);
        assert_non_null(x);
        assert_int_equal(torus_join(c, &o, &g), TORUS_OK);
        assert_int_equal(torus_allreduce(g, TORUS_IN_PLACE, x, 1000, TORUS_DOUBLE, TORUS_SUM),
                         TORUS_OK);
        torus_close(c);
    }
    /* the daemon learns of a closed socket a moment later; a later request has been served after it
     */
    for (int tries = 0; tries < 1000 && held(daemon_pid[0]) > before; tries++)
        torus_close(open_at(0));
    assert_true(held(daemon_pid[0]) <= before);
    stop();
}

/* open_when_room opens as soon as the daemon has closed what its strangers held: it learns of their
 * ends one by one, and until then it refuses clients with TORUS_ERR_BUSY. */
static torus_context *open_when_room(uint32_t node)
{
    char path[128];
    torus_context *c = NULL;
    snprintf(path, sizeof path, "%s/s%u", folder, node);
    struct torus_open_options o = {.size = sizeof o, .socket = path};
    int error = torus_open(&c, &o);
    for (int tries = 0; error == TORUS_ERR_BUSY && tries < 1000; tries++) {
        torus_close(c); /* a context that was refused is closed, too */
        poll(NULL, 0, 10);
        error = torus_open(&c, &o);
    }
    assert_int_equal(error, TORUS_OK);
    return c;
}

static void strangers_at_the_port_for_packets_wait_while_descriptors_lack(void **state)
{
    (void)state;
    enum { MOST = 64, LIMIT = 96 }; /* clients leave half of the limit */
    int fd[MOST];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    descriptors = LIMIT;
    start(2, "");
    snprintf(address.sun_path, sizeof address.sun_path, "%s/p0.bulk", folder);
    for (int i = 0; i < MOST; i++) {
        fd[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(fd[i], (struct sockaddr *)&address, sizeof address), 0);
    }
    wait_logged(0, "cannot accept new peers");
    for (int i = 0; i < MOST; i++)
        close(fd[i]);
    torus_close(open_when_room(0));
    stop();
}

/* rename_host writes a name into the configuration of a node, in place of another one's address. */
static void rename_host(uint32_t node, uint32_t other, const char *name)
{
    char path[128], right[64], text[4096];
    snprintf(path, sizeof path, "%s/c%u", folder, node);
    snprintf(right, sizeof right, "127.0.0.1:%u\n", base_port + 2 * other);
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    char *host = strstr(text, right);
    assert_non_null(host);
    assert_int_equal(strlen(name), strlen("127.0.0.1"));
    memcpy(host, name, strlen(name));
    rewind(f);
    fputs(text, f);
    fclose(f);
}

/* misaddress writes a port into the configuration of a node, for another one or for itself. */
static void misaddress(uint32_t node, uint32_t other, unsigned wrong)
{
    char path[128], right[64], text[4096], digits[16];
    snprintf(path, sizeof path, "%s/c%u", folder, node);
    snprintf(right, sizeof right, "tcp://127.0.0.1:%u\n", base_port + 2 * other);
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    char *port = strstr(text, right);
    assert_non_null(port);
    port += strlen("tcp://127.0.0.1:");
    size_t width = strcspn(port, "\n");
    snprintf(digits, sizeof digits, "%0*u", (int)width, wrong);
    memcpy(port, digits, width);
    rewind(f);
    fputs(text, f);
    fclose(f);
}

static void wrong_port_of_a_daemon_that_runs_is_told_as_such(void **state)
{
    (void)state;
    wants_tcp = true;
    prepare(2);
    write_config(0, "");
    misaddress(0, 1, 1);
    write_config(1, "");
    start_daemon(0);
    wait_logged(0, "no link to node 1 yet: connection refused");
    start_daemon(1);
    wait_logged(0, "node 1: its daemon runs, but not at this address");
    assert_int_equal(logged(1, "not at this address"), 0);
    wait_logged(1, "node 0 has been silent for ");
    wait_logged(1, ": nothing has come from it since node 1 connected to it: probably [peers] "
                   "there names another address for node 1 than tcp://127.0.0.1:");
    assert_int_equal(logged(0, "nothing has come"), 0);
    stop();
}

/* The kernel drops requests to connect to a listener whose queue is full, as a firewall does. */
static void wrong_port_where_nothing_answers_is_told_as_such(void **state)
{
    (void)state;
    wants_tcp = true;
    prepare(2);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)(base_port + 2 * 2)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int queued = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(connect(queued, (struct sockaddr *)&a, sizeof a), 0);
    write_config(0, "");
    misaddress(0, 1, base_port + 2 * 2);
    write_config(1, "");
    start_daemon(1);
    start_daemon(0);
    wait_logged(0, "node 1: its daemon runs, but nothing answers at this address: correct [peers]");
    assert_int_equal(logged(0, "its daemon hangs"), 0); /* it has connected */
    close(queued);
    close(fd);
    stop();
}

/* No name has two dots together: the look-up fails at once, with or without a server for names. */
static void a_name_that_cannot_be_resolved_is_told_as_such(void **state)
{
    (void)state;
    wants_tcp = true;
    prepare(2);
    for (uint32_t n = 0; n < 2; n++)
        write_config(n, "");
    rename_host(0, 1, "no..host1");
    start_daemon(0);
    wait_logged(0, "no link to node 1 yet: the name no..host1 cannot be resolved: ");
    start_daemon(1); /* that it runs changes nothing of that */
    wait_logged(1, "link to node 0 is established");
    wait_logged(0, "; correct [peers] here, or add the name to DNS or /etc/hosts");
    assert_int_equal(logged(0, "its daemon"), 0);
    stop();
}

/* A connection that was reset has no address any more when its end is told. */
static void a_peer_whose_connection_is_reset_is_not_told_as_of_this_machine(void **state)
{
    (void)state;
    static const struct linger reset = {.l_onoff = 1};
    uint8_t greeting[16];
    wants_tcp = true;
    prepare(2);
    write_config(0, "");
    start_daemon(0);
    wait_ready(1);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)base_port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_true(recv(fd, greeting, sizeof greeting, 0) > 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    close(fd);
    wait_logged(0, ": the connection ended before its handshake");
    assert_int_equal(logged(0, "this machine"), 0);
    stop();
}

/* Neither daemon can reach the other one. Each says so in time, with what to compare. */
static void wrong_ports_on_both_ends_are_told_in_time(void **state)
{
    (void)state;
    wants_tcp = true;
    prepare(2);
    for (uint32_t n = 0; n < 2; n++) {
        write_config(n, "");
        misaddress(n, !n, 1);
        start_daemon(n);
    }
    wait_logged(0, "still no link to node 1 after ");
    wait_logged(1, "still no link to node 0 after ");
    wait_logged(1, " s: connection refused (tcp://127.0.0.1:1");
    wait_logged(1, "; start torusd there, or compare [peers] here with its listen");
    stop();
}

/* The port for packets is that of listen and one. */
static void a_port_that_is_one_too_high_is_told_as_such(void **state)
{
    (void)state;
    wants_tcp = true;
    prepare(2);
    write_config(0, "");
    misaddress(0, 1, base_port + 2 + 1);
    write_config(1, "");
    start_daemon(0);
    wait_logged(0, "no link to node 1 yet: connection refused");
    start_daemon(1);
    wait_logged(0, "node 1: its daemon runs, but what answers at this address ends the handshake: "
                   "compare [peers] here with its listen");
    wait_logged(1, "it connects to the port for packets: [peers] there has a port that is one too "
                   "high");
    stop();
}

/* It was stopped, and that is not the news any more. */
static void a_daemon_that_was_started_again_at_another_port_is_told_as_such(void **state)
{
    (void)state;
    char line[300];
    int code = 0;
    wants_tcp = true;
    start(2, "");
    wait_logged(0, "link to node 1 is ");
    wait_logged(1, "link to node 0 is "); /* its goodbye takes this one */
    kill(daemon_pid[1], SIGTERM);
    assert_int_equal(waitpid(daemon_pid[1], &code, 0), daemon_pid[1]);
    wait_logged(0, "link to node 1 is down: its daemon was stopped by its operator");
    misaddress(1, 1, base_port + 2 * 2);
    start_daemon(1);
    wait_logged(0, "node 1: its daemon runs, but not at this address");
    snprintf(line, sizeof line,
             "node 0 (0) of 2: 0 of 1 peers up, 0 clients, 0 groups, 0 operations; node 1 is down: "
             "its daemon runs, but not at this address: correct [peers] here, or listen there "
             "(tcp://127.0.0.1:%u)",
             base_port + 2);
    wait_status(line);
    stop();
}

/* listener_at takes the place of a daemon's bulk listener. */
static int listener_at(uint32_t node)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/p%u.bulk", folder, node);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(unlink(address.sun_path), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

/* Control messages pass, but bulk connections are rejected. Each daemon's handshake tells the other
 * that it runs: they must still pause between attempts. */
static void peers_without_a_way_for_packets_try_at_leisure(void **state)
{
    (void)state;
    enum { ATTEMPTS_MAX = 10, LOOKS = 25, LOOK_MS = 100 };
    struct pollfd at[2];
    unsigned attempts[2] = {0, 0};
    prepare(2);
    for (uint32_t n = 0; n < 2; n++) {
        write_config(n, "");
        start_daemon(n);
        wait_ready(1);
        at[n] = (struct pollfd){.fd = listener_at(n), .events = POLLIN};
        if (n == 0) /* it must not be faster than this process */
            kill(daemon_pid[0], SIGSTOP);
    }
    kill(daemon_pid[0], SIGCONT);
    /* in 2.5 s: after 0, 50, 100, 200, 400, 800 and 1000 ms */
    for (int look = 0; look < LOOKS;) {
        look += poll(at, 2, LOOK_MS) == 0;
        for (int n = 0; n < 2; n++) {
            int fd = accept(at[n].fd, NULL, NULL);
            attempts[n] += fd >= 0;
            if (fd >= 0)
                close(fd);
            assert_in_range(attempts[n], 0, ATTEMPTS_MAX);
        }
    }
    assert_true(attempts[0] > 1 && attempts[1] > 1);
    assert_int_equal(logged(0, "cannot open the packet stream to ipc://"), 1);
    assert_int_equal(logged(1, "cannot open the packet stream to ipc://"), 1);
    assert_int_equal(logged(0, "node 1 is up"), 0);
    close(at[0].fd);
    close(at[1].fd);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(readiness_is_told_when_the_daemon_serves, clean_up),
        cmocka_unit_test_teardown(status_says_where_the_node_is_and_what_it_does, clean_up),
        cmocka_unit_test_teardown(the_last_status_of_a_daemon_is_that_it_has_stopped, clean_up),
        cmocka_unit_test_teardown(absent_daemon_is_named_with_what_to_do, clean_up),
        cmocka_unit_test_teardown(a_socket_that_a_user_may_not_use_is_named_as_such, clean_up),
        cmocka_unit_test_teardown(rank_taken_and_rank_out_of_range_are_refused, clean_up),
        cmocka_unit_test_teardown(ranks_that_do_not_join_are_named, clean_up),
        cmocka_unit_test_teardown(different_operations_are_named_on_both_sides, clean_up),
        cmocka_unit_test_teardown(late_ranks_are_named, clean_up),
        cmocka_unit_test_teardown(death_of_a_client_is_told_to_its_job_alone, clean_up),
        cmocka_unit_test_teardown(death_of_a_daemon_is_told_at_once, clean_up),
        cmocka_unit_test_teardown(silent_daemon_is_given_up_after_progress_timeout, clean_up),
        cmocka_unit_test_teardown(daemon_that_comes_back_serves_new_jobs, clean_up),
        cmocka_unit_test_teardown(daemon_that_is_restarted_often_is_connected_when_it_starts,
                                  clean_up),
        cmocka_unit_test_teardown(daemon_with_other_settings_is_refused_in_one_line, clean_up),
        cmocka_unit_test_teardown(second_daemon_is_told_who_has_its_sockets, clean_up),
        cmocka_unit_test_teardown(forked_child_is_refused, clean_up),
        cmocka_unit_test_teardown(strangers_at_the_port_for_packets_wait_while_descriptors_lack,
                                  clean_up),
        cmocka_unit_test_teardown(wrong_port_of_a_daemon_that_runs_is_told_as_such, clean_up),
        cmocka_unit_test_teardown(wrong_port_where_nothing_answers_is_told_as_such, clean_up),
        cmocka_unit_test_teardown(a_name_that_cannot_be_resolved_is_told_as_such, clean_up),
        cmocka_unit_test_teardown(a_peer_whose_connection_is_reset_is_not_told_as_of_this_machine,
                                  clean_up),
        cmocka_unit_test_teardown(wrong_ports_on_both_ends_are_told_in_time, clean_up),
        cmocka_unit_test_teardown(a_port_that_is_one_too_high_is_told_as_such, clean_up),
        cmocka_unit_test_teardown(a_daemon_that_was_started_again_at_another_port_is_told_as_such,
                                  clean_up),
        cmocka_unit_test_teardown(peers_without_a_way_for_packets_try_at_leisure, clean_up),
        cmocka_unit_test_teardown(clients_that_come_and_go_leave_nothing, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
