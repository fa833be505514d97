/* SPDX-License-Identifier: Apache-2.0 */
/* address: a numeric address with a port, such as 127.0.0.1:9817 or [::1]:9817. */
#ifndef TD_IO_CONFIG_ADDRESS_H
#define TD_IO_CONFIG_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

struct td_address {
    struct sockaddr_storage storage;
    socklen_t bytes;
    bool is_loopback;
};

/* td_address_parse returns false if the text is no such address. */
bool td_address_parse(const char *text, struct td_address *address);

#endif
