/* SPDX-License-Identifier: Apache-2.0 */
/* config_reload: the files again, while the daemon runs. All of them are read and checked before
 * any setting changes.
 * Owns: nothing. Borrows: both configurations. */
#ifndef TD_IO_CONFIG_CONFIG_RELOAD_H
#define TD_IO_CONFIG_CONFIG_RELOAD_H

#include "config.h"

/* td_config_reload reads the files of a configuration again, into `fresh`. The keys in them must
 * fit the shape and the node that the daemon runs with. On TD_ERR_INVALID *text is a sentence, and
 * there is nothing to free. */
td_err td_config_reload(const struct td_config *config, struct td_config *fresh, char *text,
                        size_t text_bytes);
/* td_config_adopt copies the settings that a reload changes, but not the keys themselves. It writes
 * the names of settings that changed, and of those whose change needs a restart, with commas
 * between them. Keys are not turned on or off: that needs a restart, too. */
void td_config_adopt(struct td_config *config, const struct td_config *fresh, char *changed,
                     size_t changed_bytes, char *restart, size_t restart_bytes);

#endif
