/* SPDX-License-Identifier: Apache-2.0 */
#include "config_text.h"

#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_keys.h"

enum { LINE_BYTES = 190 };

static int handle(void *user, const char *section, const char *name, const char *value)
{
    struct td_config_reader *r = user;
    const struct td_config_key *k = td_config_key(section, name);
    if (!k) {
        const struct td_config_key *near = td_config_key_nearest(section, name);
        r->column = r->key_column;
        if (!section[0])
            td_config_fail(r, "%s is before the first section; %s belongs in [%s]", name,
                           near->setting.key, near->setting.section);
        else
            td_config_fail(r, "unknown key %s in [%s]; the nearest known key is %s in [%s]", name,
                           section, near->setting.key, near->setting.section);
        return 1;
    }
    size_t i = r->key = td_config_key_index(k);
    bool continues = r->last == k;
    if (continues && !k->continues) {
        td_config_fail(r, "%s takes one value; only a list continues on an indented line", name);
        return 1;
    }
    if (!continues && r->seen[i]) {
        r->column = r->key_column;
        td_config_fail(r, "%s in [%s] is set twice: first in %s, line %u", name, section,
                       r->seen_file[i], r->seen_line[i]);
        return 1;
    }
    if (!continues) {
        r->seen[i] = true;
        r->config->set |= (uint64_t)1 << i;
        r->seen_line[i] = r->line;
        snprintf(r->seen_file[i], sizeof r->seen_file[i], "%s", r->file);
        r->last = k;
        free(r->value[i]); /* a drop-in replaces a list */
        r->value[i] = NULL;
    }
    if (value[0] || !k->continues)
        td_config_key_read(r, k, value);
    return 1;
}

/* cut_comment ends the line before a # or ; at its beginning or after a space. */
static void cut_comment(char *line)
{
    for (size_t i = 0; line[i]; i++)
        if ((line[i] == '#' || line[i] == ';') &&
            (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t'))
            line[i] = '\0';
}

/* feed passes one line to inih, after the section and key that the line depends on, so that an
 * error has the line's number. */
static bool feed(struct td_config_reader *r, const char *line)
{
    size_t length = strlen(line), begin = strspn(line, " \t");
    char text[LINE_BYTES * 2 + 128];
    r->column = r->key_column = begin + 1;
    r->key = TD_CONFIG_KEYS_MAX;
    if (line[begin] == '\0')
        return true;
    if (length > LINE_BYTES)
        return td_config_fail(
            r, "the line is longer than %d characters; a list continues on indented lines",
            LINE_BYTES);
    if (line[begin] == '[') {
        const char *end = strchr(line, ']');
        r->last = NULL;
        if (!end || (size_t)(end - line) - begin - 1 >= sizeof r->section)
            return td_config_fail(r, "expected a section: [name]");
        snprintf(r->section, sizeof r->section, "%.*s", (int)(end - line - (long)begin - 1),
                 line + begin + 1);
        if (td_config_section_known(r->section))
            return true;
        td_config_sections(text, sizeof text);
        return td_config_fail(r, "unknown section [%s]; known sections: %s", r->section, text);
    }
    if (begin > 0 && r->last && !strchr(line, '=')) {
        snprintf(text, sizeof text, "[%s]\n%s = %s\n", r->section, r->last->setting.key,
                 line + begin);
        if (ini_parse_string(text, handle, r) != 0)
            return td_config_fail(r, "malformed line");
        return !r->failed;
    }
    r->last = NULL;
    if (!strchr(line, '='))
        return td_config_fail(r, "expected key = value");
    const char *value = strchr(line, '=') + 1;
    r->column = (size_t)(value - line) + strspn(value, " \t") + 1;
    snprintf(text, sizeof text, "[%s]\n%s\n", r->section, line + begin);
    if (ini_parse_string(text, handle, r) != 0)
        return td_config_fail(r, "expected key = value");
    return !r->failed;
}

bool td_config_read(struct td_config_reader *r, const char *path)
{
    r->file = path;
    r->line = 0;
    r->column = 1;
    r->section[0] = '\0';
    r->last = NULL;
    FILE *f = fopen(path, "re");
    if (!f)
        return td_config_give_up(r, "cannot open the file: %s", strerror(errno));
    char *line = NULL;
    size_t room = 0;
    ssize_t length = 0;
    while (!r->failed && (length = getline(&line, &room, f)) >= 0) {
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
            line[--length] = '\0';
        r->line++;
        cut_comment(line);
        feed(r, line);
    }
    if (length < 0 && ferror(f))
        td_config_give_up(r, "cannot read the file: %s", strerror(errno));
    free(line);
    fclose(f);
    return !r->failed;
}

int td_config_is_drop_in(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".conf") == 0;
}

/* is_stray returns 1 for a name of a file that somebody may take for a drop-in: not one that is
 * hidden, nor the backup of an editor. */
static int is_stray(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && entry->d_name[length - 1] != '~' &&
           !td_config_is_drop_in(entry);
}

/* add_name adds the name of a file to a list. */
static void add_name(char *list, size_t bytes, const char *name)
{
    size_t length = strlen(list);
    snprintf(list + length, bytes - length, " %s", name);
}

static void note_strays(struct td_config *config, const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_stray, alphasort);
    for (int i = 0; i < count; i++) {
        add_name(config->strays, sizeof config->strays, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

bool td_config_read_drop_ins(struct td_config_reader *r, const char *file)
{
    char folder[512], path[1024];
    struct dirent **entries = NULL;
    snprintf(folder, sizeof folder, "%s.d", file);
    int count = scandir(folder, &entries, td_config_is_drop_in, alphasort);
    if (count < 0 && errno != ENOENT) {
        r->file = folder;
        r->line = 0;
        return td_config_give_up(r, "cannot read the directory: %s", strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        memset(r->seen, 0, sizeof r->seen); /* a drop-in may set a key again */
        if (!r->failed)
            td_config_read(r, path);
        add_name(r->config->drop_ins, sizeof r->config->drop_ins, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    note_strays(r->config, folder);
    return !r->failed;
}
