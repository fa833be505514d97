/* SPDX-License-Identifier: Apache-2.0 */
#include "exposition.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/text.h"
#include "io/clients/events.h"
#include "io/descriptors.h"

enum type { GAUGE, COUNTER, HISTOGRAM, INFO };

struct family {
    const char *name, *help;
    enum type type;
    const char *unit; /* the end of the name, or NULL */
};

/* struct text: a text under way, and the family whose samples come next. */
struct text {
    FILE *to;
    enum td_exposition_format format;
    const struct td_facts *facts;
    const struct family *family;
};

/* ---- lines ---- */

/* begin writes what comes before the samples of a family. */
static void begin(struct text *t, const struct family *f)
{
    static const char *const types[] = {"gauge", "counter", "histogram", "info"};
    bool plain = t->format == TD_EXPOSITION_PLAIN;
    const char *end = !plain ? "" : f->type == COUNTER ? "_total" : f->type == INFO ? "_info" : "";
    t->family = f;
    fprintf(t->to, "# HELP %s%s %s\n# TYPE %s%s %s\n", f->name, end, f->help, f->name, end,
            plain && f->type == INFO ? "gauge" : types[f->type]);
    if (f->unit && !plain)
        fprintf(t->to, "# UNIT %s %s\n", f->name, f->unit);
}

/* name writes the name of a sample; labels: such as peer="3", or "". */
static void name(struct text *t, const char *end, const char *labels)
{
    const char *total = t->family->type == COUNTER ? "_total" : end;
    fprintf(t->to, labels[0] ? "%s%s{%s} " : "%s%s%s ", t->family->name, total, labels);
}

static void number(struct text *t, const char *labels, uint64_t value)
{
    name(t, "", labels);
    fprintf(t->to, "%llu\n", (unsigned long long)value);
}

static void print_seconds(struct text *t, uint64_t ns)
{
    fprintf(t->to, "%llu.%09llu\n", (unsigned long long)(ns / 1000000000),
            (unsigned long long)(ns % 1000000000));
}

static void seconds(struct text *t, const char *labels, uint64_t ns)
{
    name(t, "", labels);
    print_seconds(t, ns);
}

/* parts prints value / of. */
static void parts(struct text *t, const char *labels, uint64_t value, uint64_t of)
{
    name(t, "", labels);
    fprintf(t->to, "%.9f\n", (double)value / (double)of);
}

static uint64_t count_of(const struct td_histogram *h)
{
    uint64_t count = 0;
    for (int i = 0; i <= TD_HISTOGRAM_BUCKETS; i++)
        count += h->bucket[i];
    return count;
}

static void histogram(struct text *t, const char *labels, const struct td_histogram *h)
{
    char with[160];
    uint64_t count = 0;
    for (int i = 0; i <= TD_HISTOGRAM_BUCKETS; i++) {
        double most = (double)(UINT64_C(1) << (TD_HISTOGRAM_LEAST_BITS + i)) / 1e9;
        count += h->bucket[i];
        if (i < TD_HISTOGRAM_BUCKETS)
            snprintf(with, sizeof with, "%s,le=\"%.9g\"", labels, most);
        else
            snprintf(with, sizeof with, "%s,le=\"+Inf\"", labels);
        name(t, "_bucket", with);
        fprintf(t->to, "%llu\n", (unsigned long long)count);
    }
    name(t, "_sum", labels);
    print_seconds(t, h->ns);
    name(t, "_count", labels);
    fprintf(t->to, "%llu\n", (unsigned long long)count);
}

/* label writes NAME="VALUE" of any text, shown as plain text. */
static void label(char *to, size_t bytes, const char *label_name, const char *value)
{
    char plain[2 * TD_NAME_MAX];
    size_t length = (size_t)snprintf(to, bytes, "%s=\"", label_name);
    td_text_show(value, plain, sizeof plain);
    for (const char *at = plain; *at && length + 4 < bytes; at++) {
        if (*at == '"' || *at == '\\')
            to[length++] = '\\';
        to[length++] = *at;
    }
    snprintf(to + length, bytes - length, "\"");
}

