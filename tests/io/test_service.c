/* SPDX-License-Identifier: Apache-2.0 */
/* torusd under a service manager: what it says while it serves and while it stops, and its exit
 * codes. */
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemons.h"

enum { NOBODY = 65534 };

static const char JOB_ROW[] = "\"name\": \"job\"";

static void wait_line(const char *line)
{
    for (bool told = false; !told;)
        if (!hears(20000, line, &told))
            fail_msg("nobody said %s", line);
}

static void the_loop_feeds_the_watchdog(void **state)
{
    (void)state;
    setenv("WATCHDOG_USEC", "200000", 1);
    start(1, "");
    unsetenv("WATCHDOG_USEC");
    for (int fed = 0; fed < 5; fed++)
        wait_line("WATCHDOG=1");
    assert_int_equal(kill(daemon_pid[0], SIGSTOP), 0);
    while (hears(1000, NULL, NULL)) /* what was under way */
        continue;
    assert_int_equal(kill(daemon_pid[0], SIGCONT), 0);
    wait_line("WATCHDOG=1");
    stop();
}

/* An operation in flight has progress_timeout to end. Node 1 does not run, so that one does not. */
static void a_daemon_that_drains_asks_for_time(void **state)
{
    enum { BYTES = 16 << 20 };
    static char data[2][BYTES];
    torus_context *c[2];
    torus_group *g[2];
    torus_request *r[2];
    (void)state;
    start(2, "[limits]\nscratch = 64MiB\n");
    join_all(c, g, 2);
    assert_int_equal(kill(daemon_pid[1], SIGSTOP), 0);
    assert_int_equal(torus_ibroadcast(g[0], data[0], BYTES, TORUS_BYTE, 0, &r[0]), TORUS_OK);
    assert_int_equal(kill(daemon_pid[1], SIGCONT), 0);
    assert_int_equal(torus_ibroadcast(g[1], data[1], BYTES, TORUS_BYTE, 0, &r[1]), TORUS_OK);
    assert_int_equal(kill(daemon_pid[0], SIGTERM), 0);
    wait_line("STOPPING=1");
    wait_line("EXTEND_TIMEOUT_USEC=");
    (void)torus_wait(r[0], 10 * (int64_t)SECOND);
    (void)torus_wait(r[1], 10 * (int64_t)SECOND);
    close_all(c, 2);
    stop();
}

/* The unit does not restart a daemon that exits with 2. */
static void a_wrong_configuration_is_exit_code_2(void **state)
{
    int status = 0;
    (void)state;
    prepare(1);
    write_config(0, "[limits]\nmemory = none\n");
    start_daemon(0);
    assert_int_equal(waitpid(daemon_pid[0], &status, 0), daemon_pid[0]);
    daemon_pid[0] = 0;
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
}

