/* SPDX-License-Identifier: Apache-2.0 */
/* The edges of the operating system: descriptors 0 to 2, limits of a process, output that is not
 * written. Each case is a child, which changes its descriptors and limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/limits.h"
#include "system/memory_file.h"
#include "system/standard.h"
#include "system/written.h"

/* ends returns how a child that runs `body` ends: its exit code, or 128 and its signal. */
static int ends(int (*body)(int argument), int argument)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(body(argument));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void close_some(int which)
{
    for (int fd = 0; fd <= 2; fd++)
        if (which >> fd & 1)
            close(fd);
}

static void lower(__rlimit_resource_t resource, rlim_t most)
{
    setrlimit(resource, &(struct rlimit){most, most});
}

static int opens_above_two(int closed)
{
    close_some(closed);
    td_standard_start();
    int fd = open("/dev/null", O_RDONLY);
    bool unusable = true;
    for (int i = 0; i <= 2; i++)
        if (closed >> i & 1)
            unusable &= (i == 0 ? read(0, &fd, 1) : write(i, "x", 1)) < 0 && errno == EBADF;
    return fd > 2 && unusable ? 0 : 1;
}

static void a_program_fills_the_standard_descriptors(void **state)
{
    (void)state;
    for (int closed = 0; closed < 8; closed++)
        assert_int_equal(ends(opens_above_two, closed), 0);
}

