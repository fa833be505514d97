#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torusd --user: a daemon of one user, without any file.

usage: test_user.py TORUSCTL
"""
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

CTL = os.path.abspath(sys.argv.pop(1))
TORUSD = os.path.join(os.path.dirname(CTL), "torusd")
DEADLINE_S = 60
PLACES = ("TORUS_SOCKET", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


class User(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = folder.name
        os.mkdir(self.home + "/run")
        self.environment = {**{k: v for k, v in os.environ.items() if k not in PLACES},
                            "HOME": self.home, "XDG_RUNTIME_DIR": self.home + "/run"}

    def run_it(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=DEADLINE_S)

    def write(self, text):
        os.makedirs(self.home + "/.config/torusd")
        with open(self.home + "/.config/torusd/torusd.conf", "w", encoding="utf-8") as file:
            file.write(text)

    def test_no_file_is_needed_and_libtorus_finds_the_socket(self):
        socket = self.home + "/run/torusd/torusd.sock"
        daemon = subprocess.Popen([TORUSD, "--user"], env=self.environment)
        try:
            until = time.monotonic() + DEADLINE_S
            while not os.path.exists(socket) and time.monotonic() < until:
                time.sleep(0.01)
            done = self.run_it(CTL, "status")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("node 0", done.stdout)
            done = self.run_it(CTL, "reload")
            self.assertEqual((done.returncode, done.stdout), (
                0, f"node 0: no changes; {self.home}/.config/torusd/torusd.conf does not exist\n"), done.stderr)
        finally:
            daemon.send_signal(signal.SIGTERM)
            code = daemon.wait(DEADLINE_S)
        self.assertEqual(code, 0)
        state = os.stat(self.home + "/.local/state/torusd")
        self.assertEqual(stat.S_IMODE(state.st_mode) & 0o077, 0)

    def test_the_file_of_the_user_applies_if_it_exists(self):
        done = self.run_it(TORUSD, "--user", "--check-config")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"no file {self.home}/.config/torusd/torusd.conf: valid: node 0 of 1; 0 settings\n")
        self.write("[limits]\nclients = 77\n")
        done = self.run_it(TORUSD, "--user", "--show-config")
        self.assertIn(f"node.socket\t{self.home}/run/torusd/torusd.sock\t", done.stdout)
        self.assertRegex(done.stdout, r"limits\.clients\t77\t.*\tset\n")

    def test_the_version_has_those_of_the_protocols(self):
        done = self.run_it(TORUSD, "--version")
        self.assertRegex(done.stdout, r"^torusd [0-9.]+ \(peer protocol \d+\.\d+, local protocol \d+\.\d+\)\n$")

    def test_what_is_missing_is_said(self):
        self.write("[limits]\nclients = 0\n")
        done = self.run_it(TORUSD, "--user")
        self.assertEqual(done.returncode, 2)
        self.assertIn("torusd.conf:2:11: clients must be", done.stderr)
        done = self.run_it(TORUSD, "--user", "--config", "/etc/torusd/torusd.conf")
        self.assertEqual((done.returncode, done.stderr), (2, "torusd: --user has a file of its own: leave out --config\n"))
        del self.environment["XDG_RUNTIME_DIR"]
        done = self.run_it(TORUSD, "--user")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--user needs XDG_RUNTIME_DIR: set it to a folder of your own", done.stderr)


unittest.main()
