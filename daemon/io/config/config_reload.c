/* SPDX-License-Identifier: Apache-2.0 */
#include "config_reload.h"

#include <stdio.h>
#include <string.h>

#include "config_keys.h"

enum { VALUE_BYTES = 1024 };

/* same_place returns true if both configurations are of the same node of the same torus. */
static bool same_place(const struct td_config *a, const struct td_config *b)
{
    char shape[2][128];
    td_topology_print(&a->topology, shape[0], sizeof shape[0]);
    td_topology_print(&b->topology, shape[1], sizeof shape[1]);
    return a->node == b->node && strcmp(shape[0], shape[1]) == 0;
}

td_err td_config_reload(const struct td_config *config, struct td_config *fresh, char *text,
                        size_t text_bytes)
{
    struct td_security security = {.keyed = false};
    td_err error = td_config_load(fresh, config->file, config->host, text, text_bytes);
    if (error != TD_OK || !config->security.keyed || !fresh->security.keyed ||
        same_place(config, fresh))
        return error;
    if (!td_security_load(&security, fresh->key_file, fresh->peers_file, &config->topology,
                          config->node, text, text_bytes)) {
        td_config_free(fresh);
        return TD_ERR_INVALID;
    }
    td_security_free(&fresh->security);
    fresh->security = security;
    return TD_OK;
}

static void add_name(char *list, size_t bytes, const struct td_config_key *k)
{
    size_t length = strlen(list);
    snprintf(list + length, bytes - length, "%s%s.%s", length ? ", " : "", k->section, k->name);
}

static bool differs(const struct td_config *a, const struct td_config *b,
                    const struct td_config_key *k)
{
    char value[2][VALUE_BYTES];
    td_config_key_print(a, k, value[0], sizeof value[0]);
    td_config_key_print(b, k, value[1], sizeof value[1]);
    return strcmp(value[0], value[1]) != 0;
}

void td_config_adopt(struct td_config *config, const struct td_config *fresh, char *changed,
                     size_t changed_bytes, char *restart, size_t restart_bytes)
{
    bool keys_stay = config->security.keyed != fresh->security.keyed;
    const struct td_config_key *k = NULL;
    changed[0] = restart[0] = '\0';
    for (unsigned i = 0; (k = td_config_key_at(i)) != NULL; i++) {
        bool reloads =
            td_config_key_reloads(k) && !(keys_stay && strcmp(k->section, "security") == 0);
        if (differs(config, fresh, k))
            add_name(reloads ? changed : restart, reloads ? changed_bytes : restart_bytes, k);
        if (reloads)
            config->set = (config->set & ~(1ull << i)) | (fresh->set & 1ull << i);
    }
    config->log_level = fresh->log_level;
    memcpy(config->observers, fresh->observers, sizeof config->observers);
    if (keys_stay)
        return;
    memcpy(config->key_file, fresh->key_file, sizeof config->key_file);
    memcpy(config->peers_file, fresh->peers_file, sizeof config->peers_file);
}
