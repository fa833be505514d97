/* SPDX-License-Identifier: Apache-2.0 */
/* Plans measured by another process, and the file in which they are stored. */
#include <errno.h>
#include <fcntl.h>
#include <fftw3.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "compute/fft/fft_text.h"
#include "io/log.h"
#include "io/plans/plans.h"
#include "io/plans/wisdom.h"

enum { DEADLINE_MS = 60000, POINTS = 4096 };
static double memory[2 * POINTS];
static char directory[64], file[80], script[80], endpoint[80];
static const char *service; /* of the next start; NULL: none */

static int setup(void **unused)
{
    (void)unused;
    td_log_init(TD_LOG_ERROR, "test");
    strcpy(directory, "/tmp/torus-plans.XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(file, sizeof file, "%s/wisdom", directory);
    snprintf(script, sizeof script, "%s/script", directory);
    snprintf(endpoint, sizeof endpoint, "%s/service", directory);
    service = NULL;
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    td_fft_fini();
    td_fft_set_effort(TD_FFT_ESTIMATE);
    unlink(file);
    unlink(script);
    unlink(endpoint);
    return rmdir(directory); /* nothing else is left in it */
}

static struct td_transform some(int64_t length, int64_t batch)
{
    return (struct td_transform){.type = TD_TYPE_COMPLEX_DOUBLE,
                                 .sign = -1,
                                 .length = length,
                                 .batch = batch,
                                 .stride = 1,
                                 .distance = length,
                                 .to_stride = 1,
                                 .to_distance = length,
                                 .factor = 1};
}

static void use(int64_t length, int times)
{
    struct td_transform t = some(length, 4);
    for (int i = 0; i < times; i++)
        assert_int_equal(td_fft_run(&t, memory, memory), TD_OK);
}

static bool find(int64_t length, struct td_fft_record *r)
{
    for (unsigned i = 0; td_fft_record(i, r); i++)
        if (r->shape.length == length)
            return true;
    return false;
}

/* ---- a loop with the plans of a node ---- */

struct node {
    uv_loop_t uv;
    struct td_plans *plans;
    uv_timer_t deadline;
};

static void on_deadline(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("nothing was measured in time");
}

static void start(struct node *n, const char *program, enum td_fft_effort effort, unsigned seconds)
{
    struct td_plans_options options = {.effort = effort,
                                       .directory = directory,
                                       .seconds = seconds,
                                       .delay_ms = 1,
                                       .service = service,
                                       .program = program};
    assert_int_equal(uv_loop_init(&n->uv), 0);
    uv_timer_init(&n->uv, &n->deadline);
    uv_timer_start(&n->deadline, on_deadline, DEADLINE_MS, 0);
    assert_non_null(n->plans = td_plans_create(&n->uv, &options));
}

/* wait_for runs the loop until the shape is in that state. */
static struct td_fft_record wait_for(struct node *n, int64_t length, uint8_t state)
{
    struct td_fft_record r = {.state = TD_FFT_STATES};
    td_plans_used(n->plans);
    while (!find(length, &r) || r.state != state)
        uv_run(&n->uv, UV_RUN_ONCE);
    return r;
}

static void close_handle(uv_handle_t *handle, void *user)
{
    (void)user;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* end_loop stops the loop and the planning thread. What FFTW has learned stays until td_fft_fini,
 * and only then a test may use FFTW itself. */
static void end_loop(struct node *n)
{
    td_plans_stop(n->plans);
    uv_walk(&n->uv, close_handle, NULL);
    while (uv_run(&n->uv, UV_RUN_DEFAULT) != 0)
        continue;
    assert_int_equal(uv_loop_close(&n->uv), 0);
    td_plans_free(n->plans);
}

static void stop(struct node *n)
{
    end_loop(n);
    td_fft_fini(); /* the daemon ends */
}

/* ---- tests ---- */

static void write_script(const char *text)
{
    FILE *f = fopen(script, "we");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", text);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(script, 0700), 0);
}

/* claim makes `script` measure as torusd does, and report these times instead of the measured ones:
 * "ESTIMATE MEASURED PLANNING". */
static void claim(const char *times)
{
    char text[200];
    snprintf(text, sizeof text, TORUSD " --measure | sed '1s/.*/%s/'", times);
    write_script(text);
}

static void what_is_used_is_measured_and_outlives_the_daemon(void **unused)
{
    (void)unused;
    struct node n;
    claim("2000 1000 5");
    start(&n, script, TD_FFT_MEASURE, 60);
    use(96, 3);
    struct td_fft_record r = wait_for(&n, 96, TD_FFT_MEASURED);
    assert_int_equal(r.effort, TD_FFT_MEASURE);
    assert_int_equal(r.uses, 3);
    assert_true(r.measured_ns > 0 && r.estimate_ns > 0 && r.planning_ns > 0 && r.since_s > 0);
    use(96, 1); /* the cache serves it instead of the estimate */
    end_loop(&n);
    /* and wisdom alone makes the plan */
    void *plan = td_fft_plan_make(&r.shape, memory, memory, FFTW_MEASURE | FFTW_WISDOM_ONLY);
    assert_non_null(plan);
    td_fft_plan_destroy(&r.shape, plan);
    td_fft_fini();

    start(&n, "/bin/false", TD_FFT_WISDOM, 60);
    assert_true(find(96, &r));
    assert_int_equal(r.state, TD_FFT_MEASURED);
    assert_true(r.uses >= 3);
    plan = td_fft_plan_make(&r.shape, memory, memory, FFTW_MEASURE | FFTW_WISDOM_ONLY);
    assert_non_null(plan);
    td_fft_plan_destroy(&r.shape, plan);
    stop(&n);
}

static void a_plan_that_is_measured_to_be_slower_is_not_used(void **unused)
{
    (void)unused;
    struct node n;
    claim("1000 1000 5");
    start(&n, script, TD_FFT_MEASURE, 60);
    use(96, 3);
    struct td_fft_record r = wait_for(&n, 96, TD_FFT_MEASURED);
    assert_int_equal(r.estimate_ns, 1000);
    assert_int_equal(r.measured_ns, 1000);
    end_loop(&n);
    assert_null(td_fft_plan_make(&r.shape, memory, memory, FFTW_MEASURE | FFTW_WISDOM_ONLY));
    bool improvable = true;
    struct td_fft_plan *plan = td_fft_acquire(&r.shape, 0, &improvable);
    assert_non_null(plan);
    assert_false(improvable);
    td_fft_release(plan);
    td_fft_fini();
}

static void most_used_is_measured_first_and_the_rest_after_it(void **unused)
{
    (void)unused;
    struct td_shape shape;
    use(20, 2);
    use(30, 9);
    use(40, 4);
    assert_false(td_fft_next_shape(&shape)); /* no shape is left to measure */
    td_fft_set_effort(TD_FFT_MEASURE);
    const int64_t order[] = {30, 40, 20};
    for (size_t i = 0; i < 3; i++) {
        assert_true(td_fft_next_shape(&shape));
        assert_int_equal(shape.length, order[i]);
    }
    assert_false(td_fft_next_shape(&shape));
    td_fft_fini();
    struct node n;
    start(&n, TORUSD, TD_FFT_MEASURE, 60);
    use(20, 2);
    use(30, 9);
    wait_for(&n, 30, TD_FFT_MEASURED);
    wait_for(&n, 20, TD_FFT_MEASURED);
    stop(&n);
}

static void patience_measures_again(void **unused)
{
    (void)unused;
    struct node n;
    start(&n, TORUSD, TD_FFT_MEASURE, 60);
    use(48, 1);
    wait_for(&n, 48, TD_FFT_MEASURED);
    stop(&n);
    start(&n, TORUSD, TD_FFT_PATIENT, 60);
    use(48, 1);
    wait_for(&n, 48, TD_FFT_ASKED);
    struct td_fft_record r = wait_for(&n, 48, TD_FFT_MEASURED);
    assert_int_equal(r.effort, TD_FFT_PATIENT);
    stop(&n);
}

static void fails_once(const char *program, unsigned seconds)
{
    struct node n;
    struct td_shape shape;
    struct td_fft_record r;
    start(&n, program, TD_FFT_MEASURE, seconds);
    use(64, 2);
    wait_for(&n, 64, TD_FFT_FAILED);
    use(64, 1); /* it is served nevertheless */
    assert_false(td_fft_next_shape(&shape));
    stop(&n);
    start(&n, program, TD_FFT_MEASURE, seconds);
    assert_true(find(64, &r));
    assert_int_equal(r.state, TD_FFT_FAILED);
    stop(&n);
    unlink(file);
}

static void a_process_that_fails_is_not_started_again_for_the_same(void **unused)
{
    (void)unused;
    fails_once("/bin/false", 60);
    fails_once("/nowhere/torusd", 60);
    static const char *const ends[] = {
        "kill -ABRT $$",           /* like FFTW without memory */
        "exec sleep 1000",         /* takes too long */
        "echo 2 1 3; echo wisdom", /* no wisdom of FFTW */
        "exec yes 2>/dev/null",    /* does not end, and must not fill the memory */
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        write_script(ends[i]);
        fails_once(script, i == 1 ? 1 : 60);
    }
}

static void a_daemon_stops_while_a_plan_is_measured(void **unused)
{
    (void)unused;
    struct node n;
    write_script("exec sleep 1000");
    start(&n, script, TD_FFT_MEASURE, 60);
    use(64, 1);
    wait_for(&n, 64, TD_FFT_ASKED);
    stop(&n);
    assert_int_equal(access(file, F_OK), -1); /* nothing was learned */
}

/* ---- a service instead of a child ---- */

/* serve plays systemd: each connection gets a process, as with Accept=yes. */
static pid_t serve(const char *program)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, endpoint);
    unlink(endpoint);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 8), 0);
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGCHLD, SIG_IGN);
        for (int c = -1; (c = accept(listener, NULL, NULL)) >= 0; close(c))
            if (fork() == 0) {
                dup2(c, STDIN_FILENO);
                dup2(c, STDOUT_FILENO);
                close(c);
                execl(program, program, "--measure", (char *)NULL);
                _exit(1);
            }
        _exit(1);
    }
    assert_true(server > 0);
    close(listener);
    service = endpoint;
    return server;
}

