/* SPDX-License-Identifier: Apache-2.0 */
#include "config_facts.h"

#include <stdio.h>

#include "base/hash.h"
#include "config_keys.h"

/* key_fact tells of the keys, which a reload reads again. */
static bool key_fact(const struct td_security *s, unsigned at, struct td_fact *fact)
{
    char digits[TD_KEY_TEXT];
    uint64_t hash = TD_HASH_START;
    if (!s->keyed || at > 1)
        return false;
    *fact = (struct td_fact){.is_set = true, .reloads = true};
    if (at == 0) {
        td_key_print(s->public_key, digits);
        snprintf(fact->name, sizeof fact->name, "security.public_key");
        snprintf(fact->value, sizeof fact->value, "%s", digits);
        return true;
    }
    for (uint32_t i = 0; i < s->peers; i++)
        hash = td_hash_add(td_hash_add(hash, td_hash_bytes(s->peer[i].key, TD_KEY_BYTES)),
                           s->peer[i].node);
    snprintf(fact->name, sizeof fact->name, "security.peer_keys");
    snprintf(fact->value, sizeof fact->value, "%u key%s, hash %016llx", s->peers,
             s->peers == 1 ? "" : "s", (unsigned long long)hash);
    return true;
}

bool td_config_fact(const struct td_config *config, const struct td_security *security, unsigned at,
                    struct td_fact *fact)
{
    unsigned keys = 0;
    while (td_config_key_at(keys))
        keys++;
    if (at >= keys)
        return key_fact(security, at - keys, fact);
    const struct td_config_key *k = td_config_key_at(at);
    *fact = (struct td_fact){.is_set = config->set >> at & 1, .reloads = k->reloads};
    snprintf(fact->name, sizeof fact->name, "%s.%s", k->setting.section, k->setting.key);
    snprintf(fact->unit, sizeof fact->unit, "%s",
             td_config_key_print(config, k, fact->value, sizeof fact->value));
    return true;
}

void td_config_print_facts(const struct td_config *config)
{
    struct td_fact fact;
    for (unsigned i = 0; td_config_fact(config, &config->security, i, &fact); i++)
        printf("%s\t%s\t%s\t%s\n", fact.name, fact.value, fact.unit,
               fact.is_set ? "set" : "default");
}
