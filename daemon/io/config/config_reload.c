/* SPDX-License-Identifier: Apache-2.0 */
#include "config_reload.h"

#include <stdio.h>
#include <string.h>

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

void td_config_adopt(struct td_config *config, const struct td_config *fresh,
                     const struct td_config_refusals *refusals, char *changed, size_t changed_bytes,
                     char *restart, size_t restart_bytes)
{
    bool keys_stay = config->security.keyed != fresh->security.keyed;
    const struct td_config_key *k = NULL;
    changed[0] = restart[0] = '\0';
    for (size_t i = 0; (k = td_config_key_at(i)) != NULL; i++) {
        const struct td_setting_row *s = &k->setting;
        bool reloads = k->reloads && !(keys_stay && strcmp(s->section, "security") == 0);
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