static void end(pid_t server)
{
    kill(server, SIGKILL);
    assert_int_equal(waitpid(server, NULL, 0), server);
}

static void a_service_measures(void **unused)
{
    (void)unused;
    struct node n;
    pid_t server = serve(TORUSD);
    start(&n, "/nowhere/torusd", TD_FFT_MEASURE, 60);
    use(96, 3);
    use(48, 1);
    struct td_fft_record r = wait_for(&n, 96, TD_FFT_MEASURED);
    assert_true(r.measured_ns > 0 && r.planning_ns > 0);
    wait_for(&n, 48, TD_FFT_MEASURED);
    stop(&n);
    end(server);
}

static void without_a_service_that_works_a_child_measures(void **unused)
{
    (void)unused;
    struct node n;
    pid_t server = serve("/bin/false");
    start(&n, TORUSD, TD_FFT_MEASURE, 60);
    use(96, 1);
    wait_for(&n, 96, TD_FFT_MEASURED);
    end(server);
    use(48, 1); /* nobody listens */
    wait_for(&n, 48, TD_FFT_MEASURED);
    unlink(endpoint);
    use(60, 1); /* the socket does not exist */
    wait_for(&n, 60, TD_FFT_MEASURED);
    stop(&n);
}

static void a_service_that_is_late_is_given_up(void **unused)
{
    (void)unused;
    struct node n;
    write_script("exec sleep 5"); /* it outlives its connection */
    pid_t server = serve(script);
    start(&n, TORUSD, TD_FFT_MEASURE, 1);
    use(64, 1);
    wait_for(&n, 64, TD_FFT_FAILED);
    stop(&n);
    start(&n, TORUSD, TD_FFT_MEASURE, 60);
    use(60, 1);
    wait_for(&n, 60, TD_FFT_ASKED);
    stop(&n); /* while it measures */
    end(server);
}

