/* SPDX-License-Identifier: Apache-2.0 */
#include "reload.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/config_reload.h"
#include "control/peers_reload.h"
#include "log.h"
#include "notify.h"

/* commit takes up a configuration that is good as a whole. */
static void commit(struct td_config *config, struct td_config *fresh, struct td_loop *loop,
                   struct td_clients *clients, char *text)
{
    char changed[200], restart[600];
    td_config_adopt(config, fresh, changed, sizeof changed, restart, sizeof restart);
    td_log_level(config->log_level);
    td_clients_observe(clients);
    bool keyed = config->security.keyed && fresh->security.keyed;
    const char *keys = keyed && td_peers_reload(loop->peers, &fresh->security) ? "the keys" : "";
    td_log(TD_LOG_INFO, "reloaded %s: %s%s%s%s", config->file,
           changed[0] || *keys ? "changed: " : "no changes", changed,
           changed[0] && *keys ? ", " : "", keys);
    if (!restart[0])
        return;
    td_log(TD_LOG_WARNING, "these settings of %s need a restart: %s", config->file, restart);
    snprintf(text, TD_RELOAD_TEXT, "a restart is needed for %s", restart);
}

void td_reload(struct td_config *config, struct td_loop *loop, struct td_clients *clients,
               char *text)
{
    char why[1024] = "no memory";
    struct td_config *fresh = calloc(1, sizeof *fresh);
    td_notify_reloading();
    text[0] = '\0';
    if (fresh && td_config_reload(config, fresh, why, sizeof why) == TD_OK) {
        commit(config, fresh, loop, clients, text);
        td_config_free(fresh);
    } else {
        td_log(TD_LOG_ERROR, "reload refused, all settings stay as they were: %s", why);
        snprintf(text, TD_RELOAD_TEXT, "reload refused: %s", why);
    }
    free(fresh);
    td_notify_reloaded();
}
