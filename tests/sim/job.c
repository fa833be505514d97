/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "model/layout.h"

static char current[256];

/* The core's assertions end here. */
static void on_abort(int number)
{
    static const char before[] = "aborted; to repeat: ";
    ssize_t written = write(STDERR_FILENO, before, sizeof before - 1);
    written += write(STDERR_FILENO, current, strlen(current));
    written += write(STDERR_FILENO, "\n", 1);
    (void)written;
    signal(number, SIG_DFL);
}

void job_case(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(current, sizeof current, format, arguments);
    va_end(arguments);
    signal(SIGABRT, on_abort);
}

_Noreturn void job_fail(const char *file, int line, const char *format, ...)
{
    char text[900];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_error("%s:%d: %s\nto repeat: %s\n", file, line, text, current);
    fail();
    abort();
}

/* ---- worlds ---- */

static bool two_paths; /* of the latest world: tree messages take two paths */

struct td_sim *job_world(const char *shape, uint64_t seed, void (*change)(struct td_sim_options *))
{
    static const uint32_t packets[] = {1024, 4096, 65536}, credits[] = {2, 4, 16};
    static const uint32_t carried[] = {0, 3000, TD_LONG_RIDE_BYTES_MAX};
    static const td_time delays[] = {1, 1000, 30000, 1000000};
    struct td_sim_options o;
    td_sim_options_default(&o, shape, seed);
    o.settings.arena_bytes = 4 << 20; /* the address sanitizer poisons each core's, whole */
    o.settings.packet_bytes = packets[seed % 3];
    o.settings.link_credits = credits[seed / 3 % 3];
    o.settings.carry_bytes = carried[seed / 5 % 3];
    o.settings.tuning.fabric = seed % 2 ? TD_FABRIC_ROUTED : TD_FABRIC_DIRECT;
    o.express_permille = seed / 2 % 3 == 1 ? 500 : 0;
    o.latency_ns_max = delays[seed % 4];
    o.compute_ns_max = delays[seed / 4 % 4];
    o.request_ns_max = delays[seed / 16 % 4];
    if (getenv("TORUS_TEST_TRACE"))
        o.trace = stderr;
    if (change)
        change(&o);
    two_paths = o.express_permille > 0;
    struct td_sim *sim = td_sim_create(&o);
    EXPECT(sim, "no world");
    return sim;
}

uint32_t job_reaches(const struct td_sim *sim, uint32_t from, const bool *dead, bool *reached)
{
    uint32_t nodes = td_sim_nodes(sim), count = !dead[from];
    memset(reached, 0, nodes * sizeof *reached);
    reached[from] = !dead[from];
    for (bool more = true; more;) {
        more = false;
        for (uint32_t a = 0; a < nodes; a++)
            for (uint32_t b = 0; reached[a] && b < nodes; b++)
                if (!reached[b] && !dead[b] && td_sim_connected(sim, a, b)) {
                    more = reached[b] = true;
                    count++;
                }
    }
    return count;
}

void job_world_end(struct td_sim *sim)
{
    uint32_t last = td_sim_open(sim, 0); /* one more: its number is the number of clients before */
    for (uint32_t c = 1; c <= last; c++)
        td_sim_close(sim, c);
    td_sim_run(sim, SECOND / 2);
    if (two_paths) /* a message that is missing is asked for after a second */
        td_sim_run(sim, 4 * SECOND);
    const char *left = td_sim_leftovers(sim);
    EXPECT(!left, "in the end %s", left);
    td_sim_destroy(sim);
}

/* ---- jobs ---- */

void job_spread(const struct td_sim *sim, uint32_t size, uint32_t *nodes)
{
    for (uint32_t n = 0; n < td_sim_nodes(sim); n++) {
        struct td_range ranks = td_share(size, td_sim_nodes(sim), n);
        for (uint64_t i = 0; i < ranks.count; i++)
            nodes[ranks.begin + i] = n;
    }
}

void job_begin(struct job *job, struct td_sim *sim, const char *name, uint32_t size,
               uint64_t half_bytes)
{
    *job = (struct job){.sim = sim, .size = size, .half_bytes = (half_bytes + 63) / 64 * 64};
    snprintf(job->name, sizeof job->name, "%s", name);
}

void job_start(struct job *job, uint32_t i, uint32_t node)
{
    struct job_rank *r = &job->rank[i];
    r->node = node;
    r->client = td_sim_open(job->sim, node);
    if (job->half_bytes)
        r->region = td_sim_region(job->sim, r->client, 2 * job->half_bytes);
}

void job_open(struct job *job, struct td_sim *sim, const char *name, const uint32_t *nodes,
              uint32_t size, uint64_t half_bytes)
{
    job_begin(job, sim, name, size, half_bytes);
    for (uint32_t i = 0; i < size; i++)
        job_start(job, i, nodes[i]);
}

