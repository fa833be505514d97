# SPDX-License-Identifier: Apache-2.0
"""What the logs of two daemons say of links, of ranks that die, and of questions about a dead node."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from ports import free_ports

CTL, TORUSD, LATE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
DEADLINE_S = 60


class Log(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="torus.")
        self.addCleanup(place.cleanup)
        self.folder = place.name
        for node in range(2):
            with open(self.path(f"c{node}"), "w", encoding="utf-8") as config:
                config.write(f"[node]\nsocket = {self.path(f's{node}')}\ncoordinates = {node}\n"
                             f"state_directory = {self.folder}\n[torus]\nshape = 2\n[peers]\nendpoints =\n"
                             f"  ipc://{self.path('p0')}\n  ipc://{self.path('p1')}\n"
                             "[security]\ninsecure = yes\n[fft]\neffort = estimate\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def daemon(self, node):
        with open(self.path(f"log{node}"), "a", encoding="utf-8") as log:
            process = subprocess.Popen([TORUSD, "--config", self.path(f"c{node}")], stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait(node, f"serving node {node} on ")
        return process

    def log(self, node):
        with open(self.path(f"log{node}"), encoding="utf-8") as log:
            return log.read()

    def wait(self, node, pattern):
        """Waits for a line of a log."""
        until = time.monotonic() + DEADLINE_S
        while not re.search(pattern, self.log(node), re.MULTILINE):
            self.assertLess(time.monotonic(), until, f"no {pattern} in:\n{self.log(node)}")
            time.sleep(0.02)

    def ctl(self, command, *options):
        return subprocess.run([CTL, command, "--socket", self.path("s0"), *options], text=True, capture_output=True,
                              timeout=DEADLINE_S)

    def test_a_link_is_up_again_only_if_it_was_up(self):
        self.daemon(0)
        self.wait(0, "no link to node 1 yet: ")
        second = self.daemon(1)
        self.wait(0, "link to node 1 is up$")
        self.assertEqual(self.ctl("ping", "1", "--timeout", "60").returncode, 0)  # it is heard
        second.kill()
        self.wait(0, "link to node 1 is down: ")
        self.assertNotIn("again", self.log(0))
        self.daemon(1)
        self.wait(0, "link to node 1 is up again: its daemon was restarted; the earlier one crashed or was killed: see its journal$")

    def test_a_congestion_control_that_the_kernel_does_not_offer_is_told(self):
        with open(self.path("c0"), "a", encoding="utf-8") as config:
            config.write("[network]\ncongestion = none-such\n")
        self.daemon(0)
        self.assertIn("congestion = none-such: this host's kernel does not offer it to torusd, whose streams have the "
                      "kernel's default: ", self.log(0))

    def test_a_misspelt_variable_is_told_with_the_nearest_one(self):
        self.daemon(0)
        warning = "TORUS_SIZES is in the environment, but torusd has no such variable: the nearest is TORUS_SIZE"
        done = subprocess.run([CTL, "status", "--socket", self.path("s0")], text=True, capture_output=True,
                              env={**os.environ, "TORUS_SIZES": "2"}, timeout=DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (0, f"torusctl: warning: {warning}\n"))
        self.wait(0, rf"process \d+ \(torusctl\) of user {os.getuid()}: {warning}$")
        done = self.ctl("status")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def configure(self, lines):
        """Gives the daemon of node 0 more lines of configuration than setUp has."""
        with open(self.path("c0"), "w", encoding="utf-8") as config:
            config.write(self.first + lines)

    def page(self, port, path="metrics"):
        """Returns the status of a page of the metrics; None: nothing listens there."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=DEADLINE_S) as answer:
                return answer.status
        except urllib.error.HTTPError as e:
            return e.code
        except OSError:
            return None

    def test_a_reload_answers_what_changed_and_what_was_refused(self):
        self.daemon(0)
        with open(self.path("c0"), encoding="utf-8") as config:
            self.first = config.read()
        port = free_ports(2)
        listen = f"[metrics]\nlisten = 127.0.0.1:{port}\n"
        for lines, code, said in (
                ("", 0, "no changes"),
                ("[log]\nlevel = debug\n[limits]\nclients = 77\n", 0,
                 "changed: log.level; a restart is needed for limits.clients"),
                ("[limits]\nclients = many\n", 1, "changed: log.level; reload refused: .*: clients = many: expected a whole number"),
                (listen, 0, "changed: metrics.listen"),
                (listen + "[log]\nlevle = debug\n", 1, "no changes; reload refused: .*: unknown key levle in .log.; the nearest "),
                (listen + "jobs = yes\n", 0, "changed: metrics.jobs")):
            self.configure(lines)
            done = self.ctl("reload")
            self.assertEqual(done.returncode, code, done)
            self.assertRegex(done.stderr if code else done.stdout, ("^torusctl reload: " if code else "^node 0: ") + said)
        self.assertEqual((self.page(port), self.page(port, "")), (200, 200))
        with socket.socket() as other:  # the next port is in use: the first one goes on
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", port + 1))
            other.listen()
            self.configure(f"[metrics]\nlisten = 127.0.0.1:{port + 1}\n")
            done = self.ctl("reload")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, f"changed: metrics.jobs; reload refused: cannot listen on 127.0.0.1:{port + 1} for metrics")
            self.assertEqual((self.page(port), self.page(port, "")), (200, 404))
        self.assertEqual(self.ctl("reload").returncode, 0)
        self.assertEqual((self.page(port), self.page(port + 1)), (None, 200))
        self.configure("")
        self.assertRegex(self.ctl("reload").stdout, "changed: metrics.listen$")
        self.assertIsNone(self.page(port + 1))
        self.wait(0, "reload refused, and the setting stays as it was: .*clients = many")
        os.remove(self.path("c0"))
        self.assertRegex(self.ctl("reload").stderr, "reload refused, all settings stay as they were: .*cannot open the file")

    def doctor_says(self, text):
        """Waits until the doctor says it: a daemon keeps what it has read for 100 times as long as that took."""
        deadline, said = time.monotonic() + DEADLINE_S, ""
        while text not in said:
            self.assertLess(time.monotonic(), deadline, said)
            said = self.ctl("doctor", "--here").stdout

    def test_a_reload_says_that_a_restart_would_fail(self):
        self.daemon(0)
        with open(self.path("c0"), encoding="utf-8") as config:
            self.first = config.read()
        missing = self.path("missing/s0")
        first, self.first = self.first, self.first.replace(f"socket = {self.path('s0')}", f"socket = {missing}")
        self.configure("")
        done = self.ctl("reload")
        self.assertEqual(done.returncode, 1)
        self.assertIn("a restart is needed for node.socket; with these settings torusd would not start: "
                      f"socket = {missing}: there is no directory {self.path('missing')}", done.stderr)
        self.wait(0, "with these settings torusd would not start: ")
        self.doctor_says("! with its configuration, torusd of node 0 would not start: socket = ")
        self.first = first
        self.configure("[limits]\nclients = 77\n[log]\nlevel = debug\n[node]\nobservers = no-such\n")
        self.doctor_says("! the configuration of node 0 has settings that its daemon does not have: a reload takes up "
                         "node.observers, log.level; a restart takes up limits.clients\n  run systemctl restart torusd ")
        done = self.ctl("reload")
        self.assertEqual((done.returncode, done.stdout),
                         (0, "node 0: changed: node.observers, log.level; observers = no-such: there is no group "
                             "no-such on this host; a restart is needed for limits.clients\n"))

    def test_a_node_that_is_not_there_yet_is_absent(self):
        listen = f"127.0.0.1:{free_ports(1)}"
        with open(self.path("c0"), encoding="utf-8") as config:
            text = config.read()
        with open(self.path("c0"), "w", encoding="utf-8") as config:
            config.write(text.replace("[peers]\n", "[peers]\nabsent = 1\n") + f"[metrics]\nlisten = {listen}\n")
        self.daemon(0)
        done = self.ctl("doctor", "--timeout", "60")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertRegex(done.stdout, r"^1 node \(1 absent\): .* are in order\n$")
        for command in ("status", "ops", "jobs", "links", "topology"):
            done = self.ctl(command, "--timeout", "60")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertNotIn("!", done.stdout)
        self.assertIn("1 of 2 nodes (1 absent): ", done.stdout)
        said = self.ctl("status").stdout
        self.assertIn("0 of 1 peers up, 1 absent\n", said)
        self.assertRegex(said, r"\n1 +absent ")
        found = json.loads(self.ctl("ops", "--json").stdout)
        self.assertEqual((found["silent"], found["absent"]), ([], [1]))
        with urllib.request.urlopen(f"http://{listen}/metrics", timeout=DEADLINE_S) as answer:
            numbers = answer.read().decode()
        for state, count in (("down", 0), ("up", 0), ("unknown", 0), ("absent", 1)):
            self.assertIn(f'torus_peers{{state="{state}"}} {count}\n', numbers)

    def test_the_doctor_names_settings_that_a_job_could_not_have(self):
        with open(self.path("c1"), "a", encoding="utf-8") as config:
            config.write("[network]\npacket = 64 KiB\n")
        self.daemon(0)
        self.daemon(1)
        self.assertEqual(self.ctl("ping", "1", "--timeout", "60").returncode, 0)
        done = self.ctl("doctor", "--timeout", "60")
        self.assertEqual(done.returncode, 1)
        self.assertIn("! network.packet is 256 KiB on node 0, but 64 KiB on node 1: no job can have ranks on both\n"
                      "  use the same value on all nodes", done.stdout)

    def test_a_host_can_be_pinged(self):
        self.daemon(0)
        self.assertEqual(self.ctl("ping", socket.gethostname(), "--count", "1", "--timeout", "60").returncode, 0)
        done = self.ctl("ping", "no-such-host")
        self.assertEqual((done.returncode, done.stderr), (1, "torusctl ping: no endpoint names a host no-such-host: "
                                                             "torusctl status lists them\n"))

    def test_a_stop_is_told_as_one(self):
        self.daemon(0)
        second = self.daemon(1)
        self.wait(0, "link to node 1 is (up|established)$")
        self.wait(1, "link to node 0 is (up|established)$")
        self.assertEqual(self.ctl("ping", "1", "--timeout", "60").returncode, 0)  # it is heard
        second.terminate()
        self.wait(0, "link to node 1 is down: its daemon was stopped by its operator ")
        self.daemon(1)
        self.wait(0, "link to node 1 is up again: its daemon was started again$")

    def test_a_silence_has_a_line_and_its_end_too(self):
        self.daemon(0)
        second = self.daemon(1)
        self.wait(0, "link to node 1 is (up|established)$")
        self.wait(1, "link to node 0 is (up|established)$")
        self.assertEqual(self.ctl("ping", "1", "--timeout", "60").returncode, 0)  # it is heard
        second.send_signal(signal.SIGSTOP)
        try:
            self.wait(0, r"node 1 has been silent for \d+\.\d{3} s, since \d\d:\d\d:\d\d\.\d{3}: its daemon does not run, or ")
            self.assertNotIn("heard again", self.log(0))
        finally:
            second.send_signal(signal.SIGCONT)
        self.wait(0, r"node 1 is heard again: it was silent for \d+\.\d{3} s, since \d\d:\d\d:\d\d\.\d{3}$")
        self.wait(1, r"this daemon did not run for \d")

    def test_questions_about_a_dead_node_leave_no_line(self):
        self.daemon(0)
        second = self.daemon(1)
        self.wait(0, "link to node 1 is (up|established)$")
        self.wait(1, "link to node 0 is (up|established)$")
        second.kill()
        self.wait(0, "link to node 1 is down: ")
        until, said = time.monotonic() + DEADLINE_S, ""
        while "is not connected" not in said:  # the daemon gives the link up after a while
            self.assertLess(time.monotonic(), until, said)
            said = self.ctl("status").stdout
        self.assertEqual(self.ctl("ping", "1", "--count", "1").returncode, 1)
        self.ctl("ops")
        self.assertNotIn("NODE_FAILED", self.log(0))
        self.assertNotIn("told to process", self.log(0))

    def ranks(self, *options):
        """Starts the job heat. Rank 0 joins, and calls when its standard input ends; rank 1 calls at once.

        With "all", rank 1 does as rank 0."""
        ranks = []
        for node in range(2):
            environment = {**os.environ, "TORUS_SOCKET": self.path(f"s{node}"), "TORUS_JOB": "heat", "TORUS_SIZE": "2",
                           "TORUS_RANK": str(node)}
            ranks.append(subprocess.Popen([LATE, *options], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=subprocess.DEVNULL))
            self.addCleanup(ranks[node].wait)
            self.addCleanup(ranks[node].kill)
            self.addCleanup(ranks[node].stdin.close)
            self.addCleanup(ranks[node].stdout.close)
        for node in range(2):
            self.wait(node, "job heat of user [0-9]+ formed: 2 ranks$")
        return ranks

    def test_why_tells_that_a_daemon_was_restarted_and_how_the_earlier_one_ended(self):
        for stops in False, True:
            with self.subTest(stops=stops):
                first, second = self.daemon(0), self.daemon(1)
                ranks = self.ranks()
                second.terminate() if stops else second.kill()
                second.wait()
                again = self.daemon(1)
                self.wait(0, "link to node 1 is up again: its daemon was ")
                ranks[0].stdin.close()
                ranks[0].wait(DEADLINE_S)
                until, said = time.monotonic() + DEADLINE_S, ""
                while "was restarted " not in said or "the first call failed" not in said:
                    self.assertLess(time.monotonic(), until, said)
                    said = self.ctl("why", "heat").stdout
                self.assertRegex(said, r"(?m)^the first call failed .* ago, at .*: job heat lost node 1 \(1\): its daemon was "
                                 + ("stopped by its operator$" if stops else "restarted$"))
                self.assertRegex(said, r"(?m)^  the daemon of node 1( \(host [^)]+\))? was restarted .* ago, at [0-9:.]+"
                                 + ("$" if stops else "; the earlier one crashed or was killed$"))
                until, said = time.monotonic() + DEADLINE_S, ""
                while not re.search(r"(?m)^  the daemon of node 1 was restarted .* ago, at [0-9:.]+; its journal says how", said):
                    self.assertLess(time.monotonic(), until, said)
                    said = self.ctl("why", "heat", "--socket", self.path("s1")).stdout  # of the new daemon itself
                for process in first, again:
                    process.kill()
                    process.wait()
                for node in range(2):
                    os.remove(self.path(f"log{node}"))

    def test_the_end_of_a_job_tells_the_death(self):
        self.daemon(0)
        self.daemon(1)
        ranks = self.ranks("all")
        os.kill(ranks[0].pid, signal.SIGKILL)
        self.wait(0, f"rank 0 of job heat died: process {ranks[0].pid} on node 0 ")
        self.wait(0, r"job heat of user [0-9]+ ended here after [0-9.]+ s: torusd told its ranks here of no failure, but rank 0 "
                     rf"died [0-9.]+ s before: process {ranks[0].pid} on node 0 \(0\)$")
        self.assertNotIn("no call failed", self.log(0))
        said = self.ctl("why", "heat", "--here").stdout
        self.assertRegex(said, rf"(?m)^no call has failed\nrank 0 died .* ago, at .*: process {ranks[0].pid} on node 0$")
        time.sleep(0.1)  # the call of rank 1 fails later than rank 0 died
        ranks[1].stdin.close()
        ranks[1].wait(DEADLINE_S)
        said = self.ctl("why", "heat").stdout
        self.assertRegex(said, r"(?m)^the first call failed .* ago, at .*: rank 0 of job heat died: "
                               rf"process {ranks[0].pid} on node 0 \(0\)$")
        self.assertRegex(said, r"(?m)^rank 0 died .* ago, at .*, [0-9.]+m?s before that call failed: "
                               rf"process {ranks[0].pid} on node 0$")


if __name__ == "__main__":
    unittest.main()
