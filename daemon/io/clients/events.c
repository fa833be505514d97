/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"

#define REPEATED_NS ((uint64_t)10000000000)

const char *td_events_error_name(td_err error)
{
    static const char *const names[] = {NULL,          "INVALID",     "NO_MEMORY", "NO_DAEMON",
                                        "PROTOCOL",    "VERSION",     "TIMEOUT",   "MISMATCH",
                                        "RANK_FAILED", "NODE_FAILED", "CANCELLED", "BUSY",
                                        "RANK_TAKEN",  "FORKED",      "INTERNAL",  "SHUTDOWN",
                                        "SYSTEM",      "PARTITIONED", "PERMISSION"};
    size_t at = (size_t) - (int)error;
    return at < sizeof names / sizeof names[0] ? names[at] : "UNKNOWN";
}

/* concerns_operator returns false for errors that concern the caller alone. */
static bool concerns_operator(td_err error)
{
    return error == TD_ERR_NO_MEMORY || error == TD_ERR_TIMEOUT || error == TD_ERR_MISMATCH ||
           error == TD_ERR_RANK_FAILED || error == TD_ERR_NODE_FAILED || error == TD_ERR_INTERNAL ||
           error == TD_ERR_PARTITIONED;
}

/* print_seconds writes a time in ns as 12.345 s. */
static const char *print_seconds(uint64_t ns, char *text, size_t bytes)
{
    snprintf(text, bytes, "%llu.%03llu s", (unsigned long long)(ns / 1000000000),
             (unsigned long long)(ns / 1000000 % 1000));
    return text;
}

/* print_moment writes the local time of `ns` ago as 14:05:11.123. */
static const char *print_moment(uint64_t ns, char *text, size_t bytes)
{
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t at = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)ns;
    time_t seconds = (time_t)(at / 1000000000);
    size_t length = localtime_r(&seconds, &tm) ? strftime(text, bytes, "%T", &tm) : 0;
    snprintf(text + length, bytes - length, ".%03d", (int)(at / 1000000 % 1000));
    return text;
}

/* is_new returns true if no line with this hash was logged in the last REPEATED_NS, and keeps it.
 */
static bool is_new(struct td_events *e, uint64_t now_ns, uint64_t hash)
{
    for (uint32_t i = 0; i < TD_EVENTS_KEPT; i++)
        if (e->line[i] == hash && e->at_ns[i] && now_ns - e->at_ns[i] < REPEATED_NS)
            return false;
    e->line[e->next] = hash;
    e->at_ns[e->next] = now_ns;
    e->next = (e->next + 1) % TD_EVENTS_KEPT;
    return true;
}

/* remember keeps the sentence of an error, so that replies with it are not logged again. */
static void remember(struct td_events *e, uint64_t now_ns, const char *text)
{
    (void)is_new(e, now_ns, td_hash_bytes(text, strlen(text)));
}

static void note_end(struct td_events *e, uint64_t now_ns, const struct td_note *n,
                     const struct td_log_fields *f)
{
    char time[32];
    print_seconds(n->age_ns, time, sizeof time);
    if (n->error == TD_OK)
        td_log_rated_with(
            &e->jobs, now_ns, TD_LOG_INFO, f, "job %s of user %llu ended here after %s: %s%s",
            n->job, (unsigned long long)n->uid, time,
            n->text[0] ? "torusd told its ranks here of no failure, but " : "no call failed",
            n->text);
    else
        td_log_rated_with(&e->jobs, now_ns, TD_LOG_INFO, f,
                          "job %s of user %llu ended here after %s; its first call that failed: %s",
                          n->job, (unsigned long long)n->uid, time, n->text);
}

static void note_unformed(struct td_events *e, uint64_t now_ns, const struct td_note *n,
                          const struct td_log_fields *f)
{
    char time[32];
    print_seconds(n->age_ns, time, sizeof time);
    remember(e, now_ns, n->text);
    td_log_rated_with(&e->jobs, now_ns, TD_LOG_INFO, f,
                      "a job of user %llu did not form in %s: %s: %s", (unsigned long long)n->uid,
                      time, f->error, n->text);
}

/* note_silence logs that a node has been silent for some time, or is heard again. */
static void note_silence(struct td_events *e, uint64_t now_ns, const struct td_note *n)
{
    struct td_log_fields f = td_log_no_fields;
    char time[32], moment[32];
    f.node = n->node;
    print_seconds(n->age_ns, time, sizeof time);
    print_moment(n->age_ns, moment, sizeof moment);
    if (n->kind == TD_NOTE_NODE_SILENT && n->text[0])
        td_log_rated_with(&e->silences, now_ns, TD_LOG_WARNING, &f,
                          "node %lld has been silent for %s, since %s: %s", (long long)n->node,
                          time, moment, n->text);
    else if (n->kind == TD_NOTE_NODE_SILENT)
        td_log_rated_with(&e->silences, now_ns, TD_LOG_INFO, &f,
                          "node %lld has been silent for %s, since %s: its daemon does not run, or "
                          "the network to it is cut; calls that need it wait",
                          (long long)n->node, time, moment);
    else
        td_log_rated_with(&e->silences, now_ns, TD_LOG_INFO, &f,
                          "node %lld is heard again: it was silent for %s, since %s",
                          (long long)n->node, time, moment);
}

