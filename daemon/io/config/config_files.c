/* SPDX-License-Identifier: Apache-2.0 */
#include "config_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config_text.h"

/* struct hearer: `tell` is called for each file that cannot be read. */
struct hearer {
    void (*tell)(void *user, const char *path, const char *why);
    void *user;
};

static void try_file(const struct hearer *h, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO would wait */
    if (fd >= 0)
        close(fd);
    else
        h->tell(h->user, path, strerror(errno));
}

static void try_drop_ins(const struct hearer *h, const char *file)
{
    char folder[512], path[1024];
    struct dirent **entries = NULL;
    snprintf(folder, sizeof folder, "%s.d", file);
    int count = scandir(folder, &entries, td_config_is_drop_in, alphasort);
    if (count < 0 && errno != ENOENT)
        h->tell(h->user, folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        try_file(h, path);
        free(entries[i]);
    }
    free(entries);
}

void td_config_unreadable(const struct td_config *config, const char *file,
                          void (*tell)(void *user, const char *path, const char *why), void *user)
{
    const struct hearer h = {.tell = tell, .user = user};
    try_file(&h, file);
    try_drop_ins(&h, file);
    if (config->key_file[0])
        try_file(&h, config->key_file);
    if (config->peers_file[0])
        try_file(&h, config->peers_file);
}
