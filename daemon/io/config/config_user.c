/* SPDX-License-Identifier: Apache-2.0 */
#include "config_user.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* place writes a path below the folder that a variable names; without it, below `usual` in the
 * user's home. It returns false if there is neither, or the path is too long. */
static bool place(char *path, size_t bytes, const char *variable, const char *usual,
                  const char *name)
{
    const char *folder = getenv(variable), *home = getenv("HOME");
    int length = -1;
    if (folder && folder[0] == '/') /* the specification ignores other paths */
        length = snprintf(path, bytes, "%s/torusd%s", folder, name);
    else if (usual && home && home[0] == '/')
        length = snprintf(path, bytes, "%s/%s/torusd%s", home, usual, name);
    return length > 0 && (size_t)length < bytes;
}

bool td_config_user(struct td_config_user *user, char *text, size_t text_bytes)
{
    const char *wrong = NULL;
    if (!place(user->socket, sizeof user->socket, "XDG_RUNTIME_DIR", NULL, "/torusd.sock"))
        wrong = "XDG_RUNTIME_DIR: set it to a folder of your own, of at most 88 characters, as a "
                "session of systemd does";
    else if (!place(user->file, sizeof user->file, "XDG_CONFIG_HOME", ".config", "/torusd.conf"))
        wrong = "HOME or XDG_CONFIG_HOME: set it, to at most 228 characters";
    else if (!place(user->state_directory, sizeof user->state_directory, "XDG_STATE_HOME",
                    ".local/state", ""))
        wrong = "HOME or XDG_STATE_HOME: set it, to at most 228 characters";
    if (wrong)
        snprintf(text, text_bytes, "--user needs %s", wrong);
    return !wrong;
}

bool td_config_user_has_file(const struct td_config_user *user)
{
    return access(user->file, F_OK) == 0 || errno != ENOENT;
}

/* make_folders makes a folder, and those above it. It returns false with a sentence. */
static bool make_folders(const char *path, char *text, size_t text_bytes)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *end = strchr(folder + 1, '/');; end = strchr(end + 1, '/')) {
        if (end)
            *end = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
            snprintf(text, text_bytes, "cannot make %s: %s", folder, strerror(errno));
            return false;
        }
        if (!end)
            return true;
        *end = '/';
    }
}

/* is_own returns true if a folder belongs to this user and nobody else may write there. Others who
 * can would replace the socket. */
static bool is_own(const char *folder, char *text, size_t text_bytes)
{
    struct stat s;
    if (stat(folder, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
        !(s.st_mode & (S_IWGRP | S_IWOTH)))
        return true;
    snprintf(text, text_bytes,
             "--user needs a folder of this user in XDG_RUNTIME_DIR, where nobody else may write: "
             "%s is none",
             folder);
    return false;
}

bool td_config_user_begin(const struct td_config_user *user, const char *socket,
                          const char *state_directory, char *text, size_t text_bytes)
{
    char folder[sizeof user->socket];
    snprintf(folder, sizeof folder, "%s", user->socket);
    *strrchr(folder, '/') = '\0'; /* .../torusd */
    char *slash = strrchr(folder, '/');
    *slash = '\0';
    if (strcmp(socket, user->socket) == 0 && !is_own(folder, text, text_bytes))
        return false;
    *slash = '/';
    return (strcmp(socket, user->socket) != 0 || make_folders(folder, text, text_bytes)) &&
           (strcmp(state_directory, user->state_directory) != 0 ||
            make_folders(state_directory, text, text_bytes));
}
