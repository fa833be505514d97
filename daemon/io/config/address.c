/* SPDX-License-Identifier: Apache-2.0 */
#include "address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* parse_port returns 1 to 65535, or 0. */
static in_port_t parse_port(const char *text)
{
    char *end = NULL;
    unsigned long port = strtoul(text, &end, 10);
    return isdigit((unsigned char)text[0]) && !*end && port <= 65535 ? (in_port_t)port : 0;
}

bool td_address_parse(const char *text, struct td_address *address)
{
    char name[INET6_ADDRSTRLEN + 1];
    const char *colon = strrchr(text, ':');
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    bool bracketed = text[0] == '[' && colon && colon[-1] == ']';
    const char *begin = text + bracketed;
    size_t length = colon ? (size_t)(colon - begin) - bracketed : 0;
    in_port_t port = colon ? parse_port(colon + 1) : 0;
    if (port == 0 || length == 0 || length >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)length, begin);
    memset(address, 0, sizeof *address);
    if (!bracketed && inet_pton(AF_INET, name, &v4.sin_addr) == 1) {
        v4.sin_port = htons(port);
        address->is_loopback = ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
        address->bytes = sizeof v4;
        memcpy(&address->storage, &v4, sizeof v4);
        return true;
    }
    if (bracketed && inet_pton(AF_INET6, name, &v6.sin6_addr) == 1) {
        v6.sin6_port = htons(port);
        address->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
        address->bytes = sizeof v6;
        memcpy(&address->storage, &v6, sizeof v6);
        return true;
    }
    return false;
}