static const char *kind_label(uint32_t kind)
{
    static char text[80];
    label(text, sizeof text, "kind", td_kind_name(kind));
    return text;
}

/* ---- operations ---- */

static void operations(struct text *t)
{
    static const struct family duration = {
        "torus_operation_duration_seconds",
        "Time of the operations by request that succeeded, from the first call on this node to the "
        "end on this node.",
        HISTOGRAM, "seconds"};
    static const struct family skew = {
        "torus_operation_skew_seconds",
        "Arrival skew: time from the first call on this node until this node knew that all ranks "
        "had called.",
        HISTOGRAM, "seconds"};
    const struct td_kind_sums *kind = t->facts->sums->kind;
    begin(t, &duration);
    for (uint32_t k = 1; k < TD_KIND_MAX; k++)
        if (count_of(&kind[k].duration))
            histogram(t, kind_label(k), &kind[k].duration);
    begin(t, &skew);
    for (uint32_t k = 1; k < TD_KIND_MAX; k++)
        if (count_of(&kind[k].skew))
            histogram(t, kind_label(k), &kind[k].skew);
}

static void predictions(struct text *t)
{
    static const struct family measured = {
        "torus_operation_measured_seconds",
        "Time from the release to the end, of the operations whose method predicts its time.",
        COUNTER, "seconds"};
    static const struct family slots = {
        "torus_operation_predicted_slots",
        "Predicted time of the same operations, in slots: times of one packet on one link.",
        COUNTER, NULL};
    static const struct family predicted = {
        "torus_operation_predicted_seconds",
        "The same prediction in seconds, where [torus] link_rate says how long a slot is.", COUNTER,
        "seconds"};
    const struct td_kind_sums *kind = t->facts->sums->kind;
    const struct td_settings *s = &t->facts->sources->loop->config->settings;
    begin(t, &measured);
    for (uint32_t k = 1; k < TD_KIND_MAX; k++)
        if (kind[k].predicted_bytes)
            seconds(t, kind_label(k), kind[k].measured_ns);
    begin(t, &slots);
    for (uint32_t k = 1; k < TD_KIND_MAX; k++)
        if (kind[k].predicted_bytes)
            parts(t, kind_label(k), kind[k].predicted_bytes, s->packet_bytes);
    begin(t, &predicted);
    for (uint32_t k = 1; k < TD_KIND_MAX; k++)
        if (s->link_rate && kind[k].predicted_bytes)
            parts(t, kind_label(k), kind[k].predicted_bytes, s->link_rate);
}

