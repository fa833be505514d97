# SPDX-License-Identifier: Apache-2.0
"""The metrics of daemons: their format, their numbers, and who may ask."""
import base64
import hashlib
import http.client
import json
import os
import random
import re
import signal
import socket as sockets
import subprocess
import sys
import tempfile
import time
import unittest

from ports import free_ports

CTL = os.path.abspath(sys.argv.pop(1))
TORUSD = os.path.abspath(sys.argv.pop(1))
LATE = os.path.abspath(sys.argv.pop(1))
STRAGGLE = os.path.abspath(sys.argv.pop(1))
DOCS = os.path.abspath(sys.argv.pop(1))
DEADLINE_S = 60
CALLS = ["allreduce(sum, double, 1)"]
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
SAMPLE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\d+(?:\.\d{9})?)$')
LABELS = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)')


def ask(port, path="/metrics", method="GET", **headers):
    """Returns status, type and text of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
    connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.getheader("Content-Type"), text


def parse(text):
    """Checks a text in the format of OpenMetrics 1.0. Returns {sample: value} and the families."""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""], lines[-2:]
    families, samples, family = {}, {}, None
    for line in lines[:-2]:
        if line.startswith("# HELP "):
            family = line.split(" ")[2]
            assert family not in families, f"{family} comes twice"
            families[family] = {"help": line.split(" ", 3)[3]}
        elif line.startswith(("# TYPE ", "# UNIT ")):
            _, what, name, value = line.split(" ")
            assert name == family and what not in families[name], line
            families[name][what] = value
            assert what == "TYPE" or name.endswith("_" + value), line
        else:
            name, labels, value = SAMPLE.match(line).groups()
            kind = families[family]["TYPE"]
            end = name.removeprefix(family)
            assert end in {"gauge": [""], "counter": ["_total"], "info": ["_info"],
                           "histogram": ["_bucket", "_sum", "_count"]}[kind], line
            assert "".join(f'{k}="{v}",' for k, v in LABELS.findall(labels or "")) == \
                (labels + "," if labels else ""), line
            assert (name, labels) not in samples, f"{line} comes twice"
            samples[name, labels] = float(value)
    for name, family in families.items():
        assert family["help"] and family["TYPE"], name
    for (name, labels), value in samples.items():
        if name.endswith("_bucket") and 'le="+Inf"' in labels:
            series = labels.replace(',le="+Inf"', "")
            assert samples[name.replace("_bucket", "_count"), series] == value
            buckets = [v for (n, l), v in samples.items() if n == name and l.startswith(series)]
            assert buckets == sorted(buckets), "a bucket contains those before it"
    return samples, families


class Metrics(unittest.TestCase):
    def start(self, shape, *options, command=(LATE,)):
        """Starts ranks; returns the first port, the process and the socket of rank 0."""
        port = free_ports(9)
        process = subprocess.Popen([CTL, "emulate", shape, "--metrics", str(port), *options, "--",
                                    *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        return port, process, re.search(r"/tmp/\S+", process.stdout.readline())[0]

    def finish(self, process):
        process.stdin.close()
        self.assertEqual(process.wait(DEADLINE_S), 0)

    def numbers(self, port):
        status, kind, text = ask(port)
        self.assertEqual((status, kind), (200, OPENMETRICS))
        return parse(text)[0]

    def until(self, port, condition):
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            found = self.numbers(port)
            if condition(found):
                return found
        self.fail(f"still {found}")

    def test_calls_by_request_are_counted_with_their_times(self):
        calls, ranks = 10, 4
        port, process, _ = self.start("1x2", "--ranks", str(ranks),
                                      command=(STRAGGLE, "1", str(calls), "20"))
        for node in range(2):
            found = self.numbers(port + node)
            # the barrier at the start, and the allreduce at the end
            for kind in ("barrier", "allreduce"):
                self.assertEqual(found["torus_operation_duration_seconds_count",
                                       f'kind="{kind}"'], calls + 1)
                self.assertEqual(found["torus_operation_skew_seconds_count", f'kind="{kind}"'],
                                 calls + 1)
            self.assertGreaterEqual(found["torus_operation_duration_seconds_sum", 'kind="barrier"'],
                                    found["torus_operation_skew_seconds_sum", 'kind="barrier"'])
            self.assertEqual(found["torus_jobs_formed_total", None], 1)
            self.assertEqual(found["torus_link_up", f'peer="{1 - node}"'], 1)
            self.assertEqual(found["torus_peers", 'state="up"'], 1)
            self.assertEqual(found["torus_operations_waiting", None], 0)
            self.assertEqual(found["torus_operation_waiting_seconds", None], 0)
        # rank 1 is on node 0: rank 0 waits there for 20 ms before each barrier
        skew = self.numbers(port)["torus_operation_skew_seconds_sum", 'kind="barrier"']
        self.assertGreater(skew, 0.9 * calls * 0.02)
        self.finish(process)

    def test_calls_in_shared_memory_are_counted(self):
        calls, ranks = 10, 4
        port, process, _ = self.start("1", "--ranks", str(ranks),
                                      command=(STRAGGLE, "1", str(calls), "1"))
        # a call that waited too long there was made again by a request
        found = self.numbers(port)
        for kind in ("barrier", "allreduce"):
            here = found.get(("torus_segment_operations_total", f'kind="{kind}"'), 0)
            asked = found.get(("torus_operation_duration_seconds_count", f'kind="{kind}"'), 0)
            self.assertEqual(here + asked, calls + 1)
        self.assertGreater(found["torus_segment_operations_total", 'kind="allreduce"'], 0)
        self.assertGreater(found["torus_segment_waited_seconds_total", 'kind="barrier"'], 0)
        self.finish(process)

    def test_bytes_and_predictions_are_counted_on_the_routed_fabric(self):
        port, process, _ = self.start("2x2", "--fabric", "routed", "--link-rate", "5MB/s", command=(
            "sh", "-c", f"{CTL} bench --alltoall 300000 >&2; echo $TORUS_SOCKET; read line || true"))
        found = self.numbers(port)
        for direction in ("+0", "+1"):
            self.assertIn(("torus_fifo_packets", f'direction="{direction}"'), found)
            for channel in ("adaptive-0", "adaptive-1", "escape"):
                self.assertGreater(found["torus_channel_credits", f'direction="{direction}",'
                                         f'channel="{channel}"'], 0)
        self.assertGreater(sum(v for (n, _), v in found.items()
                               if n == "torus_link_sent_bytes_total"), 1 << 20)
        kind = 'kind="alltoall"'  # long ones; barriers travel with their gate
        self.assertNotIn(("torus_operation_predicted_slots_total", 'kind="barrier"'), found)
        slots = found["torus_operation_predicted_slots_total", kind]
        packet = 262144 / 5e6  # [network] packet, [torus] link_rate; a busy machine can emulate it, too
        self.assertAlmostEqual(found["torus_operation_predicted_seconds_total", kind],
                               slots * packet, delta=slots * packet / 1000)
        self.assertGreater(found["torus_operation_measured_seconds_total", kind], 0)
        self.finish(process)

    def test_a_stopped_rank_is_counted_until_it_goes_on(self):
        port, process, socket = self.start("1x2", "--ranks", "4", command=(
            "sh", "-c", f"{LATE} 2>&-; exec sleep 600"))
        waits = self.until(port, lambda found: found["torus_operations_waiting", None] == 3 and
                           found["torus_missing_ranks", 'state="sleeping"'] > 0)
        self.assertGreater(waits["torus_operation_waiting_seconds", None], 0)
        self.assertEqual([self.numbers(port + node)["torus_jobs", None] for node in (0, 1)], [1, 1])
        ops = json.loads(subprocess.run([CTL, "ops", "--socket", socket, "--json"], check=True,
                                        capture_output=True, text=True).stdout)["operations"]
        late = next(a["pid"] for o in ops for a in o["absent"])
        os.kill(late, signal.SIGSTOP)
        self.until(port, lambda found: found["torus_missing_ranks", 'state="stopped"'] > 0)
        os.kill(late, signal.SIGCONT)
        self.until(port, lambda found: found["torus_missing_ranks", 'state="stopped"'] == 0)
        # a rank that dies fails the operations of the others
        os.kill(late, signal.SIGKILL)
        self.until(port + 1, lambda found: found.get(
            ("torus_operations_failed_total", 'error="rank_failed"'), 0) >= 3)
        self.until(port, lambda found: found["torus_ranks_died_total", None] > 0)

    def test_jobs_are_named_only_if_the_configuration_says_so(self):
        for setting in ("no", "yes"):
            port, process, _ = self.start("1", "--ranks", "2", "--set", f"metrics.jobs={setting}")
            text = ask(port)[2]
            self.assertEqual("emulate" in text, setting == "yes")
            self.assertEqual(f'uid="{os.getuid()}"' in text, setting == "yes")
            self.finish(process)

    def test_the_names_of_jobs_are_quoted(self):
        name = 'a "job" \\ with ü'
        port, process, _ = self.start("1", "--ranks", "2", "--set", "metrics.jobs=yes", command=(
            "env", f"TORUS_JOB={name}", LATE))
        found = self.numbers(port)
        self.assertIn(("torus_job_ranks",
                       f'torus_job="a \\"job\\" \\\\ with ü",uid="{os.getuid()}"'), found)
        self.finish(process)

    def test_old_clients_get_the_older_format(self):
        port, process, _ = self.start("1", "--ranks", "2")
        status, kind, text = ask(port, Accept="text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
        self.assertEqual((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertNotIn("# EOF", text)
        self.assertNotIn("# UNIT", text)
        self.assertIn("# TYPE torus_jobs_formed_total counter\ntorus_jobs_formed_total 1\n", text)
        self.finish(process)

    def test_only_what_is_there_is_served(self):
        port, process, _ = self.start("1", "--ranks", "2")
        self.assertEqual(ask(port, "/nothing")[0], 404)
        self.assertEqual(ask(port, method="POST")[0], 405)
        self.assertEqual(ask(port, method="DELETE")[0], 405)
        self.assertEqual(ask(port, method="HEAD")[::2], (200, ""))
        # another site's name for this address, which a browser on this host may have followed
        self.assertEqual(ask(port, Host="evil.example:80")[0], 421)
        for name in (f"localhost:{port}", "127.0.0.1", sockets.gethostname(), f"[::1]:{port}"):
            self.assertEqual(ask(port, Host=name)[0], 200, name)
        self.finish(process)

    def test_the_page_is_there_only_with_jobs(self):
        port, process, _ = self.start("1", "--ranks", "2")
        for path in ("/", "/state.json"):
            status, _, text = ask(port, path)
            self.assertEqual(status, 404)
            self.assertIn("jobs = yes", text)
        self.finish(process)

    def test_the_page_runs_its_own_script_only(self):
        port, process, _ = self.start("1", "--ranks", "2", "--set", "metrics.jobs=yes")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
        connection.request("GET", "/")
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        self.assertEqual(answer.getheader("Content-Type"), "text/html; charset=utf-8")
        policy = dict(p.split(" ", 1) for p in answer.getheader("Content-Security-Policy").split("; "))
        self.assertEqual(policy["default-src"], "'none'")
        self.assertEqual(policy["connect-src"], "'self'")
        for tag, rule in (("script", "script-src"), ("style", "style-src")):
            [body] = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.S)
            digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
            self.assertEqual(policy[rule], f"'sha256-{digest}'")
        # nothing is loaded from outside: the only address is the name of SVG
        self.assertEqual(re.findall(r"https?://[^\"' ]+", text), ["http://www.w3.org/2000/svg"])
        for word in ("innerHTML", "eval(", "document.write", "<link", " src=", "@import", "url("):
            self.assertNotIn(word, text)
        self.finish(process)

    def state(self, port):
        status, kind, text = ask(port, "/state.json")
        self.assertEqual((status, kind), (200, "application/json"))
        return json.loads(text)

    def test_the_page_knows_what_all_nodes_say(self):
        port, process, socket = self.start("2x2", "--ranks", "5", "--set", "metrics.jobs=yes")
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            state = self.state(port + 2)  # any node knows
            seen = [o for n in state["nodes"] for o in n.get("operations", [])]
            if len(seen) == 16:  # four operations, on each of four nodes
                break
            time.sleep(0.05)
        self.assertEqual((state["version"], state["node"], len(seen)), (1, 2, 16), state)
        self.assertEqual((state["torus"]["size"], state["torus"]["fabric"]), ([2, 2], "direct"))
        self.assertEqual([n["error"] for n in state["nodes"]], [""] * 4)
        for n, node in enumerate(state["nodes"]):
            self.assertEqual(sorted(l["to"] for l in node["links"]), sorted({n ^ 1, n ^ 2}))
        [absent] = [a for o in seen for a in o["absent"] if o["kind"] == CALLS[0] and a["pid"]]
        self.assertEqual((absent["rank"], absent["node"]), (0, 0))
        [daemon] = [p for p in os.listdir("/proc") if p.isdigit() and is_daemon(p, socket, 1)]
        os.kill(int(daemon), signal.SIGSTOP)  # the others are asked on
        while time.monotonic() < until and not state["nodes"][1]["error"]:
            time.sleep(0.05)
            state = self.state(port + 2)
        os.kill(int(daemon), signal.SIGCONT)
        self.assertEqual([bool(n["error"]) for n in state["nodes"]], [False, True, False, False])
        self.assertEqual(state["nodes"][1]["error"], "no answer within 2 s")
        while time.monotonic() < until and state["nodes"][1]["error"]:
            time.sleep(0.05)
            state = self.state(port + 2)
        self.assertEqual(state["nodes"][1]["error"], "")
        self.finish(process)

    def test_the_page_knows_the_load_of_links(self):
        port, process, _ = self.start("1x2", "--fabric", "routed", "--link-rate", "2MB/s", "--set",
                                      "metrics.jobs=yes", command=(
            "sh", "-c", f"TORUS_JOB=busy {CTL} bench >/dev/null 2>&1 & {LATE}; kill $!"))
        until, most = time.monotonic() + DEADLINE_S, 0
        while time.monotonic() < until and most == 0:
            time.sleep(0.05)
            links = [l for n in self.state(port)["nodes"] for l in n.get("links", [])]
            most = max((l["rate"] for l in links), default=0)
        self.assertGreater(most, 0)
        ways = 2  # + and - lead to the same node
        self.assertLess(most, 1.5 * ways * 2e6)  # a packet may end a little before or after an answer
        process.kill()

    def test_the_page_of_docs_lists_every_metric(self):
        port, process, _ = self.start("1", "--ranks", "2")
        _, families = parse(ask(port)[2])
        with open(DOCS, encoding="utf-8") as page:
            rows = re.findall(r"^\| `((?:torus|process)_[a-z_]+)` \| (\w+) \|", page.read(), re.M)
        ends = {"counter": "_total", "info": "_info"}
        self.assertEqual(sorted(rows), sorted((name + ends.get(f["TYPE"], ""), f["TYPE"])
                                              for name, f in families.items()))
        self.finish(process)

    def test_without_the_setting_nothing_listens(self):
        process = subprocess.Popen([CTL, "emulate", "1", "--ranks", "2", "--", LATE], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        socket = process.stdout.readline().split()[-1]
        host = json.loads(subprocess.run([CTL, "doctor", "--socket", socket, "--json"],
                                         capture_output=True, text=True).stdout)
        pid = [p for p in os.listdir("/proc") if p.isdigit() and is_daemon(p, socket)]
        self.assertEqual(len(pid), 1, host)
        self.assertEqual(listeners(pid[0]), [])
        self.finish(process)
        # and with it, one does: the check above can fail
        port, process, socket = self.start("1", "--ranks", "2")
        pid = [p for p in os.listdir("/proc") if p.isdigit() and is_daemon(p, socket)]
        self.assertEqual(listeners(pid[0]), [port])
        self.finish(process)

    def test_other_hosts_reach_no_metrics_unless_anyone_may(self):
        def check(*lines):
            with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
                conf.write("[torus]\nshape = 1\n[metrics]\n" + "\n".join(lines) + "\n")
                conf.flush()
                done = subprocess.run([TORUSD, "--config", conf.name, "--check-config"],
                                      capture_output=True, text=True, timeout=DEADLINE_S)
            return done.returncode, done.stderr
        for address in ("0.0.0.0:9817", "[::]:9817", "10.1.2.3:80"):
            code, said = check(f"listen = {address}")
            self.assertEqual(code, 2)
            self.assertIn(f"listen = {address}: other hosts reach this address", said)
            self.assertIn("anyone = yes", said)
        for address in ("127.0.0.1:9817", "127.8.9.10:1", "[::1]:9817"):
            self.assertEqual(check("listen = " + address), (0, ""))
        self.assertEqual(check("listen = 0.0.0.0:9817", "anyone = yes"), (0, ""))
        missing, port = "the port is missing: expected HOST:PORT", "the port must be a number from 1 to 65535"
        for wrong, why in (("9817", missing), ("127.0.0.1", missing), ("127.0.0.1:0", port), ("127.0.0.1:65536", port),
                           ("127.0.0.1:98 17", port), ("localhost:9817", "expected a numeric address"),
                           ("::1:9817", "an IPv6 address needs brackets"),
                           ("[127.0.0.1]:9817", "the brackets have no IPv6 address")):
            code, said = check("listen = " + wrong)
            self.assertEqual(code, 2)
            self.assertIn(f"listen = {wrong}: {why}", said)
        code, said = check("listen = 198.51.100.7:9817", "anyone = yes")
        self.assertEqual(code, 2)
        self.assertIn("this host has no address 198.51.100.7", said)

    def test_a_port_in_use_is_said(self):
        with sockets.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            done = subprocess.run([CTL, "emulate", "1", "--metrics", str(port), "--verbose", "--",
                                   "true"], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"cannot listen on 127.0.0.1:{port} for metrics: Address already in use",
                      done.stderr)

    def test_hostile_clients_do_not_disturb_the_daemon(self):
        """Garbage, endless heads and bodies, and more connections than are served, while ranks call."""
        port, process, socket = self.start("1", "--ranks", "2", "--set", "node.segments=no")
        draw = random.Random(1)
        held = []

        def send(data):
            s = sockets.create_connection(("127.0.0.1", port), DEADLINE_S)
            s.settimeout(DEADLINE_S)
            try:
                s.sendall(data)
            except OSError:
                pass  # the server has closed it
            held.append(s)

        for _ in range(40):
            send(draw.randbytes(draw.randrange(1, 2000)))
        send(b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 1000000)
        send(b"GET /" + b"a" * 100000)
        send(b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n" +
             b"a" * 1000000)
        send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffffff")
        for _ in range(60):
            send(b"GET /metrics HTT")  # and then nothing
        # calls of ranks go on, and torusctl is answered
        done = subprocess.run([CTL, "status", "--socket", socket, "--timeout", "30"],
                              capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("emulate", done.stdout)
        bench = subprocess.run([CTL, "emulate", "1", "--ranks", "1", "--", CTL, "bench"],
                               capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(bench.returncode, 0, bench.stderr)
        for s in held:
            s.close()
        self.assertEqual(self.numbers(port)["torus_jobs", None], 1)
        self.finish(process)


def is_daemon(pid, socket, node=0):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return (os.path.dirname(socket) + f"/c{node}").encode() in f.read().split(b"\0")
    except OSError:
        return False


def listeners(pid):
    """Returns the TCP ports that a process listens on."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}")))
        except OSError:
            pass
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as f:
        rows = [line.split() for line in f][1:]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes]


if __name__ == "__main__":
    unittest.main()
