/* SPDX-License-Identifier: Apache-2.0 */
#include "plans.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compute/fft/fft_text.h"
#include "io/log.h"
#include "model/program.h"
#include "wisdom.h"
#include "system/limits.h"

enum { ANSWER_MAX = 16 << 20, HANDLES = 3 };

struct td_plans {
    uv_loop_t *uv;
    struct td_plans_options options;
    uv_timer_t timer; /* runs before a measurement starts, and during it as its time limit */
    bool running, stopped, overdue, unsaved;

    /* the measurement in progress */
    struct td_shape shape;
    bool served; /* a service measures, at the other end of `to`; otherwise a child process */
    uv_process_t process;
    uv_pipe_t to, from;
    unsigned open; /* open handles of these three */
    int64_t exit_status;
    int signal;
    char *request, *answer;
    size_t answer_bytes;
    uv_connect_t connect;
    uv_write_t write;
    uv_shutdown_t end;

    struct td_planner *planner;
    bool planner_ended;                         /* and no task was being done */
    struct td_planner_task ask, learn, compose; /* what needs FFTW's planner */
    bool learned;                               /* the answer was good: */
    struct td_fft_record record;

    uv_work_t save;
    bool saving;
    char *text; /* the text being written, or NULL */
    int save_error;
    bool save_failed; /* the last write failed */
};

/* ---- the file ---- */

static void on_save(uv_work_t *work)
{
    struct td_plans *p = work->data;
    p->save_error = td_wisdom_write(p->options.directory, p->text) ? 0 : errno;
}

/* note_save logs the error of an attempt to save the plans, once until one succeeds; 0: it did. */
static void note_save(struct td_plans *p, int error)
{
    char why[TD_LIMIT_TEXT];
    if (error && !p->save_failed)
        td_log(TD_LOG_WARNING, "cannot save FFT plans: state_directory %s: %s",
               p->options.directory, td_limit_why(error, why, sizeof why));
    p->save_failed = error != 0;
}

static void on_saved(uv_work_t *work, int status)
{
    struct td_plans *p = work->data;
    free(p->text);
    p->text = NULL;
    p->saving = false;
    note_save(p, status < 0 ? -status : p->save_error);
}

static void compose(void *plans)
{
    ((struct td_plans *)plans)->text = td_wisdom_compose();
}

/* composed writes the text on a worker thread, because it waits for the disk. */
static void composed(void *plans)
{
    struct td_plans *p = plans;
    p->save.data = p;
    if (!p->text) {
        p->saving = false;
        p->unsaved = true;
    } else if (uv_queue_work(p->uv, &p->save, on_save, on_saved) != 0) {
        on_saved(&p->save, UV_ENOMEM);
    }
}

/* save saves the plans. Changes made meanwhile are saved the next time. */
static void save(struct td_plans *p)
{
    p->unsaved = p->saving;
    if (p->saving)
        return;
    p->saving = true;
    td_planner_post(p->planner, &p->compose);
}

/* ---- one measurement ---- */

static void start(struct td_plans *p);

static void fail(struct td_plans *p, const char *why)
{
    struct td_fft_record r = {
        .shape = p->shape, .state = TD_FFT_FAILED, .since_s = (uint64_t)time(NULL)};
    td_fft_update(&r);
    td_log(TD_LOG_WARNING, "the FFT plan of %lld x %lld points (%s) stays an estimate: %s",
           (long long)(p->shape.batch * p->shape.batch2), (long long)p->shape.length,
           td_transform_kind_name((unsigned)p->shape.kind), why);
}

/* learn imports the answer. The estimated plan stays if it is as fast as the measured one. */
static void learn(void *plans)
{
    struct td_plans *p = plans;
    struct td_fft_record *r = &p->record;
    *r = (struct td_fft_record){.shape = p->shape,
                                .state = TD_FFT_MEASURED,
                                .effort = (uint8_t)p->options.effort,
                                .since_s = (uint64_t)time(NULL)};
    unsigned long long estimate_ns = 0, measured_ns = 0, planning_ns = 0;
    const char *line_end = p->answer ? strchr(p->answer, '\n') : NULL;
    if (!line_end ||
        sscanf(p->answer, "%llu %llu %llu", &estimate_ns, &measured_ns, &planning_ns) != 3)
        return;
    bool faster = measured_ns < estimate_ns;
    if (faster && !td_fft_import(line_end + 1, td_shape_is_double(&p->shape)))
        return;
    r->estimate_ns = estimate_ns;
    r->measured_ns = measured_ns;
    r->planning_ns = planning_ns;
    p->learned = true;
}

