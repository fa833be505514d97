/* SPDX-License-Identifier: Apache-2.0 */
/* host: what the daemon runs on, for torusctl doctor: its version, clock and limits, the MTU of its
 * connections, and its configuration beside that of the files. It reads, and changes nothing but
 * loop->files. */
#ifndef TD_IO_HOST_H
#define TD_IO_HOST_H

#include "loop.h"

/* td_host_fact fills in fact `at`, and returns false behind the last one. */
bool td_host_fact(struct td_loop *loop, unsigned at, struct td_fact *fact);

#endif
