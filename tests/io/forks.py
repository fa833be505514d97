#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""forks.py: a rank whose child, made by multiprocessing, lives longer than it does.

usage: forks.py JOINED END

The child ends when END, a file descriptor, is at its end of file. The rank writes a byte to JOINED
when it has joined and the child runs, and waits to be killed.
"""
import multiprocessing
import os
import sys
import time

import torus


def live(end):
    """Waits for the end of file."""
    os.read(end, 1)


joined, last = int(sys.argv[1]), int(sys.argv[2])
job = torus.Job()
multiprocessing.get_context("fork").Process(target=live, args=(last,)).start()
os.write(joined, b"y")
time.sleep(600)
