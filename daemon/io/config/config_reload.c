/* SPDX-License-Identifier: Apache-2.0 */
#include "config_reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_host.h"
#include "config_keys.h"

enum { VALUE_BYTES = 1024 };

static void add_name(char *list, size_t bytes, const struct td_config_key *k)
{
    size_t length = strlen(list);
    snprintf(list + length, bytes - length, "%s%s.%s", length ? ", " : "", k->setting.section,
             k->setting.key);
}

static bool differs(const struct td_config *a, const struct td_config *b,
                    const struct td_config_key *k)
{
    char value[2][VALUE_BYTES];
    td_config_key_print(a, k, value[0], sizeof value[0]);
    td_config_key_print(b, k, value[1], sizeof value[1]);
    return strcmp(value[0], value[1]) != 0;
}

bool td_config_takes(const struct td_config *fresh, const struct td_config_refusals *refusals,
                     size_t key)
{
    return !refusals->key[key] && (!refusals->incomplete || (fresh->set >> key & 1));
}

/* is_reloaded returns true if a reload changes a key. */
static bool is_reloaded(const struct td_config *config, const struct td_config *fresh,
                        const struct td_config_key *k)
{
    bool keys_stay = config->security.keyed != fresh->security.keyed || fresh->keys_wait;
    return k->reloads && !(keys_stay && strcmp(k->setting.section, "security") == 0);
}

void td_config_adopt(struct td_config *config, const struct td_config *fresh,
                     const struct td_config_refusals *refusals, char *changed, size_t changed_bytes,
                     char *restart, size_t restart_bytes)
{
    const struct td_config_key *k = NULL;
    changed[0] = restart[0] = '\0';
    for (size_t i = 0; (k = td_config_key_at(i)) != NULL; i++) {
        const struct td_setting_row *s = &k->setting;
        bool reloads = is_reloaded(config, fresh, k);
        if (!td_config_takes(fresh, refusals, i))
            continue;
        if (differs(config, fresh, k))
            add_name(reloads ? changed : restart, reloads ? changed_bytes : restart_bytes, k);
        if (!reloads)
            continue;
        memcpy((char *)config + s->offset, (const char *)fresh + s->offset, s->bytes);
        config->set = (config->set & ~(1ull << i)) | (fresh->set & 1ull << i);
    }
}

bool td_config_to_do(const struct td_config *running, char *reload, size_t reload_bytes,
                     char *restart, size_t restart_bytes, char *why, size_t why_bytes)
{
    struct td_config *fresh = calloc(1, sizeof *fresh);
    const struct td_config_key *k = NULL;
    reload[0] = restart[0] = why[0] = '\0';
    if (!fresh)
        return true; /* without memory it names no difference */
    td_err error = running->user
                       ? td_config_load_user(fresh, running->user, running->host, why, why_bytes)
                       : td_config_load(fresh, running->file, running->host, why, why_bytes);
    bool good = error == TD_OK && td_config_places(fresh, why, why_bytes);
    fresh->keys_wait = good && td_config_moves(running, fresh);
    for (size_t i = 0; good && (k = td_config_key_at(i)) != NULL; i++) {
        bool reloads = is_reloaded(running, fresh, k);
        if (differs(running, fresh, k))
            add_name(reloads ? reload : restart, reloads ? reload_bytes : restart_bytes, k);
    }
    if (error == TD_OK)
        td_config_free(fresh);
    free(fresh);
    return good;
}
