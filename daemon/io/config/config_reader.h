/* SPDX-License-Identifier: Apache-2.0 */
/* config_reader: what the three parts of config share: config_text.c takes files apart into keys
 * and values, config_keys.c knows the keys and reads a value each, config_checks.c looks at all
 * together. Invariant: the first error is kept, with its place; nothing is read after it. */
#ifndef TD_IO_CONFIG_CONFIG_READER_H
#define TD_IO_CONFIG_CONFIG_READER_H

#include "config.h"

enum { TD_CONFIG_LINE_BYTES = 190, TD_CONFIG_KEYS_MAX = 64 };

struct td_config_key;

/* struct td_config_reader: a load under way. */
struct td_config_reader {
    struct td_config *config;
    const char *file;
    unsigned line;
    size_t column, key_column; /* of what is being read; of its key */
    char *text;
    size_t text_bytes;
    bool failed;
    char section[32];
    const struct td_config_key *last; /* for continuation lines */
    bool seen[TD_CONFIG_KEYS_MAX];
    unsigned seen_line[TD_CONFIG_KEYS_MAX];
    char seen_file[TD_CONFIG_KEYS_MAX][128];
    char *value[TD_CONFIG_KEYS_MAX]; /* as text, of keys that are looked at together at the end */
};

struct td_config_key {
    const char *section, *name;
    bool (*read)(struct td_config_reader *, const struct td_config_key *, const char *value);
    size_t offset;       /* of the field */
    bool continues;      /* a list: indented lines go on with it */
    const char *choices; /* of words: "direct|routed"; else NULL */
};

/* td_config_fail keeps the sentence, behind the reader's place, and returns false. */
bool td_config_fail(struct td_config_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* td_config_key returns NULL when there is none. */
const struct td_config_key *td_config_key(const char *section, const char *name);
size_t td_config_key_index(const struct td_config_key *key);
/* td_config_key_nearest is what may have been meant; without a section, any key of that name. */
const struct td_config_key *td_config_key_nearest(const char *section, const char *name);
bool td_config_section_known(const char *section);
/* td_config_sections writes all their names, with commas between. */
void td_config_sections(char *text, size_t bytes);

/* td_config_read reads one file; td_config_read_drop_ins those in FILE.d. */
bool td_config_read(struct td_config_reader *reader, const char *file);
bool td_config_read_drop_ins(struct td_config_reader *reader, const char *file);

/* td_config_check settles what several keys say together, for the machine called host. */
bool td_config_check(struct td_config_reader *reader, const char *host);

#endif
