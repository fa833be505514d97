/* SPDX-License-Identifier: Apache-2.0 */
#include "address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* read_port returns 1 to 65535, or 0. */
static in_port_t read_port(const char *text)
{
    char *end = NULL;
    unsigned long port = strtoul(text, &end, 10);
    return isdigit((unsigned char)text[0]) && !*end && port <= 65535 ? (in_port_t)port : 0;
}

/* read_v6 reads an address of IPv6 with its zone, if it has one. */
static const char *read_v6(const char *text, struct td_address *a)
{
    char plain[INET6_ADDRSTRLEN + 1];
    struct in6_addr v6;
    size_t length = strcspn(text, "%");
    const char *zone = text + length;
    if (length >= sizeof plain)
        return "the brackets have no IPv6 address";
    snprintf(plain, sizeof plain, "%.*s", (int)length, text);
    if (inet_pton(AF_INET6, plain, &v6) != 1)
        return "the brackets have no IPv6 address";
    if (*zone && (!zone[1] || strlen(zone) > IF_NAMESIZE || strpbrk(zone + 1, "%/ \t")))
        return "the zone after % must be the name of an interface";
    if (!*zone && IN6_IS_ADDR_LINKLOCAL(&v6))
        return "a link-local address needs its zone, such as [fe80::3%eth0]:7117";
    inet_ntop(AF_INET6, &v6, plain, sizeof plain);
    snprintf(a->host, sizeof a->host, "%s%s", plain, zone);
    a->family = AF_INET6;
    return NULL;
}

/* read_name reads a name, * or an address of IPv4. */
static const char *read_name(const char *text, struct td_address *a)
{
    struct in_addr v4;
    size_t length = strlen(text);
    if (length == 0)
        return "the host is missing: expected HOST:PORT";
    for (const char *at = text; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-_.", *at) && strcmp(text, "*") != 0)
            return "the name of a host has letters, digits, -, _ and . only";
    a->family = inet_pton(AF_INET, text, &v4) == 1 ? AF_INET : AF_UNSPEC;
    if (a->family == AF_UNSPEC && strspn(text, "0123456789.") == length)
        return "this is no IPv4 address";
    snprintf(a->host, sizeof a->host, "%s", text);
    return NULL;
}

const char *td_address_read(const char *text, struct td_address *a)
{
    static const char no_port[] =
        "the port is missing: expected HOST:PORT, such as 10.0.0.3:7117 or [fd00:77::3]:7117";
    char host[TD_HOST_MAX];
    struct in6_addr v6;
    bool bracketed = text[0] == '[';
    const char *end = bracketed ? strchr(text, ']') : strrchr(text, ':');
    memset(a, 0, sizeof *a);
    if (!end)
        return bracketed ? "] is missing after [" : no_port;
    const char *begin = text + bracketed, *port = bracketed ? end + 1 : end;
    if ((size_t)(end - begin) >= sizeof host)
        return "the name of the host is longer than 255 characters";
    snprintf(host, sizeof host, "%.*s", (int)(end - begin), begin);
    if (strchr(host, ':') && !bracketed)
        return inet_pton(AF_INET6, host, &v6) == 1 || inet_pton(AF_INET6, text, &v6) == 1
                   ? "an IPv6 address needs brackets, such as [fd00:77::3]:7117"
                   : "more than one colon: expected HOST:PORT";
    const char *wrong = bracketed ? read_v6(host, a) : read_name(host, a);
    if (wrong)
        return wrong;
    if (!*port)
        return no_port;
    a->port = *port == ':' ? read_port(port + 1) : 0;
    return a->port ? NULL : "the port must be a number from 1 to 65535";
}

void td_address_print(const struct td_address *a, char *text, size_t bytes)
{
    snprintf(text, bytes, a->family == AF_INET6 ? "[%s]:%u" : "%s:%u", a->host, a->port);
}

socklen_t td_address_socket(const struct td_address *a, struct sockaddr_storage *socket)
{
    char plain[INET6_ADDRSTRLEN + 1];
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(a->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(a->port)};
    const char *zone = strchr(a->host, '%');
    memset(socket, 0, sizeof *socket);
    if (a->family == AF_INET && inet_pton(AF_INET, a->host, &v4.sin_addr) == 1) {
        memcpy(socket, &v4, sizeof v4);
        return sizeof v4;
    }
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(a->host, "%"), a->host);
    v6.sin6_scope_id = zone ? if_nametoindex(zone + 1) : 0;
    if (a->family != AF_INET6 || (zone && v6.sin6_scope_id == 0) ||
        inet_pton(AF_INET6, plain, &v6.sin6_addr) != 1)
        return 0;
    memcpy(socket, &v6, sizeof v6);
    return sizeof v6;
}

bool td_address_is_loopback(const struct td_address *a)
{
    struct in_addr v4;
    if (a->family == AF_INET && inet_pton(AF_INET, a->host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
    return a->family == AF_INET6 && strcmp(a->host, "::1") == 0;
}

bool td_address_same_host(const char *a, const char *b)
{
    static const char mapped[] = "::ffff:";
    a += strncmp(a, mapped, sizeof mapped - 1) == 0 ? sizeof mapped - 1 : 0;
    b += strncmp(b, mapped, sizeof mapped - 1) == 0 ? sizeof mapped - 1 : 0;
    size_t length = strcspn(a, "%");
    return length == strcspn(b, "%") && strncmp(a, b, length) == 0;
}
