# SPDX-License-Identifier: Apache-2.0
"""The prolog and the epilog of Slurm beside real daemons, without Slurm: the settings file replaces
scontrol by a function that writes its arguments down.

usage: test_scripts.py TORUSCTL RANKS FOLDER, with the program ranks and the folder of the scripts"""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

FOLDER = sys.argv.pop()
RANKS = os.path.abspath(sys.argv.pop())
CTL = os.path.abspath(sys.argv.pop())
DEADLINE_S = 60
SHAPE = "2x3m"
JOB = 4117


def copy(folder, name):
    """Copies a script as an installation does that has its configuration in `folder`."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as f:
        text = f.read()
    assert "/etc/torusd/" in text
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace("/etc/torusd/", folder + "/"))
    os.chmod(path, 0o755)
    return path


def server_of(path):
    """Returns the process that listens on a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.connect(path)
        return struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


class Scripts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = subprocess.Popen([CTL, "emulate", SHAPE, "--ranks", "1", "--", "sh", "-c",
                                        "echo $TORUS_SOCKETS; read line"], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        cls.sockets = cls.machine.stdout.readline().strip().split(":")

    @classmethod
    def tearDownClass(cls):
        cls.machine.communicate("\n", timeout=DEADLINE_S)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.drained = os.path.join(self.folder, "drained")

    def run_script(self, name, path, functions="", **settings):
        """Runs a script with these settings and shell functions; returns its exit code, and the
        reason of the drained node."""
        values = {"TORUSCTL": CTL, "TORUS_SOCKET": path, "LIMIT_S": 20, **settings}
        with open(os.path.join(self.folder, "slurm.sh"), "w", encoding="utf-8") as f:
            f.write("".join(f"{key}='{value}'\n" for key, value in values.items()))
            f.write(functions + "\n")
            f.write(f"scontrol() {{ printf '%s\\n' \"$@\" >>{self.drained}; }}\n")
        done = subprocess.run([copy(self.folder, name)], text=True, timeout=DEADLINE_S, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={"SLURMD_NODENAME": "n7", "SLURM_JOB_ID": str(JOB),
                                   "SLURM_JOB_UID": str(os.getuid())})
        if not os.path.exists(self.drained):
            return done.returncode, None
        with open(self.drained, encoding="utf-8") as f:
            words = f.read().splitlines()
        self.assertEqual(words[:3], ["update", "NodeName=n7", "State=DRAIN"])
        self.assertEqual(len(words), 4, "one reason of one line")
        return done.returncode, words[3].removeprefix("Reason=")

    # ---- prolog ----

    def test_a_good_daemon_passes(self):
        for shape in ("", SHAPE):
            self.assertEqual(self.run_script("prolog.sh", self.sockets[4], SHAPE=shape), (0, None))

    def test_a_node_without_a_daemon_is_drained(self):
        path = os.path.join(self.folder, "none")
        self.assertEqual(self.run_script("prolog.sh", path),
                         (1, f"torusd: nobody listens at {path}: systemctl restart torusd; then resume"))

    def test_a_daemon_that_does_not_answer_drains_the_node(self):
        daemon = server_of(self.sockets[5])
        os.kill(daemon, signal.SIGSTOP)
        try:
            code, reason = self.run_script("prolog.sh", self.sockets[5], LIMIT_S=1)
        finally:
            os.kill(daemon, signal.SIGCONT)
        self.assertEqual((code, reason), (1, f"torusd: no answer within 1 s at {self.sockets[5]}: "
                                             "systemctl restart torusd; then resume"))
        self.assertEqual(self.run_script("epilog.sh", self.sockets[5])[0], 0)

    def test_a_daemon_of_another_release_drains_the_node(self):
        path = os.path.join(self.folder, "other")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(path)
        listener.listen()

        def serve():
            client = listener.accept()[0]
            client.recv(4096)
            client.send(b"Toru" + struct.pack("<BBH", 77, 0, 0x102))
            client.recv(4096)
            client.close()
        thread = threading.Thread(target=serve)
        thread.start()
        code, reason = self.run_script("prolog.sh", path)
        thread.join()
        listener.close()
        self.assertEqual(code, 1)
        self.assertIn("speaks version 77.0 of the local protocol", reason)
        self.assertTrue(reason.endswith("restart torusd after an update; then resume"), reason)

    def test_another_shape_drains_the_node(self):
        code, reason = self.run_script("prolog.sh", self.sockets[0], SHAPE="2x3")
        self.assertEqual(code, 1)
        self.assertTrue(reason.startswith("torusd: its shape is 2x3m, SHAPE is 2x3: "), reason)

    def test_torusctl_that_is_missing_or_says_something_else_drains_the_node(self):
        for program, part in (("/nonexistent/torusctl", "there is no /nonexistent/torusctl"),
                              ("true", "unknown form"), ("false", "torusctl status fails")):
            code, reason = self.run_script("prolog.sh", self.sockets[0], TORUSCTL=program)
            self.assertEqual(code, 1)
            self.assertIn(part, reason)
            os.remove(self.drained)

    # ---- epilog ----

    def left(self, path, job, *options):
        """Leaves a rank of Slurm's job at a daemon, which has lost its parent; returns its process."""
        before = self.clients(path)
        subprocess.run([RANKS, "escape", *options], check=True, timeout=DEADLINE_S,
                       env={"TORUS_SOCKET": path, "SLURM_JOB_ID": str(job)})
        new = self.clients(path) - before
        self.assertEqual(len(new), 1)
        return new.pop()

    def clients(self, path):
        done = subprocess.run([CTL, "status", "--here", "--json", "--socket", path], check=True, text=True,
                              stdout=subprocess.PIPE, timeout=DEADLINE_S)
        return {c["pid"] for c in json.loads(done.stdout)["clients"] if c["job"]}

    def test_the_epilog_ends_what_the_job_left_and_nothing_else(self):
        path = self.sockets[1]
        self.left(path, JOB)
        other = self.left(path, JOB + 1)
        longer = self.left(path, int(f"{JOB}1"))  # its number begins with that of the job
        self.assertEqual(self.signals(path), ["-TERM"])
        self.until_left(path, {other, longer})
        self.left(path, JOB, "ignore")
        self.assertEqual(self.signals(path), ["-TERM", "-KILL"])
        self.until_left(path, {other, longer})
        for process in (other, longer):
            os.kill(process, signal.SIGKILL)

    def signals(self, path):
        """Runs the epilog, which passes; returns the signals that it sends."""
        record = os.path.join(self.folder, "signals")
        self.assertEqual(self.run_script("epilog.sh", path, LIMIT_S=1, functions=(
            f'kill() {{ echo "$1" >>{record}; command kill "$@"; }}')), (0, None))
        with open(record, encoding="utf-8") as f:
            words = f.read().split()
        os.remove(record)
        return words

    def until_left(self, path, processes):
        """Waits until only these processes are clients: a daemon notices later that one has ended."""
        end = time.monotonic() + DEADLINE_S
        while self.clients(path) != processes:
            self.assertLess(time.monotonic(), end, f"{self.clients(path)} instead of {processes}")
            time.sleep(0.05)

    def test_the_epilog_of_another_user_ends_nothing(self):
        path = self.sockets[2]
        mine = self.left(path, JOB)
        with open(os.path.join(self.folder, "slurm.sh"), "w", encoding="utf-8") as f:
            f.write(f"TORUSCTL={CTL}\nTORUS_SOCKET={path}\n")
        subprocess.run([copy(self.folder, "epilog.sh")], check=True, timeout=DEADLINE_S,
                       env={"SLURM_JOB_ID": str(JOB), "SLURM_JOB_UID": str(os.getuid() + 1)})
        self.assertEqual(self.clients(path), {mine})
        os.kill(mine, signal.SIGKILL)

    def test_the_epilog_passes_without_a_daemon(self):
        self.assertEqual(self.run_script("epilog.sh", os.path.join(self.folder, "none")), (0, None))

    def test_a_process_that_does_not_end_drains_the_node(self):
        path = self.sockets[3]
        left = self.left(path, JOB)
        code, reason = self.run_script("epilog.sh", path, "kill() { :; }", LIMIT_S=1)
        self.assertEqual(code, 1)
        self.assertEqual(reason, f"torusd: processes of job {JOB} do not end: {left}; look at their file systems, "
                                 "or reboot; then resume")
        os.kill(left, signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