static void failures(struct text *t)
{
    static const struct family failed = {
        "torus_operations_failed",
        "Operations by request that ended with an error on this node, by error.", COUNTER, NULL};
    begin(t, &failed);
    for (int e = 1; e < TD_ERRORS; e++) {
        char word[32], labels[64];
        snprintf(word, sizeof word, "%s", td_events_error_name((td_err)-e));
        for (char *c = word; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        label(labels, sizeof labels, "error", word);
        if (t->facts->sums->failed[e])
            number(t, labels, t->facts->sums->failed[e]);
    }
}

static void segments(struct text *t)
{
    static const struct family calls = {
        "torus_segment_operations",
        "Operations that ranks of this node made in shared memory, without the daemon. All are "
        "counted; their processes count them.",
        COUNTER, NULL};
    static const struct family waited = {
        "torus_segment_waited_seconds",
        "Time that ranks waited in these for the last rank to call, summed over ranks, as their "
        "processes say.",
        COUNTER, "seconds"};
    const struct td_watch_segment *s = t->facts->segment;
    begin(t, &calls);
    for (uint32_t k = 1; k < TD_KIND_MAX; k++)
        if (s[k].calls || s[k].waited_ns)
            number(t, kind_label(k), s[k].calls);
    begin(t, &waited);
    for (uint32_t k = 1; k < TD_KIND_MAX; k++)
        if (s[k].calls || s[k].waited_ns)
            seconds(t, kind_label(k), s[k].waited_ns);
}

static void one(struct text *t, const struct family *f, uint64_t value)
{
    begin(t, f);
    number(t, "", value);
}

static void one_seconds(struct text *t, const struct family *f, uint64_t ns)
{
    begin(t, f);
    seconds(t, "", ns);
}

static void under_way(struct text *t)
{
    static const struct family waiting = {"torus_operations_waiting",
                                          "Operations that wait for ranks to call.", GAUGE, NULL};
    static const struct family running = {"torus_operations_running",
                                          "Operations that all ranks have called.", GAUGE, NULL};
    static const struct family waiting_age = {
        "torus_operation_waiting_seconds",
        "Age of the oldest operation on this node that waits for ranks to call; 0: there is none.",
        GAUGE, "seconds"};
    static const struct family running_age = {
        "torus_operation_running_seconds",
        "Age of the oldest operation on this node that all ranks have called; 0: there is none.",
        GAUGE, "seconds"};
    static const struct family missing = {
        "torus_missing_ranks",
        "Ranks that operations wait for, by what their processes on this node do, or because their "
        "node is silent. At most 4 of each of 256 operations.",
        GAUGE, NULL};
    const struct td_watch_now *now = &t->facts->now;
    char labels[64];
    one(t, &waiting, now->waiting);
    one(t, &running, now->running);
    one_seconds(t, &waiting_age, now->waiting_ns);
    one_seconds(t, &running_age, now->running_ns);
    begin(t, &missing);
    for (unsigned m = 0; m < TD_MISSING_STATES; m++) {
        label(labels, sizeof labels, "state", td_facts_missing_name((enum td_missing)m));
        number(t, labels, t->facts->missing[m]);
    }
}

/* ---- jobs ---- */

static void counts(struct text *t)
{
    static const struct family formed = {
        "torus_jobs_formed", "Jobs that formed with ranks on this node.", COUNTER, NULL};
    static const struct family ended = {"torus_jobs_ended",
                                        "Jobs with ranks on this node that ended.", COUNTER, NULL};
    static const struct family died = {
        "torus_ranks_died", "Ranks of this node whose process ended without leaving its job.",
        COUNTER, NULL};
    static const struct family jobs = {"torus_jobs", "Jobs that have ranks on this node.", GAUGE,
                                       NULL};
    static const struct family groups = {"torus_groups", "Groups that have ranks on this node.",
                                         GAUGE, NULL};
    static const struct family clients = {"torus_clients", "Processes connected to this daemon.",
                                          GAUGE, NULL};
    static const struct family joining = {
        "torus_joining_clients", "Processes that wait for the other ranks of their job to join.",
        GAUGE, NULL};
    static const struct family plans = {
        "torus_plans", "Plans of transforms and moves that groups of this node keep.", GAUGE, NULL};
    static const struct family measured = {
        "torus_fft_plans", "Plans of one-dimensional transforms that the daemon knows.", GAUGE,
        NULL};
    const struct td_watch_now *now = &t->facts->now;
    one(t, &formed, now->noted[TD_NOTE_JOB_FORMED]);
    one(t, &ended, now->noted[TD_NOTE_JOB_ENDED]);
    one(t, &died, now->noted[TD_NOTE_RANK_DIED]);
    one(t, &jobs, now->noted[TD_NOTE_JOB_FORMED] - now->noted[TD_NOTE_JOB_ENDED]);
    one(t, &groups, now->usage.groups);
    one(t, &clients, td_clients_count(t->facts->sources->clients));
    one(t, &joining, now->joining);
    one(t, &plans, now->usage.plans);
    one(t, &measured, t->facts->measured_plans);
}

/* job_label names a job and its user. */
static const char *job_label(const struct td_watch_job *j)
{
    static char text[2 * TD_NAME_MAX + 64];
    char value[2 * TD_NAME_MAX + 16];
    label(value, sizeof value, "torus_job", j->name);
    snprintf(text, sizeof text, "%s,uid=\"%llu\"", value, (unsigned long long)j->uid);
    return text;
}

/* named_jobs writes nothing but the families unless [metrics] jobs is set. */
static void named_jobs(struct text *t)
{
    static const struct family ranks = {"torus_job_ranks",
                                        "Ranks of a job, if [metrics] jobs = yes.", GAUGE, NULL};
    static const struct family operations = {
        "torus_job_operations",
        "Operations by request of a job that were released or failed, if [metrics] jobs = yes.",
        COUNTER, NULL};
    static const struct family waited = {
        "torus_job_waited_seconds",
        "Time that the ranks of a job on this node waited for the last rank to call, summed over "
        "ranks, if [metrics] jobs = yes.",
        COUNTER, "seconds"};
    static const struct family waiting = {
        "torus_job_operation_waiting_seconds",
        "Age of the oldest operation of a job that waits for ranks to call, if [metrics] jobs = "
        "yes.",
        GAUGE, "seconds"};
    const struct td_facts *f = t->facts;
    uint32_t jobs = f->sources->loop->config->metrics_jobs ? f->jobs : 0;
    begin(t, &ranks);
    for (uint32_t i = 0; i < jobs; i++)
        number(t, job_label(&f->job[i]), f->job[i].size);
    begin(t, &operations);
    for (uint32_t i = 0; i < jobs; i++)
        number(t, job_label(&f->job[i]), f->job[i].operations);
    begin(t, &waited);
    for (uint32_t i = 0; i < jobs; i++)
        seconds(t, job_label(&f->job[i]), f->job[i].waited_ns);
    begin(t, &waiting);
    for (uint32_t i = 0; i < jobs; i++)
        seconds(t, job_label(&f->job[i]), f->job[i].waiting_ns);
}

/* ---- links and queues ---- */

/* A number of a link or of a direction: a family, and where the number is. */
struct column {
    struct family family;
    size_t offset;
};

static void links(struct text *t)
{
#define OF(field) offsetof(struct td_watch_link, field)
    static const struct column columns[] = {
        {{"torus_link_sent_bytes", "Payload of packets sent on a link.", COUNTER, "bytes"},
         OF(bytes)},
        {{"torus_link_sent_packets", "Packets sent on a link, each once.", COUNTER, NULL},
         OF(packets)},
        {{"torus_link_retransmitted_packets", "Packets sent again on a link after it was lost.",
          COUNTER, NULL},
         OF(retransmitted)},
        {{"torus_link_resumes", "Times that the session of a link went on after it was lost.",
          COUNTER, NULL},
         OF(resumes)},
        {{"torus_link_unacknowledged_packets", "Packets sent that the peer has not acknowledged.",
          GAUGE, NULL},
         OF(unacknowledged)},
        {{"torus_link_waiting_jobs", "Jobs whose messages wait for credits, on the direct fabric.",
          GAUGE, NULL},
         OF(waiting)},
        {{"torus_link_credits", "Packets that may be sent to the peer now, on the direct fabric.",
          GAUGE, NULL},
         OF(credits)},
    };
    static const struct family up = {"torus_link_up", "1 if a link to a peer is up, else 0.", GAUGE,
                                     NULL};
    const struct td_facts *f = t->facts;
    char labels[40];
    bool direct = f->sources->loop->config->settings.tuning.fabric == TD_FABRIC_DIRECT;
    begin(t, &up);
    for (uint32_t i = 0; i < f->links; i++) {
        snprintf(labels, sizeof labels, "peer=\"%u\"", f->link[i].peer);
        number(t, labels, f->link[i].up);
    }
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
        bool only_direct = columns[c].offset == OF(waiting) || columns[c].offset == OF(credits);
        begin(t, &columns[c].family);
        for (uint32_t i = 0; i < f->links && (direct || !only_direct); i++) {
            snprintf(labels, sizeof labels, "peer=\"%u\"", f->link[i].peer);
            number(
                t, labels,
                *(const uint64_t *)(const void *)((const char *)&f->link[i] + columns[c].offset));
        }
    }
#undef OF
}

