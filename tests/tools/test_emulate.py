# SPDX-License-Identifier: Apache-2.0
"""torusctl emulate: placement, output, exit codes and cleanup."""
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CTL = os.path.abspath(sys.argv.pop(1))
CHECK = os.path.join(os.path.dirname(CTL), "check_collectives")  # one build's programs are together
DEADLINE_S = 60


def emulate(shape, *arguments):
    return subprocess.run([CTL, "emulate", shape, *arguments], capture_output=True, text=True,
                          timeout=DEADLINE_S)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(child) for child in f.read().split()]


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


class Running:
    """An emulation in which all ranks have reached $READY in their script."""

    def __init__(self, test, shape, ranks, script, *options):
        self.test = test
        self.process = subprocess.Popen(
            [CTL, "emulate", shape, *options, "--", "sh", "-c",
             "READY='echo ready '$TORUS_SOCKET; " + script],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        test.addCleanup(self.process.stdout.close)
        test.addCleanup(self.process.stderr.close)
        test.addCleanup(self.process.kill)
        line = self.expect("ready", ranks)
        self.folder = os.path.dirname(re.search(r"(/\S+)", line).group(1))
        test.assertTrue(os.path.isdir(self.folder))
        self.ends = {pid: os.pidfd_open(pid) for pid in descendants(self.process.pid)}

    def expect(self, word, count):
        line = None
        for _ in range(count):
            line = self.process.stdout.readline()
            self.test.assertIn(word, line)
        return line

    def named(self, name):
        pids = []
        for pid in self.ends:
            with open(f"/proc/{pid}/cmdline") as f:
                if name in f.read():
                    pids.append(pid)
        return pids

    def check_nothing_is_left(self):
        until = time.monotonic() + DEADLINE_S
        for pid, end in self.ends.items():
            ready, _, _ = select.select([end], [], [], max(0, until - time.monotonic()))
            self.test.assertTrue(ready, f"process {pid} is left")
            os.close(end)
        self.test.assertFalse(os.path.exists(self.folder))


class Gate:
    """A named pipe that ranks wait for until the `with` block ends."""

    def __init__(self, test):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "gate")
        os.mkfifo(self.path)
        self.wait = f"exec 3<'{self.path}'; $READY; read line <&3 || true"

    def __enter__(self):
        self.end = os.open(self.path, os.O_RDWR)  # both ends, not to wait for the ranks
        return self

    def __exit__(self, *_):
        os.close(self.end)


