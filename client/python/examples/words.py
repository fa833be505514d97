#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The most frequent words of a text: each rank counts every P-th line, and the counters, which are
Python objects, are added on all ranks.

    torusctl emulate 2x2 -- python3 words.py [FILE]
"""
import collections
import re
import sys

import torus

path = sys.argv[1] if len(sys.argv) > 1 else torus.__file__


def count(lines):
    """Returns how often each word occurs."""
    return collections.Counter(w for line in lines for w in re.findall(r"[a-z]+", line.lower()))


with torus.Job() as job:
    lines = None
    if job.rank == 0:
        with open(path, encoding="utf-8") as file:
            text = file.read().splitlines()
        lines = [text[r::job.size] for r in range(job.size)]
    mine = job.scatter(lines)
    total = job.allreduce(count(mine))
    if job.rank == 0:
        print(", ".join(f"{word} {n}" for word, n in total.most_common(5)))
        assert total == count(text)
