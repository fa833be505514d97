/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_bytes: how much a TCP connection has received. It is a module of its own because the system's
 * header for it excludes the C library's, which libuv includes. */
#ifndef TD_IO_CONTROL_DOOR_TCP_BYTES_H
#define TD_IO_CONTROL_DOOR_TCP_BYTES_H

#include <stdint.h>

/* td_tcp_bytes returns the bytes that a connection has received, or `otherwise` if the system does
 * not say. */
uint64_t td_tcp_bytes(int fd, uint64_t otherwise);

#endif
