# SPDX-License-Identifier: Apache-2.0
"""ports: TCP ports of loopback that nobody listens on."""
import random
import socket

FIRST, END = 12000, 32000  # below those that the system gives to connections


def free_ports(count):
    """Returns the first of `count` ports in a row that nobody listens on."""
    for _ in range(100):
        first = random.randrange(FIRST, END - count)
        held = []
        try:
            for port in range(first, first + count):
                held.append(socket.socket())
                held[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                held[-1].bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for s in held:
                s.close()
    raise OSError("no free ports")
