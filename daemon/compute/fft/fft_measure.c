/* SPDX-License-Identifier: Apache-2.0 */
#include "fft_measure.h"

#include <fcntl.h>
#include <fftw3.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fft_text.h"

enum { ALIGNMENT = 64, TIMED_NS = 20000000, TIMED_MIN = 3, TIMED_MAX = 1000 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* lower_priority lowers this process's priority and makes it the first victim when memory is short.
 */
static void lower_priority(void)
{
    enum { LOWEST = 19 };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* FFTW aborts if it has no memory */
    setpriority(PRIO_PROCESS, 0, LOWEST);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "1000", 4) == 4)
        close(fd);
}

/* end_with_connection makes a service end when its connection, which is its standard input and
 * output, is closed: the daemon wants no answer any more, or is gone. */
static void end_with_connection(void)
{
    struct pollfd p = {.fd = STDIN_FILENO};
    struct stat in, out;
    if (fstat(STDIN_FILENO, &in) != 0 || fstat(STDOUT_FILENO, &out) != 0 || !S_ISSOCK(in.st_mode) ||
        in.st_dev != out.st_dev || in.st_ino != out.st_ino)
        return; /* a child process: PR_SET_PDEATHSIG */
    fcntl(STDIN_FILENO, F_SETOWN, getpid());
    int flags = fcntl(STDIN_FILENO, F_GETFL);
    /* then the end raises SIGIO; what came before is in POLLHUP */
    if (flags >= 0 && fcntl(STDIN_FILENO, F_SETFL, flags | O_ASYNC) == 0 && poll(&p, 1, 0) == 1 &&
        p.revents & POLLHUP)
        raise(SIGIO);
}

/* read_all returns standard input as text; NULL: no memory. */
static char *read_all(void)
{
    size_t length = 0, room = 1 << 16;
    char *text = malloc(room);
    for (ssize_t got = 1; text && got > 0;) {
        if (length + 1 == room) {
            char *grown = realloc(text, room *= 2);
            if (!grown)
                free(text);
            text = grown;
        }
        got = text ? read(0, text + length, room - 1 - length) : 0;
        length += got > 0 ? (size_t)got : 0;
    }
    if (text)
        text[length] = '\0';
    return text;
}

/* obtain returns zeroed memory for one side, aligned as the shape requires. The caller frees
 * *whole. */
static void *obtain(const struct td_shape *s, unsigned side, void **whole)
{
    size_t bytes = 0, offset = (size_t)(side ? s->to_alignment : s->alignment);
    int64_t count = td_shape_side(s, side, &bytes);
    if (s->in_place) {
        size_t other = 0;
        int64_t others = td_shape_side(s, !side, &other);
        count = (size_t)others * other > (size_t)count * bytes ? others : count;
        bytes = other > bytes ? other : bytes;
    }
    char *memory = *whole = calloc((size_t)count + 2 * ALIGNMENT, bytes);
    return memory ? memory + (ALIGNMENT - (uintptr_t)memory % ALIGNMENT) + offset : NULL;
}

/* time_plan returns the time of the fastest execution in nanoseconds. */
static uint64_t time_plan(const struct td_shape *s, void *plan, void *in, void *out)
{
    uint64_t least = UINT64_MAX, start = now_ns(), before = start;
    for (int i = 0; i < TIMED_MAX && (i < TIMED_MIN || before - start < TIMED_NS); i++) {
        td_fft_plan_run(s, plan, in, out);
        uint64_t after = now_ns();
        least = after - before < least ? after - before : least;
        before = after;
    }
    return least;
}

/* clear zeroes the input: in place, values grow with each execution. */
static void clear(const struct td_shape *s, void *in)
{
    size_t bytes = 0;
    int64_t count = td_shape_side(s, 0, &bytes);
    memset(in, 0, (size_t)count * bytes);
}

/* struct figures: the figures of the output's first line. */
struct figures {
    uint64_t estimate_ns, measured_ns, planning_ns;
};

static bool time_estimate(const struct td_shape *s, void *in, void *out, struct figures *f)
{
    void *plan = td_fft_plan_make(s, in, out, FFTW_ESTIMATE);
    if (plan)
        f->estimate_ns = time_plan(s, plan, in, out);
    td_fft_plan_destroy(s, plan);
    return plan != NULL;
}

static bool time_measured(const struct td_shape *s, void *in, void *out, unsigned flags,
                          struct figures *f)
{
    uint64_t start = now_ns();
    void *plan = td_fft_plan_make(s, in, out, flags);
    f->planning_ns = now_ns() - start;
    clear(s, in);
    if (plan)
        f->measured_ns = time_plan(s, plan, in, out);
    td_fft_plan_destroy(s, plan);
    return plan != NULL;
}

static bool answer(const struct td_shape *s, const struct figures *f)
{
    char *wisdom =
        td_shape_is_double(s) ? fftw_export_wisdom_to_string() : fftwf_export_wisdom_to_string();
    if (!wisdom)
        return false;
    printf("%llu %llu %llu\n%s", (unsigned long long)f->estimate_ns,
           (unsigned long long)f->measured_ns, (unsigned long long)f->planning_ns, wisdom);
    free(wisdom);
    return fflush(stdout) == 0;
}

static bool measure(const struct td_shape *s, unsigned effort, double seconds, const char *known)
{
    struct figures f = {0};
    void *whole[2] = {NULL, NULL}, *in = obtain(s, 0, &whole[0]);
    void *out = s->in_place ? in : obtain(s, 1, &whole[1]);
    unsigned flags = effort == TD_FFT_PATIENT ? FFTW_PATIENT : FFTW_MEASURE;
    bool good = in && out && time_estimate(s, in, out, &f);
    fftw_forget_wisdom(); /* of the estimate: the answer has that of measurements alone */
    fftwf_forget_wisdom();
    fftw_set_timelimit(seconds);
    fftwf_set_timelimit(seconds);
    td_fft_import(known, td_shape_is_double(s)); /* it may contain parts of this plan */
    good = good && time_measured(s, in, out, flags, &f) && answer(s, &f);
    free(whole[0]);
    free(whole[1]);
    return good;
}

int td_fft_measure_main(void)
{
    struct td_shape shape;
    unsigned effort = 0, seconds = 0;
    int length = 0;
    lower_priority();
    char *text = read_all();
    end_with_connection();
    char *end = text ? strchr(text, '\n') : NULL;
    bool good = end && sscanf(text, "%u %u %n", &effort, &seconds, &length) == 2 &&
                td_shape_parse(&shape, text + length, NULL) &&
                measure(&shape, effort, seconds, end + 1);
    free(text);
    td_fft_fini();
    return good ? 0 : 1;
}
