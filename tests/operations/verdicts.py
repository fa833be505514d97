#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verdicts.py: torusctl ops, why and stragglers name the cause of trouble, whichever rank or node it is.

usage: verdicts.py BUILD [--cases N] [--from S] [--fault FAULT] [--ranks N]

Real daemons on hosts of their own (network namespaces) serve a job for each case. A case draws a fault, the rank, node
or link at fault, the kind of call, and the node that is asked. The verdict must name exactly that rank with its host
and process, or that node or link, and when the waiting began. N cases of each fault are played. It needs root.
"""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback

from machine import NETWORK, Failure, Machine, enter, until

NODES = 4
KINDS = {"barrier": 8, "allreduce": 8, "allgather": 100000, "alltoall": 5000}  # and the bytes of a call
LIMIT_S = 60
SLACK_NS = 2_000_000  # a rank says that it calls before it calls
LATE_NS = 1_000_000_000  # a daemon that lacks a processor may take a call later than the rank made it
STRAGGLE_MS, STRAGGLE_CALLS = 200, 5
LINK_RATE, LINK_BYTES = "8mbit", 12_000_000  # the data that a link gets take seconds


def state_of(pid):
    """Returns the letter of a process's state, as proc(5) has it."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        return f.read().rpartition(")")[2].split()[0]


def host(node):
    return f"{NETWORK}{node + 1}"


