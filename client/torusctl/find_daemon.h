/* SPDX-License-Identifier: Apache-2.0 */
/* find_daemon: the torusd of the same installation or build as this torusctl. */
#ifndef TORUSCTL_FIND_DAEMON_H
#define TORUSCTL_FIND_DAEMON_H

#include <stdbool.h>
#include <stddef.h>

/* ctl_find_daemon writes the path of torusd: beside torusctl, in ../sbin, in PATH or in /usr/sbin.
 * It returns false if none exists. */
bool ctl_find_daemon(char *path, size_t bytes);

#endif
