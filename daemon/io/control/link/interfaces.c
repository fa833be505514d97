/* SPDX-License-Identifier: Apache-2.0 */
#include "interfaces.h"

#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* plain copies an address as one of IPv6. It returns false for any other kind of address. */
static bool plain(const struct sockaddr *address, struct in6_addr *to)
{
    if (address && address->sa_family == AF_INET6) {
        *to = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
        return true;
    }
    if (!address || address->sa_family != AF_INET)
        return false;
    *to = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(&to->s6_addr[12], &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    return true;
}

bool td_interfaces_find(const struct ifaddrs *list, const struct sockaddr *address, char *name,
                        size_t bytes)
{
    struct in6_addr wanted, own;
    bool known = plain(address, &wanted);
    name[0] = '\0';
    for (const struct ifaddrs *i = list; i && known; i = i->ifa_next)
        if (plain(i->ifa_addr, &own) && memcmp(&own, &wanted, sizeof own) == 0) {
            snprintf(name, bytes, "%s", i->ifa_name);
            return true;
        }
    return false;
}

bool td_interfaces_fault(const struct ifaddrs *list, const char *name, uint32_t node, char *text,
                         size_t bytes)
{
    const char *fault = "is gone";
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (strcmp(i->ifa_name, name) != 0)
            continue;
        if (i->ifa_flags & IFF_UP && i->ifa_flags & IFF_RUNNING)
            return false;
        fault =
            i->ifa_flags & IFF_UP ? "has no carrier: look at its cable and the switch" : "is down";
        break;
    }
    snprintf(text, bytes, "interface %s of node %u %s", name, node, fault);
    return true;
}
