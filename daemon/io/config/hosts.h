/* SPDX-License-Identifier: Apache-2.0 */
/* hosts: expansion of host lists such as node[00-08],spare[1,3-4],login. Brackets with an address
 * of IPv6, such as [fd00:77::1] or tcp://[fd00:77::1]:7117, belong to a name. */
#ifndef TD_IO_CONFIG_HOSTS_H
#define TD_IO_CONFIG_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

/* td_hosts_expand calls `add` with each name in order; `add` returns false to stop. It returns
 * NULL, or an error with its place in *position. */
const char *td_hosts_expand(const char *list, bool (*add)(void *user, const char *name), void *user,
                            size_t *position);
/* td_hosts_similar returns true if the names are equal without a domain, or one is the other
 * without its domain: node03 and node03.example.org. */
bool td_hosts_similar(const char *a, const char *b);

#endif
