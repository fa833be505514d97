/* SPDX-License-Identifier: Apache-2.0 */
/* config_user: the places of a daemon that a user runs alone (torusd --user), by the XDG Base
 * Directory Specification. It needs no file: it is a machine of one node. Owns: nothing. */
#ifndef TD_IO_CONFIG_CONFIG_USER_H
#define TD_IO_CONFIG_CONFIG_USER_H

#include <stdbool.h>
#include <stddef.h>

struct td_config_user {
    char file[256];            /* $XDG_CONFIG_HOME/torusd/torusd.conf, which need not exist */
    char socket[108];          /* $XDG_RUNTIME_DIR/torusd/torusd.sock: libtorus looks there first */
    char state_directory[256]; /* $XDG_STATE_HOME/torusd */
};

/* td_config_user finds the places of this user. It returns false without XDG_RUNTIME_DIR, or if a
 * path is too long; *text (of text_bytes) is a sentence. */
bool td_config_user(struct td_config_user *user, char *text, size_t text_bytes);
/* td_config_user_has_file returns true if the configuration of this user exists. */
bool td_config_user_has_file(const struct td_config_user *user);
/* td_config_user_begin makes the folders of the socket and of the state, for this user alone, if
 * they are the user's own. It returns false if others may write where the socket is to be, or the
 * system refuses a folder; *text is a sentence. */
bool td_config_user_begin(const struct td_config_user *user, const char *socket,
                          const char *state_directory, char *text, size_t text_bytes);

#endif
