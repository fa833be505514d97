/* SPDX-License-Identifier: Apache-2.0 */
/* config_reader: the state of a load of torusd.conf, shared by the parts of config. config_text
 * splits files into keys and values, config_keys reads the value of each key, config_checks checks
 * all keys together.
 * Invariant: without `refusals` the reader keeps the first error with its place, and reads nothing
 * after it. With them it goes on: an error refuses the settings that it is about. */
#ifndef TD_IO_CONFIG_CONFIG_READER_H
#define TD_IO_CONFIG_CONFIG_READER_H

#include "config.h"

struct td_config_key;

struct td_config_reader {
    struct td_config *config;
    const char *file;
    unsigned line;
    size_t column, key_column; /* of the text being read, and of its key */
    char *text;
    size_t text_bytes;
    bool failed;
    const struct td_config *running;     /* of a reload: the keys must fit its shape and node */
    struct td_config_refusals *refusals; /* of a reload; NULL: the first error ends the load */
    size_t key;                          /* index of the key at hand; TD_CONFIG_KEYS_MAX: none */
    char section[32];
    const struct td_config_key *last; /* for continuation lines */
    bool seen[TD_CONFIG_KEYS_MAX];
    unsigned seen_line[TD_CONFIG_KEYS_MAX];
    char seen_file[TD_CONFIG_KEYS_MAX][128];
    char *value[TD_CONFIG_KEYS_MAX]; /* text of the keys that config_checks reads */
};

/* td_config_fail stores the sentence, with the reader's place before it, and returns false. It ends
 * the load, or in a reload refuses the key at hand. */
bool td_config_fail(struct td_config_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* td_config_give_up does the same and ends a reload, too: a file cannot be read. */
bool td_config_give_up(struct td_config_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
