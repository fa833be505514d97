# SPDX-License-Identifier: Apache-2.0
"""The commands of torusctl that show the whole machine: jobs, groups, links, topology, ping, doctor, config."""
import ctypes
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

CTL = os.path.abspath(sys.argv.pop(1))
LATE = os.path.abspath(sys.argv.pop(1))
SCOPE = f" that user {os.getuid()} may see" if os.getuid() else ""
DEADLINE_S = 60


class Machine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.process = subprocess.Popen([CTL, "emulate", "2x3", "--ranks", "6", "--", LATE],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        cls.socket = cls.process.stdout.readline().split()[-1]
        cls.folder = os.path.dirname(cls.socket)

    @classmethod
    def tearDownClass(cls):
        cls.process.stdin.close()
        cls.process.wait(DEADLINE_S)
        cls.process.stdout.close()

    def ask(self, *arguments, code=0):
        if "--timeout" not in arguments:  # the machine may be busy
            arguments += ("--timeout", "60")
        done = subprocess.run([CTL, *arguments, "--socket", self.socket], capture_output=True,
                              text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def json(self, *arguments, code=0):
        return json.loads(self.ask(*arguments, "--json", code=code))

    def until(self, condition, *arguments):
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            found = self.json(*arguments)
            if condition(found):
                return found
        self.fail(f"still {found}")

    def daemon(self, folder, node):
        [pid] = subprocess.run(["pgrep", "-f", f"{folder}/c{node}( |$)"], capture_output=True,
                               text=True).stdout.split()
        return int(pid)

    def stop_daemon(self, folder, node):
        """Stops the daemon of a node until the end of the test. A rank there gives it up after 10 s."""
        pid = self.daemon(folder, node)
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(os.kill, pid, signal.SIGCONT)

    def test_jobs_say_what_they_wait_for(self):
        found = self.until(lambda all: all["jobs"] and all["jobs"][0]["in_flight"] == 4 and
                           all["jobs"][0]["operation"]["missing"] == [0], "jobs")
        [job] = found["jobs"]
        self.assertEqual((found["version"], job["size"], job["joined"], job["state"], job["uid"]),
                         (1, 6, 6, "running", os.getuid()))
        self.assertEqual(job["nodes"], list(range(6)))
        self.assertGreater(job["age_ns"], 0)
        text = self.ask("jobs")
        self.assertIn(f"6 of 6 nodes: 1 job{SCOPE}\n", text)
        self.assertRegex(text, rf"{job['name']} .* 6 +0-5 +running .* waiting for .*: rank 0 has not called")

    def test_groups_have_members_and_nodes(self):
        found = self.until(lambda all: len(all["groups"]) == 1 and
                           all["groups"][0]["nodes"] == list(range(6)), "groups")
        [group] = found["groups"]
        self.assertEqual((group["is_job"], group["state"], group["ranks"], group["error"]),
                         (True, "active", list(range(6)), 0))
        self.assertRegex(group["id"], "^[0-9a-f]{16}$")
        self.assertIn(group["id"], self.ask("groups"))

    def test_links_are_shown_from_both_ends(self):
        found = self.until(lambda all: any(l["state"] == "up" for l in all["links"]), "links")
        self.assertEqual(found["silent"], [])
        up = {(l["from"], l["to"]) for l in found["links"] if l["state"] == "up"}
        self.assertTrue(up)
        for link in found["links"]:
            self.assertEqual(set(link), {"to", "neighbours", "state", "since_ns", "packets",
                                         "bytes", "messages", "repeated_packets", "resumes", "silent_ns",
                                         "busy_ns", "busy_bytes", "session_sent_packets",
                                         "session_received_packets", "error", "from"})
        here = {(l["from"], l["to"]) for l in self.json("links", "--here")["links"]}
        self.assertEqual({a for a, _ in here}, {0})
        self.assertIn(" links up\n", self.ask("links"))

    def test_the_messages_of_trees_are_counted_and_drawn(self):
        self.json("ping", "1", "--count", "1")
        found = self.until(lambda all: any(l["messages"] for l in all["links"]), "links")
        for link in found["links"]:
            self.assertEqual((link["packets"], link["bytes"]), (0, 0))
        self.until(lambda all: any(l["messages"] for l in all["links"]), "topology")
        self.assertRegex(self.ask("topology"), r"\[0\] +-*\d+ msg-*")

    def test_the_torus_is_drawn(self):
        found = self.json("topology")
        self.assertEqual((found["version"], found["shape"]), (1, "2x3"))
        self.assertEqual([n["coordinates"] for n in found["nodes"]],
                         [[a, b] for a in range(2) for b in range(3)])
        self.assertEqual({(l["from"], l["to"]) for l in found["links"]},
                         {(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)})
        text = self.ask("topology")
        for node in range(6):
            self.assertIn(f"[{node}]", text)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.ask("topology", "--svg", folder + "/torus.svg"), "")
            root = xml.etree.ElementTree.parse(folder + "/torus.svg").getroot()
        titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(sum(t.startswith("node ") for t in titles), 6)
        self.assertEqual(len({t for t in titles if " - " in t}), 9)

    def test_a_node_that_answers_is_measured(self):
        found = self.json("ping", "4", "--count", "3")
        self.assertEqual((found["version"], found["to"], found["sent"], found["answers"]),
                         (1, 4, 3, 3))
        for probe in found["probes"]:
            self.assertGreater(probe["daemons_ns"], 0)
            self.assertGreaterEqual(probe["round_trip_ns"], probe["daemons_ns"])
        self.assertRegex(self.ask("ping", "4", "--count", "2"), r"2 of 2 probes were answered; least ")
        self.assertIn("node 0, this one: ", self.ask("ping", "0", "--count", "1"))

    def test_a_silent_node_is_said_and_does_not_hold_commands_up(self):
        folder = self.alone("2x3", "--ranks", "1")
        self.socket = f"{folder}/s0"
        self.json("ping", "5", "--count", "1")
        self.stop_daemon(folder, 5)
        text = self.ask("ping", "5", "--timeout", "0.3", code=1)
        self.assertRegex(text, r"! node 5 did not answer, silent for \S+: no answer within 0.3 s")
        found = self.json("ping", "5", "--timeout", "0.3", code=1)
        self.assertEqual((found["answers"], found["sent"]), (0, 1))
        self.assertGreater(found["silent_ns"], 0)
        for command in ("jobs", "groups", "links", "queues", "plans"):
            with self.subTest(command=command):
                found = self.json(command, "--timeout", "0.3")
                self.assertIn(5, [s["node"] for s in found["silent"]])
                self.assertIn("! node 5 did not answer", self.ask(command, "--timeout", "0.3"))
        self.assertIn("#5#", self.ask("topology", "--timeout", "0.3"))
        text = self.ask("status", "--timeout", "0.3")
        self.assertRegex(text, r"\A.* of 5 peers up, 1 silent\n")
        self.assertRegex(text, r"\n5 +silent for [0-9.]+m?s ")
        found = self.json("doctor", "--timeout", "0.3", code=1)
        self.assertIn(("answers", 5), [(f["check"], f["node"]) for f in found["findings"]])

    def test_no_such_node(self):
        done = subprocess.run([CTL, "ping", "6", "--socket", self.socket], capture_output=True,
                              text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the machine has no node 6: the last one is 5", done.stderr)

    def test_the_doctor_finds_this_machine_in_order(self):
        found = self.json("doctor")
        self.assertEqual(found["findings"], [])
        self.assertEqual([n["node"] for n in found["nodes"]], list(range(6)))
        self.assertEqual({n["keys"] for n in found["nodes"]}, {"keyed"})
        clock = {0x40: "not synchronised", 0: "synchronised"}  # STA_UNSYNC
        timex = ctypes.create_string_buffer(512)  # struct timex; 0: it only reads
        known = ctypes.CDLL(None).adjtimex(timex) >= 0
        state = clock[struct.unpack_from("i", timex, 40)[0] & 0x40] if known else ""
        self.assertEqual([n["clock_state"] for n in found["nodes"]], [state] * 6)
        self.assertGreater(int(found["nodes"][3]["age_ns"]), 0)
        self.assertIn("6 nodes: ports, keys, configurations, clocks, MTU, limits and versions are in order",
                      self.ask("doctor"))

    def findings(self, *options):
        """Returns what the doctor finds on a machine of its own, by kind of check."""
        done = subprocess.run(["sh", "-c", 'ulimit -n 500; exec "$@"', "sh", CTL, "emulate", "1x2",
                               "--ranks", "1", *options, "--", CTL, "doctor", "--json", "--timeout",
                               "60"], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 1, done.stderr)
        found = {}
        for f in json.loads(done.stdout)["findings"]:
            found.setdefault(f["check"], []).append((f["node"], f["text"]))
        return found

    def test_a_job_that_has_lost_a_rank_is_broken_and_does_not_form(self):
        process = subprocess.Popen([CTL, "emulate", "1x2", "--", LATE], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for pipe in (process.stdin, process.stdout, process.stderr):
            self.addCleanup(pipe.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.socket = process.stdout.readline().split()[-1]
        clients = self.until(lambda all: any(c["rank"] == 1 for c in all["clients"]),
                             "status")["clients"]
        [pid] = [c["pid"] for c in clients if c["rank"] == 1]
        os.kill(pid, signal.SIGKILL)
        [job] = self.until(lambda all: [j["state"] for j in all["jobs"]] == ["broken"],
                           "jobs")["jobs"]
        self.assertIn("rank 1 ", job["text"])
        self.assertEqual(self.json("ops")["forming"], [])
        process.stdin.close()
        said = process.stderr.read()  # the emulation does not take the job for one that forms
        self.assertEqual(process.wait(DEADLINE_S), 137)
        self.assertIn("rank 1 ", said)
        self.assertNotIn("cancelled", said)

    def test_the_doctor_finds_low_limits(self):
        found = self.findings()
        self.assertEqual([node for node, _ in found["limits"]], [0, 1])
        self.assertIn("node 0 may open 500 files; [limits] clients may need ", found["limits"][0][1])
        self.assertNotIn("keys", found)

    def test_the_doctor_finds_daemons_without_keys(self):
        found = self.findings("--transport", "tcp", "--set", "security.insecure=yes")
        self.assertEqual([node for node, _ in found["keys"]], [0, 1])
        self.assertIn("trusts every host and user that reaches its ports", found["keys"][0][1])

    def test_the_doctor_names_the_setting_that_differs(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        for node, timeout in enumerate(("20s", "30s")):
            with open(f"{folder}/c{node}", "w", encoding="ascii") as f:
                f.write(f"[torus]\nshape = 2\n[node]\ncoordinates = {node}\n"
                        f"socket = {folder}/s{node}\nstate_directory = {folder}\n"
                        f"[peers]\nendpoints = ipc://{folder}/p0\n    ipc://{folder}/p1\n"
                        f"[limits]\nprogress_timeout = {timeout}\n")
            daemon = subprocess.Popen([os.path.join(os.path.dirname(CTL), "torusd"), "--config",
                                       f"{folder}/c{node}"], stderr=subprocess.DEVNULL)
            self.addCleanup(daemon.wait)
            self.addCleanup(daemon.terminate)
        text, until = "", time.monotonic() + DEADLINE_S
        while "progress_timeout" not in text and time.monotonic() < until:
            done = subprocess.run([CTL, "doctor", "--socket", f"{folder}/s0", "--json"], text=True,
                                  capture_output=True, timeout=DEADLINE_S)
            for found in json.loads(done.stdout)["findings"]:
                if found["check"] == "answers":
                    text, advice = found["text"], found["advice"]
        self.assertIn("[limits] progress_timeout is 30000 ms on node 1, but 20000 ms on node 0", text)
        self.assertEqual(advice, "use the same value on all nodes, and run systemctl restart torusd "
                                 "where it changed")

    def test_the_doctor_helps_without_a_daemon(self):
        done = subprocess.run([CTL, "doctor", "--json", "--socket", "/nonexistent/socket"],
                              capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 3)
        found = json.loads(done.stdout)
        self.assertEqual((found["node"], found["findings"][0]["check"]), (None, "answers"))
        self.assertIn("cannot connect to torusd at /nonexistent/socket", done.stderr)

    def test_settings_say_where_they_come_from(self):
        found = self.json("config", "show")
        settings = {s["name"]: s for s in found["settings"]}
        self.assertEqual((found["version"], found["others"]), (1, []))
        self.assertEqual((settings["torus.shape"]["value"], settings["torus.shape"]["source"]),
                         ("2x3", "file"))
        self.assertEqual(settings["limits.progress_timeout"],
                         {"name": "limits.progress_timeout", "value": "30000000000", "unit": "ns",
                          "source": "default", "reloads": False})
        self.assertTrue(settings["security.public_key"]["reloads"])
        self.assertRegex(self.ask("config", "show"), r"limits.memory +default +64 MiB\n")

    def test_the_configuration_of_the_daemon_differs_in_nothing(self):
        self.assertEqual(self.ask("config", "diff", f"{self.folder}/c0"),
                         "the daemon runs with the settings of the file\n")

    def test_a_changed_file_says_what_it_needs(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{self.folder}/c0") as f:
                text = f.read()
            with open(folder + "/conf", "w") as f:
                f.write(re.sub(r"(?m)^\[node\]$", "[limits]\nclients = 77\n[node]", text, count=1))
            found = self.json("config", "diff", folder + "/conf", code=1)
            self.assertEqual(found["differences"], [
                {"name": "limits.clients", "running": "1024", "file": "77", "unit": "",
                 "needs": "restart"}])
            self.assertIn("limits.clients: the daemon has 1024, the file 77: needs a restart",
                          self.ask("config", "diff", folder + "/conf", code=1))

    def test_a_check_names_the_user_who_may_read_a_file(self):
        nobody = {"user": 65534} if os.getuid() == 0 else {}
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
            os.chmod(f.name, 0)
            done = subprocess.run([CTL, "config", "check", f.name], capture_output=True, text=True,
                                  timeout=DEADLINE_S, **nobody)
        self.assertEqual(done.returncode, 1)
        self.assertIn("Permission denied: user ", done.stderr)
        self.assertIn("sudo -u torusd torusd --check-config", done.stderr)

    def test_a_name_of_a_host_is_no_address_to_listen_at(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "c")
            for listen, code in ("tcp://alpha.example:7117", 2), ("tcp://*:7117", 0), ("tcp://lo:7117", 0):
                with open(path, "w", encoding="utf-8") as f:
                    f.write("[torus]\nshape = 2\n[node]\ncoordinates = 0\n[security]\ninsecure = yes\n[peers]\n"
                            f"listen = {listen}\nendpoints = tcp://alpha.example:7117 tcp://beta.example:7117\n")
                done = subprocess.run([CTL, "config", "check", path], capture_output=True, text=True,
                                      timeout=DEADLINE_S)
                self.assertEqual(done.returncode != 0, code != 0, done.stderr)
                said = done.stdout + done.stderr
                self.assertEqual("alpha.example is neither an address nor an interface of this host: set listen = "
                                 "tcp://*:7117 in [peers]" in said, code == 2, said)

    def test_a_check_names_all_files_that_cannot_be_read(self):
        nobody = {"user": 65534} if os.getuid() == 0 else {}
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            os.mkdir(folder + "/conf.d")
            files = {"conf": f"[torus]\nshape = 1\n[security]\nkey = {folder}/key\npeers = {folder}/peers\n",
                     "conf.d/a.conf": "[limits]\nclients = 77\n", "conf.d/b.conf": "", "conf.d/c.conf": "", "key": ""}
            for name, text in files.items():
                with open(f"{folder}/{name}", "w") as f:
                    f.write(text)
                os.chmod(f.name, 0o644 if name in ("conf", "conf.d/c.conf") else 0)
            done = subprocess.run([CTL, "config", "check", folder + "/conf"], capture_output=True, text=True,
                                  timeout=DEADLINE_S, **nobody)
        first, *others = done.stderr.splitlines()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(first, f"^{folder}/conf.d/a.conf: cannot open the file: Permission denied: user ")
        self.assertEqual(others, [f"cannot read {folder}/conf.d/b.conf: Permission denied",
                                  f"cannot read {folder}/key: Permission denied",
                                  f"cannot read {folder}/peers: No such file or directory"])

    def test_drop_ins_that_were_read_are_listed(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/conf", "w") as f:
                f.write("[torus]\nshape = 1\n")
            os.mkdir(folder + "/conf.d")
            for name in ("b.conf", "a.conf", "stray", "c.conf.old", ".hidden.swp", "a.conf~"):
                with open(f"{folder}/conf.d/{name}", "w") as f:
                    f.write("[limits]\nclients = 77\n")
            self.assertEqual(self.ask("config", "check", folder + "/conf"),
                             f"{folder}/conf: valid: node 0 of 1; 2 settings, also of {folder}/conf.d: a.conf b.conf\n"
                             f"! files in {folder}/conf.d that were not read, since their names do not end with .conf: c.conf.old stray\n")

    def alone(self, *options):
        """Starts a machine whose ranks wait; returns their folder."""
        process = subprocess.Popen([CTL, "emulate", *options, "--", "sh", "-c", "echo $TORUS_SOCKET; read word"],
                                   text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stdout.close)
        return os.path.dirname(process.stdout.readline().split()[-1])

    def say(self, folder, node, *words):
        return subprocess.run([CTL, *words, "--socket", f"{folder}/s{node}"], capture_output=True, text=True,
                              timeout=DEADLINE_S).stdout

    def until_said(self, pattern, folder, node, *words):
        until = time.monotonic() + DEADLINE_S
        said = ""
        while time.monotonic() < until and not re.search(pattern, said):
            said = self.say(folder, node, *words)
        self.assertRegex(said, pattern)
        return said

    def test_a_daemon_that_was_stopped_is_told_as_that_and_not_as_a_crash(self):
        for fabric in "direct", "routed":
            with self.subTest(fabric=fabric), tempfile.TemporaryFile("w+") as log:
                process = subprocess.Popen([CTL, "emulate", "4", "--ranks", "1", "--fabric", fabric, "--keep-going",
                                            "--verbose", "--", "sh", "-c", "echo $TORUS_SOCKET; read word"],
                                           text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
                folder = os.path.dirname(process.stdout.readline().split()[-1])
                for node in range(4):  # all are up
                    self.until_said("3 of 3 peers up", folder, node, "status", "--timeout", "60")
                os.kill(self.daemon(folder, 1), signal.SIGTERM)
                for node in 0, 2, 3:
                    said = self.until_said("! node 1 was stopped by its operator, .* ago\n", folder, node, "status")
                    self.assertIn("2 of 3 peers up\n", said)
                    # the list of peers may be older than the answer about node 1
                    self.until_said(r"\n1 +stopped +\S+ +its daemon was stopped by its operator", folder, node, "status")
                    found = json.loads(self.say(folder, node, "status", "--json"))
                    self.assertEqual([(s["node"], s["stopped"]) for s in found["silent"]], [(1, True)])
                said = self.say(folder, 2, "links")
                self.assertIn("! node 1 was stopped by its operator\n", said)
                self.assertRegex(said, r"the link from node 0 to node 1 has been down for \S+, since [0-9:]+: its daemon was stopped by")
                self.assertRegex(self.say(folder, 2, "doctor"),
                                 r"! node 1 was stopped by its operator, and has not been heard since\n"
                                 "  run systemctl start torusd there; if it runs again, compare its address and port with ")
                process.communicate("", timeout=DEADLINE_S)
                log.seek(0)
                self.assertRegex(log.read(), r"torusd\[0\]: link to node 1 is down: its daemon was stopped by its operator")

    def test_a_silent_node_is_silent_for_all_commands(self):
        folder = self.alone("3", "--ranks", "1")
        self.until_said("2 of 2 peers up", folder, 0, "status", "--timeout", "60")
        self.until_said("4 of 6 links up", folder, 0, "links", "--timeout", "60")
        self.stop_daemon(folder, 1)
        self.assertIn("1 of 2 peers up, 1 silent\n", self.say(folder, 0, "status"))
        said = self.say(folder, 0, "links")
        self.assertRegex(said, r"2 of 3 nodes: 2 of 4 links up, 1 silent\n")
        self.assertRegex(said, r"\n +0 +1 ! silent ")
        self.assertRegex(said, r"\n +0 +2 up ")
        # the daemon itself says so, too, when heartbeats are missing
        self.until_said(r"the link from node 0 to node 1 has been silent for \S+, since [0-9:]+: its daemon hangs, its host is down, or "
                        r"the network is cut\n", folder, 0, "links")
        # one silence has one age
        self.assertEqual(len(re.findall("silent for", self.say(folder, 0, "links"))), 1)

    def test_ages_are_of_the_moment_after_the_wait_for_a_silent_node(self):
        folder = self.alone("3", "--ranks", "1")
        self.until_said("4 of 6 links up", folder, 0, "links", "--timeout", "60")
        self.stop_daemon(folder, 1)
        self.until_said("silent for ", folder, 0, "links", "--here")

        def silent_ns(*options):
            links = json.loads(self.say(folder, 0, "links", "--json", *options))["links"]
            return next(l["silent_ns"] for l in links if (l["from"], l["to"]) == (0, 1))

        before = silent_ns("--here")
        self.assertGreaterEqual(silent_ns("--timeout", "2"), before + 2e9)

    def test_a_link_that_went_down_after_a_silence_says_since_when_nothing_has_come(self):
        folder = self.alone("2", "--ranks", "1", "--set", "limits.progress_timeout=3s")
        self.until_said("2 of 2 links up", folder, 0, "links", "--timeout", "60")
        self.stop_daemon(folder, 1)
        self.until_said(r"\n! the link from node 0 to node 1 has been down for \S+, since [0-9:]+; nothing has come from node 1 for "
                        r"\S+, since [0-9:]+: ", folder, 0, "links")
        [link] = json.loads(self.say(folder, 0, "links", "--here", "--json"))["links"]
        self.assertGreater(link["silent_ns"], link["since_ns"] + 1e9)

    def test_a_lost_daemon_is_not_told_as_to_a_program(self):
        folder = self.alone("1")
        watch = subprocess.Popen([CTL, "jobs", "--watch", "--socket", folder + "/s0"], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        watch.stdout.readline()
        os.kill(self.daemon(folder, 0), signal.SIGKILL)
        said = watch.communicate(timeout=DEADLINE_S)[1]
        self.assertIn("the daemon has stopped, or was restarted: systemctl status torusd and journalctl -u torusd say why", said)

    def test_the_doctor_names_the_host_of_a_silent_node(self):
        folder = self.alone("1x2", "--ranks", "1", "--transport", "tcp")
        self.stop_daemon(folder, 1)
        done = subprocess.run([CTL, "doctor", "--socket", folder + "/s0", "--timeout", "0.3"], capture_output=True,
                              text=True, timeout=DEADLINE_S)
        self.assertRegex(done.stdout, r"! node 1 \(127\.0\.0\.1\) does not answer")

    def test_the_doctor_tells_a_fault_once(self):
        folder = self.alone("1x3", "--ranks", "1", "--keep-going")
        self.until_said("2 of 2 peers up", folder, 0, "status", "--timeout", "60")
        os.kill(self.daemon(folder, 1), signal.SIGKILL)
        said = self.until_said(r"! node 1 does not answer.*: connection refused ", folder, 0, "doctor")
        self.assertNotIn("node 0 has no connection to node 1", said)

    def test_a_file_is_checked(self):
        self.assertRegex(self.ask("config", "check", f"{self.folder}/c0"), r"valid: node 0 of 6; \d+ settings; \d+ keys of peers\n")
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
            f.write("[torus]\nshape = 2y3\n")
            f.flush()
            found = self.json("config", "check", f.name, code=1)
        self.assertFalse(found["valid"])
        self.assertTrue(found["text"].startswith(f"{f.name}:2:"), found["text"])


if __name__ == "__main__":
    unittest.main()
