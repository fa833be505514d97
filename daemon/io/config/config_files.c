/* SPDX-License-Identifier: Apache-2.0 */
#include "config_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_text.h"

/* struct telling: who is told of files, and how many there were. */
struct telling {
    void (*tell)(void *user, const char *path, const char *why);
    void *user;
    unsigned count;
};

static void note(struct telling *t, const char *path, int error)
{
    t->tell(t->user, path, strerror(error));
    t->count++;
}

static void try_file(struct telling *t, const char *path)
{
    FILE *f = fopen(path, "re");
    if (f)
        fclose(f);
    else
        note(t, path, errno);
}

static void try_drop_ins(struct telling *t, const char *file)
{
    char folder[512], path[1024];
    struct dirent **entries = NULL;
    snprintf(folder, sizeof folder, "%s.d", file);
    int count = scandir(folder, &entries, td_config_is_drop_in, alphasort);
    if (count < 0 && errno != ENOENT)
        note(t, folder, errno);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        try_file(t, path);
        free(entries[i]);
    }
    free(entries);
}

unsigned td_config_unreadable(const struct td_config *config, const char *file,
                              void (*tell)(void *user, const char *path, const char *why),
                              void *user)
{
    struct telling t = {.tell = tell, .user = user};
    try_file(&t, file);
    try_drop_ins(&t, file);
    if (config->key_file[0])
        try_file(&t, config->key_file);
    if (config->peers_file[0])
        try_file(&t, config->peers_file);
    return t.count;
}
