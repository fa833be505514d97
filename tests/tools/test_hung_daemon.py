# SPDX-License-Identifier: Apache-2.0
"""torusctl with daemons that do not do their part: a script of this test accepts and is silent,
answers half, answers nonsense, or never ends. Every command ends with a sentence and an exit code.
All commands run at the same time, since each waits for the library's patience to end."""
import concurrent.futures
import os
import pty
import random
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

CTL = os.path.abspath(sys.argv.pop(1))
PATIENCE_S = int(sys.argv.pop(1))  # of the library (libtorus/patience.h)
LIMIT_S = 24 * PATIENCE_S  # of a command
LISTING_S = 6 * PATIENCE_S
COMMANDS = {
    "status": ["status"],
    "status json": ["status", "--json"],
    "ops": ["ops"],
    "queues": ["queues"],
    "plans": ["plans", "--json"],
    "doctor": ["doctor"],
    "jobs": ["jobs"],
    "bench": ["bench"],
}
LISTINGS = [name for name in COMMANDS if name != "bench"]
HELLO, JOIN, STATUS = 1, 4, 9
WELCOME, REPLY_STATUS = 0x102, 0x106
MAJOR, MINOR = 4, 0


# ---- the local protocol, as far as the scripts need it ----

def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """Returns a field of a protobuf message: an integer, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def datagram(kind, *fields):
    return b"Toru" + struct.pack("<BBH", MAJOR, MINOR, kind) + b"".join(fields)


def parse(data):
    """Returns the kind of a request, its id, and the section of a STATUS."""
    kind, at, found = struct.unpack_from("<H", data, 6)[0], 8, {}

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = number()
        if key & 7 == 0:
            found[key >> 3] = number()
        elif key & 7 == 2:
            at += number()
        else:
            at += 8 if key & 7 == 1 else 4
    return kind, found.get(1, 0), found.get(16, 0)


def welcome(request):
    return datagram(WELCOME, field(1, request), field(5, 9), field(6, b"2"), field(7, 4096),
                    field(19, 1 << 30))


def page(request, section, following, rows=b""):
    return datagram(REPLY_STATUS, field(1, request), field(15, section), field(16, following), rows)


ROWS = {2: field(18, field(2, field(1, 1) + field(2, 1))),
        5: field(18, field(5, field(1, b"job") + field(2, b"barrier") + field(4, 2)))}


# ---- the daemons: each is a function of a request that returns the datagrams of the reply ----

def silent(kind, request, section, state):
    return []


def silent_after_welcome(kind, request, section, state):
    return [welcome(request)] if kind == HELLO else []


def half_a_welcome(kind, request, section, state):
    whole = welcome(request)
    return [whole[:len(whole) // 2]]


def half_a_listing(kind, request, section, state):
    if kind == HELLO:
        return [welcome(request)]
    state["pages"] = state.get("pages", 0) + 1
    return [page(request, section, 1, ROWS.get(section, b""))] if state["pages"] == 1 else []


def endless_listing(kind, request, section, state):
    if kind == HELLO:
        return [welcome(request)]
    state["pages"] = state.get("pages", 0) + 1
    return [page(request, section, state["pages"], ROWS.get(section, b""))]


def slow_listing(kind, request, section, state):
    if kind != HELLO:
        time.sleep(0.8 * PATIENCE_S)
    return endless_listing(kind, request, section, state)


def another_answer(kind, request, section, state):
    return [welcome(request)]


def answer_to_nobody(kind, request, section, state):
    return [welcome(request)] if kind == HELLO else [page(request + 7, section, 0)]


def garbage(kind, request, section, state):
    chance = state.setdefault("chance", random.Random(1))
    if kind == HELLO and chance.random() < 0.5:
        return [welcome(request)]
    return [chance.randbytes(chance.randrange(1, 200)) for _ in range(20)]


def changed(kind, request, section, state):
    """A reply of the right form with some bytes changed."""
    chance = state.setdefault("chance", random.Random(2))
    if kind == HELLO:
        return [welcome(request)]
    whole = bytearray(page(request, section, chance.randrange(3), ROWS.get(section, b"") * 3))
    for _ in range(2):
        whole[chance.randrange(8, len(whole))] = chance.randrange(256)
    return [bytes(whole)]


def hangs_up(kind, request, section, state):
    return None if kind != HELLO else [welcome(request)]


DAEMONS = [silent, silent_after_welcome, half_a_welcome, half_a_listing, endless_listing,
           slow_listing, another_answer, answer_to_nobody, garbage, changed, hangs_up]


def serve(listener, answer):
    """Serves connections, one after the other, until the listener is closed."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=talk, args=(connection, answer), daemon=True).start()


