/* SPDX-License-Identifier: Apache-2.0 */
/* interfaces: whether the network interface of this host is up that a connection uses. An operator
 * who reads that nothing comes from another node looks there first.
 * Borrows: the list of interfaces, which getifaddrs returns. */
#ifndef TD_IO_CONTROL_LINK_INTERFACES_H
#define TD_IO_CONTROL_LINK_INTERFACES_H

#include <ifaddrs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* td_interfaces_find writes the name of the interface that has an address, IPv4 on an IPv6 socket
 * included. It returns false, and writes "", if none has. */
bool td_interfaces_find(const struct ifaddrs *list, const struct sockaddr *address, char *name,
                        size_t bytes);
/* td_interfaces_fault writes what is wrong with an interface of this host: "interface eth0 of node
 * 0 is down". `node` is this node: other nodes show the sentence, too. It returns false if the
 * interface runs. */
bool td_interfaces_fault(const struct ifaddrs *list, const char *name, uint32_t node, char *text,
                         size_t bytes);

#endif
