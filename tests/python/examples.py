# SPDX-License-Identifier: Apache-2.0
"""Every example runs; those that draw write a picture.

usage: examples.py TORUSCTL FOLDER RANKS
"""
import glob
import os
import subprocess
import sys
import tempfile


def main():
    ctl, folder, ranks = sys.argv[1:]
    programs = sorted(glob.glob(os.path.join(folder, "*.py")))
    assert len(programs) >= 10, f"{len(programs)} examples in {folder}"
    drawn = 0
    for program in programs:
        with open(program, encoding="utf-8") as file:
            draws = "PICTURE.png" in file.read()
        with tempfile.TemporaryDirectory() as made:
            picture = [os.path.join(made, "picture.png")] if draws else []
            done = subprocess.run([ctl, "emulate", "2x2" if ranks != "1" else "1x1", "--ranks", ranks,
                                   "--", sys.executable, "-W", "error", program, *picture],
                                  capture_output=True, text=True, timeout=60)
            name = os.path.basename(program)
            print(f"{name}: {done.stdout}{done.stderr}", end="")
            assert done.returncode == 0 and done.stdout and not done.stderr, name
            if draws:
                with open(picture[0], "rb") as file:
                    assert file.read(8) == b"\x89PNG\r\n\x1a\n", name
                drawn += 1
    assert drawn >= 4


main()
