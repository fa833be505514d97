/* SPDX-License-Identifier: Apache-2.0 */
/* config_text: the syntax of torusd.conf and its drop-ins. */
#ifndef TD_IO_CONFIG_CONFIG_TEXT_H
#define TD_IO_CONFIG_CONFIG_TEXT_H

#include <dirent.h>

#include "config_reader.h"

/* td_config_read reads one file, td_config_read_drop_ins those in FILE.d. Both return false after
 * an error. */
bool td_config_read(struct td_config_reader *reader, const char *file);
bool td_config_read_drop_ins(struct td_config_reader *reader, const char *file);
/* td_config_is_drop_in returns 1 for a name of a drop-in, else 0: a filter of scandir(). */
int td_config_is_drop_in(const struct dirent *entry);

#endif
