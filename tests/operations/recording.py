#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""recording.py: the record of who was last, and of the waiting for it, takes at most 1 % of a call in a segment.

usage: recording.py SOURCE TORUSCTL STRAGGLE

It counts the instructions of all ranks in each kind of call with valgrind, by line of the source. No time is measured.
"""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, CTL, STRAGGLE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
SKIPPED = 77
CALLS = 1000
MOST = 0.01
DEADLINE_S = 300
# all that recording does in a call: functions of these files; none: the whole file
RECORDING = {
    "daemon/segment/waits.h": [],
    "daemon/segment/access.h": ["td_access_count", "td_access_sum", "td_access_note", "td_access_noted"],
    "daemon/segment/meeting.c": ["td_meeting_last"],
    "client/libtorus/segment.c": ["account", "note_last"],
}


def lines_of(path, functions):
    """Returns the numbers of the lines of these functions."""
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        text = file.read().split("\n")
    if not functions:
        return set(range(1, len(text) + 1))
    found = set()
    for name in functions:
        begins = [n for n, line in enumerate(text, 1) if re.match(rf"\w.*\b{name}\(", line)]
        assert len(begins) == 1, f"{path} has {len(begins)} functions {name}"
        end = text.index("}", begins[0])
        found |= set(range(begins[0], end + 2))
    return found


def count(profile):
    """Returns the instructions of a profile of callgrind by file and line."""
    names, found = {}, collections.Counter()
    file, line, called = "", 0, False
    with open(profile, encoding="utf-8") as lines:
        for text in lines:
            name = re.match(r"c?f[lie]=\((\d+)\)(?: (.*))?$", text)
            if name:
                names.setdefault(name[1], name[2])
                file = file if text[0] == "c" else names[name[1]]
            elif text.startswith("calls="):
                called = True  # the next line has what the called function took
            elif re.match(r"[0-9+*-]", text):
                place, *cost = text.split()
                line = line if place == "*" else line + int(place) if place[0] in "+-" else int(place)
                if not called and cost:
                    found[file, line] += int(cost[0])
                called = False
    return found


def recorded(counts, lines):
    """Returns the instructions of the lines that record."""
    return sum(n for (file, line), n in counts.items()
               if any(file.endswith("/" + path) and line in there for path, there in lines.items()))


class Recording(unittest.TestCase):
    def run_ranks(self, ranks, function):
        """Returns the instructions of all ranks inside the function, by file and line."""
        folder = tempfile.mkdtemp(prefix="torus-recording.")
        self.addCleanup(shutil.rmtree, folder, True)
        done = subprocess.run(
            [CTL, "emulate", "1", "--ranks", str(ranks), "--", "valgrind", "-q", "--tool=callgrind",
             f"--toggle-collect={function}", f"--callgrind-out-file={folder}/%p", STRAGGLE, "0", str(CALLS), "0"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        profiles = glob.glob(f"{folder}/*")
        self.assertEqual(len(profiles), ranks)
        return sum((count(p) for p in profiles), collections.Counter())

    def test_recording_takes_at_most_one_hundredth_of_a_call(self):
        lines = {path: lines_of(path, functions) for path, functions in RECORDING.items()}
        for function in "torus_barrier", "torus_allreduce":
            for ranks in 2, 4, 8:
                counts = self.run_ranks(ranks, function)
                took, all_took = recorded(counts, lines), sum(counts.values())
                each = CALLS * ranks
                print(f"{function}, {ranks} ranks: {took / each:.1f} of {all_took / each:.0f} instructions of a rank"
                      f" record: {100 * took / all_took:.2f} %", flush=True)
                with self.subTest(function=function, ranks=ranks):
                    self.assertGreater(took, 10 * CALLS)  # they are found: the last rank alone takes more
                    self.assertLessEqual(took, MOST * all_took)


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        print("skipped: apt-get install valgrind")
        sys.exit(SKIPPED)
    unittest.main()
