#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""forks.py: a rank whose child, made by multiprocessing, lives longer than it does.

usage: forks.py JOINED END

The child ends when END, a file descriptor, is at its end of file. The rank writes a byte to JOINED
when it has joined and the child runs, and waits to be killed.
"""
import ctypes
import multiprocessing
import os
import sys
import time


def live(end):
    """Waits for the end of file."""
    os.read(end, 1)


joined, last = int(sys.argv[1]), int(sys.argv[2])
torus = ctypes.CDLL(os.environ["TORUS_LIBRARY"])  # not the package: it needs packages of its own
context, world = ctypes.c_void_p(), ctypes.c_void_p()
if torus.torus_open(ctypes.byref(context), None) or torus.torus_join(context, None,
                                                                     ctypes.byref(world)):
    sys.exit(1)
multiprocessing.get_context("fork").Process(target=live, args=(last,)).start()
os.write(joined, b"y")
time.sleep(600)
