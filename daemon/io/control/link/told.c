/* SPDX-License-Identifier: Apache-2.0 */
#include "told.h"

#include <stdio.h>
#include <string.h>

#include "io/control/peer.h"

#define STILL_NS 6000000000u /* a link that has not come up for so long is a warning */

/* about_node returns the fields of a line about a node. */
static struct td_log_fields about_node(uint32_t node)
{
    struct td_log_fields fields = td_log_no_fields;
    fields.node = node;
    return fields;
}

void td_peer_complain(const struct td_peer *p, const char *text)
{
    struct td_log_fields about = about_node(p->node);
    td_log_with(TD_LOG_WARNING, &about, "node %u: %s", p->node, text);
}

void td_peer_complain_once(struct td_peer *p, const char *text)
{
    if (strcmp(text, p->told.refusal) != 0)
        td_peer_complain(p, text);
    snprintf(p->told.refusal, sizeof p->told.refusal, "%s", text);
}

/* how_up returns what has happened to a daemon whose link is up again, in `text` if it must. */
static const char *how_up(const struct td_peer *p, char *text, size_t bytes)
{
    td_time silent_ns = td_core_daemon_silence(p->peers->loop->core, p->node);
    if (p->last.incarnation == p->out.incarnation)
        return "its daemon runs on";
    enum td_daemon_end how = td_core_daemon_end(p->peers->loop->core, p->node);
    if (p->last.goodbye || how == TD_DAEMON_STOPPED)
        return "its daemon was started again";
    if (how == TD_DAEMON_DIED)
        return "its daemon was restarted; the earlier one crashed or was killed: see its journal";
    if (!silent_ns)
        return "its daemon was restarted; its journal says how the earlier one ended";
    snprintf(text, bytes,
             "its daemon was restarted; the earlier one had been silent for %.1f s: its journal "
             "says how it ended",
             (double)silent_ns / 1e9);
    return text;
}

void td_peer_tell_up(struct td_peer *p)
{
    struct td_log_fields about = about_node(p->node);
    struct td_told *t = &p->told;
    td_time now = td_loop_now();
    char text[160];
    if (p->last.incarnation)
        td_log_rated_with(&t->rate, now, TD_LOG_INFO, &about, "link to node %u is up again: %s",
                          p->node, how_up(p, text, sizeof text));
    else if (t->text[0])
        td_log_rated_with(&t->rate, now, TD_LOG_INFO, &about, "link to node %u is up", p->node);
    else
        td_log_rated_with(&p->peers->first_log, now, TD_LOG_INFO, &about,
                          "link to node %u is established", p->node);
    t->text[0] = t->refusal[0] = '\0';
    t->cause = TD_CAUSE_OTHER;
}

/* warn_still logs once that a link has not come up for long. The first line about it is usual when
 * daemons start one after the other. */
static void warn_still(struct td_peer *p, const struct td_reason *r)
{
    td_time ns = td_loop_now() - p->wanted_at;
    struct td_log_fields about = about_node(p->node);
    if (p->told.still || ns < STILL_NS || p->last.incarnation || p->told.refusal[0] ||
        r->cause == TD_CAUSE_ELSEWHERE || r->cause == TD_CAUSE_RUNS)
        return;
    p->told.still = true;
    td_log_with(TD_LOG_WARNING, &about, "still no link to node %u after %u s: %s (%.100s); %s",
                p->node, (unsigned)(ns / 1000000000), r->text,
                p->peers->loop->config->endpoints[p->node],
                r->cause == TD_CAUSE_NAMELESS
                    ? "correct [peers] here, or add the name to DNS or /etc/hosts"
                    : "start torusd there, or compare [peers] here with its listen");
}

bool td_peer_tell_end(struct td_peer *p, const struct td_reason *r, bool was_up)
{
    struct td_told *t = &p->told;
    struct td_log_fields about = about_node(p->node);
    td_time now = td_loop_now();
    bool first = !t->text[0], other = strncmp(t->text, r->text, strlen(r->text)) != 0;
    bool news =
        first || (other && (td_reason_is_absence(r->cause) || t->refusal[0])) ||
        (r->cause == TD_CAUSE_OWN) != (t->cause == TD_CAUSE_OWN) ||
        (r->cause == TD_CAUSE_NAMELESS) != (t->cause == TD_CAUSE_NAMELESS) ||
        (r->cause == TD_CAUSE_RUNS && t->cause != TD_CAUSE_RUNS && t->cause != TD_CAUSE_ELSEWHERE);
    warn_still(p, r);
    if (!was_up && !news && !p->unacknowledged.first)
        return false;
    if (r->cause == TD_CAUSE_ELSEWHERE && other)
        td_log_rated_with(&t->rate, now, TD_LOG_WARNING, &about, "node %u: %s", p->node, r->text);
    snprintf(t->text, sizeof t->text, "%s (%.100s)", r->text,
             p->peers->loop->config->endpoints[p->node]);
    t->cause = r->cause;
    if (was_up && p->peers->loop->stopping)
        td_log_rated_with(&t->rate, now, TD_LOG_INFO, &about,
                          "link to node %u has ended, as this daemon stops", p->node);
    else if (was_up)
        td_log_rated_with(&t->rate, now, p->last.goodbye ? TD_LOG_INFO : TD_LOG_WARNING, &about,
                          "link to node %u is down: %s", p->node, t->text);
    else if (first && !t->refusal[0])
        td_log_rated_with(&t->rate, now, TD_LOG_INFO, &about,
                          "no link to node %u yet: %s; retrying", p->node, t->text);
    return true;
}
