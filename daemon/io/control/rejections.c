/* SPDX-License-Identifier: Apache-2.0 */
#include "rejections.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/log.h"

enum {
    LINES_MAX = 10,    /* lines in a burst */
    LINE_MS = 2000,    /* then one line in this time */
    SUMMARY_MS = 5000, /* greatest delay of a summary */
};

void td_rejections_init(struct td_rejections *r, uv_loop_t *uv)
{
    *r = (struct td_rejections){.lines = LINES_MAX, .refilled_ms = uv_now(uv)};
    uv_timer_init(uv, &r->timer);
    r->timer.data = r;
}

static void summarize(struct td_rejections *r)
{
    if (r->unlogged)
        td_log(TD_LOG_WARNING,
               "%" PRIu64 " more connections of peers were turned away, %" PRIu64
               " since the start; the last reason: %s",
               r->unlogged, r->total, r->last);
    r->unlogged = 0;
}

static void on_summary(uv_timer_t *timer)
{
    summarize(timer->data);
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

void td_reject(struct td_rejections *r, const char *address, const char *key, const char *why,
               bool news)
{
    static const char mapped[] = "::ffff:"; /* an IPv4 address on an IPv6 socket */
    char line[sizeof r->last];
    if (strncmp(address, mapped, sizeof mapped - 1) == 0)
        address += sizeof mapped - 1;
    snprintf(line, sizeof line, "%s%s%s: %s", address, key[0] ? ", key " : "", key, why);
    r->total++;
    if (news && strcmp(line, r->last) != 0 && may_log(r)) {
        td_log(TD_LOG_WARNING, "turned away a peer: %s", line);
    } else {
        r->unlogged++;
        if (!uv_is_active((uv_handle_t *)&r->timer))
            uv_timer_start(&r->timer, on_summary, SUMMARY_MS, 0);
    }
    snprintf(r->last, sizeof r->last, "%s", line);
}

void td_rejections_close(struct td_rejections *r)
{
    summarize(r);
    uv_close((uv_handle_t *)&r->timer, NULL);
}