/* next ends the measurement and starts another one. */
static void next(struct td_plans *p)
{
    free(p->request);
    free(p->answer);
    p->request = p->answer = NULL;
    p->running = false;
    save(p);
    start(p);
}

static void learned(void *plans)
{
    struct td_plans *p = plans;
    if (p->learned) {
        td_fft_update(&p->record);
        td_log(TD_LOG_DEBUG, "measured the FFT plan of %lld x %lld points (%s) in %llu ms",
               (long long)(p->shape.batch * p->shape.batch2), (long long)p->shape.length,
               td_transform_kind_name((unsigned)p->shape.kind),
               (unsigned long long)p->record.planning_ns / 1000000);
    } else {
        fail(p, "the measurement returned no wisdom");
    }
    next(p);
}

/* finish handles the end of the process, after its pipes have closed. */
static void finish(struct td_plans *p)
{
    char why[80];
    snprintf(why, sizeof why, "the measurement ended with %s %d", p->signal ? "signal" : "code",
             p->signal ? p->signal : (int)p->exit_status);
    uv_timer_stop(&p->timer);
    if (p->overdue)
        snprintf(why, sizeof why, "the measurement exceeded %u s ([fft] measure_timeout)",
                 p->options.seconds);
    else if (p->exit_status < 0)
        snprintf(why, sizeof why, "cannot start the measurement: %s",
                 strerror((int)-p->exit_status));
    bool ended_well = !p->overdue && p->exit_status == 0 && p->signal == 0;
    if (ended_well) {
        p->learned = false;
        td_planner_post(p->planner, &p->learn);
        return;
    }
    fail(p, why);
    next(p);
}

static void run_process(struct td_plans *p);

static void on_closed(uv_handle_t *handle)
{
    struct td_plans *p = handle->data;
    assert(p->open > 0);
    if (--p->open > 0 || p->stopped)
        return;
    if (p->served && !p->overdue && p->answer_bytes == 0)
        run_process(p); /* the service does not work */
    else
        finish(p);
}

static void close_one(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

static void on_exit_status(uv_process_t *process, int64_t status, int signal)
{
    struct td_plans *p = process->data;
    p->exit_status = status;
    p->signal = signal;
    close_one(process);
}

static void on_written(uv_write_t *write, int status)
{
    struct td_plans *p = write->data;
    (void)status; /* a process that does not read ends, and on_exit_status sees it */
    close_one(&p->to);
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *out)
{
    struct td_plans *p = handle->data;
    char *grown =
        p->answer_bytes < ANSWER_MAX ? realloc(p->answer, p->answer_bytes + size + 1) : NULL;
    *out = uv_buf_init(NULL, 0);
    if (!grown)
        return;
    p->answer = grown;
    *out = uv_buf_init(grown + p->answer_bytes, (unsigned)size);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    struct td_plans *p = stream->data;
    (void)buffer;
    if (got > 0) {
        p->answer_bytes += (size_t)got;
        p->answer[p->answer_bytes] = '\0';
    } else if (got < 0) { /* end of file, or no memory: a truncated answer has no wisdom */
        close_one(stream);
    }
}

/* spawn returns 0 or libuv's error. The handles are initialised in either case. */
static int spawn(struct td_plans *p)
{
    char name[] = "torusd", measure[] = "--measure", *arguments[] = {name, measure, NULL};
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&p->to},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&p->from},
        {.flags = UV_INHERIT_FD, .data.fd = 2}};
    uv_process_options_t options = {.file = p->options.program,
                                    .args = arguments,
                                    .exit_cb = on_exit_status,
                                    .stdio = stdio,
                                    .stdio_count = 3};
    uv_pipe_init(p->uv, &p->to, 0);
    uv_pipe_init(p->uv, &p->from, 0);
    int error = uv_spawn(p->uv, &p->process, &options);
    p->process.data = p->to.data = p->from.data = p;
    p->open = HANDLES;
    return error;
}

