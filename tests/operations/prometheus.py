#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prometheus: a real Prometheus scrapes two daemons; the shipped alert fires for a stopped rank, and resolves.

usage: prometheus.py SOURCE TORUSCTL LATE
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

from ports import free_ports

SOURCE, CTL, LATE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
CONF = os.path.join(SOURCE, "conf", "prometheus")
DEADLINE_S = 120
CONFIG = """global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: torusd
    static_configs: [{{targets: ["127.0.0.1:{first}", "127.0.0.1:{second}"]}}]
"""


def promtool(*words, **options):
    done = subprocess.run(["promtool", *words], capture_output=True, text=True, timeout=DEADLINE_S, **options)
    return done.returncode, done.stdout + done.stderr


class Prometheus(unittest.TestCase):
    def start(self):
        """Starts ranks on two daemons: rank 0 is late. Returns the ports and the socket of node 0."""
        first = free_ports(2)
        ranks = subprocess.Popen([CTL, "emulate", "1x2", "--ranks", "4", "--metrics", str(first), "--", LATE],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(ranks.wait)
        self.addCleanup(ranks.kill)
        self.addCleanup(ranks.stdout.close)
        self.addCleanup(ranks.stdin.close)
        return first, ranks, ranks.stdout.readline().split()[-1]

    def watch(self, first):
        """Starts Prometheus on loopback; asks go to self.port."""
        folder = tempfile.mkdtemp(prefix="torus-prometheus.")
        self.addCleanup(shutil.rmtree, folder, True)
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as f:
            f.write(CONFIG.format(rules=os.path.join(CONF, "torusd.rules.yml"), first=first, second=first + 1))
        self.port = free_ports(1)
        with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
            server = subprocess.Popen(["prometheus", f"--config.file={config}",
                                       f"--storage.tsdb.path={folder}/data",
                                       f"--web.listen-address=127.0.0.1:{self.port}"], stderr=log)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)

    def ask(self, path, **words):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        try:
            with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None  # it is not up yet

    def query(self, expression):
        data = self.ask("query", query=expression)
        return {tuple(sorted(r["metric"].items())): float(r["value"][1]) for r in data["result"]} if data else {}

    def until(self, what, condition):
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            if condition():
                return
            time.sleep(0.2)
        self.fail(f"not within {DEADLINE_S} s: {what}")

    def firing(self):
        data = self.ask("alerts") or {"alerts": []}
        return {(a["labels"]["alertname"], a["labels"].get("instance")) for a in data["alerts"]
                if a["state"] == "firing"}

    def test_an_alert_fires_for_a_stopped_rank_and_resolves(self):
        first, ranks, sock = self.start()
        self.watch(first)
        self.until("both daemons are scraped", lambda: sorted(self.query('up{job="torusd"}').values()) == [1, 1])
        targets = self.ask("targets")["activeTargets"]
        self.assertEqual([t["lastError"] for t in targets], ["", ""])
        nodes = {dict(labels)["node"] for labels in self.query("torus_build_info")}
        self.assertEqual(nodes, {"0", "1"})
        self.until("ranks wait for rank 0", lambda: max(
            self.query('torus_missing_ranks{state="sleeping"}').values(), default=0) >= 3)
        self.assertEqual(self.firing(), set())
        ops = json.loads(subprocess.run([CTL, "ops", "--socket", sock, "--json"], check=True, capture_output=True,
                                        text=True).stdout)["operations"]
        absent = next(a for o in ops for a in o["absent"])
        where = f"127.0.0.1:{first + absent['node']}"
        os.kill(absent["pid"], signal.SIGSTOP)
        self.until("the alert fires", lambda: ("TorusRankStopped", where) in self.firing())
        self.assertEqual(self.firing(), {("TorusRankStopped", where)})
        os.kill(absent["pid"], signal.SIGCONT)
        self.until("the alert resolves", lambda: not self.firing())
        ranks.stdin.close()
        self.assertEqual(ranks.wait(DEADLINE_S), 0)

    def test_slow_clients_do_not_keep_monitoring_out_for_long(self):
        first, ranks, _ = self.start()
        ended = threading.Semaphore(0)

        def drip():
            """Sends a request a byte at a time, until the daemon ends the connection."""
            with socket.create_connection(("127.0.0.1", first), DEADLINE_S) as s:
                s.settimeout(0.3)
                try:
                    s.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
                    while True:
                        s.sendall(b"a")
                        try:
                            if not s.recv(100):
                                break
                        except TimeoutError:
                            pass
                except OSError:
                    pass
            ended.release()

        slow = [threading.Thread(target=drip, daemon=True) for _ in range(40)]  # more than are served
        for thread in slow:
            thread.start()
        with urllib.request.urlopen(f"http://127.0.0.1:{first}/metrics", timeout=DEADLINE_S) as answer:
            self.assertIn(b"torus_build_info", answer.read())
        for _ in slow:
            self.assertTrue(ended.acquire(timeout=DEADLINE_S))
        ranks.stdin.close()
        self.assertEqual(ranks.wait(DEADLINE_S), 0)

    def test_promtool_has_no_complaint(self):
        first, ranks, _ = self.start()
        ask = urllib.request.Request(f"http://127.0.0.1:{first}/metrics", headers={"Accept": "text/plain"})
        with urllib.request.urlopen(ask, timeout=DEADLINE_S) as answer:
            text = answer.read().decode()
        self.assertEqual(promtool("check", "metrics", input=text), (0, ""))
        code, said = promtool("check", "metrics", input=text.replace("# HELP torus_clients", "# torus_clients"))
        self.assertNotEqual(code, 0)  # it can fail
        self.assertIn("torus_clients", said)
        for kind, name in (("rules", "torusd.rules.yml"), ("config", "torusd.scrape.yml")):
            code, said = promtool("check", kind, os.path.join(CONF, name))
            self.assertEqual(code, 0, said)
        ranks.stdin.close()
        self.assertEqual(ranks.wait(DEADLINE_S), 0)

    def test_the_shipped_alerts_fire_when_they_should(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in (os.path.join(CONF, "torusd.rules.yml"),
                         os.path.join(SOURCE, "tests", "operations", "rules.test.yml")):
                shutil.copy(path, folder)
            code, said = promtool("test", "rules", os.path.join(folder, "rules.test.yml"))
            self.assertEqual(code, 0, said)


if __name__ == "__main__":
    unittest.main()
