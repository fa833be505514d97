/* SPDX-License-Identifier: Apache-2.0 */
/* torusd under a service manager: what it says while it serves and while it stops, and its exit
 * codes. */
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_loop_feeds_the_watchdog, clean_up),
        cmocka_unit_test_teardown(a_daemon_that_drains_asks_for_time, clean_up),
        cmocka_unit_test_teardown(observers_see_the_jobs_of_others, clean_up),
        cmocka_unit_test_teardown(a_wrong_configuration_is_exit_code_2, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