/* A measurement ends with its connection, whatever it does then. */
static void a_measurement_ends_with_its_connection(void **unused)
{
    (void)unused;
    enum { PATIENT = TD_FFT_PATIENT, ROUNDS = 3 };
    for (int round = 0; round < ROUNDS; round++) {
        int pair[2], code = 0;
        char request[TD_FFT_LINE_MAX + 32], line[TD_FFT_LINE_MAX];
        struct td_transform t = some(1 << 20, 4);
        struct td_shape shape = td_shape_of(&t, memory, memory);
        td_shape_print(&shape, line, sizeof line);
        int length = snprintf(request, sizeof request, "%d 600 %s\n", PATIENT, line);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        pid_t child = fork();
        if (child == 0) {
            dup2(pair[1], STDIN_FILENO);
            dup2(pair[1], STDOUT_FILENO);
            execl(TORUSD, TORUSD, "--measure", (char *)NULL);
            _exit(1);
        }
        close(pair[1]);
        assert_int_equal(write(pair[0], request, (size_t)length), length);
        shutdown(pair[0], SHUT_WR);
        usleep((unsigned)round * 100000); /* before, while and after it reads */
        close(pair[0]);
        assert_int_equal(waitpid(child, &code, 0), child);
        assert_true(WIFSIGNALED(code) && WTERMSIG(code) == SIGIO);
    }
}

