/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of real daemons over TCP: exchange without a restart, revocation, restarts, and daemons
 * without keys. */
#include "daemons.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODES = 3 };

static char digits[NODES + 1][TD_KEY_TEXT]; /* of the nodes; the last: a new key of node 1 */

/* public_key reads the public key of a secret's file. */
static void public_key(const char *name, char text[TD_KEY_TEXT])
{
    char path[128], line[200];
    uint8_t secret[TD_KEY_BYTES] = {0}, key[TD_KEY_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, "secret ", 7) == 0)
            assert_true(td_key_read(line + 7, TD_KEY_TEXT - 1, secret));
    fclose(f);
    td_key_public(secret, key);
    td_key_print(key, text);
}

static void start_with_keys(bool tcp)
{
    wants_tcp = tcp;
    start(NODES, "");
    for (uint32_t n = 0; n < NODES; n++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", n);
        public_key(name, digits[n]);
    }
}

/* write_peers writes the list with some of the keys: a letter each, n for the new one of node 1. */
static void write_peers(const char *which)
{
    char path[128], fresh[140];
    snprintf(path, sizeof path, "%s/peers", folder);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *f = fopen(fresh, "w");
    assert_non_null(f);
    for (const char *c = which; *c; c++)
        fprintf(f, "%d %s\n", *c == 'n' ? 1 : *c - '0', digits[*c == 'n' ? NODES : *c - '0']);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(fresh, path), 0);
}

/* wait_count waits until a log has a number of lines with these words. */
static void wait_count(uint32_t node, const char *words, int count)
{
    for (int tries = 0; logged(node, words) < count; tries++) {
        if (tries == 1000)
            fail_msg("the log of node %u says '%s' %d times, not %d", node, words,
                     logged(node, words), count);
        poll(NULL, 0, 10);
    }
}

static void reload(uint32_t node)
{
    int before = logged(node, "the keys were read again");
    kill(daemon_pid[node], SIGHUP);
    wait_count(node, "the keys were read again", before + 1);
}

static void reload_all(void)
{
    for (uint32_t n = 0; n < NODES; n++)
        reload(n);
}

static void exchange_keys(bool tcp)
{
    torus_context *c[NODES];
    torus_group *g[NODES];
    char from[128], to[128];
    start_with_keys(tcp);
    join_all(c, g, NODES);
    barrier_all(g, NODES);
    make_key(1, "new", digits[NODES]);
    write_peers("01n2"); /* both keys of node 1 */
    reload_all();
    barrier_all(g, NODES);
    snprintf(from, sizeof from, "%s/new1", folder);
    snprintf(to, sizeof to, "%s/k1", folder);
    assert_int_equal(rename(from, to), 0);
    reload(1); /* the others connect to the new key; node 1 keeps the links of the old one */
    wait_logged(0, "link to node 1 is down");
    barrier_all(g, NODES);
    assert_int_equal(logged(1, "this node has a new one"), 1);
    wait_count(1, "changed: the keys", 2); /* the list of peers before, and now its own key */
    assert_int_equal(logged(1, "no changes"), 0);
    assert_int_equal(logged(1, "is down"), 0);
    write_peers("0n2");
    reload_all(); /* the links return with the new key, and the job goes on */
    wait_logged(1, "link to node 0 is down");
    barrier_all(g, NODES);
    barrier_all(g, NODES);
    close_all(c, NODES);
    stop();
}

static void keys_are_exchanged_while_a_job_runs(void **state)
{
    (void)state;
    exchange_keys(true);
}

static void keys_are_exchanged_over_unix_sockets(void **state)
{
    (void)state;
    exchange_keys(false);
}

static void a_revoked_key_is_out_within_a_heartbeat(void **state)
{
    (void)state;
    start_with_keys(true);
    wait_logged(2, "serving");
    torus_context *c[NODES];
    torus_group *g[NODES];
    join_all(c, g, NODES);
    barrier_all(g, NODES);
    close_all(c, NODES);
    int links = logged(0, "node 2 is up");
    write_peers("01");
    double before = seconds();
    reload(0);
    reload(1);
    wait_logged(0, "link to node 2 is down: its key was revoked");
    assert_true(seconds() - before < 1);
    wait_logged(2, "node 0: it does not accept the key of this node");
    wait_logged(0, "its key is not in the list of peers");
    assert_int_equal(logged(0, "node 2 is up"), links);
    stop();
}