void td_events_note(struct td_events *e, uint64_t now_ns, const struct td_note *n, uint64_t lost)
{
    struct td_log_fields f = {.job = n->job,
                              .error = td_events_error_name(n->error),
                              .rank = n->rank,
                              .group = n->group,
                              .operation =
                                  n->kind == TD_NOTE_FAILED ? (int64_t)n->operation : TD_NOTE_NONE,
                              .node = n->node};
    if (n->kind == TD_NOTE_NODE_SILENT || n->kind == TD_NOTE_NODE_HEARD) {
        note_silence(e, now_ns, n);
    } else if (n->kind == TD_NOTE_JOB_FORMED) {
        td_log_rated_with(&e->jobs, now_ns, TD_LOG_INFO, &f,
                          "job %s of user %llu formed: %u rank%s", n->job,
                          (unsigned long long)n->uid, n->size, n->size == 1 ? "" : "s");
    } else if (n->kind == TD_NOTE_JOB_ENDED) {
        note_end(e, now_ns, n, &f);
    } else if (n->kind == TD_NOTE_JOB_UNFORMED) {
        note_unformed(e, now_ns, n, &f);
    } else if (n->kind == TD_NOTE_RANK_DIED) {
        td_log_rated_with(&e->deaths, now_ns, TD_LOG_INFO, &f, "%s", n->text);
    } else if (n->kind == TD_NOTE_FAILED) {
        char time[32];
        print_seconds(n->age_ns, time, sizeof time);
        remember(e, now_ns, n->text);
        td_log_rated_with(&e->failures, now_ns, TD_LOG_INFO, &f,
                          "operation %llu of %sjob %s failed after %s: %s: %s",
                          (unsigned long long)n->operation, n->group ? "a group of " : "", n->job,
                          time, f.error, n->text);
    }
    e->failures.suppressed += lost;
}

void td_events_reply(struct td_events *e, uint64_t now_ns, uint64_t pid, uint64_t uid,
                     const struct td_reply *r)
{
    bool failed = r->error != TD_OK && !r->is_of_question && concerns_operator(r->error);
    struct td_log_fields f = td_log_no_fields;
    if (failed && is_new(e, now_ns, td_hash_bytes(r->text, strlen(r->text)))) {
        f.error = td_events_error_name(r->error);
        if (r->failed) {
            f.job = r->failed->job;
            f.group = r->failed->group;
            f.operation = r->failed->operation;
        }
        td_log_rated_with(&e->replies, now_ns, TD_LOG_INFO, &f,
                          "%s, told to process %llu of user %llu: %s", f.error,
                          (unsigned long long)pid, (unsigned long long)uid, r->text);
    }
    if (r->kind != TD_REPLY_JOINED || r->error != TD_OK || !r->u.joined.job || !r->u.joined.index ||
        !is_new(e, now_ns, td_hash_add(TD_HASH_START, r->u.joined.instance) ^ r->u.joined.group))
        return;
    f.job = r->u.joined.job;
    f.group = r->u.joined.index;
    td_log_rated_with(&e->jobs, now_ns, TD_LOG_INFO, &f, "a group of job %s formed: %u rank%s",
                      r->u.joined.job, r->u.joined.size, r->u.joined.size == 1 ? "" : "s");
}

void td_events_tick(struct td_events *e, uint64_t now_ns)
{
    td_log_rate_tick(&e->jobs, now_ns, TD_LOG_INFO, "jobs that formed or ended");
    td_log_rate_tick(&e->deaths, now_ns, TD_LOG_INFO, "ranks that died");
    td_log_rate_tick(&e->failures, now_ns, TD_LOG_INFO, "operations that failed");
    td_log_rate_tick(&e->replies, now_ns, TD_LOG_INFO, "calls that failed");
    td_log_rate_tick(&e->silences, now_ns, TD_LOG_INFO, "nodes that were silent or heard again");
}

void td_events_end(const struct td_events *e)
{
    td_log_rate_end(&e->jobs, TD_LOG_INFO, "jobs that formed or ended");
    td_log_rate_end(&e->deaths, TD_LOG_INFO, "ranks that died");
    td_log_rate_end(&e->failures, TD_LOG_INFO, "operations that failed");
    td_log_rate_end(&e->replies, TD_LOG_INFO, "calls that failed");
    td_log_rate_end(&e->silences, TD_LOG_INFO, "nodes that were silent or heard again");
}