static void channels(struct text *t, const struct family *family, unsigned first)
{
    static const char *const names[TD_CHANNELS] = {"adaptive-0", "adaptive-1", "escape"};
    const struct td_facts *f = t->facts;
    char labels[80];
    begin(t, family);
    for (uint32_t i = 0; i < f->directions; i++)
        for (unsigned c = 0; c < TD_CHANNELS; c++) {
            unsigned d = f->direction[i].direction;
            snprintf(labels, sizeof labels, "direction=\"%c%u\",channel=\"%s\"", d % 2 ? '-' : '+',
                     d / 2, names[c]);
            number(t, labels, f->direction[i].number[first + c]);
        }
}

static void queues(struct text *t)
{
    static const struct family queued = {"torus_queue_shipments",
                                         "Shipments in the output queues, on the routed fabric.",
                                         GAUGE, NULL};
    static const struct family fifo = {
        "torus_fifo_packets", "Packets in the injection FIFO of a direction, on the routed fabric.",
        GAUGE, NULL};
    static const struct family held = {
        "torus_channel_packets",
        "Packets that an input channel holds at this node, by direction of travel, on the routed "
        "fabric.",
        GAUGE, NULL};
    static const struct family credits = {
        "torus_channel_credits",
        "Packets that a channel of the neighbour takes now, on the routed fabric.", GAUGE, NULL};
    const struct td_facts *f = t->facts;
    char labels[40];
    begin(t, &queued);
    if (f->router.numbers > 1)
        number(t, "", f->router.number[TD_QUEUES_QUEUED]);
    begin(t, &fifo);
    for (uint32_t i = 0; i < f->directions; i++) {
        unsigned d = f->direction[i].direction;
        snprintf(labels, sizeof labels, "direction=\"%c%u\"", d % 2 ? '-' : '+', d / 2);
        number(t, labels, f->direction[i].number[TD_WAY_FIFO]);
    }
    channels(t, &held, TD_WAY_HELD);
    channels(t, &credits, TD_WAY_CREDITS);
}

