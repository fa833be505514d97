#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A new field of a message, of a request and of a row takes three lines in three files; a test names a line that lacks.

Usage: new_field.py SOURCE

The walk of CONTRIBUTING.md ("How to add a message"), done in a copy: the codec and its tests are compiled with the new
fields, and must pass. Then each line is left out once, and they must not."""

import os
import shutil
import subprocess
import sys
import tempfile

# kind: the three lines, each with its file and the line that it follows
FIELDS = {
    "tree message": (
        ("daemon/model/message.h", "struct td_message_rank_left {", "    uint32_t proof;"),
        ("proto/peer.proto", "message RankLeft {", "  uint32 proof = 9;"),
        ("daemon/wire/peer_table.c", "static const struct td_wire_field of_rank_left[] = {",
         "    F(rank_left, proof),"),
    ),
    "request": (
        ("daemon/model/request.h", "            uint32_t group; /* the daemon's number for it, from JOINED */",
         "            uint64_t proof;"),
        ("proto/client.proto", "message Request {", "  uint64 proof = 99;"),
        ("daemon/wire/client_table.c", "static const struct td_wire_field of_leave[] = {", "    F(leave, proof),"),
    ),
    "row": (
        ("daemon/model/request.h", "struct td_row_outage {", "    const char *proof;"),
        ("proto/client.proto", "message RowOutage {", "  string proof = 99;"),
        ("daemon/wire/client_table.c", "static const struct td_wire_field of_row_outage[] = {",
         "    TEXT(row_outage, proof),"),
    ),
}
TESTS = ("tables", "messages", "wire")


def insert(folder, path, after, line):
    """Puts a line behind the first line that begins with `after`; the rest of that one moves to the next line."""
    with open(os.path.join(folder, path), encoding="utf-8") as file:
        text = file.read()
    at = text.index(after) + len(after)
    with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
        file.write(text[:at] + "\n" + line + "\n" + text[at:])


def works(source, left_out=None):
    """Returns whether the codec and its tests pass with the new fields, but for one line."""
    with tempfile.TemporaryDirectory() as folder:
        for part in ("daemon/base", "daemon/model", "daemon/wire", "proto", "tests/wire"):
            shutil.copytree(os.path.join(source, part), os.path.join(folder, part))
        shutil.copy(os.path.join(source, "tests/random.h"), os.path.join(folder, "tests"))
        for kind, lines in FIELDS.items():
            for number, (path, after, line) in enumerate(lines):
                if (kind, number) != left_out:
                    insert(folder, path, after, line)
        for name in ("client", "peer"):
            subprocess.run(["protoc-c", "--c_out=.", "-I", "proto", f"{name}.proto"], cwd=folder, check=True)
        codec = ["client.pb-c.c", "peer.pb-c.c"]
        for part in ("daemon/base", "daemon/model", "daemon/wire"):
            codec += [os.path.join(part, name) for name in sorted(os.listdir(os.path.join(folder, part)))
                      if name.endswith(".c") and name != "key.c"]
        options = ["cc", "-std=gnu17", "-O0", "-w", "-I.", "-Idaemon", "-Itests", "-Itests/wire"]
        if subprocess.run([*options, "-c", *codec], cwd=folder, stderr=subprocess.DEVNULL, check=False).returncode:
            return False
        objects = [os.path.basename(path)[:-2] + ".o" for path in codec]
        for test in TESTS:
            command = [*options, f"tests/wire/test_{test}.c", "tests/wire/forms.c", "tests/wire/samples.c", *objects,
                       "-o", f"test_{test}", "-lprotobuf-c", "-lcmocka", "-lm"]
            if subprocess.run(command, cwd=folder, stderr=subprocess.DEVNULL, check=False).returncode:
                return False
            if subprocess.run([f"./test_{test}"], cwd=folder, capture_output=True, check=False).returncode:
                return False
        return True


def main():
    source = sys.argv[1]
    assert works(source), "three lines do not make a field"
    for kind, lines in FIELDS.items():
        for number, (path, _, line) in enumerate(lines):
            assert not works(source, (kind, number)), f"{kind}: nobody misses {line.strip()} of {path}"
            print(f"{kind}: without {line.strip()} of {path} a test fails", flush=True)


main()