def talk(connection, answer):
    state = {}
    with connection:
        while True:
            try:
                data = connection.recv(1 << 16)
                if not data:
                    return
                replies = answer(*parse(data), state)
                if replies is None:
                    return
                for reply in replies:
                    connection.send(reply)
            except OSError:
                return  # torusctl has ended


def run(path, arguments):
    started = time.monotonic()
    environment = dict(os.environ, TORUS_SOCKET=path, TORUS_JOB="job", TORUS_SIZE="2", TORUS_RANK="0")
    done = subprocess.run([CTL, *arguments], capture_output=True, text=True, timeout=LIMIT_S,
                          env=environment)
    return done, time.monotonic() - started


class HungDaemon(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="torus.hung.")
        self.addCleanup(self.folder.cleanup)

    def listen(self, name, answer):
        path = os.path.join(self.folder.name, name)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(listener.close)
        listener.bind(path)
        listener.listen(64)
        if answer:
            threading.Thread(target=serve, args=(listener, answer), daemon=True).start()
        return path

    def test_every_command_ends_whatever_the_daemon_does(self):
        jobs = {}
        with concurrent.futures.ThreadPoolExecutor(max_workers=100) as pool:
            for answer in DAEMONS:
                path = self.listen(answer.__name__, answer)
                for name in COMMANDS:
                    # a join without a time limit waits for the others as long as the daemon is there
                    if name == "bench" and answer is answer_to_nobody:
                        continue
                    jobs[answer, name] = pool.submit(run, path, COMMANDS[name])
        for (answer, name), job in jobs.items():
            with self.subTest(daemon=answer.__name__, command=name):
                done, _ = job.result()  # TimeoutExpired if it did not end
                self.assertIn(done.returncode, (0, 1, 3), done.stderr)
                if done.returncode == 0:  # a changed or foreign answer may still be a good one
                    self.assertIn(answer, (changed, another_answer))
                else:
                    self.assertRegex(done.stderr, r"^torusctl.*: \S")
                    self.assertLess(len(done.stderr), 1000)

    def test_a_time_limit_holds_for_the_daemon_of_this_node(self):
        done, _ = run(self.listen("paused", silent), ["ops", "--timeout", "0.25"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("torusd accepted the connection and has not replied for 0.3 s: it hangs or is stopped",
                      done.stderr)

    def test_who_waits_at_a_terminal_is_told_for_what(self):
        own, terminal = pty.openpty()
        self.addCleanup(os.close, own)
        path = self.listen("mute", silent)
        process = subprocess.Popen([CTL, "ops", "--timeout", "3", "--socket", path], stdout=subprocess.DEVNULL,
                                   stderr=terminal)
        os.close(terminal)
        told = os.read(own, 1000).decode()
        self.assertIn("torusd on this node has not answered for 1 s; still waiting, for up to 3.0 s", told)
        self.assertEqual(process.wait(LIMIT_S), 1)
        done, _ = run(path, ["ops", "--timeout", "2"])  # a program that reads stderr gets the error alone
        self.assertNotIn("still waiting", done.stderr)

    def test_a_listing_without_an_end_is_an_error(self):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            ends = [(pool.submit(run, self.listen("end_" + answer.__name__, answer), COMMANDS["status json"]), words)
                    for answer, words in ((endless_listing, "pages"), (slow_listing, f"within {LISTING_S} s"))]
        for end, words in ends:
            done, _ = end.result()
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
