/* SPDX-License-Identifier: Apache-2.0 */
/* config_keys: the table of the keys of torusd.conf. */
#ifndef TD_IO_CONFIG_CONFIG_KEYS_H
#define TD_IO_CONFIG_CONFIG_KEYS_H

#include "config_reader.h"

struct td_config_key {
    const char *section, *name;
    bool (*read)(struct td_config_reader *, const struct td_config_key *, const char *value);
    size_t offset;       /* of the field */
    bool continues;      /* a list: indented lines continue it */
    const char *choices; /* words such as "direct|routed", or NULL */
};

/* td_config_key returns the key of this name, or NULL. */
const struct td_config_key *td_config_key(const char *section, const char *name);
size_t td_config_key_index(const struct td_config_key *key);
/* td_config_key_nearest returns the key with the most similar name. */
const struct td_config_key *td_config_key_nearest(const char *section, const char *name);
bool td_config_section_known(const char *section);
/* td_config_sections writes the names of all sections, separated by commas. */
void td_config_sections(char *text, size_t bytes);
/* td_config_key_at returns the key with an index, or NULL behind the last one. */
const struct td_config_key *td_config_key_at(size_t index);
/* td_config_key_reload_bytes returns the size of the key's field, which a reload copies; 0: a
 * change of the key needs a restart of the daemon. */
size_t td_config_key_reload_bytes(const struct td_config_key *key);
/* td_config_key_print writes the value that a key has in a configuration, and returns its unit:
 * bytes, bytes/s, ns or "". */
const char *td_config_key_print(const struct td_config *config, const struct td_config_key *key,
                                char *text, size_t bytes);

#endif
