# SPDX-License-Identifier: Apache-2.0
"""torusctl trace: the structure of its files, and what they say of late and dead ranks."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CTL, LATE, STRAGGLE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
DEADLINE_S = 60
# both ranks join and wait: rank 0 for the end of the test's pipe, rank 1 for that of one of its own
HOLD = 'if [ "$TORUS_RANK" = 0 ]; then "$0" all; else sleep 60 | "$0" all; fi; sleep 20'

# rank 2 waits for a file, and the others for nothing
GO = ('if [ "$TORUS_RANK" = 2 ]; then { while [ ! -e "$1" ]; do sleep 0.1; done; } | "$0" all; else "$0"; fi; sleep 60')


class Trace(unittest.TestCase):
    def start(self, shape, ranks, *program, options=()):
        return self.run_ranks(shape, ranks, *program, options=options)[0]

    def run_ranks(self, shape, ranks, *program, options=()):
        """Starts ranks of which one prints the socket of its daemon; returns the socket and the process."""
        process = subprocess.Popen([CTL, "emulate", shape, "--ranks", str(ranks), *options, "--", *program],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        words = process.stdout.readline().split()
        return next(w for w in words if w.startswith("/")), process

    def trace(self, socket, *options):
        with tempfile.TemporaryDirectory() as directory:
            file = os.path.join(directory, "trace.json")
            done = subprocess.run([CTL, "trace", "-o", file, "--socket", socket, *options],
                                  capture_output=True, text=True, timeout=DEADLINE_S)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(file, encoding="utf-8") as text:
                trace = json.load(text)
        self.check(trace)
        self.assertIn("on one axis, within +-", done.stderr)
        return trace

    def check(self, trace):
        """Chrome's format: names, lengths, the order of time, and intervals that nest."""
        events = [e for e in trace["traceEvents"] if e["ph"] != "M"]
        named = {(e["pid"], e["tid"]) for e in trace["traceEvents"]
                 if e["ph"] == "M" and e["name"] == "thread_name"}
        self.assertTrue(events)
        self.assertEqual([e["ts"] for e in events], sorted(e["ts"] for e in events))
        threads = {}
        for e in events:
            self.assertIn(e["ph"], "Xi")
            self.assertTrue(e["name"])
            self.assertIn((e["pid"], e["tid"]), named)
            self.assertGreaterEqual(e["ts"], 0)
            if e["ph"] == "i":
                self.assertIn(e["s"], "tpg")
                continue
            self.assertGreaterEqual(e["dur"], 0)
            threads.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
        for spans in threads.values():
            open_ends = []
            for begin, end in spans:
                while open_ends and open_ends[-1] <= begin + 0.002:  # 2 ns: the text is rounded
                    open_ends.pop()
                if open_ends:
                    self.assertLessEqual(end, open_ends[-1] + 0.002)
                open_ends.append(end)

    def named(self, trace, beginning):
        return [e for e in trace["traceEvents"] if e["name"].startswith(beginning)]

    def check_blame(self, trace, calls):
        """Whichever rank a call of each operation waits for has called last, also on a busy machine."""
        begins = {}
        for e in calls:
            begins.setdefault(e["args"]["operation"], {})[e["args"]["rank"]] = e["ts"]
        threads = {}
        for e in self.named(trace, "wait for rank "):
            threads.setdefault((e["pid"], e["tid"]), []).append(e)
        checked = 0
        for call in calls:
            begun = begins[call["args"]["operation"]]
            for wait in threads.get((call["pid"], call["tid"]), []):
                inside = call["ts"] <= wait["ts"] and wait["ts"] + wait["dur"] <= call["ts"] + call["dur"] + 0.002
                if inside and wait["dur"] > 5000 and len(begun) == 8:
                    checked += 1
                    self.assertGreaterEqual(begun[wait["args"]["last_rank"]], max(begun.values()) - 1000)
        self.assertGreater(checked, 100)

    def test_calls_of_all_ranks_wait_for_the_straggler(self):
        socket = self.start("2x2", 8, STRAGGLE, "5", "20", "10")
        trace = self.trace(socket)
        clocks = trace["otherData"]["clocks"]
        self.assertEqual([c["node"] for c in clocks], [0, 1, 2, 3])
        for clock in clocks:  # one host, so one clock
            self.assertLessEqual(abs(clock["offset_ns"]), clock["uncertainty_ns"] + 1)
        calls = self.named(trace, "barrier ")
        self.assertEqual({e["args"]["rank"] for e in calls}, set(range(8)))
        self.assertEqual({e["pid"] for e in calls}, {0, 1, 2, 3})
        self.assertTrue(all(e["args"]["is_over"] for e in calls))
        blamed = [e for e in self.named(trace, "wait for rank 5") if e["dur"] > 5000]
        self.assertGreaterEqual(len(blamed), 7 * 15)
        self.check_blame(trace, calls)
        one = self.trace(socket, "--operation", str(calls[40]["args"]["operation"]))
        numbers = {e["args"]["operation"] for e in one["traceEvents"]
                   if "operation" in e.get("args", {})}
        self.assertEqual(numbers, {calls[40]["args"]["operation"]})

    def test_a_late_rank_and_its_death_are_visible(self):
        # a shell around each rank outlives it: else the end of one ends the machine
        socket = self.start("1x3", 5, "sh", "-c", '"$0"; sleep 20', LATE)
        until = time.monotonic() + DEADLINE_S
        late = []
        while not late and time.monotonic() < until:
            done = subprocess.run([CTL, "ops", "--json", "--socket", socket], capture_output=True,
                                  text=True, check=True, timeout=DEADLINE_S)
            if len(json.loads(done.stdout)["operations"]) == 4:
                trace = self.trace(socket)
                late = self.named(trace, "LATE: rank 0 ")
        self.assertTrue(late)
        self.assertTrue(self.named(trace, "gate closed: allreduce 0"))
        self.assertFalse(all(e["args"]["is_over"] for e in self.named(trace, "allreduce 0")))
        os.kill(late[0]["args"]["pid"], signal.SIGKILL)
        errors = []
        while not errors and time.monotonic() < until:
            trace = self.trace(socket)
            errors = self.named(trace, "ERROR: allreduce 0 failed because of rank 0: ")
        self.assertTrue(errors)
        self.assertEqual(errors[0]["args"]["culprit_rank"], 0)
        self.assertEqual(errors[0]["args"]["culprit_node"], 0)
        self.assertIn("rank 0 of job ", errors[0]["args"]["sentence"])
        self.assertTrue(self.named(trace, "CULPRIT of allreduce 0"))
        self.assertTrue(self.named(trace, "ERROR: rank 0 died"))
        ended = []  # the others end because their calls failed, and are not called dead
        while len(ended) < 4 and time.monotonic() < until:
            trace = self.trace(socket)
            ended = self.named(trace, "rank ")
        self.assertEqual({e["name"] for e in ended},
                         {f"rank {rank} ended after its call had failed" for rank in range(1, 5)})
        self.assertEqual(len(self.named(trace, "ERROR: rank ")), 1)

    def test_a_call_that_fails_after_a_death_is_told(self):
        # rank 0 calls when its input ends, and its node knows then that rank 1 is dead
        socket, process = self.run_ranks("1x2", 2, "sh", "-c", HOLD, LATE)
        socket = socket[:-1] + "0"
        ranks = self.until("status", socket, lambda told: {c["rank"]: c["pid"] for c in told["clients"] if c["rank"] >= 0
                                                            and not c["joining"]}, lambda ranks: len(ranks) == 2)
        os.kill(ranks[1], signal.SIGKILL)
        self.until("jobs", socket, lambda told: [j["state"] for j in told["jobs"]], lambda states: states == ["broken"],
                   "--here")
        process.stdin.close()
        told, until = "", time.monotonic() + DEADLINE_S
        while "ended after its call" not in told and time.monotonic() < until:
            told = self.ask(socket).stdout
        self.assertRegex(told, r"node 0 +ERROR: allreduce 0 failed because of rank 1: a rank died or left\n"
                               r" +began at \d\d:\d\d:\d\d\.\d{6}, failed at once; "
                               rf"rank 1 of job \S+ died: process {ranks[1]} on node 1 \(0,1\)\n")
        self.assertRegex(told, r"node 0 +rank 0 +allreduce 0: failed: took ")
        self.assertRegex(told, r"node 1 +rank 1 +CULPRIT of allreduce 0: ")

    def test_a_rank_that_gave_up_its_paused_daemon_has_not_died_waiting(self):
        # rank 0 is late; rank 1 calls before its daemon is stopped, rank 2 while its daemon is
        with tempfile.TemporaryDirectory() as directory:
            go = os.path.join(directory, "go")
            socket = self.start("1x3", 3, "sh", "-c", GO, LATE, go)[:-1] + "0"
            waiting = self.until("ops", socket, lambda told: told["operations"],
                                 lambda all: len(all) == 4 and {tuple(o["missing"]) for o in all} == {(0, 2)})
            ranks = [p["pid"] for p in waiting[0]["processes"] if p["rank"] > 0]
            self.assertEqual(len(ranks), 2)
            daemons = [self.daemon(socket, node) for node in (1, 2)]
            until, told = time.monotonic() + DEADLINE_S, ""
            try:
                for daemon in daemons:
                    os.kill(daemon, signal.SIGSTOP)
                with open(go, "w", encoding="ascii"):
                    pass
                while any(os.path.exists(f"/proc/{rank}") for rank in ranks) and time.monotonic() < until:
                    time.sleep(0.1)
                os.kill(daemons[1], signal.SIGCONT)  # first, so that it may read the call before it hears of rank 1
                while "rank 2 gave it up or died meanwhile\n" not in told and time.monotonic() < until:
                    told = self.ask(socket, "--timeout", "0.5").stdout
            finally:
                for daemon in daemons:
                    os.kill(daemon, signal.SIGCONT)
        while "rank 1 gave it up or died meanwhile\n" not in told and time.monotonic() < until:
            told = self.ask(socket, "--lines", "all").stdout
        for rank in (1, 2):
            self.assertRegex(told, rf"node {rank} +rank {rank} +ERROR: torusd did not run for [0-9.]+s, and rank {rank} "
                                   r"gave it up or died meanwhile\n")
            self.assertNotRegex(told, rf" rank {rank} .*(waits|took)")
            self.assertNotIn(f"rank {rank} died", told)
            self.assertRegex(told, rf"node {rank} +torusd did not run for [0-9.]+s\n")
        self.assertRegex(told, r"node 1 +rank 1 +allreduce 0: abandoned, the rank gave torusd up\n")

    def test_a_silent_node_is_told_and_its_ranks_are_not_late(self):
        socket = self.start("1x2", 4, "sh", "-c", 'echo "$TORUS_SOCKET"; "$0" 3 10000 50', STRAGGLE)[:-1] + "0"
        daemon, until, told = self.daemon(socket, 1), time.monotonic() + DEADLINE_S, ""
        self.until("ops", socket, lambda told: told["operations"], bool)
        os.kill(daemon, signal.SIGSTOP)
        try:
            while ("SILENT: " not in told or " is silent, for " not in told) and time.monotonic() < until:
                told = self.ask(socket, "--timeout", "0.5").stdout
            for command, list_of in (("jobs", lambda told: [j["operation"] for j in told["jobs"]]),
                                     ("status", lambda told: told["operations"])):
                self.until(command, socket, lambda told, read=list_of: [o["unknown"] for o in read(told)],
                           lambda unknown: unknown == [[2, 3]], "--timeout", "0.5")
            jobs = subprocess.run([CTL, "jobs", "--socket", socket, "--timeout", "0.5"], capture_output=True, text=True,
                                  timeout=DEADLINE_S).stdout
        finally:
            os.kill(daemon, signal.SIGCONT)
        # a barrier takes 50 ms; the stop may come in the allreduce after it
        self.assertRegex(jobs, r"(barrier|allreduce\(sum, double, 1\)) waiting for [0-9.]+s: whether ranks 2-3 have called is "
                               r"not known: node 1 has been silent for [0-9.]+s\n")
        self.assertRegex(told, r"node 0 +node 1 is silent, for [0-9.]+s so far\n")
        for rank in (2, 3):
            self.assertRegex(told, rf"node 1 +rank {rank} +SILENT: node 1 has been silent for [0-9.]+m?s, and whether "
                                   rf"rank {rank} has called operation \d+ is not known\n")
        self.assertNotIn("LATE: ", told)
        while " is heard again after " not in told and time.monotonic() < until:
            told = self.ask(socket, "--lines", "all").stdout
        self.assertRegex(told, r"node 0 +node 1 was silent for [0-9.]+s\n")
        self.assertRegex(told, r"node 0 +rank 0 +[a-z]+ \d+: took [0-9.]+s; [0-9.]+s of it for node 1, which was silent\n")
        trace = self.trace(socket)
        [wait] = [e for e in self.named(trace, "wait for node 1, which was silent") if e["tid"] // 1000 == 5]
        self.assertEqual(wait["args"]["silent_node"], 1)
        self.assertAlmostEqual(wait["dur"] * 1000, wait["args"]["silent_ns"], delta=2)
        [silence] = self.named(trace, "node 1 was silent for ")
        self.assertEqual((silence["pid"], silence["args"]["about_node"]), (0, 1))

    def test_what_happened_to_a_node_is_shown_when_later_calls_have_filled_the_ring(self):
        socket = self.start("1x2", 2, "sh", "-c", 'echo "$TORUS_SOCKET"; "$0" 1 100000 1', STRAGGLE,
                            options=("--set", "trace.events=64"))[:-1] + "0"
        daemon, told = self.daemon(socket, 1), ""
        def recorded(told):
            return told["clocks"][0]["events_recorded"]
        self.until("trace", socket, recorded, lambda count: count > 64)
        os.kill(daemon, signal.SIGSTOP)
        try:
            until = time.monotonic() + DEADLINE_S
            while " is silent, for " not in told and time.monotonic() < until:
                told = self.ask(socket, "--timeout", "0.5").stdout
        finally:
            os.kill(daemon, signal.SIGCONT)
        while " is heard again after " not in told and time.monotonic() < until:
            told = self.ask(socket).stdout
        count = self.until("trace", socket, recorded, bool)
        self.until("trace", socket, recorded, lambda now: now > count + 1000)
        told = self.ask(socket).stdout
        self.assertRegex(told, r"node 0 +node 1 was silent for [0-9.]+m?s\n")
        self.assertRegex(told, r"node 1 +torusd did not run for [0-9.]+m?s\n")
        self.assertGreaterEqual(len([line for line in told.splitlines() if " rank " in line]), 20)

    @staticmethod
    def daemon(socket, node):
        """Returns the process of a daemon of the emulation."""
        [daemon] = [int(p) for p in subprocess.run(["pgrep", "-f", f"{os.path.dirname(socket)}/c{node}( |$)"],
                                                   capture_output=True, text=True).stdout.split()]
        return daemon

    def until(self, command, socket, read, condition, *options):
        """Asks a command until what is read of its answer meets a condition, and returns that.

        A command that fails is asked again: a job whose ranks have not all joined has no record yet."""
        until, found = time.monotonic() + DEADLINE_S, None
        while time.monotonic() < until:
            done = subprocess.run([CTL, command, "--json", "--socket", socket, *options], capture_output=True, text=True,
                                  timeout=DEADLINE_S)
            found = read(json.loads(done.stdout)) if done.returncode == 0 else done.stderr
            if done.returncode == 0 and condition(found):
                return found
        self.fail(f"still {found}")

    def test_ranks_that_waited_in_the_segment_have_called(self):
        # a call in the segment is recorded after the death that ends it; most likely, rank 3 dies while the others wait
        until, missing = time.monotonic() + DEADLINE_S, []
        while missing != [3] and time.monotonic() < until:
            missing = self.die_in_segment()
        self.assertEqual(missing, [3])

    def die_in_segment(self):
        """Kills rank 3 of 4 on one node, for which the others wait 10 ms in each barrier, too short for a request.

        Returns the ranks that had not called, as told; None: nothing is told, the call failed at once."""
        process = subprocess.Popen([CTL, "emulate", "1", "--ranks", "4", "--", "sh", "-c",
                                    '"$0" 3 1000000 10 & echo "$TORUS_SOCKET $TORUS_RANK $!"; wait; sleep 60', STRAGGLE],
                                   stdout=subprocess.PIPE, text=True)
        try:
            ranks = {int(rank): (socket, int(pid)) for socket, rank, pid in
                     (process.stdout.readline().split()[-3:] for _ in range(4))}
            socket, pid = ranks[3]
            until = time.monotonic() + DEADLINE_S
            while self.has_computed(pid) < 0.1 and time.monotonic() < until:
                time.sleep(0.01)
            os.kill(pid, signal.SIGKILL)
            ended, events = 0, []
            while ended < 3 and time.monotonic() < until:
                events = json.loads(self.ask(socket, "--json").stdout or '{"events": []}')["events"]
                ended = sum("ended after its call had failed" in e["name"] for e in events)
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()
        [failure] = [e for e in events if " failed because of rank 3: " in e["name"]]
        begun = {e["rank"]: e["unix_ns"] for e in events if e["name"].endswith(": failed") and
                 e["operation"] == failure["operation"]}
        self.assertEqual(set(begun), {0, 1, 2}, events)
        self.assertAlmostEqual(failure["failed_after_ns"], max(failure["unix_ns"] - min(begun.values()), 0), delta=2)
        if "missing" in failure:
            late = [rank for rank in range(4) if begun.get(rank, float("inf")) > failure["unix_ns"]]
            self.assertEqual(failure["missing"], late, events)
        return failure.get("missing")

    @staticmethod
    def has_computed(pid):
        """Returns the processor time of a process in s."""
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return int(stat.read().rsplit(")", 1)[1].split()[11]) / os.sysconf("SC_CLK_TCK")

    def test_as_many_lines_are_shown_as_asked(self):
        socket = self.start("1x2", 2, STRAGGLE, "1", "20", "1")  # 42 calls of two ranks
        for options, count in (([], 24), (["--lines", "3"], 3), (["--lines", "all"], 84), (["--lines", "1000"], 84)):
            done = self.ask(socket, *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(done.stdout.splitlines()), count)
            left = f"{84 - count} earlier events are not shown: --lines N, or --lines all\n"
            self.assertEqual(left in done.stderr, count < 84, done.stderr)
            self.assertEqual(len(json.loads(self.ask(socket, "--json", *options).stdout)["events"]), count)
        for wrong in ("0", "-1", "many", "3x", ""):
            done = self.ask(socket, "--lines", wrong)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--lines takes a number of lines, or all", done.stderr)

    def test_the_latest_calls_are_printed_without_a_file(self):
        socket = self.start("1x2", 2, STRAGGLE, "1", "3", "1")
        done = subprocess.run([CTL, "trace", "--socket", socket, "--timeout", "20"], text=True, capture_output=True,
                              timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 16)  # two ranks make eight calls
        for rank in "01":
            mine = [line for line in lines if f" rank {rank} " in line]
            self.assertEqual(len(mine), 8)
            for line in mine:
                self.assertRegex(line, rf"^\d\d:\d\d:\d\d\.\d{{6}} +[0-9.]+u?m?s ago  node {rank} +rank {rank} +[a-z]+ [0-9]+: took ")

    def ask(self, socket, *options):
        return subprocess.run([CTL, "trace", "--socket", socket, "--timeout", "20", *options], text=True,
                              capture_output=True, timeout=DEADLINE_S)

    def test_the_latest_calls_are_printed_as_json(self):
        socket = self.start("1x2", 2, STRAGGLE, "1", "3", "1")
        until, over = time.monotonic() + DEADLINE_S, False
        while not over and time.monotonic() < until:  # rank 0 may be told of the last call before rank 1
            done = self.ask(socket, "--json")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            said = json.loads(done.stdout)
            over = all(e["is_over"] for e in said["events"])
        self.assertTrue(over, said)
        self.assertEqual((said["version"], said["node"], said["silent"]), (1, 0, []))
        self.assertEqual([c["node"] for c in said["clocks"]], [0, 1])
        self.assertEqual(len(said["events"]), 16)
        ages = [e["age_ns"] for e in said["events"]]
        self.assertEqual(ages, sorted(ages, reverse=True))
        self.assertEqual({(e["rank"], e["node"]) for e in said["events"]}, {(0, 0), (1, 1)})
        self.assertTrue(all(e["took_ns"] >= 0 and e["pid"] for e in said["events"]))

    def test_a_watched_trace_is_one_line_of_json_a_round(self):
        socket = self.start("1x2", 2, STRAGGLE, "1", "3", "1")
        with subprocess.Popen([CTL, "trace", "--socket", socket, "--json", "--watch"], text=True,
                              stdout=subprocess.PIPE) as watch:
            rounds = [json.loads(watch.stdout.readline()) for _ in range(2)]
            watch.kill()
        self.assertEqual(len(rounds[1]["events"]), 16)
        self.assertGreater(rounds[1]["events"][0]["age_ns"], rounds[0]["events"][0]["age_ns"])

    def test_an_operation_that_no_ring_has_is_an_error(self):
        socket = self.start("1x2", 2, STRAGGLE, "1", "3", "1")
        with tempfile.TemporaryDirectory() as directory:
            file = os.path.join(directory, "trace.json")
            for options in ([], ["--json"], ["-o", file]):
                done = self.ask(socket, "--operation", "900000", *options)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertRegex(done.stderr, r"no node has an event of operation 900000 of job \S+: the flight recorders "
                                              r"have operations 0 to 7\n")
                self.assertIn("raise [trace] events", done.stderr)
            self.assertFalse(os.path.exists(file))

    def test_a_file_is_written_once_and_is_json(self):
        for option in (["--watch"], ["--json"], ["--lines", "3"]):
            done = self.ask("/nowhere", "-o", "x", *option)
            self.assertEqual(done.returncode, 2)
            self.assertIn("-o writes the timeline, as JSON, once", done.stderr)

    def test_a_trace_needs_a_job(self):
        socket = self.start("1x2", 2, STRAGGLE, "1", "1", "1")
        for options, code, text in [(["nobody", "-o", "x"], 1, "no node has a record of a job"),
                                    (["-o", "/nowhere/x"], 1, "cannot write /nowhere/x")]:
            done = subprocess.run([CTL, "trace", "--socket", socket, *options], text=True,
                                  capture_output=True, timeout=DEADLINE_S)
            self.assertEqual(done.returncode, code)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
