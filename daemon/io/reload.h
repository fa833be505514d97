/* SPDX-License-Identifier: Apache-2.0 */
/* reload: SIGHUP. The daemon reads its configuration again and takes up what it can change while it
 * runs; the log names what needs a restart. A file with an error changes nothing.
 * Owns: nothing. Borrows: the configuration, clients and peers. */
#ifndef TD_IO_RELOAD_H
#define TD_IO_RELOAD_H

#include "clients/clients.h"
#include "loop.h"

enum { TD_RELOAD_TEXT = 160 };

/* td_reload reads the files of `config`, the one that the loop runs with. It tells the service
 * manager when it begins and ends. It writes what remains to be done into text (TD_RELOAD_TEXT):
 * a restart or a correction of the file; else "". */
void td_reload(struct td_config *config, struct td_loop *loop, struct td_clients *clients,
               char *text);

#endif
