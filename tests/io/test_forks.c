/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that die while children of theirs live, with the rank's socket or without it. Real daemons.
 * Each child lives until the test ends it, so a death that is noticed only with it ends the test.
 */
#include "daemons.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 2, SURVIVOR = 0, VICTIM = 1 };

/* struct pipes: `joined` takes a byte from a rank that has joined and has a child; children end
 * when nobody has the other end of `end` any more. */
struct pipes {
    int joined[2], end[2];
};

typedef void (*parent_call)(const struct pipes *p);

static void join_victim(void)
{
    torus_group *group = NULL;
    struct torus_join_options o = as(RANKS, VICTIM);
    if (torus_join(open_at(1), &o, &group) != TORUS_OK)
        _exit(1);
}

static void say_joined(const struct pipes *p)
{
    if (write(p->joined[1], "y", 1) != 1)
        _exit(1);
}

static void live_until_the_end(const struct pipes *p)
{
    char byte;
    close(p->end[1]);
    _exit(read(p->end[0], &byte, 1) == 0 ? 0 : 1);
}

static void fork_a_child(const struct pipes *p)
{
    join_victim();
    if (fork() == 0)
        live_until_the_end(p);
    say_joined(p);
    pause();
}

static void call_system(const struct pipes *p)
{
    char command[100];
    join_victim();
    snprintf(command, sizeof command, "echo -n y >/proc/self/fd/%d; read x </proc/self/fd/%d",
             p->joined[1], p->end[0]);
    _exit(system(command)); /* NOLINT(cert-env33-c): the subject of the test */
}

static void use_multiprocessing(const struct pipes *p)
{
    char joined[12], end[12], path[100];
    snprintf(joined, sizeof joined, "%d", p->joined[1]);
    snprintf(end, sizeof end, "%d", p->end[0]);
    snprintf(path, sizeof path, "%s/s1", folder);
    setenv("TORUS_SOCKET", path, 1);
    setenv("TORUS_JOB", "job", 1);
    setenv("TORUS_RANK", "1", 1);
    setenv("TORUS_SIZE", "2", 1);
    setenv("TORUS_LIBRARY", TORUS_SHARED, 1);
    execl("/usr/bin/python3", "python3", FORKS, joined, end, NULL);
}

/* check_death kills rank 1, whose process has become a parent by `call`, and expects that rank 0 is
 * told while the child lives. */
static void check_death(parent_call call)
{
    struct pipes p;
    torus_group *group = NULL;
    torus_request *request = NULL;
    struct torus_join_options o = as(RANKS, SURVIVOR);
    char byte = 'n';
    start(2, "");
    assert_int_equal(pipe(p.joined), 0);
    assert_int_equal(pipe2(p.end, 0), 0);
    pid_t victim = fork();
    if (victim == 0) {
        close(p.end[1]);
        p.end[1] = -1;
        call(&p);
        _exit(1);
    }
    close(p.joined[1]);
    torus_context *context = open_at(0);
    assert_int_equal(torus_join(context, &o, &group), TORUS_OK);
    assert_int_equal(read(p.joined[0], &byte, 1), 1);
    assert_int_equal(torus_ibarrier(group, &request), TORUS_OK);
    kill(victim, SIGKILL); /* it becomes a zombie, because no parent waits for it */
    assert_int_equal(torus_wait(request, 10 * (int64_t)SECOND), TORUS_ERR_RANK_FAILED);
    assert_says(context, "rank 1 of job job died");
    close(p.end[1]); /* the child ends */
    waitpid(victim, NULL, 0);
    close(p.end[0]);
    close(p.joined[0]);
    torus_close(context);
    stop();
}

static void death_is_told_while_a_forked_child_lives(void **state)
{
    (void)state;
    check_death(fork_a_child);
}

static void death_is_told_while_a_command_of_system_runs(void **state)
{
    (void)state;
    check_death(call_system);
}

static void death_is_told_while_a_process_of_multiprocessing_lives(void **state)
{
    (void)state;
    if (TORUS_SANITIZED)
        skip(); /* the sanitizers' libraries must come first in a process */
    check_death(use_multiprocessing);
}

/* The child of a rank that has ended cannot use the rank's connection: the process that opened it
 * owns the ranks. */
static void ranks_end_with_the_process_that_opened_the_connection(void **state)
{
    torus_group *group = NULL;
    struct torus_join_options o = as(1, 0);
    int told[2];
    char byte = 'n';
    (void)state;
    start(1, "");
    assert_int_equal(pipe(told), 0);
    pid_t parent = fork();
    if (parent == 0) {
        torus_context *mine = open_at(0);
        if (torus_join(mine, &o, &group) == TORUS_OK && fork() == 0) {
            int fd = torus_fd(mine);
            while (recv(fd, &byte, 1, 0) > 0)
                continue;
            _exit(write(told[1], "y", 1) == 1 ? 0 : 1);
        }
        _exit(0); /* as a process does that becomes a daemon */
    }
    waitpid(parent, NULL, 0);
    assert_int_equal(read(told[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    torus_context *context = open_at(0); /* the place in the job is free again */
    assert_int_equal(torus_join(context, &o, &group), TORUS_OK);
    torus_close(context);
    close(told[0]);
    close(told[1]);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(death_is_told_while_a_forked_child_lives, clean_up),
        cmocka_unit_test_teardown(death_is_told_while_a_command_of_system_runs, clean_up),
        cmocka_unit_test_teardown(death_is_told_while_a_process_of_multiprocessing_lives, clean_up),
        cmocka_unit_test_teardown(ranks_end_with_the_process_that_opened_the_connection, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
