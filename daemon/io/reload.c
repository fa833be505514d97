/* SPDX-License-Identifier: Apache-2.0 */
#include "reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_host.h"
#include "config/config_keys.h"
#include "config/config_reload.h"
#include "control/peers.h"
#include "log.h"
#include "notify.h"

/* struct outcome: what a reload has done, in lists with commas. */
struct outcome {
    struct td_config_refusals refusals;
    char changed[300], restart[600], note[600];
    char would_not_start[TD_TEXT_MAX]; /* why a restart with the files would fail, unless a refusal
                                          says it */
};

/* serve_metrics moves the server of metrics, or refuses the address. */
static void serve_metrics(const struct td_reload_parts *p, const struct td_config *fresh,
                          struct td_config_refusals *refusals)
{
    size_t listen = td_config_key_index(td_config_key("metrics", "listen"));
    size_t jobs = td_config_key_index(td_config_key("metrics", "jobs"));
    bool page = (td_config_takes(fresh, refusals, jobs) ? fresh : p->config)->metrics_jobs;
    const char *at = (td_config_takes(fresh, refusals, listen) ? fresh : p->config)->metrics_listen;
    char why[300];
    if (!td_metrics_serve(p->metrics, at, page, why, sizeof why))
        td_config_refuse(refusals, listen, why);
}

/* add_text appends a part of the answer, with a separator. */
static void add_text(char *text, size_t bytes, const char *what, const char *list)
{
    size_t length = strlen(text);
    if (list[0])
        snprintf(text + length, bytes - length, "%s%s%s", length ? "; " : "", what, list);
}

static void log_outcome(const struct td_config *config, const struct outcome *o)
{
    td_log(TD_LOG_INFO, "reloaded %s: %s%s", config->file,
           o->changed[0] ? "changed: " : "no changes", o->changed);
    if (o->would_not_start[0])
        td_log(TD_LOG_ERROR, "with these settings torusd would not start: %s", o->would_not_start);
    if (o->note[0])
        td_log(TD_LOG_INFO, "%s", o->note);
    if (o->restart[0])
        td_log(TD_LOG_WARNING, "these settings of %s need a restart: %s", config->file, o->restart);
    for (uint32_t i = 0; i < o->refusals.count && i < TD_CONFIG_REFUSALS_MAX; i++)
        td_log(TD_LOG_ERROR, "reload refused, and the setting stays as it was: %s",
               o->refusals.text[i]);
}

/* add_notes notes that the file does not exist, or names a group that this host does not have. */
static void add_notes(const struct td_config *config, struct outcome *o)
{
    char text[300];
    if (config->user && !td_config_user_has_file(config->user))
        add_text(o->note, sizeof o->note, config->file, " does not exist");
    td_config_observers(config, text, sizeof text);
    add_text(o->note, sizeof o->note, "", text);
}

/* check_start notes why torusd would not start with the files. */
static void check_start(const struct td_config *config, struct outcome *o)
{
    char reload[8], restart[8];
    if (o->refusals.count == 0)
        td_config_to_do(config, reload, sizeof reload, restart, sizeof restart, o->would_not_start,
                        sizeof o->would_not_start);
}

/* take_up takes up a configuration except for what is refused. */
static void take_up(const struct td_reload_parts *p, struct td_config *fresh, struct outcome *o)
{
    struct td_config *config = p->config;
    serve_metrics(p, fresh, &o->refusals);
    td_config_adopt(config, fresh, &o->refusals, o->changed, sizeof o->changed, o->restart,
                    sizeof o->restart);
    td_log_level(config->log_level);
    td_clients_observe(p->clients);
    if (config->security.keyed && fresh->security.keyed) {
        if (fresh->keys_wait)
            snprintf(o->note, sizeof o->note,
                     "the keys wait for the restart with other coordinates or another shape");
        else
            td_security_note(&fresh->security, config->peers_file, o->note, sizeof o->note);
        if (!fresh->keys_wait && td_peers_reload(p->loop->peers, &fresh->security))
            snprintf(o->changed + strlen(o->changed), sizeof o->changed - strlen(o->changed),
                     "%sthe keys", o->changed[0] ? ", " : "");
    }
    add_notes(config, o);
    check_start(config, o);
    log_outcome(config, o);
}

/* answer writes what the outcome is: all of it, or what is left to do. */
static void answer(const struct outcome *o, bool all, char *text, size_t bytes)
{
    text[0] = '\0';
    if (all)
        add_text(text, bytes, o->changed[0] ? "changed: " : "",
                 o->changed[0] ? o->changed : "no changes");
    if (all)
        add_text(text, bytes, "", o->note);
    add_text(text, bytes, "a restart is needed for ", o->restart);
    for (uint32_t i = 0; i < o->refusals.count && i < TD_CONFIG_REFUSALS_MAX; i++)
        add_text(text, bytes, i ? "" : "reload refused: ", o->refusals.text[i]);
    add_text(text, bytes, "with these settings torusd would not start: ", o->would_not_start);
}

td_err td_reload(const struct td_reload_parts *p, char *to_do, char *text)
{
    struct td_config *fresh = calloc(1, sizeof *fresh);
    struct outcome *o = calloc(1, sizeof *o);
    char why[1024] = "no memory";
    td_notify_reloading();
    bool read = fresh && o &&
                td_config_load_again(fresh, p->config, &o->refusals, why, sizeof why) == TD_OK;
    bool good = read;
    if (read) {
        take_up(p, fresh, o);
        p->loop->files.until = 0;
        answer(o, true, text, TD_TEXT_MAX);
        answer(o, false, to_do, TD_RELOAD_TEXT);
        good = o->refusals.count == 0 && !o->would_not_start[0];
        td_config_free(fresh);
    } else {
        td_log(TD_LOG_ERROR, "reload refused, all settings stay as they were: %s", why);
        snprintf(text, TD_TEXT_MAX, "reload refused, all settings stay as they were: %s", why);
        snprintf(to_do, TD_RELOAD_TEXT, "reload refused: %s", why);
    }
    free(fresh);
    free(o);
    td_notify_reloaded();
    return good ? TD_OK : TD_ERR_INVALID;
}
