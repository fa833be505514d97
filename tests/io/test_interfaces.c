/* SPDX-License-Identifier: Apache-2.0 */
/* Which interface of this host a connection uses, and what is wrong with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include "io/control/link/interfaces.h"

static struct sockaddr_in six_to_four = {.sin_family = AF_INET};
static struct sockaddr_in6 six = {.sin6_family = AF_INET6};
static struct sockaddr packet = {.sa_family = AF_PACKET};
static char eth0[] = "eth0", eth1[] = "eth1", tun0[] = "tun0";
static struct ifaddrs list[] = {
    {.ifa_next = &list[1], .ifa_name = eth0, .ifa_addr = &packet},
    {.ifa_next = &list[2], .ifa_name = tun0}, /* without an address */
    {.ifa_next = &list[3], .ifa_name = eth1, .ifa_addr = (struct sockaddr *)&six},
    {.ifa_name = eth0, .ifa_addr = (struct sockaddr *)&six_to_four},
};

static void set_flags(unsigned flags)
{
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        list[i].ifa_flags = flags;
}

static const char *found(const char *text)
{
    static char name[IF_NAMESIZE];
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 other = {.sin6_family = AF_INET6};
    bool is_four = inet_pton(AF_INET, text, &four.sin_addr) == 1;
    if (!is_four)
        assert_int_equal(inet_pton(AF_INET6, text, &other.sin6_addr), 1);
    bool is = td_interfaces_find(
        list, is_four ? (struct sockaddr *)&four : (struct sockaddr *)&other, name, sizeof name);
    assert_true(is == (name[0] != '\0'));
    return name;
}

static void an_address_has_an_interface(void **state)
{
    (void)state;
    inet_pton(AF_INET, "10.77.0.2", &six_to_four.sin_addr);
    inet_pton(AF_INET6, "fd00::2", &six.sin6_addr);
    assert_string_equal(found("10.77.0.2"), "eth0");
    assert_string_equal(found("::ffff:10.77.0.2"), "eth0"); /* IPv4 on an IPv6 socket */
    assert_string_equal(found("fd00::2"), "eth1");
    assert_string_equal(found("10.77.0.3"), "");
    assert_string_equal(found("::2"), "");
}

static void an_interface_that_does_not_run_is_named(void **state)
{
    (void)state;
    char text[100] = "";
    set_flags(IFF_UP | IFF_RUNNING);
    assert_false(td_interfaces_fault(list, "eth0", 3, text, sizeof text));
    set_flags(IFF_RUNNING);
    assert_true(td_interfaces_fault(list, "eth0", 3, text, sizeof text));
    assert_string_equal(text, "interface eth0 of node 3 is down");
    set_flags(IFF_UP);
    assert_true(td_interfaces_fault(list, "eth1", 3, text, sizeof text));
    assert_string_equal(text, "interface eth1 of node 3 has no carrier: look at its cable "
                              "and the switch");
    assert_true(td_interfaces_fault(list, "eth2", 3, text, sizeof text));
    assert_string_equal(text, "interface eth2 of node 3 is gone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_has_an_interface),
        cmocka_unit_test(an_interface_that_does_not_run_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
