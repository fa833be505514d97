# SPDX-License-Identifier: Apache-2.0
"""Completion in Bash offers every command and every option that torusctl --help prints."""
import os
import re
import subprocess
import sys
import unittest

CTL = os.path.abspath(sys.argv.pop(1))
SCRIPT = os.path.abspath(sys.argv.pop(1))
DEADLINE_S = 60
COMPLETE = """source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _torusctl
printf '%s\\n' "${COMPREPLY[@]}" """


def offered(*words):
    done = subprocess.run(["bash", "-c", COMPLETE, "bash", SCRIPT, CTL, *words], check=True,
                          capture_output=True, text=True, timeout=DEADLINE_S)
    return set(done.stdout.split())


def help_of(*command):
    return subprocess.run([CTL, *command, "--help"], check=True, capture_output=True, text=True,
                          timeout=DEADLINE_S).stdout


def commands():
    return re.findall(r"(?m)^  ([a-z]+) ", help_of())


class Completion(unittest.TestCase):
    def test_every_command_is_offered(self):
        self.assertGreater(len(commands()), 20)
        self.assertEqual(offered(""), {*commands(), "--help", "--version"})
        self.assertEqual(offered("stra"), {"stragglers"})

    def test_every_option_is_offered(self):
        for command in commands():
            with self.subTest(command=command):
                options = set(re.findall(r"--[a-z][a-z-]*", help_of(command)))
                self.assertEqual(offered(command, "--"), options)

    def test_words_of_config(self):
        self.assertEqual(offered("config", ""), {"check", "show", "diff"})

    def test_the_command_of_an_emulation(self):
        self.assertIn("true", offered("emulate", "2x2", "--", "tru"))

    def test_files_are_offered(self):
        self.assertEqual(offered("compare", SCRIPT[:-1]), {SCRIPT})


if __name__ == "__main__":
    unittest.main()
