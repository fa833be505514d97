/* SPDX-License-Identifier: Apache-2.0 */
/* options: the command line of `torusctl emulate`. */
#ifndef TORUSCTL_EMULATE_OPTIONS_H
#define TORUSCTL_EMULATE_OPTIONS_H

#include "emulation.h"

/* options_parse returns NULL or the error, valid until the next call. */
const char *options_parse(struct emulation *e, int argc, char **argv);
/* options_is_set returns true if the command line sets SECTION.KEY of the configuration. */
bool options_is_set(const struct emulation *e, const char *key);

#endif
