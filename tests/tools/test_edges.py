# SPDX-License-Identifier: Apache-2.0
"""The edges of the operating system, for each program: closed standard descriptors, output that cannot be written, limits of
the process, and the path of a daemon's socket. A program says what is wrong and exits with a status that is not 0, and no
signal ends it; a running daemon goes on."""
import itertools
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

CTL, TORUSD, SIM, NOISY = (os.path.abspath(sys.argv.pop(1)) for _ in range(4))
PLAN = os.path.join(os.path.dirname(CTL), "torus-plan")
ARRAY = os.path.join(os.path.dirname(CTL), "torus-array")
DEADLINE_S = 60
COMBINATIONS = [which for count in range(4) for which in itertools.combinations(range(3), count)]
KiB, MiB = 1 << 10, 1 << 20

# Programs that need no daemon, and print to standard output.
PRINTING = [[CTL, "--help"], [CTL, "--version"], [PLAN, "--help"],
            [PLAN, "alltoall", "--shape", "4x4"], [PLAN, "allreduce", "--shape", "2x2", "--json"],
            [PLAN, "redist", "--from", "cyclic(2)@0-2", "--to", "cyclic(4)@0-5"],
            [PLAN, "fft", "--shape", "2x2", "--elements", "8x8"], [CTL, "keygen", "KEYS"],
            [CTL, "keygen", "--json", "KEYS"], [SIM, "--help"], [SIM, "alltoall", "--shape", "2x2"],
            [SIM, "alltoall", "--shape", "2x2", "--json"], [TORUSD, "--help"], [TORUSD, "--version"],
            [TORUSD, "--config", "CONFIG", "--show-config"],
            [TORUSD, "--config", "CONFIG", "--check-config"]]
# Programs that write a file.
WRITING = [[PLAN, "redist", "--from", "cyclic(2)@0-2", "--to", "cyclic(4)@0-5", "--plot", "FILE"],
           [SIM, "alltoall", "--shape", "2x2", "--plot", "FILE"], [SIM, "alltoall", "--shape", "2x2", "--trace", "FILE"],
           [ARRAY, "picture", "ARRAY", "FILE"]]
# Programs that ask the daemon.
ASKING = [[CTL, "status"], [CTL, "status", "--json"], [CTL, "ops"], [CTL, "doctor"], [CTL, "bench", "--iterations", "1"],
          [CTL, "topology"], [CTL, "jobs", "--json"]]