void job_join(struct job *job, uint32_t i, int64_t rank, int64_t timeout_ns)
{
    struct td_request q = {.kind = TD_REQUEST_JOIN};
    q.u.join.name = job->name;
    q.u.join.size = job->size;
    q.u.join.rank = rank;
    q.u.join.timeout_ns = timeout_ns;
    job->rank[i].request = td_sim_request(job->sim, job->rank[i].client, &q);
}

void job_joined(struct job *job)
{
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    for (uint32_t i = 0; i < job->size; i++) {
        const struct td_reply *r = job_reply(job, i);
        CHECK(r->kind == TD_REPLY_JOINED && r->u.joined.rank == i && r->u.joined.size == job->size);
        job->rank[i].group = r->u.joined.group;
    }
}

void job_form(struct job *job, struct td_sim *sim, const char *name, const uint32_t *nodes,
              uint32_t size, uint64_t half_bytes)
{
    job_open(job, sim, name, nodes, size, half_bytes);
    for (uint32_t i = 0; i < size; i++)
        job_join(job, i, i, -1);
    job_joined(job);
}

void *job_source(struct job *job, uint32_t i, uint64_t shift)
{
    return (uint8_t *)td_sim_memory(job->sim, job->rank[i].client, job->rank[i].region) + shift;
}

void *job_destination(struct job *job, uint32_t i, uint64_t shift)
{
    return (uint8_t *)job_source(job, i, shift) + job->half_bytes;
}

void job_make(struct job *job, uint32_t i, struct td_request *q)
{
    struct job_rank *r = &job->rank[i];
    q->u.operation.group = r->group;
    q->u.operation.sequence = r->calls++;
    r->request = td_sim_request(job->sim, r->client, q);
}

void job_call(struct job *job, uint32_t i, const struct td_call *call, uint64_t shift,
              bool in_place)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    struct td_place place = {job->rank[i].region, shift, job->half_bytes - shift, NULL};
    q.u.operation.call = *call;
    q.u.operation.timeout_ns = -1;
    q.u.operation.source = q.u.operation.destination = place;
    q.u.operation.destination.offset += job->half_bytes;
    if (in_place)
        q.u.operation.source = q.u.operation.destination;
    job_make(job, i, &q);
}

void job_call_all(struct job *job, const struct td_call *call, uint64_t shift, bool in_place)
{
    for (uint32_t i = 0; i < job->size; i++)
        job_call(job, i, call, shift, in_place);
}

uint64_t job_agree(struct job *job, unsigned kind, const struct td_description *description)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.call.kind = (uint8_t)kind;
    q.u.operation.description = *description;
    q.u.operation.timeout_ns = -1;
    for (uint32_t i = 0; i < job->size; i++)
        job_make(job, i, &q);
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    return job_reply(job, 0)->u.planned.plan;
}

uint64_t job_plan(struct job *job, const struct td_fft *fft)
{
    struct td_description description = {.fft = *fft};
    td_fft_all(&description.fft);
    uint64_t plan = job_agree(job, TD_KIND_PLAN_FFT, &description);
    for (uint32_t i = 0; i < job->size; i++) {
        const struct td_reply *r = job_reply(job, i);
        struct td_range rows = td_block(fft->size[0], job->size, i);
        CHECK(r->kind == TD_REPLY_PLANNED && r->u.planned.plan == plan);
        CHECK(r->u.planned.source.begin[0] == rows.begin &&
              r->u.planned.source.count[0] == rows.count && r->u.planned.source.begin[1] == 0 &&
              r->u.planned.source.count[1] == fft->size[1]);
    }
    return plan;
}

void job_unplan(struct job *job, uint64_t plan)
{
    struct td_request q = {.kind = TD_REQUEST_UNPLAN};
    q.u.unplan.plan = plan;
    for (uint32_t i = 0; i < job->size; i++) {
        q.u.unplan.group = job->rank[i].group;
        job->rank[i].request = td_sim_request(job->sim, job->rank[i].client, &q);
    }
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
}

const struct td_reply *job_reply(const struct job *job, uint32_t i)
{
    return td_sim_reply(job->sim, job->rank[i].client, job->rank[i].request);
}

void job_settle(struct job *job)
{
    EXPECT(td_sim_settle(job->sim, 600 * SECOND), "no end after ten minutes");
}

void job_expect(const struct job *job, uint32_t i, td_err error, const char *part)
{
    const struct td_reply *r = job_reply(job, i);
    EXPECT(r, "rank %u has no reply", i);
    EXPECT(r->error == error, "rank %u got %d, not %d: %s", i, r->error, error, r->text);
    EXPECT(!part || strstr(r->text, part), "rank %u was told \"%s\", without \"%s\"", i, r->text,
           part);
}

void job_expect_all(const struct job *job, td_err error, const char *part)
{
    for (uint32_t i = 0; i < job->size; i++)
        job_expect(job, i, error, part);
}
