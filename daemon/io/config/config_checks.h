/* SPDX-License-Identifier: Apache-2.0 */
/* config_checks: checks and settings that depend on several keys: nodes, endpoints, bounds. */
#ifndef TD_IO_CONFIG_CONFIG_CHECKS_H
#define TD_IO_CONFIG_CONFIG_CHECKS_H

#include "config_reader.h"

/* td_config_check completes the configuration of its host. It returns false after an error. A
 * reload refuses the settings that an error is about, and goes on. */
bool td_config_check(struct td_config_reader *reader);

#endif