static int moves_above_two(int closed)
{
    close_some(closed);
    int fd = td_standard_avoid(eventfd(0, EFD_CLOEXEC));
    if (fd <= 2 || !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
        return 1;
    for (int i = 0; i <= 2; i++)
        if ((closed >> i & 1) && fcntl(i, F_GETFD) >= 0)
            return 2; /* the first number is free again */
    return 0;
}

static void a_library_moves_its_descriptors_above_two(void **state)
{
    (void)state;
    for (int closed = 0; closed < 8; closed++)
        assert_int_equal(ends(moves_above_two, closed), 0);
    errno = ENOSPC;
    assert_int_equal(td_standard_avoid(-1), -1);
    assert_int_equal(errno, ENOSPC);
}

static int lacks_a_number(int closed)
{
    close_some(closed);
    lower(RLIMIT_NOFILE, 3);
    int first = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return first <= 2 && td_standard_avoid(first) == -1 && errno == EMFILE &&
                   fcntl(first, F_GETFD) < 0
               ? 0
               : 1;
}

static void a_descriptor_that_cannot_move_is_closed(void **state)
{
    (void)state;
    assert_int_equal(ends(lacks_a_number, 4), 0);
}

static int makes_a_file_beyond_the_limit(int populated)
{
    char why[TD_LIMIT_TEXT] = "";
    lower(RLIMIT_FSIZE, 1 << 16);
    int small = td_memory_file("small", 1 << 16, populated, F_SEAL_SHRINK, why, sizeof why);
    int large = td_memory_file("large", (1 << 16) + 1, populated, F_SEAL_SHRINK, why, sizeof why);
    return small > 2 && large == -1 && strstr(why, "65536 bytes (RLIMIT_FSIZE): raise ulimit -f")
               ? 0
               : 1;
}

static void the_limit_of_file_sizes_refuses_shared_memory_without_a_signal(void **state)
{
    (void)state;
    assert_int_equal(ends(makes_a_file_beyond_the_limit, false), 0);
    assert_int_equal(ends(makes_a_file_beyond_the_limit, true), 0);
}

static int has_sealed_pages(int closed)
{
    char why[TD_LIMIT_TEXT];
    struct stat st;
    close_some(closed);
    int fd = td_memory_file("torus", 10000, true, F_SEAL_SHRINK | F_SEAL_GROW, why, sizeof why);
    int seals = fcntl(fd, F_GET_SEALS);
    return fd > 2 && fstat(fd, &st) == 0 && st.st_size == 10000 && st.st_blocks * 512 >= 10000 &&
                   (seals & F_SEAL_SHRINK) && (seals & F_SEAL_GROW)
               ? 0
               : 1;
}

static void a_file_in_memory_has_its_size_seals_and_pages(void **state)
{
    (void)state;
    assert_int_equal(ends(has_sealed_pages, 0), 0);
    assert_int_equal(ends(has_sealed_pages, 7), 0);
}

static int names_its_limits(int argument)
{
    char why[TD_LIMIT_TEXT];
    (void)argument;
    lower(RLIMIT_NOFILE, 40);
    lower(RLIMIT_AS, (rlim_t)1 << 46); /* the address sanitizer maps terabytes */
    bool named = strstr(td_limit_why(EMFILE, why, sizeof why), "40 descriptors (RLIMIT_NOFILE)") &&
                 strstr(td_limit_why(ENOMEM, why, sizeof why), "70368744177664 bytes of memory") &&
                 strcmp(td_limit_why(ENOSPC, why, sizeof why), strerror(ENOSPC)) == 0 &&
                 strstr(td_limit_no_memory("it"), "no memory for it: this process may map") &&
                 strlen(td_limit_why(EMFILE, why, 20)) < 20;
    uint64_t left = td_limit_space_bytes();
    return named && left > 0 && left < (uint64_t)1 << 46 ? 0 : 1;
}

static void an_error_names_the_limit_that_causes_it(void **state)
{
    bool cgroup = false;
    (void)state;
    assert_int_equal(ends(names_its_limits, 0), 0);
    assert_string_equal(td_limit_no_memory("it"), "no memory for it");
    assert_true(td_limit_space_bytes() == UINT64_MAX);
    uint64_t all = td_limit_memory_bytes(&cgroup), left = td_limit_memory_left();
    assert_in_range(left, 1, all - 1);
}

/* says_why returns 0 if the end of a program with `bytes` of output to `path` is right. */
static int says_why(const char *path, size_t bytes, int expected, const char *word)
{
    char said[500] = "";
    int pipe_end[2];
    if (pipe(pipe_end) != 0 || !freopen(path, "w", stdout))
        return 10;
    dup2(pipe_end[1], STDERR_FILENO);
    for (size_t i = 0; i < bytes; i++)
        putchar('x');
    int code = td_written_end("program", expected > 1 ? expected : 0);
    close(STDERR_FILENO);
    close(pipe_end[1]);
    ssize_t size = read(pipe_end[0], said, sizeof said - 1);
    bool right = code == expected && (word ? strstr(said, word) != NULL : size <= 0);
    return right ? 0 : 12;
}

static int fills_a_full_disk(int bytes)
{
    return says_why("/dev/full", (size_t)bytes, 1,
                    "program: cannot write standard output: No space left on device\n");
}

static int fails_otherwise(int bytes)
{
    return says_why("/dev/full", (size_t)bytes, 3, "cannot write standard output");
}

static int fills_a_limit(int bytes)
{
    char path[] = "/tmp/torus.XXXXXX";
    int fd = mkstemp(path);
    td_standard_start();
    lower(RLIMIT_FSIZE, 10);
    int code = says_why(path, (size_t)bytes, 1, "a file of this process may have 10 bytes");
    unlink(path);
    return fd > 2 ? code : 13;
}

static int writes_all(int bytes)
{
    return says_why("/dev/null", (size_t)bytes, 0, NULL);
}

static void a_program_says_that_its_output_was_not_written(void **state)
{
    (void)state;
    for (int bytes = 1; bytes <= 1 << 16; bytes *= 16) {
        assert_int_equal(ends(fills_a_full_disk, bytes), 0);
        assert_int_equal(ends(writes_all, bytes), 0);
    }
    assert_int_equal(ends(fills_a_full_disk, 4096), 0); /* stdio has written all, and forgotten */
    assert_int_equal(ends(fails_otherwise, 1), 0);
    assert_int_equal(ends(fills_a_limit, 11), 0);
    assert_int_equal(ends(fills_a_limit, 1 << 16), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_fills_the_standard_descriptors),
        cmocka_unit_test(a_library_moves_its_descriptors_above_two),
        cmocka_unit_test(a_descriptor_that_cannot_move_is_closed),
        cmocka_unit_test(the_limit_of_file_sizes_refuses_shared_memory_without_a_signal),
        cmocka_unit_test(a_file_in_memory_has_its_size_seals_and_pages),
        cmocka_unit_test(an_error_names_the_limit_that_causes_it),
        cmocka_unit_test(a_program_says_that_its_output_was_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