static void peers(struct text *t)
{
    static const struct family family = {
        "torus_peers", "Other nodes of the torus, by what this node knows of them.", GAUGE, NULL};
    static const char *const states[] = {"down", "up", "unknown"};
    char labels[40];
    begin(t, &family);
    for (int s = TD_PEER_DOWN; s <= TD_PEER_UNKNOWN; s++) {
        snprintf(labels, sizeof labels, "state=\"%s\"", states[s]);
        number(t, labels, t->facts->now.peers[s]);
    }
    number(t, "state=\"absent\"", t->facts->now.absent);
}

/* ---- the daemon ---- */

static void memory(struct text *t)
{
    static const struct family used = {
        "torus_memory_used_bytes", "Memory of the daemon's state that is in use.", GAUGE, "bytes"};
    static const struct family most = {"torus_memory_limit_bytes", "[limits] memory.", GAUGE,
                                       "bytes"};
    static const struct family scratch = {
        "torus_scratch_used_bytes", "Work space of operations that is in use.", GAUGE, "bytes"};
    static const struct family scratch_most = {"torus_scratch_limit_bytes", "[limits] scratch.",
                                               GAUGE, "bytes"};
    static const struct family regions = {
        "torus_regions", "Regions of memory that processes share with the daemon.", GAUGE, NULL};
    static const struct family mapped = {
        "torus_mapped_bytes", "Shared memory that the daemon maps, its scratch included.", GAUGE,
        "bytes"};
    const struct td_usage *usage = &t->facts->now.usage;
    const struct td_loop *loop = t->facts->sources->loop;
    one(t, &used, usage->arena_used);
    one(t, &most, loop->config->settings.arena_bytes);
    one(t, &scratch, usage->scratch_used);
    one(t, &scratch_most, loop->config->settings.scratch_bytes);
    one(t, &regions, usage->regions);
    one(t, &mapped, td_regions_bytes(loop->regions));
}

