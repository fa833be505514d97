/* SPDX-License-Identifier: Apache-2.0 */
/* address: a host and a port, as the configuration has them:
 *   node03.example.org:7117  10.0.0.3:7117  [fd00:77::3]:7117  [fe80::3%eth0]:7117  *:7117 */
#ifndef TD_IO_CONFIG_ADDRESS_H
#define TD_IO_CONFIG_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { TD_HOST_MAX = 256 };

/* struct td_address: `host` is a name, "*", or a numeric address in its shortest form, without
 * brackets. */
struct td_address {
    char host[TD_HOST_MAX];
    in_port_t port; /* 1 to 65535 */
    int family;     /* AF_INET, AF_INET6, or AF_UNSPEC: a name, or "*" */
};

/* td_address_read reads HOST:PORT. It returns NULL, or a sentence on what is wrong. */
const char *td_address_read(const char *text, struct td_address *address);
/* td_address_print writes HOST:PORT, with brackets around an address of IPv6. */
void td_address_print(const struct td_address *address, char *text, size_t bytes);
/* td_address_socket writes the address of a socket and returns its size; 0: the host is a name, or
 * its zone is no interface of this host. */
socklen_t td_address_socket(const struct td_address *address, struct sockaddr_storage *socket);
/* td_address_is_loopback returns true for a numeric address that other hosts do not reach. */
bool td_address_is_loopback(const struct td_address *address);
/* td_address_same_host returns true if two numeric addresses without a port are equal but for their
 * zones. An address of IPv4 that a socket of IPv6 has, ::ffff:10.0.0.3, is that of IPv4. */
bool td_address_same_host(const char *a, const char *b);

#endif
