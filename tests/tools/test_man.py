#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Manual pages: every option that a program's help names, and every exported function, is in one.

usage: test_man.py SOURCE BUILD
"""
import os
import re
import subprocess
import sys
import unittest

SOURCE, BUILD = sys.argv[1:3]
BIN, MAN = os.path.join(BUILD, "bin"), os.path.join(BUILD, "man")
SHARED = "OPTIONS OF COMMANDS THAT SHOW THE MACHINE"
# the options of torus-sim whose words an error lists
CHOICES = ("method", "schedule", "gap", "barrier", "barrier-scope", "order", "arbitration")


def said(*words):
    run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return run.stdout


def options(*words):
    """Returns the long options that a help names."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", said(*words)))


def page(name):
    with open(os.path.join(SOURCE, "docs", "man", name + ".scd"), encoding="utf-8") as f:
        text = f.read().replace("\\", "")
    return re.sub(r"(?<!\w)_|_(?!\w)", "", text)  # underlined words


def section(text, title):
    found = re.search(rf"^# {title}\n(.*?)(?=^# |\Z)", text, re.M | re.S)
    return found.group(1) if found else ""


def exported():
    with open(os.path.join(SOURCE, "client", "libtorus", "abi.list"), encoding="utf-8") as f:
        return re.findall(r"^symbol (\w+)@@", f.read(), re.M)


class Man(unittest.TestCase):
    def lacks_nothing(self, text, wanted, where):
        lacking = [o for o in sorted(wanted) if not re.search(re.escape(o) + r"(?![\w-])", text)]
        self.assertEqual(lacking, [], f"not in {where}")

    def test_options_of_torusd(self):
        found = options(os.path.join(BIN, "torusd"), "--help")
        self.assertIn("--check-config", found)
        self.lacks_nothing(page("torusd.8"), found, "torusd(8)")

    def test_options_of_torus_sim(self):
        program, text = os.path.join(BIN, "torus-sim"), page("torus-sim.1")
        found = options(program, "--help")
        self.assertIn("--shape", found)
        self.lacks_nothing(section(text, "OPTIONS"), found, "torus-sim(1)")

    def test_words_of_options_of_torus_sim(self):
        program = os.path.join(BIN, "torus-sim")
        for option in CHOICES:
            error = said(program, "alltoall", "--shape", "2", "--" + option, "no-such-word")
            listed = re.search(r"no-such-word: expected (?:one of: )?(.*)", error)
            self.assertTrue(listed, error)
            words = re.split(r",? (?:or )?", listed.group(1))
            self.assertGreater(len(words), 1)
            self.lacks_nothing(section(page("torus-sim.1"), "OPTIONS"), words, f"--{option}")

    def test_options_of_each_command_of_torusctl(self):
        program, text = os.path.join(BIN, "torusctl"), page("torusctl.1")
        commands = re.findall(r"^  (\w+) ", said(program, "--help"), re.M)
        self.assertIn("status", commands)
        for command in commands:
            with self.subTest(command):
                own = section(text, command.upper())
                self.assertTrue(own, f"torusctl(1) has no section of {command}")
                found = options(program, command, "--help") - {"--help"}
                shared = section(text, SHARED) if "--socket" in found else ""
                self.lacks_nothing(own + shared, found, f"torusctl(1), {command.upper()}")

    def test_each_function_has_a_page(self):
        functions = exported()
        self.assertGreater(len(functions), 100)
        for name in functions:
            with open(os.path.join(MAN, "functions", name + ".3"), encoding="utf-8") as f:
                text = f.read()
            refers = re.fullmatch(r"\.so man3/(\w+\.3)\n", text)
            if refers:
                with open(os.path.join(MAN, "functions", refers.group(1)), encoding="utf-8") as f:
                    text = f.read()
            names, _, rest = text.partition("\n.SH SYNOPSIS\n")
            self.assertRegex(names, rf"\.SH NAME\n.*\b{name}\b.* \\- .")
            self.assertRegex(rest, rf"\b{name}\(")
            self.assertRegex(rest, r"\.SH DESCRIPTION\n.+")

    def test_names_of_functions_are_followed_by_a_whole_sentence(self):
        for file in os.listdir(os.path.join(MAN, "functions")):
            with open(os.path.join(MAN, "functions", file), encoding="utf-8") as f:
                text = f.read()
            if names := re.search(r"\.SH NAME\n(.*)\n\.SH", text):
                what = names.group(1).partition(" \\- ")[2]
                self.assertEqual(what.count("("), what.count(")"), f"{file}: {what}")
                self.assertNotRegex(what, r"\.\.$|^and |^[^ ]+ of torusd$", file)

    def test_constants_have_a_page(self):
        with open(os.path.join(SOURCE, "client", "torus", "torus.h"), encoding="utf-8") as f:
            wanted = set(re.findall(r"^(?:    |enum \{ .*?)(TORUS_[A-Z0-9_]+) = ", f.read(), re.M))
        self.assertLess({"TORUS_ERR_PERMISSION", "TORUS_INT32", "TORUS_MINLOC", "TORUS_SCALE_FULL"}, wanted)
        with open(os.path.join(MAN, "functions", "torus_constants.3"), encoding="utf-8") as f:
            self.lacks_nothing(f.read(), wanted, "torus_constants(3)")
        for name in ("torus_allreduce", "torus_scan", "torus_plan_redist"):
            with open(os.path.join(MAN, "functions", name + ".3"), encoding="utf-8") as f:
                self.assertIn("torus_constants", f.read())

    def test_libtorus_names_each_function(self):
        """A form that begins with torus_i or ends in _init is described with the blocking one."""
        text = page("libtorus.3")
        functions = exported()
        for name in functions:
            plain = re.sub(r"_init$", "", name)
            plain = re.sub(r"^(torus_(?:intergroup_)?)i(?=[a-z])", r"\1", plain)
            self.assertRegex(text, rf"\b({name}|{plain if plain in functions else name})\b")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
