# SPDX-License-Identifier: Apache-2.0
"""A daemon with few descriptors: many clients and peers that are started again. Clients are refused with a reason, links
come up again, and the daemon lives: libzmq would end it if it found no descriptor for a connection of a peer."""
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

CTL, TORUSD, STRAGGLE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
DEADLINE_S, NODES, LIMIT, ROUNDS = 60, 8, 200, 3
HELLO, WELCOME = b"Toru" + struct.pack("<BBH", 4, 0, 1), struct.pack("<H", 0x102)


class Descriptors(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="torus.")
        self.addCleanup(place.cleanup)
        self.folder = place.name
        self.clients = []
        self.addCleanup(lambda: [client.close() for client in self.clients])
        endpoints = "".join(f"  ipc://{self.path(f'p{node}')}\n" for node in range(NODES))
        for node in range(NODES):
            with open(self.path(f"c{node}"), "w", encoding="utf-8") as config:
                config.write(f"[node]\nsocket = {self.path(f's{node}')}\ncoordinates = {node}\n"
                             f"state_directory = {self.folder}\n[torus]\nshape = {NODES}\n[peers]\nendpoints =\n"
                             f"{endpoints}[security]\ninsecure = yes\n[fft]\neffort = estimate\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def daemon(self, node):
        def lower():
            if node == 0:
                resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
        with open(self.path(f"log{node}"), "a", encoding="utf-8") as log:
            process = subprocess.Popen([TORUSD, "--config", self.path(f"c{node}")], stderr=log, preexec_fn=lower)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def log(self, node=0):
        with open(self.path(f"log{node}"), encoding="utf-8") as log:
            return log.read()

    def until(self, condition, what):
        until = time.monotonic() + DEADLINE_S
        while not condition():
            self.assertIsNone(self.first.poll(), self.log())
            self.assertLess(time.monotonic(), until, f"not {what}: {self.log()}")
            time.sleep(0.02)

    def run_job(self, name, nodes=range(NODES)):
        """Runs a job with a rank on each of the nodes; returns the exit codes."""
        ranks = [subprocess.Popen([STRAGGLE, "0", "3", "1"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  env={**os.environ, "TORUS_SOCKET": self.path(f"s{node}"), "TORUS_JOB": name,
                                       "TORUS_SIZE": str(len(nodes)), "TORUS_RANK": str(rank)})
                 for rank, node in enumerate(nodes)]
        return [rank.wait(DEADLINE_S) for rank in ranks]

    def connect(self, count):
        """Connects clients to the first daemon, as many as its queue takes; returns how many it took."""
        for taken in range(count):
            client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            client.setblocking(False)
            try:
                client.connect(self.path("s0"))
                client.send(HELLO)
            except OSError:
                client.close()
                return taken
            self.clients.append(client)
        return count

    def said(self, client):
        """Returns what the daemon has told a client; None: nothing yet."""
        try:
            return client.recv(65536)
        except BlockingIOError:
            return None
        except ConnectionResetError:  # comes once, before what the daemon said
            return client.recv(65536)

    def is_welcome(self):
        """Returns true if the first daemon serves a new client."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.settimeout(DEADLINE_S)
            try:
                client.connect(self.path("s0"))
                client.send(HELLO)
            except BlockingIOError:  # others still wait in its queue
                return False
            return self.said(client)[6:8] == WELCOME

    def test_a_refusal_is_read_after_the_connection_has_ended(self):
        text = b"refused: 7 of 8 descriptors are in use"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self.path("s0"))
            listener.listen()
            ctl = subprocess.Popen([CTL, "status", "--socket", self.path("s0")], stderr=subprocess.PIPE)
            connection, _ = listener.accept()
            select.select([connection], [], [])  # its HELLO is there, and is not read
            ctl.send_signal(signal.SIGSTOP)
            connection.send(b"Toru" + struct.pack("<BBH", 4, 0, 0x101) + b"\x10\x15\x1a" + bytes([len(text)]) + text)
            connection.close()
            ctl.send_signal(signal.SIGCONT)
            said = ctl.communicate(timeout=DEADLINE_S)[1]
        self.assertEqual((ctl.returncode, said), (1, b"torusctl: " + text + b"\n"))

    def test_peers_come_back_while_clients_take_all_descriptors(self):
        self.first = self.daemon(0)
        peers = [self.daemon(node) for node in range(1, NODES)]
        for node in range(NODES):
            self.until(lambda: os.path.exists(self.path(f"s{node}")), f"serving {node}")
        self.assertEqual(self.run_job("before"), [0] * NODES)  # connects each node to each other
        self.until(lambda: self.connect(20) < 20 or "cannot accept new clients" in self.log(), "full")
        last = self.clients[-1]
        told = []
        self.until(lambda: told.append(self.said(last)) or told[-1], "refused")
        self.assertIn(b"refused: ", told[-1])
        self.assertIn(f" of {LIMIT} descriptors are in use, and the others are reserved; raise LimitNOFILE".encode(),
                      told[-1])
        self.assertRegex(self.log(), rf"cannot accept new clients: \d+ of {LIMIT} descriptors are in use")
        for turn in range(ROUNDS):
            ups, downs = ([self.log().count(f"link to node {node} is {way}") for node in range(NODES)]
                          for way in ("up", "down"))
            for peer in peers:
                peer.kill()
                peer.wait()
            for node in range(1, NODES):
                self.until(lambda: self.log().count(f"link to node {node} is down") > downs[node], f"down {node}")
            self.connect(100)  # they want what the links had
            peers = [self.daemon(node) for node in range(1, NODES)]
            for node in range(1, NODES):
                self.until(lambda: self.log().count(f"link to node {node} is up") > ups[node], f"up {node}")
            self.connect(100)
            self.assertEqual(self.run_job(f"among{turn}", range(1, NODES)), [0] * (NODES - 1))  # node 0 lists it
        for client in self.clients:
            client.close()
        self.until(self.is_welcome, "room for a client")
        self.assertEqual(self.run_job("after"), [0] * NODES)
        self.assertIsNone(self.first.poll())


if __name__ == "__main__":
    unittest.main()
