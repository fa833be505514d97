/* SPDX-License-Identifier: Apache-2.0 */
#include "busy.h"

#include <stdbool.h>
#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void read_cpu(struct td_busy *b, td_time now)
{
    b->cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
    b->cpu_read_at = now;
}

td_time td_busy_begin(struct td_busy *b, const char *what)
{
    if (b->depth++ == 0) {
        b->began = read_clock(CLOCK_MONOTONIC);
        b->what = what;
    }
    return b->began;
}

void td_busy_may_last(struct td_busy *b, const char *what)
{
    if (b->depth > 1)
        return; /* a part of an event that has begun */
    if (what)
        b->what = what;
    if (b->began - b->cpu_read_at > TD_BUSY_LONG_NS)
        read_cpu(b, b->began);
}

static void keep_longer(struct td_busy_longest *longest, const struct td_busy_event *e)
{
    if (e->ns > longest->passed.ns)
        longest->passed = *e;
    if (e->cpu_ns > longest->cpu.cpu_ns)
        longest->cpu = *e;
}

/* turn_minutes forgets what is older than two minutes. */
static void turn_minutes(struct td_busy *b, td_time now)
{
    if (now - b->minute_began < TD_BUSY_MINUTE_NS)
        return;
    bool next = now - b->minute_began < 2 * TD_BUSY_MINUTE_NS;
    b->minute[1] = next ? b->minute[0] : (struct td_busy_longest){0};
    b->minute[0] = (struct td_busy_longest){0};
    b->minute_began = now;
}

void td_busy_note(struct td_busy *b, td_time now, struct td_busy_event e)
{
    turn_minutes(b, now);
    b->too_long += e.cpu_ns > TD_BUSY_TOO_LONG_NS;
    keep_longer(&b->ever, &e);
    keep_longer(&b->minute[0], &e);
}

uint64_t td_busy_end(struct td_busy *b)
{
    td_time now = read_clock(CLOCK_MONOTONIC);
    uint64_t ns = now - b->began;
    if (--b->depth > 0)
        return ns;
    if (ns < TD_BUSY_LONG_NS) {
        if (ns > b->minute[0].passed.ns || now - b->minute_began >= TD_BUSY_MINUTE_NS)
            td_busy_note(b, now, (struct td_busy_event){ns, ns, b->what});
        return ns;
    }
    bool known = b->began - b->cpu_read_at <= TD_BUSY_LONG_NS;
    uint64_t before = b->cpu_ns;
    read_cpu(b, now);
    uint64_t cpu_ns = !known ? 0 : b->cpu_ns - before < ns ? b->cpu_ns - before : ns;
    td_busy_note(b, now, (struct td_busy_event){ns, cpu_ns, b->what});
    return ns;
}

struct td_busy_longest td_busy_recent(const struct td_busy *b, td_time now)
{
    struct td_busy_longest longest = {0};
    for (unsigned i = 0; i < 2; i++) {
        bool old = now - b->minute_began >= (2 - i) * TD_BUSY_MINUTE_NS;
        const struct td_busy_longest *m = &b->minute[i];
        if (!old && m->passed.what)
            keep_longer(&longest, &m->passed);
        if (!old && m->cpu.what)
            keep_longer(&longest, &m->cpu);
    }
    return longest;
}
