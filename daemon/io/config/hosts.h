/* SPDX-License-Identifier: Apache-2.0 */
/* hosts: host lists as operators write them: node[00-08],spare[1,3-4],login. */
#ifndef TD_IO_CONFIG_HOSTS_H
#define TD_IO_CONFIG_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

/* td_hosts_expand calls `add` with every name in order; add returns false to stop. Returns NULL, or
 * what is wrong, with the place in *position. */
const char *td_hosts_expand(const char *list, bool (*add)(void *user, const char *name), void *user,
                            size_t *position);
/* td_hosts_alike: one name is the other without its domain, node03 and node03.example.org; or they
 * are equal and have none. */
bool td_hosts_alike(const char *a, const char *b);

#endif
