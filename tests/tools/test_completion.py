# SPDX-License-Identifier: Apache-2.0
"""Completion in Bash offers every command and every option that --help prints."""
import os
import re
import subprocess
import sys
import unittest

CTL = os.path.abspath(sys.argv.pop(1))
PLAN, ARRAY = (os.path.join(os.path.dirname(CTL), name) for name in ("torus-plan", "torus-array"))
SCRIPT = os.path.abspath(sys.argv.pop(1))
DEADLINE_S = 60
COMPLETE = """source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _torusctl
printf '%s\\n' "${COMPREPLY[@]}" """


def offered(*words, program=CTL):
    done = subprocess.run(["bash", "-c", COMPLETE, "bash", SCRIPT, program, *words], check=True,
                          capture_output=True, text=True, timeout=DEADLINE_S)
    return set(done.stdout.split())


def help_of(*command):
    return subprocess.run([CTL, *command, "--help"], check=True, capture_output=True, text=True,
                          timeout=DEADLINE_S).stdout


def commands():
    return re.findall(r"(?m)^  ([a-z]+) ", help_of())


class Completion(unittest.TestCase):
    def test_every_command_is_offered(self):
        self.assertGreater(len(commands()), 15)
        self.assertEqual(offered(""), {*commands(), "--help", "--version"})
        self.assertEqual(offered("stra"), {"stragglers"})

    def test_every_option_is_offered(self):
        for command in commands():
            with self.subTest(command=command):
                options = set(re.findall(r"--[a-z][a-z-]*", help_of(command)))
                self.assertEqual(offered(command, "--"), options)

    def test_the_other_tools(self):
        self.assertEqual(offered("f", program=ARRAY), {"fft", "filter"})
        self.assertIn("--real-part", offered("fft", "--re", program=ARRAY))
        self.assertEqual(offered("all", program=PLAN), {"alltoall", "allreduce", "allgather", "alltoallv"})
        self.assertIn("--ranks-per-node", offered("reduce", "--ra", program=PLAN))

    def test_words_of_config(self):
        self.assertEqual(offered("config", ""), {"check", "show", "diff"})

    def test_the_command_of_an_emulation(self):
        self.assertIn("true", offered("emulate", "2x2", "--", "tru"))

    def test_files_are_offered(self):
        self.assertEqual(offered("compare", SCRIPT[:-1], program=ARRAY), {SCRIPT})


if __name__ == "__main__":
    unittest.main()
