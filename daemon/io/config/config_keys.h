/* SPDX-License-Identifier: Apache-2.0 */
/* config_keys: the table of the keys of torusd.conf. */
#ifndef TD_IO_CONFIG_CONFIG_KEYS_H
#define TD_IO_CONFIG_CONFIG_KEYS_H

#include "config_reader.h"

/* struct td_config_key: a setting whose offset is that in struct td_config. */
struct td_config_key {
    struct td_setting_row setting;
    /* reads the value; NULL: the unit of the setting determines how */
    bool (*read)(struct td_config_reader *, const struct td_config_key *, const char *value);
    bool continues; /* a list: indented lines continue it */
    bool reloads;   /* a change takes effect without a restart of the daemon */
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
/* td_config_key_read reads a value, checks its range, and stores it. On an error it returns false,
 * after td_config_fail. */
bool td_config_key_read(struct td_config_reader *reader, const struct td_config_key *key,
                        const char *value);
/* td_config_keys_default stores the defaults of the keys that have a unit. */
void td_config_keys_default(struct td_config *config);
/* td_config_key_print writes the value that a key has in a configuration, and returns its unit:
 * bytes, bytes/s, ns or "". */
const char *td_config_key_print(const struct td_config *config, const struct td_config_key *key,
                                char *text, size_t bytes);

#endif