/* ---- the file ---- */

static char *good_text(void)
{
    struct td_transform t = some(12, 5);
    struct td_fft_record r = {.shape = td_shape_of(&t, memory, memory),
                              .state = TD_FFT_MEASURED,
                              .effort = TD_FFT_MEASURE,
                              .uses = 7,
                              .since_s = 1,
                              .measured_ns = 1234};
    td_fft_update(&r);
    void *plan = td_fft_plan_make(&r.shape, memory, memory, FFTW_MEASURE);
    assert_non_null(plan);
    td_fft_plan_destroy(&r.shape, plan);
    char *text = td_wisdom_compose();
    assert_non_null(text);
    td_fft_fini();
    return text;
}

static void put(const char *text, size_t length)
{
    FILE *f = fopen(file, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

static void what_was_written_is_read(void **unused)
{
    (void)unused;
    char why[600] = "";
    struct td_fft_record r;
    char *text = good_text();
    assert_true(td_wisdom_load(directory, why, sizeof why)); /* the file does not exist */
    assert_true(td_wisdom_write(directory, text));
    assert_true(td_wisdom_load(directory, why, sizeof why));
    assert_true(find(12, &r));
    assert_int_equal(r.uses, 7);
    assert_int_equal(r.measured_ns, 1234);
    char *again = td_wisdom_compose();
    assert_int_equal(strlen(again), strlen(text));
    free(again);
    free(text);
}

static void a_damaged_file_is_thrown_away_wherever_the_damage_is(void **unused)
{
    (void)unused;
    char why[600] = "";
    struct td_fft_record r;
    char *text = good_text();
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        text[i] ^= 1;
        put(text, length);
        text[i] ^= 1;
        assert_false(td_wisdom_load(directory, why, sizeof why));
        assert_non_null(strstr(why, file));
        assert_int_equal(access(file, F_OK), -1);
        put(text, i); /* truncated */
        assert_false(td_wisdom_load(directory, why, sizeof why));
        assert_false(td_fft_record(0, &r));
    }
    free(text);
}

static void another_fftw_or_processor_starts_anew(void **unused)
{
    (void)unused;
    char why[600] = "";
    struct td_fft_record r;
    char *text = good_text(), *line = strchr(text, '\n') + 1;
    assert_int_equal(strncmp(line, fftw_version, strlen(fftw_version)), 0);
    char *digits = strstr(line, "; flags ") + strlen("; flags ");
    char *spots[] = {line + strlen(fftw_version) - 1, strchr(line, ';') + 2, digits};
    for (size_t i = 0; i < 3; i++) {
        char kept = *spots[i];
        *spots[i] = kept == '#' ? '%' : '#';
        put(text, strlen(text));
        *spots[i] = kept;
        assert_false(td_wisdom_load(directory, why, sizeof why));
        assert_non_null(strstr(why, "another FFTW or processor"));
        assert_false(td_fft_record(0, &r));
        assert_int_equal(access(file, F_OK), -1);
    }
    free(text);
}

static void a_directory_that_is_missing_is_an_error_on_writing_alone(void **unused)
{
    (void)unused;
    char why[600] = "";
    char *text = good_text();
    assert_true(td_wisdom_load("/nowhere/at/all", why, sizeof why));
    assert_false(td_wisdom_write("/nowhere/at/all", text));
    assert_int_equal(errno, ENOENT);
    free(text);
}

/* limited returns 0 if this process, which may write short files and can open none, loses no plans.
 */
static int limited(const char *text)
{
    char why[600] = "";
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){10, 10});
    bool kept = !td_wisdom_write(directory, text) && errno == EFBIG;
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
    kept = kept && !td_wisdom_load(directory, why, sizeof why) && strstr(why, strerror(EMFILE));
    return kept && access(file, F_OK) == 0 ? 0 : 1;
}