class Edges(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="torus.")
        self.addCleanup(place.cleanup)
        self.folder = place.name
        self.socket = self.path("run/torusd.sock")
        os.mkdir(self.path("keys"))
        self.configure("")

    def path(self, name):
        return os.path.join(self.folder, name)

    def configure(self, more):
        with open(self.path("config"), "w", encoding="utf-8") as config:
            config.write(f"[node]\nsocket = {self.socket}\nstate_directory = {self.folder}\n"
                         f"[torus]\nshape = 1\n[fft]\neffort = estimate\n{more}")

    def words(self, command, file="/dev/full"):
        for name in os.listdir(self.path("keys")):
            os.unlink(self.path(f"keys/{name}"))
        places = {"KEYS": self.path("keys"), "CONFIG": self.path("config"), "FILE": file,
                  "ARRAY": self.path("array.npy")}
        return [places.get(word, word) for word in command]

    def run_with(self, command, closed=(), limits=(), **more):
        def prepare():
            for fd in closed:
                os.close(fd)
            for name, most in limits:
                resource.setrlimit(name, (most, most))
        environment = dict(os.environ, TORUS_SOCKET=self.socket, NOISY_LOG=self.path("noisy"))
        return subprocess.run(command, env=environment, preexec_fn=prepare, text=True, timeout=DEADLINE_S,
                              **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})

    def daemon(self, closed=(), limits=(), log="log"):
        def prepare():
            for fd in closed:
                os.close(fd)
            for name, most in limits:
                resource.setrlimit(name, (most, most))
        with open(self.path(log), "a", encoding="utf-8") as out:
            process = subprocess.Popen([TORUSD, "--config", self.path("config")], stderr=out, preexec_fn=prepare)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.until(lambda: process.poll() is not None or self.answers(process.pid), "up")
        return process

    def answers(self, pid):
        """Returns whether the socket belongs to this process."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            try:
                client.connect(self.socket)
            except OSError:
                return False
            credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            return int.from_bytes(credentials[:4], sys.byteorder) == pid

    def until(self, condition, what):
        until = time.monotonic() + DEADLINE_S
        while not condition():
            self.assertLess(time.monotonic(), until, f"not {what}: {self.log()}")
            time.sleep(0.02)

    def log(self, name="log"):
        if not os.path.exists(self.path(name)):
            return ""
        with open(self.path(name), encoding="utf-8") as log:
            return log.read()

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE_S), 0, self.log())

    def array(self):
        with open(self.path("array.npy"), "wb") as array:
            header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (4, 4), }".ljust(117) + b"\n"
            array.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8 * 16))

    # ---- closed descriptors ----

    def test_programs_run_with_closed_descriptors(self):
        for command in PRINTING[:4] + PRINTING[7:8] + PRINTING[10:11] + PRINTING[14:15]:
            for closed in COMBINATIONS:
                done = self.run_with(self.words(command), closed)
                with self.subTest(command=command, closed=closed):
                    self.assertEqual(done.returncode, int(1 in closed), done.stderr)
                    if 1 in closed and 2 not in closed:
                        self.assertIn("cannot write standard output: Bad file descriptor", done.stderr)

    def test_a_daemon_lives_with_closed_descriptors(self):
        for closed in COMBINATIONS:
            process = self.daemon(closed)
            done = self.run_with([NOISY])
            self.assertEqual(done.returncode, 0, f"{closed}: {self.log('noisy')}")
            self.stop(process)

    def test_what_a_rank_prints_never_reaches_its_daemon(self):
        process = self.daemon()
        for closed in COMBINATIONS:
            for later in ([], ["later"]):
                done = self.run_with([NOISY, *later], closed)
                self.assertEqual(done.returncode, 0, f"{closed} {later}: {self.log('noisy')} {self.log()}")
        self.stop(process)

    def test_an_emulation_runs_with_closed_descriptors(self):
        for closed in ((0,), (0, 2)):
            done = self.run_with([CTL, "emulate", "2", "--", NOISY], closed)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.count("noise"), 2 * 21)

    # ---- output ----

    def test_output_that_is_not_written_is_an_error(self):
        process = self.daemon()
        with open("/dev/full", "w", encoding="utf-8") as full:
            for command in PRINTING + ASKING:
                done = self.run_with(self.words(command), stdout=full)
                with self.subTest(command=command):
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertRegex(done.stderr, r"cannot write standard output: No space left on device\n$")
            done = self.run_with([CTL, "emulate", "1", "--ranks", "2", "--", "echo", "line"], stdout=full)
            self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(os.listdir(self.path("keys")), [])  # the key whose line was lost
        self.stop(process)

    def test_a_file_that_is_not_written_is_an_error(self):
        self.array()
        for command in WRITING:
            done = self.run_with(self.words(command))
            with self.subTest(command=command):
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("/dev/full", done.stderr)
                self.assertIn("No space left on device", done.stderr)

    def test_the_limit_of_file_sizes_is_named(self):
        self.array()
        with open(self.path("out"), "w", encoding="utf-8") as out:
            for command in PRINTING[:4] + PRINTING[10:11]:
                done = self.run_with(self.words(command), limits=[(resource.RLIMIT_FSIZE, 10)], stdout=out)
                with self.subTest(command=command):
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn("a file of this process may have 10 bytes (RLIMIT_FSIZE)", done.stderr)
        for command in WRITING[:3]:
            done = self.run_with(self.words(command, self.path("file")), limits=[(resource.RLIMIT_FSIZE, 10)])
            with self.subTest(command=command):
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("RLIMIT_FSIZE", done.stderr)

    # ---- limits ----

    def test_a_rank_names_the_limit_that_ends_it(self):
        process = self.daemon()
        for limit, most, word in ((resource.RLIMIT_FSIZE, 64 * KiB, "65536 bytes .RLIMIT_FSIZE"),
                                  (resource.RLIMIT_NOFILE, 5, "5 descriptors .RLIMIT_NOFILE"),
                                  (resource.RLIMIT_NOFILE, 6, "6 descriptors .RLIMIT_NOFILE"),
                                  (resource.RLIMIT_NOFILE, 7, "7 descriptors .RLIMIT_NOFILE")):
            done = self.run_with([NOISY], limits=[(limit, most)])
            self.assertEqual(done.returncode, 1, self.log("noisy"))
            self.assertRegex(self.log("noisy"), word)
            os.unlink(self.path("noisy"))
        self.stop(process)

    def test_a_path_that_is_too_long_is_named(self):
        self.socket = self.path("x" * 120)
        done = self.run_with([CTL, "status"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("the path of a socket has at most 107 characters", done.stderr)

    def test_a_daemon_does_not_start_below_what_it_needs(self):
        for limit, most, word in ((resource.RLIMIT_NOFILE, 6, "6 descriptors (RLIMIT_NOFILE)"),
                                  (resource.RLIMIT_NOFILE, 63, "63 descriptors (RLIMIT_NOFILE)"),
                                  (resource.RLIMIT_AS, 2048 * MiB, "(RLIMIT_AS)"),
                                  (resource.RLIMIT_DATA, 512 * MiB, "(RLIMIT_DATA)")):
            process = self.daemon(limits=[(limit, most)])
            self.assertEqual(process.wait(DEADLINE_S), 1, self.log())
            self.assertIn(word, self.log().splitlines()[-1])
        self.assertFalse(os.path.exists(self.socket))

    def test_a_daemon_serves_what_its_limits_permit(self):
        process = self.daemon(limits=[(resource.RLIMIT_FSIZE, 64 * KiB)])
        done = self.run_with([NOISY])  # without memory that the ranks share
        self.assertEqual(done.returncode, 0, self.log("noisy"))
        self.assertIn("whose calls then take requests: File too large: a file of this process may have 65536 bytes",
                      self.log())
        self.stop(process)

    # ---- the path of the socket ----

    def test_a_socket_that_is_removed_is_made_again(self):
        process = self.daemon()
        for remove in (lambda: os.unlink(self.socket),
                       lambda: shutil.rmtree(self.path("run")),
                       lambda: os.rename(self.path("run"), self.path("elsewhere"))):
            remove()
            self.until(lambda: self.answers(process.pid), "at its path")
            self.assertEqual(self.run_with([CTL, "status"]).returncode, 0)
        self.assertEqual(self.log().count("made the socket"), 3, self.log())
        self.stop(process)
        self.assertEqual(os.listdir(self.path("run")), [])

    def test_a_file_in_place_of_the_socket_is_left_alone(self):
        process = self.daemon()
        os.unlink(self.socket)
        with open(self.socket, "w", encoding="utf-8") as file:
            file.write("precious")
        self.until(lambda: "is not a socket: remove it" in self.log(), "logged")
        os.unlink(self.socket)
        self.until(lambda: self.answers(process.pid), "at its path")
        self.assertEqual(self.log().count("no process can connect"), 1, self.log())
        self.stop(process)

    def test_a_socket_of_the_service_manager_is_left_to_it(self):
        os.mkdir(self.path("run"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, \
                open(self.path("log"), "w", encoding="utf-8") as log:
            listener.bind(self.socket)
            listener.listen()
            process = subprocess.Popen(["sh", "-c", f"LISTEN_PID=$$ LISTEN_FDS=1 exec {TORUSD} --config $0",
                                        self.path("config")], stderr=log, pass_fds=(3,),
                                       preexec_fn=lambda: os.dup2(listener.fileno(), 3))
            self.addCleanup(process.kill)
            self.until(lambda: "serving" in self.log(), "up")
            os.unlink(self.socket)
            self.until(lambda: "systemctl restart torusd.socket makes it again" in self.log(), "logged")
            self.assertFalse(os.path.exists(self.socket))
            self.stop(process)

    def test_each_daemon_removes_the_files_of_its_own_ports_only(self):
        def configure(name):
            with open(self.path("config"), "w", encoding="utf-8") as config:
                config.write(f"[node]\nsocket = {self.path(name)}\ncoordinates = 0\nstate_directory = {self.folder}\n"
                             f"[torus]\nshape = 2\n[peers]\nendpoints =\n  ipc://{self.path('port0')}\n"
                             f"  ipc://{self.path('port1')}\n[fft]\neffort = estimate\n")
            self.socket = self.path(name)
        configure("first.sock")
        first = self.daemon()
        self.until(lambda: "serving" in self.log(), "up")  # it opens its ports after its socket
        ports = [name for name in os.listdir(self.folder) if name.startswith("port0")]
        self.assertEqual(len(ports), 2, ports)
        configure("second.sock")
        second = self.run_with([TORUSD, "--config", self.path("config")])
        self.assertRegex(second.stderr, rf"cannot listen for peers .*torusd \(process {first.pid}\) serves")
        for port in ports:
            os.unlink(self.path(port))
        second = self.daemon(log="second")
        self.until(lambda: "serving" in self.log("second"), "up")
        self.stop(first)
        for port in ports:
            self.assertTrue(os.path.exists(self.path(port)), port)
        self.stop(second)
        self.assertEqual([name for name in os.listdir(self.folder) if "port" in name or "sock" in name], [])

    def test_each_daemon_removes_its_own_socket_only(self):
        first = self.daemon()
        second = self.run_with([TORUSD, "--config", self.path("config")])
        self.assertEqual(second.returncode, 1)
        self.assertRegex(second.stderr, rf"torusd \(process {first.pid}\) serves {re.escape(self.socket)}: stop it")
        first.send_signal(signal.SIGSTOP)  # it cannot make its socket again meanwhile
        os.unlink(self.socket)
        second = self.daemon(log="second")
        first.send_signal(signal.SIGCONT)
        self.until(lambda: f"torusd (process {second.pid}) serves" in self.log(), "logged")
        self.stop(first)
        self.assertTrue(self.answers(second.pid))
        self.stop(second)
        self.assertEqual(os.listdir(self.path("run")), [])


if __name__ == "__main__":
    unittest.main()
