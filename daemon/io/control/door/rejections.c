/* SPDX-License-Identifier: Apache-2.0 */
#include "rejections.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/log.h"

enum {
    LINES_MAX = 10, /* lines in a burst */
    LINE_MS = 2000, /* then one line in this time */
    DELAY_MS = 5000,
    DELAY_MS_MAX = 3600 * 1000,
};

static void on_due(uv_timer_t *timer);

void td_rejections_init(struct td_rejections *r, uv_loop_t *uv)
{
    *r = (struct td_rejections){.lines = LINES_MAX, .refilled_ms = uv_now(uv)};
    uv_timer_init(uv, &r->timer);
    r->timer.data = r;
}

static void summarize(const struct td_rejections *r, struct td_rejection *e)
{
    if (e->unlogged)
        td_log(TD_LOG_WARNING,
               "%" PRIu64 " more connections of peers were turned away, %" PRIu64
               " since the start; %s: %s",
               e->unlogged, r->total, e == &r->others ? "the last reason" : "the same reason",
               e->line);
    e->unlogged = 0;
}

/* arm sets the timer to the first record that is due. */
static void arm(struct td_rejections *r)
{
    uint64_t due = r->others.delay_ms ? r->others.due_ms : UINT64_MAX, now = uv_now(r->timer.loop);
    for (int i = 0; i < TD_REJECTIONS_KEPT; i++)
        if (r->kept[i].delay_ms && r->kept[i].due_ms < due)
            due = r->kept[i].due_ms;
    if (due == UINT64_MAX)
        uv_timer_stop(&r->timer);
    else
        uv_timer_start(&r->timer, on_due, due > now ? due - now : 0, 0);
}

/* settle tells what came in the time of a record, and doubles it; if nothing came, it frees it. */
static void settle(const struct td_rejections *r, struct td_rejection *e, uint64_t now)
{
    if (!e->delay_ms || e->due_ms > now)
        return;
    e->delay_ms = e->unlogged == 0                 ? 0
                  : 2 * e->delay_ms < DELAY_MS_MAX ? 2 * e->delay_ms
                                                   : DELAY_MS_MAX;
    e->due_ms = now + e->delay_ms;
    summarize(r, e);
}

void td_rejections_tick(struct td_rejections *r)
{
    uint64_t now = uv_now(r->timer.loop);
    for (int i = 0; i < TD_REJECTIONS_KEPT; i++)
        settle(r, &r->kept[i], now);
    settle(r, &r->others, now);
    arm(r);
}

static void on_due(uv_timer_t *timer)
{
    td_rejections_tick(timer->data);
}

/* may_log takes a line, if one is left. */
static bool may_log(struct td_rejections *r)
{
    uint64_t now = uv_now(r->timer.loop), lines = (now - r->refilled_ms) / LINE_MS;
    r->refilled_ms += lines * LINE_MS;
    r->lines = lines + r->lines > LINES_MAX ? LINES_MAX : r->lines + (unsigned)lines;
    if (r->lines == 0)
        return false;
    r->lines--;
    return true;
}

/* record_of returns the record of a line, else a free one, or NULL: all are in use. */
static struct td_rejection *record_of(struct td_rejections *r, const char *line)
{
    struct td_rejection *free = NULL;
    for (int i = 0; i < TD_REJECTIONS_KEPT; i++) {
        struct td_rejection *e = &r->kept[i];
        if (e->delay_ms && strcmp(e->line, line) == 0)
            return e;
        free = e->delay_ms ? free : e;
    }
    return free;
}

void td_reject(struct td_rejections *r, const char *address, const char *key, const char *why)
{
    static const char mapped[] = "::ffff:"; /* an IPv4 address on an IPv6 socket */
    char line[TD_REJECTION_TEXT];
    if (strncmp(address, mapped, sizeof mapped - 1) == 0)
        address += sizeof mapped - 1;
    snprintf(line, sizeof line, "%s%s%s: %s", address, key[0] ? ", key " : "", key, why);
    r->total++;
    struct td_rejection *e = record_of(r, line);
    bool news = e && !e->delay_ms && may_log(r);
    if (news)
        td_log(TD_LOG_WARNING, "turned away a peer: %s", line);
    else if (!e || !e->delay_ms)
        e = &r->others;
    e->unlogged += !news;
    snprintf(e->line, sizeof e->line, "%s", line);
    if (e->delay_ms)
        return;
    e->delay_ms = DELAY_MS;
    e->due_ms = uv_now(r->timer.loop) + DELAY_MS;
    arm(r);
}

void td_rejections_close(struct td_rejections *r)
{
    for (int i = 0; i < TD_REJECTIONS_KEPT; i++)
        summarize(r, &r->kept[i]);
    summarize(r, &r->others);
    uv_close((uv_handle_t *)&r->timer, NULL);
}