/* end_process kills the process if its end was not seen yet. Otherwise another process may have its
 * number. A service ends with its connection. */
static void end_process(struct td_plans *p)
{
    if (p->served)
        close_one(&p->to);
    else if (uv_is_active((uv_handle_t *)&p->process))
        uv_process_kill(&p->process, SIGKILL);
}

static void on_overdue(uv_timer_t *timer)
{
    struct td_plans *p = timer->data;
    p->overdue = true;
    end_process(p);
}

/* ask composes the request. The planner gets half of the time limit, so that it ends before it is
 * killed. */
static void ask(void *plans)
{
    struct td_plans *p = plans;
    char shape[TD_FFT_LINE_MAX], *text = NULL;
    char *wisdom = td_fft_export(td_shape_is_double(&p->shape));
    td_shape_print(&p->shape, shape, sizeof shape);
    if (!wisdom || asprintf(&text, "%u %u %s\n%s", (unsigned)p->options.effort,
                            p->options.seconds / 2, shape, wisdom) < 0)
        text = NULL;
    free(wisdom);
    p->request = text;
}

/* send_request sends the request and reads the answer from a pipe or socket. */
static int send_request(struct td_plans *p, uv_stream_t *from, uv_write_cb on_end)
{
    uv_buf_t whole = uv_buf_init(p->request, (unsigned)strlen(p->request));
    p->write.data = p;
    int error = uv_write(&p->write, (uv_stream_t *)&p->to, &whole, 1, on_end);
    uv_read_start(from, on_room, on_read);
    uv_timer_start(&p->timer, on_overdue, p->options.seconds * 1000ull, 0);
    return error;
}

/* run_process measures in a child process. */
static void run_process(struct td_plans *p)
{
    p->served = false;
    int error = spawn(p);
    if (error == 0 && p->request) {
        error = send_request(p, (uv_stream_t *)&p->from, on_written);
    } else if (error == 0) {
        error = UV_ENOMEM;
        end_process(p);
    }
    if (error == 0)
        return;
    p->exit_status = error;
    close_one(&p->process);
    close_one(&p->to);
    close_one(&p->from);
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct td_plans *p = connect->data;
    if (status == UV_ECANCELED || p->stopped)
        return; /* the handle is being closed */
    if (status != 0 || send_request(p, (uv_stream_t *)&p->to, NULL) != 0 ||
        uv_shutdown(&p->end, (uv_stream_t *)&p->to, NULL) != 0)
        close_one(&p->to);
}

/* asked gives the request to the service, or to a child process. */
static void asked(void *plans)
{
    struct td_plans *p = plans;
    p->served = p->options.service && p->request;
    if (!p->served) {
        run_process(p);
        return;
    }
    uv_pipe_init(p->uv, &p->to, 0);
    p->to.data = p->connect.data = p;
    p->open = 1;
    uv_pipe_connect(&p->connect, &p->to, p->options.service, on_connected);
}

static void measure(struct td_plans *p)
{
    p->running = true;
    p->overdue = false;
    p->exit_status = p->signal = 0;
    p->answer_bytes = 0;
    td_planner_post(p->planner, &p->ask);
}

/* ---- schedule ---- */

static void start(struct td_plans *p)
{
    if (!p->stopped && !p->running && td_fft_next_shape(&p->shape))
        measure(p);
}

static void on_delay(uv_timer_t *timer)
{
    start(timer->data);
}

void td_plans_used(struct td_plans *p)
{
    if (!p || p->stopped || p->running || uv_is_active((uv_handle_t *)&p->timer) ||
        (p->options.effort != TD_FFT_MEASURE && p->options.effort != TD_FFT_PATIENT))
        return;
    uv_timer_start(&p->timer, on_delay, p->options.delay_ms, 0);
}