class Emulation(unittest.TestCase):
    def test_every_rank_knows_the_sockets_of_all_nodes(self):
        done = emulate("2x2", "--ranks", "1", "--", "sh", "-c",
                       "IFS=:; for s in $TORUS_SOCKETS; do test -S $s && echo $s; done;"
                       "echo $TORUS_SOCKET")
        self.assertEqual(done.returncode, 0, done.stderr)
        *sockets, own = done.stdout.split()
        self.assertEqual(len(set(sockets)), 4)
        self.assertEqual(sockets[0], own)

    def places(self, shape, *options):
        done = emulate(shape, *options, "--", "sh", "-c",
                       "echo $TORUS_RANK $TORUS_SIZE $TORUS_NODE $TORUS_JOB")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = sorted(([*map(int, row[:3]), row[3]] for row in
                       (line.split("] ")[-1].split() for line in done.stdout.splitlines())))
        self.assertEqual([row[0] for row in rows], list(range(len(rows))))
        self.assertEqual({row[1] for row in rows}, {len(rows)})
        self.assertEqual(len({row[3] for row in rows}), 1)
        return [row[2] for row in rows]

    def test_ranks_fill_the_nodes_in_consecutive_blocks(self):
        self.assertEqual(self.places("2x2"), [0, 1, 2, 3])
        self.assertEqual(self.places("3", "--ranks", "7"), [0, 0, 0, 1, 1, 2, 2])
        self.assertEqual(self.places("2x2", "--ranks", "3"), [0, 1, 2])
        self.assertEqual(self.places("2", "--ranks-per-node", "3"), [0, 0, 0, 1, 1, 1])
        self.assertEqual(self.places("3", "--ranks", "4", "--ranks-per-node", "2"), [0, 0, 1, 1])
        self.assertEqual(self.places("2x2", "-n", "3"), [0, 1, 2])
        self.assertEqual(self.places("1"), [0])

    def test_wrong_usage_is_refused_with_code_2(self):
        for arguments in (["2", "--ranks", "5", "--ranks-per-node", "2", "--", "true"],
                          ["0x3", "--", "true"], ["3x", "--", "true"], ["3x3"], ["--", "true"],
                          ["2", "--ranks", "x", "--", "true"], ["2", "--what", "--", "true"],
                          ["2", "--transport", "pigeon", "--", "true"]):
            done = emulate(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn("usage: torusctl emulate", done.stderr)
        self.assertIn("put -- before the command: -- ./loop", emulate("2", "-n", "2", "./loop").stderr)

    def test_lines_come_after_their_rank_and_streams_stay_apart(self):
        done = emulate("1x2", "--", "sh", "-c", "echo out; echo err >&2; printf tail")
        for rank in range(2):
            self.assertIn(f"[{rank}] out\n", done.stdout)
            self.assertIn(f"[{rank}] tail\n", done.stdout)
            self.assertIn(f"[{rank}] err\n", done.stderr)

    def test_bytes_of_a_line_are_passed_on_as_they_are(self):
        done = emulate("1", "--ranks", "2", "--", "printf", "a\\0b\\n\\0\\n")
        for rank in range(2):
            self.assertIn(f"[{rank}] a\0b\n", done.stdout)
            self.assertIn(f"[{rank}] \0\n", done.stdout)

    def test_one_rank_writes_as_it_is(self):
        done = emulate("1x2", "--ranks", "1", "--", "sh", "-c", "printf 'a\\nb'; echo err >&2")
        self.assertEqual((done.stdout, done.stderr), ("a\nb", "err\n"))

    def test_the_exit_code_of_a_rank_is_passed_on(self):
        rank = "[ $TORUS_RANK != 1 ] || "
        self.assertEqual(emulate("1x2", "--", "sh", "-c", rank + "exit 7").returncode, 7)
        self.assertEqual(emulate("1x2", "--", "sh", "-c", rank + "kill -KILL $$").returncode, 137)
        done = emulate("1x2", "--", "/nonexistent/program")
        self.assertEqual(done.returncode, 127)
        self.assertEqual(done.stderr.count("torusctl: cannot run /nonexistent/program"), 1, done.stderr)
        self.assertEqual(emulate("1x2", "--", "/etc/passwd").returncode, 126)

    def test_a_rank_that_a_signal_kills_is_named(self):
        done = emulate("1x2", "--", "sh", "-c", "ulimit -c 0; [ $TORUS_RANK != 1 ] || kill -SEGV $$")
        self.assertEqual(done.returncode, 128 + signal.SIGSEGV)
        self.assertEqual(re.findall(".*killed by.*", done.stderr),
                         ["[1] torusctl: killed by signal 11 (Segmentation fault)"])

    def test_ranks_have_the_signals_they_expect(self):
        done = emulate("1", "--", "sh", "-c", "yes | head -n 1; kill -PIPE $$")
        self.assertEqual((done.returncode, done.stdout), (141, "y\n"))

    def test_json_is_printed_once_without_numbers(self):
        done = emulate("1x3", "--", CTL, "status", "--json", "--timeout", "60")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["node"], 0)
        done = emulate("1x3", "--prefix", "--", CTL, "status", "--json", "--timeout", "60")
        self.assertEqual({line[:4] for line in done.stdout.splitlines()}, {"[0] ", "[1] ", "[2] "})

    def test_help_of_the_command_is_printed_once_without_daemons(self):
        done = emulate("1x3", "--daemon", "/bin/true", "--", CTL, "status", "--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("usage: torusctl status "), 1)
        self.assertNotIn("[0]", done.stdout)

    def test_a_rank_that_ends_before_it_joins_ends_the_job(self):
        started = time.monotonic()
        done = emulate("2x2", "--", "sh", "-c",
                       f"[ $TORUS_RANK = 2 ] && exit 3; exec {CTL} bench")
        self.assertEqual(done.returncode, 3)
        self.assertLess(time.monotonic() - started, 60)  # the join's own limit is 300 s
        for rank in (0, 1, 3):
            self.assertRegex(done.stderr, rf"(?m)^\[{rank}\] .*was cancelled by user .*: rank 2 ended "
                                          r"\(code 3\) before the job formed$")

    def test_a_rank_that_is_refused_ends_the_job(self):
        for limit, ranks in (("clients=1", 2), ("clients=1", 12), ("clients=4", 8), ("groups=2", 4)):
            done = emulate("2x1", "--ranks-per-node", str(ranks), "--ranks", str(2 * ranks), "--set", f"limits.{limit}",
                           "--", CTL, "bench")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(", the maximum: raise [limits] ", done.stderr)
            if limit.startswith("clients"):  # the others have joined, and wait
                self.assertRegex(done.stderr, r"rank \d+ ended \(code 1\) before the job formed")

    def test_tcp_carries_a_job(self):
        done = emulate("2x2", "--transport", "tcp", "--", CTL, "bench", "--json",
                       "--iterations", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"barrier"', done.stdout)

    def test_a_setting_reaches_the_daemons(self):
        done = emulate("1", "--set", "limits.clients=nonsense", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("node 0 did not start", done.stderr)
        self.assertIn("clients", done.stderr)

    def test_a_setting_that_all_daemons_refuse_is_said_once(self):
        done = emulate("2x2", "--set", "limits.clients=nonsense", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 2, done.stderr)

    def test_the_log_says_where_peers_are_heard_when_there_can_be_some(self):
        self.assertIn(", peers on ipc:///", emulate("1x2", "--verbose", "--", "true").stderr)
        self.assertIn(", the only node", emulate("1", "--verbose", "--", "true").stderr)

    def test_a_daemon_that_is_not_there_is_said(self):
        done = emulate("1", "--daemon", "/nonexistent/torusd", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("torusd", done.stderr)

    def test_nothing_is_left_after_a_good_end(self):
        with Gate(self) as gate:
            running = Running(self, "2x2", 4, gate.wait)
        self.assertEqual(running.process.wait(DEADLINE_S), 0)
        running.check_nothing_is_left()

    def test_nothing_is_left_after_kill_9(self):
        # children of ranks, and ranks that ignore signals
        running = Running(self, "2x2", 4, "trap '' TERM HUP INT; sleep 1000 & $READY; wait")
        running.process.kill()
        running.process.wait(DEADLINE_S)
        running.check_nothing_is_left()

    def test_nothing_is_left_after_kill_9_of_what_ranks_have_hidden(self):
        # orphans in their own sessions and with their own environments, whichever process is killed
        script = ("setsid env -i /bin/sleep 1000 & (setsid sh -c 'trap \"\" TERM; sleep 1000; :' &); "
                  "$READY; sleep 1000")
        for name in ("janitor", "keeper"):
            with self.subTest(killed=name):
                running = Running(self, "2", 2, script)
                [keeper] = children(running.process.pid)
                os.kill(running.process.pid if name == "janitor" else keeper, signal.SIGKILL)
                code = running.process.wait(DEADLINE_S)
                self.assertEqual(code, -9 if name == "janitor" else 137)
                running.check_nothing_is_left()

    def test_children_of_the_shell_that_became_torusctl_live_on(self):
        done = subprocess.run(["sh", "-c", 'sleep 1000 >&- 2>&- & echo $!; exec "$@"', "sh", CTL,
                               "emulate", "1", "--", "sh", "-c", "setsid sleep 1000 & kill -9 $PPID"],
                              capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 137)
        os.kill(int(done.stdout), signal.SIGKILL)  # no such process: it was killed

    def test_signals_reach_the_ranks(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            running = Running(self, "1x2", 2, f"trap 'echo caught; exit 9' {number.name[3:]}; "
                                              "$READY; while :; do sleep 1000 & wait; done")
            running.process.send_signal(number)
            out, err = running.process.communicate(timeout=DEADLINE_S)
            self.assertEqual(out.count("caught"), 2, err)
            self.assertEqual(running.process.returncode, 128 + number)
            running.check_nothing_is_left()

    def test_a_second_signal_kills(self):
        running = Running(self, "1x2", 2, "trap 'echo caught' TERM; $READY; "
                                          "while :; do sleep 1000 & wait; done")
        running.process.terminate()
        running.expect("caught", 2)
        running.process.terminate()
        self.assertEqual(running.process.wait(DEADLINE_S), 128 + signal.SIGTERM)
        running.check_nothing_is_left()

    def test_a_signal_ends_stopped_ranks(self):
        running = Running(self, "1x2", 2, "$READY; kill -STOP $$")
        running.process.terminate()
        self.assertEqual(running.process.wait(DEADLINE_S), 128 + signal.SIGTERM)
        running.check_nothing_is_left()

    def test_ranks_that_do_not_end_after_a_signal_are_killed(self):
        running = Running(self, "1x2", 2, "trap '' TERM; $READY; while :; do sleep 1000 & wait; done")
        running.process.terminate()
        _, err = running.process.communicate(timeout=DEADLINE_S)
        self.assertEqual(running.process.returncode, 128 + signal.SIGTERM)
        self.assertIn("killed ranks that did not end within 5 s of the signal: 2", err)
        running.check_nothing_is_left()

    def test_strays_of_ranks_are_ended(self):
        done = emulate("1x2", "--", "sh", "-c", "setsid sleep 1000 & echo $!")
        self.assertEqual(done.returncode, 0)
        for line in done.stdout.splitlines():
            self.assertFalse(os.path.exists(f"/proc/{line.split()[-1]}"))

    def test_a_daemon_that_dies_is_named(self):
        for options, code in (([], 1), (["--keep-going"], 0)):
            with Gate(self) as gate:
                running = Running(self, "1x2", 2, gate.wait, *options)
                [daemon] = running.named(f"{running.folder}/c1")
                os.kill(daemon, signal.SIGKILL)
                self.assertIn("the daemon of node 1 ended (signal 9)",
                              running.process.stderr.readline())
            self.assertEqual(running.process.wait(DEADLINE_S), code)
            running.check_nothing_is_left()

    def test_status_knows_the_machine(self):
        done = emulate("2x3m", "--ranks", "1", "--", CTL, "status", "--json", "--timeout", "60")
        self.assertEqual(done.returncode, 0, done.stderr)
        status = json.loads(done.stdout)
        self.assertEqual(list(status), ["version", "node", "coordinates", "shape", "wrap", "peers",
                                        "clients", "jobs", "operations", "loop", "silent", "absent"])
        self.assertEqual(status["silent"], [])
        self.assertGreater(status["loop"]["longest_ns"], 0)
        self.assertEqual((status["node"], status["coordinates"]), (0, [0, 0]))
        self.assertEqual((status["shape"], status["wrap"]), ([2, 3], [True, False]))
        self.assertEqual([peer["node"] for peer in status["peers"]], [1, 2, 3, 4, 5])
        for peer in status["peers"]:
            self.assertEqual(set(peer), {"node", "endpoint", "state", "silent_ns", "restarted_ns", "died", "restart_silent_ns"})
        self.assertEqual([set(client) for client in status["clients"]],
                         [{"node", "pid", "uid", "job", "rank", "joining", "process_state"}])

    def test_status_counts_processes_that_take_any_rank(self):
        done = emulate("1", "--", "sh", "-c", "ctl=" + CTL + """
            env -u TORUS_RANK TORUS_SIZE=3 $ctl bench 2>&- &
            until $ctl status | grep -A 2 ^JOBS | grep '3 *1 *2 ranks of 0-2$'; do $ctl status >&2; done""")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_status_names_the_job_that_a_process_waits_for(self):
        done = emulate("1", "--", "sh", "-c", "ctl=" + CTL + """
            TORUS_JOB=long TORUS_RANK=2 TORUS_SIZE=3 $ctl bench 2>&- &
            until $ctl status | grep -A 2 ^CLIENTS | grep 'long  *2, joining '; do sleep 0.1; done
            $ctl status --json | tee /dev/stderr | grep -q '"joining": *true'""")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_fabric_rate_and_latency_reach_the_daemons(self):
        for options in ([], ["--link-rate", "1MB/s"], ["--link-latency", "50us"]):
            done = emulate("2x2", "--fabric", "routed", *options, "--", "sh", "-c",
                           "cat ${TORUS_SOCKET%/*}/c$TORUS_NODE")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.count("fabric=routed"), 4)
            for option, key in (("--link-rate", "link_rate=1MB/s"),
                                ("--link-latency", "link_latency=50us")):
                self.assertEqual(done.stdout.count(key), 4 * (option in options))

    def test_links_faster_than_this_machine_are_refused_with_both_figures(self):
        for option in (["--link-rate", "100GB/s"], ["--set", "torus.link_rate=100GB/s"],
                       ["--set", "torus.link_rate = 100GB/s"]):
            done = emulate("3x3", "--fabric", "routed", *option, "--", "true")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"the links would carry up to 3.6 TB/s \(36 of 100 GB/s\); "
                                          r"this machine copies \S+ .B/s, and at most a fifth of "
                                          r"that, \S+ .B/s, can be emulated")

    def test_nonsense_of_links_is_usage(self):
        for options, word in ((["--fabric", "woven"], "direct or routed"),
                              (["--link-rate", "fast"], "such as 5MB/s"),
                              (["--link-rate", "1MB/s"], "need --fabric routed"),
                              (["--set", "torus.link_latency=5us"], "need --fabric routed"),
                              (["--fabrik", "routed"], "unknown option --fabrik")):
            done = emulate("2x2", *options, "--", "true")
            self.assertEqual(done.returncode, 2)
            self.assertIn(word, done.stderr)
        done = emulate("2x2", "--fabric", "direct", "--link-rate", "1MB/s", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("link_rate needs fabric = routed", done.stderr)
        done = emulate("2x2", "--fabric", "routed", "--link-latency", "long", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("link_latency = long: expected a duration", done.stderr)

    def queues_after(self, shape, count, *options):
        """Returns the queues of every node after an all-to-all of `count` integers per pair."""
        done = emulate(shape, "--fabric", "routed", *options, "--", "sh", "-c",
                       f"{CHECK} alltoall {count} && {CTL} queues --here --json | tr -d '\\n'; echo")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line.split("] ", 1)[1])["nodes"][0]
                for line in done.stdout.splitlines()]

    def test_queues_stay_within_their_bounds_whatever_the_size(self):
        # few credits; 64 KiB and 1 MiB per pair
        options = ("--set", "torus.slots=2", "--set", "network.packet=16 KiB", "--set",
                   "torus.fifo_slots=2", "--set", "torus.queue_slots=2")
        sent = {}
        for count in (1 << 14, 1 << 18):
            nodes = self.queues_after("4x4", count, *options)
            self.assertEqual(sorted(n["node"] for n in nodes), list(range(16)))
            for node in nodes:
                self.assertEqual((node["slots"], node["fifo_slots"], node["queue_slots"]), (2, 2, 2))
                self.assertEqual(len(node["links"]), 4)
                self.assertLessEqual(max(node["held_max"]), 2)
                self.assertLessEqual(node["fifo_max"], 2)
                self.assertLessEqual(node["queued_max"], 2)
                self.assertEqual(node["queued"] + sum(l["fifo"] for l in node["links"]), 0)
            # and a queue has been full
            self.assertEqual(max(max(n["held_max"]) for n in nodes), 2)
            self.assertEqual(max(n["fifo_max"] for n in nodes), 2)
            sent[count] = sum(l["bytes"] for n in nodes for l in n["links"])
        # 16 x 15 pairs, 32 hops from each node to all others; the small calls come on top, of which control messages
        # carry a few if a daemon has just started: less than half a packet
        self.assertAlmostEqual(sent[1 << 18] - sent[1 << 14], 16 * 32 * ((1 << 20) - (1 << 16)), delta=1 << 13)

    def test_links_carry_their_rate_and_no_more(self):
        rate = 500000  # 36 of them are what the busiest of machines can carry
        done = emulate("3x3", "--fabric", "routed", "--link-rate", "500kB/s", "--set",
                       "network.packet=8 KiB", "--", "sh", "-c",
                       f"date +%s.%N; {CHECK} alltoall 40000 && date +%s.%N && {CTL} queues --here --json"
                       " | tr -d '\\n'; echo")
        self.assertEqual(done.returncode, 0, done.stderr)
        ranks = {}
        for line in done.stdout.splitlines():
            rank, text = line.split(" ", 1)
            ranks.setdefault(rank, []).append(json.loads(text))
        # the busiest link takes about one second; processes start and end in addition
        least = max(link["bytes"] for rank in ranks.values()
                    for link in rank[2]["nodes"][0]["links"]) / rate
        taken = max(rank[1] for rank in ranks.values()) - min(rank[0] for rank in ranks.values())
        self.assertGreater(least, 0.9)
        self.assertGreater(taken, least - 8192 / rate)

    def test_no_all_to_all_is_faster_than_its_links(self):
        done = emulate("2x3", "--fabric", "routed", "--link-rate", "1MB/s", "--set",
                       "network.packet=16KiB", "--", CTL, "bench", "--alltoall", "64KiB",
                       "--iterations", "1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        # rings of three: 6 / 3 x floor(9 / 4) / 2 messages on each link
        self.assertAlmostEqual(result["t_min_s"], 2 * 65536 / 1e6)
        for run in ("first_s", "median_s"):
            self.assertGreater(result[run], result["t_min_s"])
        self.assertAlmostEqual(result["efficiency"], result["t_min_s"] / result["median_s"])

    def test_queues_know_the_neighbours(self):
        [node] = [n for n in self.queues_after("2x3m", 1) if n["node"] == 0]
        self.assertEqual([(l["direction"], l["neighbour"], l["state"]) for l in node["links"]],
                         [("0+", 3, "up"), ("0-", 3, "up"), ("1+", 1, "up")])
        self.assertEqual(list(node), ["node", "fabric", "packet_bytes", "link_rate",
                                      "slots", "fifo_slots", "queues", "queue_slots", "queued",
                                      "queued_max", "fifo_max", "held_max", "links"])
        for link in node["links"]:
            self.assertEqual(list(link), ["direction", "neighbour", "state", "fifo", "held",
                                          "credits", "packets", "bytes", "retries",
                                          "resumes"])

    def test_queues_are_watched_line_by_line(self):
        done = emulate("2", "--fabric", "routed", "--ranks", "1", "--", "sh", "-c",
                       f"{CTL} queues --watch --json | head -n 2; {CTL} queues")
        self.assertEqual(done.returncode, 0, done.stderr)
        first, second, *table = done.stdout.splitlines()
        self.assertEqual(json.loads(first)["nodes"][0]["fabric"], "routed")
        self.assertEqual([node["node"] for node in json.loads(second)["nodes"]], [0, 1])
        self.assertRegex("\n".join(table), "fullest channel, escape .*\\n\\nLINKS .*\\ndirection ")

    def test_the_direct_fabric_has_no_queues(self):
        done = emulate("2", "--ranks", "1", "--", "sh", "-c", f"{CTL} queues; {CTL} queues --json")
        self.assertEqual(done.returncode, 0, done.stderr)
        said, form = done.stdout.split("\n", 1)
        self.assertIn("direct fabric, which has no queues", said)
        self.assertEqual(json.loads(form), {"version": 2, "node": 0, "silent": [], "absent": [], "nodes": [
            {"node": n, "fabric": "direct", "links": []} for n in (0, 1)]})

    def test_without_a_daemon_the_code_is_3(self):
        environment = dict(os.environ, TORUS_SOCKET="/nonexistent/torusd.sock")
        for command in ([CTL, "status"], [CTL, "queues"], [CTL, "bench"],
                        [os.path.join(os.path.dirname(CTL), "torus-array"), "fft", "a.npy", "b.npy"]):
            done = subprocess.run(command, capture_output=True, text=True,
                                  env=environment, timeout=DEADLINE_S)
            self.assertEqual(done.returncode, 3)
            self.assertIn("/nonexistent/torusd.sock", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
