/* SPDX-License-Identifier: Apache-2.0 */
/* reload: RELOAD of a client, or SIGHUP. The daemon reads its configuration again and takes up what
 * it can change while it runs. A setting with an error stays as it was, and the others change; the
 * log and the answer name both, and what needs a restart. A file that cannot be read changes
 * nothing. Owns: nothing. Borrows: the configuration, clients, peers and metrics. */
#ifndef TD_IO_RELOAD_H
#define TD_IO_RELOAD_H

#include "clients/clients.h"
#include "loop.h"
#include "metrics/metrics.h"

enum { TD_RELOAD_TEXT = 160 };

struct td_reload_parts {
    struct td_config *config; /* that the loop runs with */
    struct td_loop *loop;
    struct td_clients *clients;
    struct td_metrics *metrics;
};

/* td_reload reads the files of the configuration. It tells the service manager when it begins and
 * ends. It writes the answer to text (TD_TEXT_MAX), and what remains to be done, a restart or a
 * correction of the file, to to_do (TD_RELOAD_TEXT). It returns TD_ERR_INVALID if it has refused a
 * setting. */
td_err td_reload(const struct td_reload_parts *parts, char *to_do, char *text);

#endif
