# SPDX-License-Identifier: Apache-2.0
"""The programs and commands of docs/c.md and docs/python.md print what the page says; ranks may come in any order.

usage: manual.py TORUSCTL PAGE
"""
import os
import re
import subprocess
import sys
import tempfile


def main():
    ctl, page = os.path.abspath(sys.argv[1]), sys.argv[2]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    name = code = None
    commands = wrong = 0
    environment = {**os.environ, "PATH": os.path.dirname(ctl) + ":" + os.environ["PATH"]}
    with tempfile.TemporaryDirectory() as folder:
        for match in re.finditer(r"[Ss]tore\s+(?:this|it)\s+as\s+`(\w+\.(?:c|py))`|"
                                 r"^```(c|python|console)\n(.*?)^```$", text, re.M | re.S):
            name = match.group(1) or name
            code = match.group(3) if match.group(2) in ("c", "python") else code
            if name and code:
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(code)
                name = code = None
            if match.group(2) != "console":
                continue
            for part in re.split(r"^\$ ", match.group(3), flags=re.M)[1:]:
                command, *expected = part.rstrip("\n").split("\n")
                done = subprocess.run(command, shell=True, cwd=folder, env=environment,
                                      capture_output=True, text=True, timeout=60)
                commands += 1
                if sorted((done.stdout + done.stderr).splitlines()) != sorted(expected):
                    wrong += 1
                    print(f"$ {command}\n{done.stdout}{done.stderr}expected:\n" +
                          "\n".join(expected))
    print(f"{commands} commands, {wrong} wrong")
    sys.exit(1 if wrong or commands < 6 or name or code else 0)


main()