static void malformed_files_change_nothing(void **state)
{
    (void)state;
    torus_context *c[NODES];
    torus_group *g[NODES];
    char path[128];
    start_with_keys(true);
    join_all(c, g, NODES);
    snprintf(path, sizeof path, "%s/peers", folder);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputs("1 zz\n", f);
    fclose(f);
    kill(daemon_pid[0], SIGHUP);
    wait_logged(0, "reload refused, and the setting stays as it was: ");
    assert_int_equal(logged(0, "/peers:4: "), 1);
    barrier_all(g, NODES);
    assert_int_equal(logged(0, "is down"), 0);
    close_all(c, NODES);
    stop();
}

/* The list is made for a larger machine before the daemons are restarted with its shape. */
static void lines_beyond_the_shape_wait_for_a_larger_one(void **state)
{
    char path[128];
    (void)state;
    start_with_keys(true);
    wait_logged(0, "serving");
    snprintf(path, sizeof path, "%s/peers", folder);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fprintf(f, "%d %s\n7 %s\n", NODES, digits[1], digits[1]);
    fclose(f);
    reload(0);
    wait_count(0, "2 lines of ", 1);
    assert_int_equal(
        logged(0, " are of no node of the running shape: a restart with a larger shape"), 1);
    assert_int_equal(logged(0, "reload refused"), 0);
    stop();
}

static void a_restarted_daemon_gets_in_at_once(void **state)
{
    (void)state;
    start_with_keys(true);
    torus_context *c[NODES];
    torus_group *g[NODES];
    for (int round = 0; round < 5; round++) {
        kill(daemon_pid[1], SIGKILL);
        waitpid(daemon_pid[1], NULL, 0);
        start_daemon(1);
        wait_ready(1);
        double before = seconds();
        join_all(c, g, NODES);
        barrier_all(g, NODES);
        if (seconds() - before > 3)
            fail_msg("the restarted daemon was out for %.1f s", seconds() - before);
        close_all(c, NODES);
    }
    stop();
}

static void exchange_large(const char *more)
{
    enum { COUNT = 300000 };
    static uint32_t out[NODES][NODES * COUNT], in[NODES][NODES * COUNT];
    torus_context *c[NODES];
    torus_group *g[NODES];
    torus_request *r[NODES];
    wants_tcp = true;
    start(NODES, more);
    join_all(c, g, NODES);
    for (uint32_t i = 0; i < NODES; i++) {
        for (uint32_t k = 0; k < NODES * COUNT; k++)
            out[i][k] = i * 104729 + k;
        assert_int_equal(torus_ialltoall(g[i], out[i], in[i], COUNT, TORUS_UINT32, &r[i]),
                         TORUS_OK);
    }
    for (uint32_t i = 0; i < NODES; i++)
        assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_OK);
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t k = 0; k < NODES * COUNT; k++)
            assert_int_equal(in[i][k], k / COUNT * 104729 + i * COUNT + k % COUNT);
    close_all(c, NODES);
}

static void daemons_without_keys_say_so_and_serve(void **state)
{
    (void)state;
    keyless = true;
    exchange_large("[security]\ninsecure = yes\n");
    for (uint32_t n = 0; n < NODES; n++)
        assert_int_equal(logged(n, "insecure = yes: every host and user"), 1);
    stop();
}

static void streams_are_encrypted_or_authenticated(void **state)
{
    (void)state;
    exchange_large("streams = authenticate\n");
    stop();
    exchange_large("streams = encrypt\n[log]\nlevel = debug\n");
    stop();
}

/* try_as_nobody connects to a path as another user, and returns true if the other end ends the
 * connection without a byte of its own. */
static bool try_as_nobody(const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        struct timeval patience = {.tv_sec = 5};
        char byte;
        snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (setgid(65534) != 0 || setuid(65534) != 0 ||
            setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
            connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
            _exit(2);
        _exit(recv(fd, &byte, 1, 0) == 0 ? 0 : 1);
    }
    int code = 0;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code) && WEXITSTATUS(code) != 2);
    return WEXITSTATUS(code) == 0;
}

