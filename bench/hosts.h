/* SPDX-License-Identifier: Apache-2.0 */
/* hosts: the hosts of a comparison: network namespaces with links of limited rate (hosts.sh). */
#ifndef BENCH_HOSTS_H
#define BENCH_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#define HOSTS_PREFIX "torus-host" /* of the names of the hosts */

/* hosts_up makes hosts with links of a rate in tc's notation, such as 1gbit. It returns false after
 * a message that begins with the name of the comparison. hosts_down removes them, if any exist. */
bool hosts_up(const char *bench, uint32_t hosts, const char *rate);
void hosts_down(void);
/* hosts_rate returns the bytes of TCP's payload per second of such a link in one direction; 0: it
 * is not limited, or its unit is not gbit, mbit or kbit. */
double hosts_rate(const char *rate);

#endif
