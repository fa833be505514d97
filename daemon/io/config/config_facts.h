/* SPDX-License-Identifier: Apache-2.0 */
/* config_facts: the settings that are in effect, one by one, for torusctl config. */
#ifndef TD_IO_CONFIG_CONFIG_FACTS_H
#define TD_IO_CONFIG_CONFIG_FACTS_H

#include "config.h"

/* td_config_fact fills in setting `at`: SECTION.KEY, its value and unit, and whether the files set
 * it. `security` has the keys in use, which may be later than those of `config`: the public key and
 * a hash of the list of peers follow the settings. It returns false behind the last one. */
bool td_config_fact(const struct td_config *config, const struct td_security *security, unsigned at,
                    struct td_fact *fact);
/* td_config_print_facts prints all of them to stdout, one a line: name, value, unit, and the word
 * set or default, with tabs between them. */
void td_config_print_facts(const struct td_config *config);

#endif
