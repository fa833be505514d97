#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page: the daemon's page in a real browser.

usage: page.py TORUSCTL LATE [--picture FILE]   FILE.png: draw the picture of docs/metrics.md, and nothing else
"""
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from ports import free_ports

CTL, LATE = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
DEADLINE_S = 120
CHROMIUM = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--hide-scrollbars"]


def browse(port, *options):
    """Returns what the browser says of the page of a daemon."""
    folder = tempfile.mkdtemp(prefix="torus-chromium.")
    try:
        done = subprocess.run([*CHROMIUM, f"--user-data-dir={folder}", *options, f"http://127.0.0.1:{port}/"],
                              capture_output=True, text=True, timeout=DEADLINE_S)
    finally:
        shutil.rmtree(folder, True)
    return done.stdout + done.stderr


class Ranks:
    """Ranks on an emulated torus; rank 0 is late."""

    def __init__(self, shape, ranks, *options, command=f"{LATE} 2>&-", name=None):
        self.port = free_ports(16)
        job = ["env", f"TORUS_JOB={name}"] if name else []
        self.process = subprocess.Popen([CTL, "emulate", shape, "--ranks", str(ranks), "--metrics", str(self.port),
                                         "--set", "metrics.jobs=yes", *options, "--", *job, "sh", "-c", command],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.socket = self.process.stdout.readline().split()[-1]

    def state(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/state.json", timeout=DEADLINE_S) as answer:
            return json.load(answer)

    def until(self, condition):
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            state = self.state()
            if condition(state):
                return state
            time.sleep(0.1)
        raise AssertionError(f"not within {DEADLINE_S} s: {state}")

    def late(self):
        """Returns the process that the others wait for, once all nodes have said so."""
        def seen(state):
            return [a for n in state["nodes"] for o in n.get("operations", []) for a in o["absent"] if a["pid"]]
        return seen(self.until(lambda state: len(seen(state)) >= 4 and
                               all(n["known"] for n in state["nodes"])))[0]["pid"]

    def daemon(self, node):
        config = f"{os.path.dirname(self.socket)}/c{node}".encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if config in f.read().split(b"\0"):
                        return int(pid)
            except OSError:
                pass
        raise AssertionError(f"node {node} has no daemon")

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(DEADLINE_S)


class Page(unittest.TestCase):
    def start(self, *arguments, **words):
        ranks = Ranks(*arguments, **words)
        self.addCleanup(ranks.process.wait)
        self.addCleanup(ranks.process.kill)
        return ranks

    def test_a_stopped_rank_is_named_with_its_process(self):
        ranks = self.start("2x3", 6)
        pid = ranks.late()
        os.kill(pid, signal.SIGSTOP)
        ranks.until(lambda state: any(a["state"] == "stopped" for n in state["nodes"]
                                      for o in n.get("operations", []) for a in o["absent"]))
        dom = browse(ranks.port, "--virtual-time-budget=8000", "--dump-dom")
        os.kill(pid, signal.SIGCONT)
        self.assertGreaterEqual(len(re.findall(r'data-rank="0" data-state="stopped"', dom)), 3)
        self.assertIn(f"process {pid}, is stopped", dom)
        self.assertIn("wait for rank 0 on node 0</span>", dom)
        self.assertEqual(len(re.findall(r'<circle[^>]* class="node own missing"', dom)), 1)
        self.assertEqual(len(re.findall(r'data-node="\d"', dom)), 6)
        # a node has a link in the dimension of two nodes, and two in that of three
        self.assertEqual(len(re.findall(r'data-link="', dom)), 6 * 3)
        self.assertIn("All nodes answer.", dom)
        self.assertIn("6 of 6 nodes answer", dom)
        self.assertNotIn('id="error" role="alert" style="display: block', dom)
        self.assertEqual(ranks.close(), 0)

    def test_a_silent_node_is_drawn_so(self):
        ranks = self.start("4", 4)
        ranks.late()
        daemon = ranks.daemon(2)
        os.kill(daemon, signal.SIGSTOP)
        ranks.until(lambda state: state["nodes"][2]["error"])
        dom = browse(ranks.port, "--virtual-time-budget=8000", "--dump-dom")
        os.kill(daemon, signal.SIGCONT)
        self.assertIn('data-silent="2"', dom)
        self.assertEqual(re.findall(r'data-node="(\d)" class="node silent"', dom), ["2"])
        self.assertIn("3 of 4 nodes answer", dom)
        self.assertEqual(ranks.close(), 0)

    def test_the_torus_is_drawn_in_three_dimensions_and_without_an_operation(self):
        ranks = self.start("2x2x3", 12, command="echo $TORUS_SOCKET; read line || true")
        ranks.until(lambda state: all(n["known"] for n in state["nodes"]))
        dom = browse(ranks.port, "--virtual-time-budget=8000", "--dump-dom")
        self.assertIn("No operation is in flight.", dom)
        self.assertIn("No job has ranks", dom)
        self.assertIn("nothing waits</span>", dom)
        self.assertEqual(len(re.findall(r'data-node="\d+"', dom)), 12)
        self.assertEqual(len(re.findall(r'data-link="', dom)), 12 * 4)
        self.assertEqual(ranks.close(), 0)

    def test_the_name_of_a_job_is_text(self):
        name = "<img src=x onerror=document.title='taken'>"
        ranks = self.start("1", 2, name=name)
        ranks.late()
        dom = browse(ranks.port, "--virtual-time-budget=8000", "--dump-dom")
        self.assertIn(html.escape(name, quote=False), dom)
        self.assertNotIn("<img", dom)
        self.assertNotIn("<title>taken", dom)
        self.assertEqual(ranks.close(), 0)


def picture(to):
    """A job waits for a stopped rank while another one uses the links."""
    ranks = Ranks("4x4", 16, "--fabric", "routed", "--link-rate", "4MB/s",
                  command=f"TORUS_JOB=busy {CTL} bench >/dev/null & {LATE} 2>&-")
    pid = ranks.late()
    os.kill(pid, signal.SIGSTOP)
    ranks.until(lambda state: any(a["state"] == "stopped" for n in state["nodes"]
                                  for o in n.get("operations", []) for a in o["absent"]) and
                sum(l["rate"] > 1e6 for n in state["nodes"] for l in n.get("links", [])) > 40)
    browse(ranks.port, f"--screenshot={os.path.abspath(to)}", "--window-size=1360,1040",
           "--virtual-time-budget=3000")
    os.kill(pid, signal.SIGCONT)
    ranks.process.stdin.close()
    ranks.process.terminate()
    ranks.process.wait(DEADLINE_S)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--picture"]:
        picture(sys.argv[2])
    else:
        unittest.main()