/* sees returns true if torusctl, run by the user nobody with one more group, shows the job. */
static bool sees(gid_t group, const char *job)
{
    char socket[128], output[16384] = "";
    int out[2];
    snprintf(socket, sizeof socket, "%s/s0", folder);
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], 1);
        if (setgroups(1, &group) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
            _exit(126);
        execl(TORUSCTL, "torusctl", "status", "--socket", socket, "--json", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    size_t length = 0;
    for (ssize_t size; (size = read(out[0], output + length, sizeof output - 1 - length)) > 0;)
        length += (size_t)size;
    close(out[0]);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return strstr(output, job) != NULL;
}

static void observers_see_the_jobs_of_others(void **state)
{
    torus_context *c[1];
    torus_group *g[1];
    const struct group *observers = getgrnam("daemon");
    (void)state;
    if (getuid() != 0 || !observers) {
        print_message("skipped: only root can become another user\n");
        skip();
        return;
    }
    start(1, "[node]\nobservers = daemon\n");
    assert_int_equal(chmod(folder, 0755), 0);
    join_all(c, g, 1);
    assert_true(sees(observers->gr_gid, JOB_ROW));
    assert_false(sees(NOBODY, JOB_ROW));
    close_all(c, 1);
    stop();
}

/* A reload is enclosed by RELOADING=1 and READY=1; the log says what it has changed. */
static void a_reload_takes_up_what_it_can_and_names_what_needs_a_restart(void **state)
{
    (void)state;
    start(1, "");
    write_config(0, "[log]\nlevel = warning\n[limits]\nclients = 77\n[node]\nsegments = no\n");
    assert_int_equal(kill(daemon_pid[0], SIGHUP), 0);
    wait_line("RELOADING=1\nMONOTONIC_USEC=");
    wait_line("READY=1");
    wait_line("; a restart is needed for node.segments, limits.clients");
    assert_int_equal(logged(0, "need a restart: node.segments, limits.clients"), 1);
    assert_int_equal(logged(0, "reloaded "), 0); /* the level is warning by then */
    write_config(0, "[log]\nlevel = info\n");
    assert_int_equal(kill(daemon_pid[0], SIGHUP), 0);
    wait_line("READY=1");
    assert_int_equal(logged(0, "changed: log.level"), 1);
    stop();
}

static void a_setting_with_an_error_stays_and_the_others_change(void **state)
{
    (void)state;
    start(1, "");
    write_config(0, "[log]\nlevel = loud\n[limits]\nclients = many\n[node]\nobservers = daemon\n");
    assert_int_equal(kill(daemon_pid[0], SIGHUP), 0);
    wait_line("RELOADING=1");
    wait_line("READY=1");
    wait_line("; reload refused: ");
    assert_int_equal(logged(0, "changed: node.observers"), 1);
    assert_int_equal(logged(0, "level = loud: expected error, warning, info or debug"), 1);
    assert_int_equal(logged(0, "clients = many: expected a whole number"), 1);
    write_config(0, "[node]\nobservers = daemon\n");
    assert_int_equal(kill(daemon_pid[0], SIGHUP), 0);
    wait_line("READY=1");
    assert_int_equal(logged(0, "no changes"), 1); /* the level has stayed */
    stop();
}

static void a_file_that_cannot_be_read_changes_nothing(void **state)
{
    char path[128];
    (void)state;
    start(1, "[node]\nobservers = daemon\n");
    snprintf(path, sizeof path, "%s/c0", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(kill(daemon_pid[0], SIGHUP), 0);
    wait_line("; reload refused: ");
    assert_int_equal(logged(0, "all settings stay as they were: "), 1);
    write_config(0, "[node]\nobservers = daemon\n");
    assert_int_equal(kill(daemon_pid[0], SIGHUP), 0);
    wait_line("READY=1");
    assert_int_equal(logged(0, "no changes"), 1);
    stop();
}

/* listener makes a socket in the folder, as a socket unit does. */
static int listener(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s/%s", folder, name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

/* A process that connects before the daemon runs, or while it is restarted, waits and is served. */
static void processes_wait_at_a_socket_that_the_manager_keeps(void **state)
{
    char path[128];
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    torus_context *c[1];
    torus_group *g[1];
    (void)state;
    prepare(1);
    write_config(0, "");
    int fd = listener("s0"), early = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(path, sizeof path, "%s/s0", folder);
    strcpy(at.sun_path, path);
    assert_int_equal(connect(early, (struct sockaddr *)&at, sizeof at), 0);
    start_daemon_with(0, fd);
    wait_ready(1);
    wait_line(", 1 client, "); /* it connected before the daemon was there */
    join_all(c, g, 1);
    close_all(c, 1);
    close(early);
    assert_int_equal(kill(daemon_pid[0], SIGTERM), 0);
    assert_int_equal(waitpid(daemon_pid[0], NULL, 0), daemon_pid[0]);
    daemon_pid[0] = 0;
    assert_int_equal(unlink(path), 0); /* the manager's, not the daemon's */
    close(fd);
    stop();
}

static void a_socket_at_another_path_is_refused(void **state)
{
    char path[128];
    int status = 0;
    (void)state;
    prepare(1);
    int fd = listener("other");
    write_config(0, "");
    start_daemon_with(0, fd);
    assert_int_equal(waitpid(daemon_pid[0], &status, 0), daemon_pid[0]);
    daemon_pid[0] = 0;
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_int_equal(logged(0, "the socket that systemd passed is not "), 1);
    snprintf(path, sizeof path, "%s/other", folder);
    assert_int_equal(unlink(path), 0);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_reload_takes_up_what_it_can_and_names_what_needs_a_restart,
                                  clean_up),
        cmocka_unit_test_teardown(a_setting_with_an_error_stays_and_the_others_change, clean_up),
        cmocka_unit_test_teardown(a_file_that_cannot_be_read_changes_nothing, clean_up),
        cmocka_unit_test_teardown(processes_wait_at_a_socket_that_the_manager_keeps, clean_up),
        cmocka_unit_test_teardown(a_socket_at_another_path_is_refused, clean_up),
        cmocka_unit_test_teardown(the_loop_feeds_the_watchdog, clean_up),
        cmocka_unit_test_teardown(a_daemon_that_drains_asks_for_time, clean_up),
        cmocka_unit_test_teardown(observers_see_the_jobs_of_others, clean_up),
        cmocka_unit_test_teardown(a_wrong_configuration_is_exit_code_2, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
