/* SPDX-License-Identifier: Apache-2.0 */
/* config_host: what a configuration needs of the machine. torusd --check-config asks before a start
 * would fail. Owns: nothing. */
#ifndef TD_IO_CONFIG_CONFIG_HOST_H
#define TD_IO_CONFIG_CONFIG_HOST_H

#include "config.h"

/* td_config_places returns true if this machine has the directory of the socket and the addresses
 * to listen on; else *text (of text_bytes) is a sentence, and torusd does not start. systemd makes
 * /run/torusd and /run/torusd/NAME when it starts a service, and the daemon of a user its own, so
 * these directories may be missing. */
bool td_config_places(const struct td_config *config, char *text, size_t text_bytes);
/* td_config_observers returns true if this machine has the group of [node] observers, or no file
 * names one; else *text is a sentence. A daemon runs without the group. */
bool td_config_observers(const struct td_config *config, char *text, size_t text_bytes);
/* td_config_host returns true if this machine has these places and the congestion control; else
 * *text is a sentence. */
bool td_config_host(const struct td_config *config, char *text, size_t text_bytes);
/* td_config_congestion returns true if the kernel lets this process use the congestion control of
 * the configuration; else *text is a sentence. A daemon runs without it. */
bool td_config_congestion(const struct td_config *config, char *text, size_t text_bytes);
/* td_config_limits returns true if the limits of the system for this process suffice to serve the
 * configuration. ZeroMQ, libuv and FFTW end the process if they get no descriptor, thread or
 * memory.
 */
bool td_config_limits(const struct td_config *config, char *text, size_t text_bytes);
/* td_config_memory returns true if a memory cgroup leaves room for [limits] memory and scratch. */
bool td_config_memory(const struct td_config *config, char *text, size_t text_bytes);
/* td_config_congestion_name returns the congestion control that streams ask the kernel for; NULL:
 * none. A stream that does not get it has the kernel's default. */
const char *td_config_congestion_name(const struct td_config *config);

#endif
