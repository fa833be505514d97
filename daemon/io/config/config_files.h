/* SPDX-License-Identifier: Apache-2.0 */
/* config_files: the files of a configuration that this process cannot read. td_config_load stops at
 * the first of them; a person wants to know all. */
#ifndef TD_IO_CONFIG_CONFIG_FILES_H
#define TD_IO_CONFIG_CONFIG_FILES_H

#include "config.h"

/* td_config_unreadable calls `tell` for each file that this process cannot read, with its path and
 * the reason: FILE, the directory FILE.d, its drop-ins, and the files of keys as far as `config`,
 * which td_config_load has read or tried to read, names them. */
void td_config_unreadable(const struct td_config *config, const char *file,
                          void (*tell)(void *user, const char *path, const char *why), void *user);

#endif
