/* SPDX-License-Identifier: Apache-2.0 */
/* config_reload: what a running daemon takes up of its files, which td_config_load_again has read.
 * Owns: nothing. Borrows: both configurations. */
#ifndef TD_IO_CONFIG_CONFIG_RELOAD_H
#define TD_IO_CONFIG_CONFIG_RELOAD_H

#include "config.h"

/* td_config_takes returns true if a reload takes a setting from `fresh`: it is not refused, and if
 * a line could not be read, another one has the setting. */
bool td_config_takes(const struct td_config *fresh, const struct td_config_refusals *refusals,
                     size_t key);
/* td_config_adopt copies the settings that a reload changes and that are not refused, but not the
 * keys themselves. It writes the names of settings that changed, and of those whose change needs a
 * restart, with commas between them. Keys are not turned on or off: that needs a restart, too, and
 * so do keys that wait for one. */
void td_config_adopt(struct td_config *config, const struct td_config *fresh,
                     const struct td_config_refusals *refusals, char *changed, size_t changed_bytes,
                     char *restart, size_t restart_bytes);

/* td_config_to_do reads the files again, and compares them with the running configuration. It
 * writes the names of settings that a reload, or a restart, would change. It returns false with a
 * sentence in *why if torusd would not start with the files. */
bool td_config_to_do(const struct td_config *running, char *reload, size_t reload_bytes,
                     char *restart, size_t restart_bytes, char *why, size_t why_bytes);

#endif