class Actor:
    """A rank: actor.c."""

    def __init__(self, machine, job, size, rank, node, words):
        self.rank, self.node, self.path = rank, node, machine.path(f"{job}.{rank}")
        with open(self.path, "wb") as out:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen(
                [os.path.join(machine.bin, "actor"), machine.socket(node), job, str(size), str(rank), *map(str, words)],
                stdin=subprocess.PIPE, stdout=out, stderr=out)

    def lines(self, word):
        """Returns the words of its complete lines that begin with a word."""
        with open(self.path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        found = [line.split(" ") for line in text[:text.rfind("\n") + 1].splitlines()]
        return [line[1:] for line in found if line[0] == word]

    def has_called(self, call):
        return len(self.lines("call")) > call

    def begin_of(self, call):
        return int(self.lines("call")[call][1])

    def end(self):
        """Lets it close its context, or kills it if it is at fault."""
        if self.lines("end"):
            self.process.stdin.close()
            self.process.wait(LIMIT_S)
        else:
            self.process.kill()
            self.process.wait()


class Case:
    """One fault in one job."""

    def __init__(self, machine, number, options):
        self.machine = machine
        self.number = number
        self.draw = draw = random.Random(f"{options.fault} {number}")
        self.fault = options.fault
        self.size = options.ranks
        self.nodes = [r % NODES for r in range(NODES)] + [draw.randrange(NODES) for _ in range(self.size - NODES)]
        draw.shuffle(self.nodes)
        self.culprit = draw.randrange(self.size)
        self.node = self.nodes[self.culprit]
        self.other = draw.choice([n for n in range(NODES) if n != self.node])
        self.asked = draw.choice([n for n in range(NODES) if n != self.node or self.fault != "slow-node"])
        self.kind, self.calls = draw.choice(sorted(KINDS)), draw.randrange(1, 5)
        self.job = f"{self.fault}{number}"
        self.actors = []

    def __str__(self):
        return (f"{self.fault}, case {self.number}: rank {self.culprit} on node {self.node} (link to {self.other}), ranks "
                f"on nodes {self.nodes}, {self.calls} calls, then {self.kind}, node {self.asked} asked")

    def start(self, fault, size=None, calls=None, ms=0):
        words = (self.kind, size or KINDS[self.kind], self.calls if calls is None else calls, self.culprit, fault, ms)
        self.actors = [Actor(self.machine, self.job, self.size, r, n, words) for r, n in enumerate(self.nodes)]
        self.actor = self.actors[self.culprit]

    def ctl(self, *words):
        run = subprocess.run([os.path.join(self.machine.bin, "torusctl"), *words, "--json", "--timeout", "2", "--socket",
                              self.machine.socket(self.asked)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, check=False, timeout=LIMIT_S)
        if run.returncode != 0:
            raise Failure(f"torusctl {words}: {run.stderr}")
        return json.loads(run.stdout)

    def others(self):
        return [a for a in self.actors if a is not self.actor]

    def operation(self):
        """Returns what ops says of the job's latest operation, or None; and the times before and after. The one before
        may not be over on all nodes yet."""
        before = time.monotonic_ns()
        found = [o for o in self.ctl("ops")["operations"] if o["job"] == self.job]
        return max(found, key=lambda o: o["sequence"], default=None), before, time.monotonic_ns()

    def wait(self, condition, what):
        until(LIMIT_S, condition, lambda: f"{what}; ops: {json.dumps(self.ctl('ops'), indent=1)}")

    def verdict(self, is_known):
        """Returns the only cause that ops names once all others have called, and is_known; and ops' operation. Until
        then it may not name another rank."""
        found = []

        def known():
            o, before, after = self.operation()
            if not o or o["sequence"] != self.calls or o["missing"] != [self.culprit]:
                return False
            found[:] = [o, before, after]
            wrong = [c for c in o["causes"] if c.get("rank", self.culprit) != self.culprit]
            if wrong:
                raise Failure(f"accused: {wrong}")
            return is_known(o["causes"])
        self.wait(known, "no verdict")
        o, before, after = found
        if len(o["causes"]) != 1:
            raise Failure(f"more than one cause: {o['causes']}")
        # the others have waited since the first of them called
        first = min(a.begin_of(self.calls) for a in self.others())
        last = max(a.begin_of(self.calls) for a in self.others())
        if after - o["age_ns"] < first - SLACK_NS or before - o["age_ns"] > last + LATE_NS:
            raise Failure(f"the others wait since {first}..{last}, not {before - o['age_ns']}..{after - o['age_ns']}")
        return o["causes"][0], o

    def check(self, found, expected):
        wrong = {k: (found.get(k), v) for k, v in expected.items() if found.get(k) != v}
        if wrong:
            raise Failure(f"(found, expected) {wrong} in {found}")

    def check_rank(self, cause, *states):
        found, _ = self.verdict(lambda causes: causes and causes[0]["cause"] == cause)
        self.check(found, {"rank": self.culprit, "job_rank": self.culprit, "node": self.node, "program": "actor",
                           "pid": self.actor.process.pid, "host": self.host_seen(self.node)})
        if found["process_state"] not in states:
            raise Failure(f"state {found['process_state']}")

    def host_seen(self, node):
        """The node that is asked knows its own host by its name."""
        return os.uname().nodename if node == self.asked else host(node)

    # ---- faults ----

    def play_computes(self):
        self.start("compute")
        # it may lack a processor for a moment, but it does not sleep
        self.check_rank("late_rank", "R")

    def play_sleeps(self):
        self.start("sleep")
        self.check_rank("late_rank", "S")

    def play_stopped(self):
        self.start(self.draw.choice(["compute", "sleep"]))
        self.wait(lambda: self.actor.lines("fault"), "no fault")
        self.actor.process.send_signal(signal.SIGSTOP)
        self.check_rank("stopped_process", "T")

    def why(self, error, words):
        """Checks the sentence of the first failure, which every rank of the job has got."""
        self.wait(lambda: all(a.lines("end") for a in self.actors if a.process.poll() is None), "the call goes on")
        found = []

        def known():
            before = time.monotonic_ns()
            found[:] = [self.ctl("why", self.job), before, time.monotonic_ns()]
            return found[0]["error"] != 0
        self.wait(known, "why does not know")
        record, before, after = found
        self.check(record, {"error": error, "size": self.size, "job": self.job})
        for word in words:
            if word not in record["text"]:
                raise Failure(f"no {word} in: {record['text']}")
        ends = [int(a.lines("end")[0][1]) for a in self.actors if a.lines("end")]
        if after - record["failed_ns"] < self.since - SLACK_NS or before - record["failed_ns"] > max(ends):
            raise Failure(f"failed at {before - record['failed_ns']}, not between {self.since} and {max(ends)}")
        return record

    def play_dead(self):
        self.start("sleep")
        self.wait(lambda: self.actor.lines("fault") and all(a.has_called(self.calls) for a in self.others()), "no fault")
        self.since = time.monotonic_ns()
        self.actor.process.kill()
        self.actor.process.wait()
        self.why(-8, [f"rank {self.culprit} of job {self.job} died: process {self.actor.process.pid} on node "
                      f"{self.node} "])

    def play_mismatch(self):
        self.start("differ")
        self.wait(lambda: all(a.lines("end") for a in self.actors), "the call goes on")
        self.since = min(a.begin_of(self.calls) for a in self.actors)
        kind = "allreduce(" if self.kind == "barrier" else "barrier"
        record = self.why(-7, [f"rank {self.culprit} called {kind}"])
        named = {r["rank"]: r for r in record["named"]}
        if len(named) != 2 or self.culprit not in named:
            raise Failure(f"named: {named}")
        for rank, r in named.items():
            node = self.nodes[rank]
            self.check(r, {"node": node, "host": self.host_seen(node), "pid": self.actors[rank].process.pid})

    def play_slow_node(self):
        self.start("hold")
        self.wait(lambda: all(a.lines("fault") for a in self.actors), "the ranks do not hold")
        self.machine.signal(self.node, signal.SIGSTOP)
        for a in self.actors:
            a.process.stdin.write(b"\n")
            a.process.stdin.flush()
        try:
            found = []

            def known():
                o, _, _ = self.operation()
                found[:] = [o]
                return o and o["causes"] and o["causes"][0]["cause"] == "silent_node"
            self.wait(known, "no verdict")
            for c in found[0]["causes"]:
                self.check(c, {"cause": "silent_node", "node": self.node, "host": host(self.node)})
        finally:
            self.machine.signal(self.node, signal.SIGCONT)
        self.wait(lambda: all(a.lines("end") for a in self.actors), "the call does not end")

    def play_link(self, disturb, heal, cause):
        self.kind = "alltoall"
        pairs = self.nodes.count(self.node) * self.nodes.count(self.other)
        self.start("none", size=LINK_BYTES // pairs, calls=0)
        disturb()
        try:
            found = []

            def known():
                o, _, _ = self.operation()
                found[:] = [o]
                if all(a.lines("end") for a in self.actors):
                    raise Failure("the call has ended before a verdict")
                return o and o["causes"] and o["causes"][0]["cause"] == cause
            self.wait(known, "no verdict")
            # the acknowledgements of one way take the other one, which is then slow, too
            c = found[0]["causes"][0]
            a, b = (self.node, self.other) if c["from"] == self.node else (self.other, self.node)
            self.check(c, {"from": a, "to": b, "from_host": self.host_seen(a), "to_host": self.host_seen(b)})
            if len(found[0]["causes"]) != 1:
                raise Failure(f"more than one cause: {found[0]['causes']}")
        finally:
            heal()
        self.wait(lambda: all(a.lines("end") for a in self.actors), "the call does not end")
        if any(a.lines("end")[0][0] != "0" for a in self.actors):
            raise Failure(f"ends: {[a.lines('end') for a in self.actors]}")

    def play_throttled_link(self):
        self.play_link(lambda: self.machine.shape_way(self.node, self.other, LINK_RATE),
                       lambda: self.machine.shape_way(self.node, self.other, None), "throttled_link")

    def mute(self, muted):
        def runs():
            o, _, _ = self.operation()
            return o and o["phase"] == "running"
        if muted:
            self.machine.shape_way(self.node, self.other, LINK_RATE)  # else it may be over before the cut
            self.wait(runs, "the call does not run")
        else:
            self.machine.shape_way(self.node, self.other, None)
        for a, b in ((self.node, self.other), (self.other, self.node)):
            self.machine.mute(a, b, muted)

    def play_cut_link(self):
        self.play_link(lambda: self.mute(True), lambda: self.mute(False), "dead_link")

    def play_cut_gate(self):
        """The way of the announcements is cut before the call, so no data travels. Node 0 is the root of all."""
        self.node, self.other = 0, self.draw.randrange(1, NODES)
        self.kind = self.draw.choice(["barrier", "allreduce"])
        self.start("hold")
        self.wait(lambda: all(a.lines("fault") for a in self.actors), "the ranks do not hold")
        ways = ((self.node, self.other), (self.other, self.node))
        for a, b in ways:
            self.machine.mute(a, b)
        try:
            for a in self.actors:
                a.process.stdin.write(b"\n")
                a.process.stdin.flush()
            found = []

            def known():
                o, _, _ = self.operation()
                found[:] = [o]
                return o and any(c["cause"] == "dead_link" for c in o["causes"])
            self.wait(known, "no verdict")
            c, *more = found[0]["causes"]
            a, b = ways[0] if c["from"] == self.node else ways[1]
            self.check(c, {"cause": "dead_link", "from": a, "to": b, "from_host": self.host_seen(a),
                           "to_host": self.host_seen(b)})
            if more:
                raise Failure(f"more than one cause: {found[0]['causes']}")
        finally:
            for a, b in ways:
                self.machine.mute(a, b, False)
        self.wait(lambda: all(a.lines("end") for a in self.actors), "the call does not end")

    def play_straggler(self):
        """The ranks themselves write down when they call: that is the truth, also on a busy machine."""
        self.start("straggle", calls=STRAGGLE_CALLS, ms=STRAGGLE_MS)
        self.wait(lambda: all(a.lines("end") for a in self.actors), "the calls go on")
        waited = [0] * self.size
        for i in range(STRAGGLE_CALLS + 1):
            begins = [a.begin_of(i) for a in self.actors]
            waited[begins.index(max(begins))] += sum(max(begins) - b for b in begins)
        found = self.ctl("stragglers", self.job)["stragglers"]
        first = found[0]
        self.check(first, {"rank": self.culprit, "node": self.node, "pid": self.actor.process.pid})
        if not 0.9 * waited[self.culprit] <= first["waited_ns"] <= 1.1 * waited[self.culprit]:
            raise Failure(f"the others waited {waited[self.culprit]} ns, not {first['waited_ns']}")

    def play(self):
        try:
            getattr(self, "play_" + self.fault.replace("-", "_"))()
        finally:
            for a in self.actors:
                a.end()


FAULTS = [name[5:].replace("_", "-") for name in dir(Case) if name.startswith("play_") and name != "play_link"]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:])
    parser.add_argument("build")
    parser.add_argument("--cases", type=int, default=1)
    parser.add_argument("--from", dest="first", type=int, default=1)
    parser.add_argument("--fault", choices=FAULTS)
    parser.add_argument("--ranks", type=int, default=8)
    options = parser.parse_args()
    enter()
    failed = 0
    more = {"limits": {"progress_timeout": "120s"}, "network": {"heartbeat": "200ms"}}
    with Machine(options.build, NODES + 1, more) as machine:
        machine.start_all()
        machine.signal(NODES, signal.SIGKILL)  # a dead node without ranks is never to blame
        machine.process[NODES].wait()
        for fault in [options.fault] if options.fault else FAULTS:
            options.fault, right, began = fault, 0, time.monotonic()
            for number in range(options.first, options.first + options.cases):
                case = Case(machine, number, options)
                try:
                    case.play()
                    right += 1
                except Exception as e:  # pylint: disable=broad-except
                    failed += 1
                    print(f"FAILED: {case}\n{e if isinstance(e, Failure) else traceback.format_exc()}", flush=True)
            print(f"{fault}: {right} of {options.cases} verdicts are right, {time.monotonic() - began:.1f} s", flush=True)
        machine.check_idle()
        machine.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