static void unix_sockets_need_no_keys_and_keep_other_users_out(void **state)
{
    (void)state;
    torus_context *c[NODES];
    torus_group *g[NODES];
    char path[128];
    keyless = true;
    start(NODES, "");
    assert_int_equal(logged(0, "insecure"), 0);
    for (int bulk = 0; geteuid() == 0 && bulk < 2; bulk++) {
        snprintf(path, sizeof path, "%s/p0%s", folder, bulk ? ".bulk" : "");
        assert_int_equal(chmod(folder, 0755), 0); /* as if the directory's rights were wrong */
        assert_int_equal(chmod(path, 0777), 0);
        assert_true(try_as_nobody(path));
    }
    join_all(c, g, NODES);
    barrier_all(g, NODES);
    close_all(c, NODES);
    stop();
}

static void a_daemon_without_keys_is_kept_out(void **state)
{
    (void)state;
    start_with_keys(true);
    kill(daemon_pid[1], SIGTERM);
    waitpid(daemon_pid[1], NULL, 0);
    int links = logged(1, "node 0 is up");
    keyless = true;
    write_config(1, "[security]\ninsecure = yes\n");
    start_daemon(1);
    wait_ready(1);
    wait_logged(0, "turned away a peer: 127.0.0.1: it has no key");
    /* the peer's greeting, or the end of the connection, comes first */
    int said = 0;
    for (int tries = 0; tries < 1000 && !said; tries++) {
        poll(NULL, 0, 10);
        said = logged(1, "node 0: the handshake failed") + logged(1, "it ended the handshake");
    }
    assert_true(said > 0);
    assert_int_equal(logged(1, "node 0 is up"), links);
    stop();
}

/* A daemon at the endpoint of a node, with another key: it can neither connect nor be connected to.
 */
static void a_daemon_with_another_key_is_no_peer(void **state)
{
    (void)state;
    char path[128], from[128], more[200];
    start_with_keys(true);
    kill(daemon_pid[1], SIGTERM);
    waitpid(daemon_pid[1], NULL, 0);
    make_key(1, "k", digits[NODES]);
    write_peers("0n2"); /* its own list */
    snprintf(from, sizeof from, "%s/peers", folder);
    snprintf(path, sizeof path, "%s/peers.forged", folder);
    assert_int_equal(rename(from, path), 0);
    write_peers("012");
    keyless = true; /* write_config adds no keys */
    snprintf(more, sizeof more, "[security]\nkey = %s/k1\npeers = %s\n", folder, path);
    write_config(1, more);
    int links[2] = {logged(0, "node 1 is up"), logged(1, "node 0 is up")};
    start_daemon(1);
    wait_ready(1);
    wait_logged(0, "its key is not in the list of peers");
    wait_logged(1, "node 0: it does not accept the key of this node");
    wait_logged(1, "it expects another key of this daemon"); /* node 0 asks for the true one */
    wait_logged(0, "node 1: it ended the handshake, and its host connects with key ");
    assert_int_equal(logged(0, "node 2: it ended the handshake"), 0); /* the same host, but up */
    assert_int_equal(logged(0, "node 1 is up"), links[0]);
    assert_int_equal(logged(1, "node 0 is up"), links[1]);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(keys_are_exchanged_while_a_job_runs, clean_up),
        cmocka_unit_test_teardown(keys_are_exchanged_over_unix_sockets, clean_up),
        cmocka_unit_test_teardown(a_revoked_key_is_out_within_a_heartbeat, clean_up),
        cmocka_unit_test_teardown(lines_beyond_the_shape_wait_for_a_larger_one, clean_up),
        cmocka_unit_test_teardown(malformed_files_change_nothing, clean_up),
        cmocka_unit_test_teardown(a_restarted_daemon_gets_in_at_once, clean_up),
        cmocka_unit_test_teardown(daemons_without_keys_say_so_and_serve, clean_up),
        cmocka_unit_test_teardown(streams_are_encrypted_or_authenticated, clean_up),
        cmocka_unit_test_teardown(unix_sockets_need_no_keys_and_keep_other_users_out, clean_up),
        cmocka_unit_test_teardown(a_daemon_with_another_key_is_no_peer, clean_up),
        cmocka_unit_test_teardown(a_daemon_without_keys_is_kept_out, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