static void limits_of_the_process_lose_no_plans(void **unused)
{
    (void)unused;
    char why[600] = "";
    int status = 0;
    char *text = good_text();
    assert_true(td_wisdom_write(directory, text));
    pid_t pid = fork();
    if (pid == 0)
        _exit(limited(text));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(td_wisdom_load(directory, why, sizeof why));
    free(text);
}

static void shapes_that_cannot_be_are_refused(void **unused)
{
    (void)unused;
    char line[TD_FFT_LINE_MAX];
    struct td_shape back;
    struct td_transform t = some(12, 5);
    const struct td_shape good = td_shape_of(&t, memory, memory);
    td_shape_print(&good, line, sizeof line);
    assert_true(td_shape_parse(&back, line, NULL));
    assert_memory_equal(&back, &good, sizeof good);
    for (int i = 0; i < 6; i++) {
        struct td_shape bad = good;
        if (i == 0)
            bad.kind = TD_TRANSFORM_KINDS;
        else if (i == 1)
            bad.type = TD_TYPE_INT32;
        else if (i == 2)
            bad.length = 0;
        else if (i == 3)
            bad.batch = -1;
        else if (i == 4)
            bad.alignment = -1;
        else
            bad.kind = TD_TRANSFORM_REDFT10; /* of complex numbers */
        td_shape_print(&bad, line, sizeof line);
        assert_false(td_shape_parse(&back, line, NULL));
    }
    assert_false(td_shape_parse(&back, "0 7 -1", NULL));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_used_is_measured_and_outlives_the_daemon),
        TEST(a_plan_that_is_measured_to_be_slower_is_not_used),
        TEST(most_used_is_measured_first_and_the_rest_after_it),
        TEST(patience_measures_again),
        TEST(a_process_that_fails_is_not_started_again_for_the_same),
        TEST(a_daemon_stops_while_a_plan_is_measured),
        TEST(a_service_measures),
        TEST(without_a_service_that_works_a_child_measures),
        TEST(a_service_that_is_late_is_given_up),
        TEST(a_measurement_ends_with_its_connection),
        TEST(what_was_written_is_read),
        TEST(a_damaged_file_is_thrown_away_wherever_the_damage_is),
        TEST(another_fftw_or_processor_starts_anew),
        TEST(a_directory_that_is_missing_is_an_error_on_writing_alone),
        TEST(limits_of_the_process_lose_no_plans),
        TEST(shapes_that_cannot_be_are_refused),
    };
    signal(SIGPIPE, SIG_IGN); /* like the daemon */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