struct td_plans *td_plans_create(uv_loop_t *uv, const struct td_plans_options *options)
{
    char why[600];
    struct td_plans *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->uv = uv;
    p->options = *options;
    p->ask =
        (struct td_planner_task){.owner = p, .user = TD_PLANNER_NOBODY, .work = ask, .done = asked};
    p->learn = (struct td_planner_task){
        .owner = p, .user = TD_PLANNER_NOBODY, .work = learn, .done = learned};
    p->compose = (struct td_planner_task){
        .owner = p, .user = TD_PLANNER_NOBODY, .work = compose, .done = composed};
    if (!(p->planner = td_planner_create(uv))) {
        free(p);
        return NULL;
    }
    uv_timer_init(uv, &p->timer);
    p->timer.data = p;
    td_fft_set_effort(options->effort);
    if (options->effort != TD_FFT_ESTIMATE && !td_wisdom_load(options->directory, why, sizeof why))
        td_log(TD_LOG_WARNING, "cannot load FFT plans, measuring again: %s", why);
    return p;
}

bool td_plans_stop(struct td_plans *p)
{
    if (!p)
        return true;
    p->stopped = true;
    if (p->open > 0)
        end_process(p);
    return p->planner_ended = td_planner_stop(p->planner);
}

void td_plans_free(struct td_plans *p)
{
    if (!p || !p->planner_ended)
        return; /* the planning thread still uses it; the process ends */
    char *text = p->unsaved || p->saving ? td_wisdom_compose() : NULL;
    if (text)
        note_save(p, td_wisdom_write(p->options.directory, text) ? 0 : errno);
    free(text);
    free(p->text);
    free(p->request);
    free(p->answer);
    td_planner_free(p->planner);
    free(p);
}

struct td_planner *td_plans_planner(const struct td_plans *p)
{
    return p->planner;
}

/* ---- status ---- */

/* used_record copies record number `at` of those that a transform has used. The others were
 * prepared for executions that may never come. */
static bool used_record(unsigned at, struct td_fft_record *r)
{
    unsigned used = 0;
    for (unsigned i = 0; td_fft_record(i, r); i++)
        if (r->uses > 0 && used++ == at)
            return true;
    return false;
}

bool td_plans_row(unsigned at, struct td_row_plan *row)
{
    struct td_fft_record r;
    if (!used_record(at, &r))
        return false;
    const struct td_shape *s = &r.shape;
    uint64_t now_s = (uint64_t)time(NULL);
    row->kind = td_transform_kind_name((unsigned)s->kind);
    row->precision = td_shape_is_double(s) ? "double" : "float";
    row->sign = s->sign;
    row->age_ns = now_s > r.since_s ? (now_s - r.since_s) * 1000000000u : 0;
    const int64_t numbers[TD_PLAN_NUMBERS] = {
        [TD_PLAN_LENGTH] = s->length,
        [TD_PLAN_BATCH] = s->batch,
        [TD_PLAN_BATCH2] = s->batch2,
        [TD_PLAN_STRIDE] = s->stride,
        [TD_PLAN_DISTANCE] = s->distance,
        [TD_PLAN_DISTANCE2] = s->distance2,
        [TD_PLAN_TO_STRIDE] = s->to_stride,
        [TD_PLAN_TO_DISTANCE] = s->to_distance,
        [TD_PLAN_TO_DISTANCE2] = s->to_distance2,
        [TD_PLAN_IN_PLACE] = s->in_place,
        [TD_PLAN_ALIGNMENT] = s->alignment,
        [TD_PLAN_TO_ALIGNMENT] = s->to_alignment,
        [TD_PLAN_EFFORT] = r.effort,
        [TD_PLAN_STATE] = r.state,
        [TD_PLAN_USES] = (int64_t)r.uses,
        [TD_PLAN_ESTIMATE_NS] = (int64_t)r.estimate_ns,
        [TD_PLAN_MEASURED_NS] = (int64_t)r.measured_ns,
        [TD_PLAN_PLANNING_NS] = (int64_t)r.planning_ns,
    };
    for (unsigned i = 0; i < TD_PLAN_NUMBERS; i++)
        row->number[i] = (uint64_t)numbers[i];
    return true;
}