static void workers(struct text *t)
{
    static const struct family in_flight = {
        "torus_in_flight", "Computations and messages of operations that are in flight.", GAUGE,
        NULL};
    static const struct family threads = {
        "torus_workers", "Threads for large computations, [compute] workers.", GAUGE, NULL};
    static const struct family busy = {"torus_workers_busy",
                                       "Large computations that threads execute.", GAUGE, NULL};
    static const struct family waiting = {
        "torus_computations_waiting", "Large computations that wait for a thread.", GAUGE, NULL};
    const struct td_pool_counts *pool = &t->facts->pool;
    one(t, &in_flight, t->facts->now.usage.computing);
    one(t, &threads, pool->threads);
    one(t, &busy, pool->running);
    one(t, &waiting, pool->waiting);
}

static void loop_events(struct text *t)
{
    static const struct family passed = {
        "torus_loop_event_longest_seconds",
        "Longest time that the event loop worked on one event, in the last one to two minutes.",
        GAUGE, "seconds"};
    static const struct family cpu = {
        "torus_loop_event_longest_cpu_seconds",
        "Longest processor time that the event loop used for one event, in the last one to two "
        "minutes.",
        GAUGE, "seconds"};
    const struct td_loop *loop = t->facts->sources->loop;
    const struct td_busy_longest longest = td_busy_recent(&loop->busy, td_loop_now());
    one_seconds(t, &passed, longest.passed.ns);
    one_seconds(t, &cpu, longest.cpu.cpu_ns);
}

static void info(struct text *t)
{
    static const struct family build = {"torus_build", "The daemon and its place in the torus.",
                                        INFO, NULL};
    const struct td_config *c = t->facts->sources->loop->config;
    char shape[128], labels[256];
    td_topology_print(&c->topology, shape, sizeof shape);
    snprintf(labels, sizeof labels,
             "version=\"" TORUS_VERSION "\",node=\"%u\",shape=\"%s\",fabric=\"%s\"", c->node, shape,
             c->settings.tuning.fabric == TD_FABRIC_ROUTED ? "routed" : "direct");
    begin(t, &build);
    name(t, "_info", labels);
    fputs("1\n", t->to);
}

/* resident_bytes returns the memory of this process that is in RAM, or 0. */
static uint64_t resident_bytes(void)
{
    unsigned long all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%lu %lu", &all, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void process(struct text *t)
{
    static const struct family cpu = {"process_cpu_seconds",
                                      "Processor time of the daemon, user and system.", COUNTER,
                                      "seconds"};
    static const struct family resident = {"process_resident_memory_bytes",
                                           "Memory of the daemon that is in RAM.", GAUGE, "bytes"};
    static const struct family files = {"process_open_fds", "Open descriptors.", GAUGE, NULL};
    static const struct family files_most = {"process_max_fds", "Limit of descriptors.", GAUGE,
                                             NULL};
    static const struct family start = {"process_start_time_seconds",
                                        "When the daemon started, since 1970.", GAUGE, "seconds"};
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    uint64_t us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    one_seconds(t, &cpu, us * 1000);
    one(t, &resident, resident_bytes());
    begin(t, &files);
    number(t, "", td_descriptors_used());
    begin(t, &files_most);
    number(t, "", td_descriptors_limit());
    one_seconds(t, &start, t->facts->sources->started_ns);
}

char *td_exposition_print(const struct td_facts *facts, enum td_exposition_format format,
                          size_t *bytes)
{
    static void (*const parts[])(struct text *) = {
        info,  operations, failures, segments, predictions, under_way, counts, named_jobs,
        peers, links,      queues,   workers,  loop_events, memory,    process};
    char *out = NULL;
    struct text t = {.to = open_memstream(&out, bytes), .format = format, .facts = facts};
    if (!t.to)
        return NULL;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        parts[i](&t);
    if (format == TD_EXPOSITION_OPENMETRICS)
        fputs("# EOF\n", t.to);
    if (ferror(t.to) | fclose(t.to)) {
        free(out);
        return NULL;
    }
    return out;
}
