#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak.py: jobs that start and end under faults, for minutes: memory and descriptors of the daemons stay flat.

usage: soak.py BUILD [--minutes M] [--seed S]

Four daemons. Up to three jobs play at a time. Processes are killed, daemons are stopped for a while, the network is cut
for a while, and the daemons of nodes 2 and 3 are killed, or lost with their host, which closes no connection, and start
again; nodes 0 and 1 keep theirs. Once a minute all
jobs end: nothing of them is on record then, a new job works, and memory (RSS), descriptors, connections to other daemons
and mappings of the daemons are measured. It prints these, and fails if memory grows by more than GROWTH after the first
WARM minutes, if descriptors other than connections, or mappings, are not the same as in minute WARM, or if a daemon has
more connections than its links can have, now and before they were cut: streams are connected when something needs them, so
their number varies. It needs root, to make network namespaces.
"""
import argparse
import collections
import os
import random
import re
import signal
import sys
import time

from machine import Failure, Machine, check_sound, enter, until

NODES, KEPT, JOBS, PERIOD_S = 4, (0, 1), 3, 60
GROWTH, WARM = 0.05, 3
# A link has one connection of ZeroMQ and two streams, and both ends connect. The end of the ones before them may not be
# known for a minute, if the network was cut when they ended.
CONNECTIONS = 2 * (2 * 3 * (NODES - 1))
PATIENCE_S = 2.0
LISTENING = "0A"  # a state in /proc/net/tcp


def connections(pid):
    """Returns the inodes of the TCP connections on the host of a process."""
    found = set()
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{table}", encoding="utf-8") as f:
            fields = [line.split() for line in f.readlines()[1:]]
        found |= {f"socket:[{field[9]}]" for field in fields if field[3] != LISTENING}
    return found


def measure(pid):
    """Returns the memory of a process in KiB, its descriptors other than connections, its connections, and its mappings
    of shared memory."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        memory = int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        mapped = sum("memfd:" in line for line in f)
    places, connected = [], connections(pid)  # before and after: a connection may end or begin meanwhile
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        try:
            places.append(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
        except FileNotFoundError:
            pass  # it was closed meanwhile
    connected |= connections(pid)
    count = sum(place in connected for place in places)
    return memory, len(places) - count, count, mapped


class Soak:
    """The machine, its jobs, and what happens to them."""

    def __init__(self, machine, draw):
        self.machine, self.draw = machine, draw
        self.heal_at = None
        self.heal = None
        self.stopped = False
        self.counts = collections.Counter()

    def begin_job(self):
        nodes = [self.draw.randrange(NODES) for _ in range(self.draw.randint(1, 6))]
        job = self.machine.job(nodes, self.draw.choice([500, 5000, 20000]), self.draw.choice([1, 7, 8]),
                               *(["fork"] if self.draw.random() < 0.2 else []))
        job.ends_at = time.monotonic() + self.draw.uniform(0.5, 10)
        self.counts["jobs"] += 1

    def disturb(self):
        machine, draw = self.machine, self.draw
        kind = draw.choice(["process", "process", "process", "daemon", "host", "cut", "stop", "mute"])
        if kind == "process":
            alive = [p for p in machine.players() if p.alive()]
            if alive:
                draw.choice(alive).kill()
        elif kind == "daemon":
            node = draw.choice([n for n in range(NODES) if n not in KEPT])
            machine.kill(node)
            self.undo(draw.uniform(0, 3), lambda: (machine.start(node), machine.wait_ready([node])))
        elif kind == "host":
            node = draw.choice([n for n in range(NODES) if n not in KEPT])
            machine.cut([int(n == node) for n in range(NODES)])
            machine.lose(node)
            self.undo(draw.uniform(0, 5), lambda: (machine.heal(), machine.start(node), machine.wait_ready([node])))
        elif kind == "cut":
            machine.cut([draw.randrange(2) for _ in range(NODES)])
            self.undo(draw.uniform(0.2, 8), machine.heal)
        elif kind == "mute":
            a, b = draw.sample(range(NODES), 2)
            machine.mute(a, b)
            self.undo(draw.uniform(0.2, 5), lambda: machine.mute(a, b, False))
        else:
            node = draw.randrange(NODES)
            machine.signal(node, signal.SIGSTOP)
            self.stopped = True
            self.undo(draw.uniform(0.2, 5), lambda: machine.signal(node, signal.SIGCONT))
        self.counts[kind] += 1

    def undo(self, after, heal):
        self.heal_at, self.heal = time.monotonic() + after, heal

    def recover(self):
        if self.heal:
            self.heal()
        self.heal = self.heal_at = None
        self.stopped = False

    def step(self):
        machine, now = self.machine, time.monotonic()
        for job in list(machine.jobs):
            if now > job.ends_at:
                if self.stopped:
                    self.recover()  # ranks of a stopped daemon end when they have given it up, half a minute later
                check_sound([job])
                machine.jobs.remove(job)
                job.end()
        if self.heal is None and self.draw.random() < 0.05:
            self.disturb()
        elif self.heal and now > self.heal_at:
            self.recover()
        if len(machine.jobs) < JOBS and self.draw.random() < 0.2:
            self.begin_job()
        time.sleep(0.05)

    def pause(self):
        """Ends all jobs, checks that nothing of them is left, and returns what the daemons hold."""
        machine = self.machine
        self.recover()
        check_sound(machine.jobs)
        machine.end_jobs()
        machine.probe()
        machine.check_idle(60)
        # the daemons close their connections to processes that have ended a moment later
        time.sleep(1)
        return [measure(machine.process[n].pid) for n in KEPT]


def check_flat(history):
    """Fails if a kept daemon grows; history: for each minute, what measure returned for each of them."""
    for i, n in enumerate(KEPT):
        warm = [minute[i] for minute in history[WARM - 1:]]
        if warm[-1][0] > (1 + GROWTH) * warm[0][0]:
            raise Failure(f"node {n} grows from {warm[0][0]} to {warm[-1][0]} KiB")
        for minute, (_, descriptors, connected, mapped) in enumerate(warm, WARM):
            if connected > CONNECTIONS or (descriptors, mapped) != (warm[0][1], warm[0][3]):
                raise Failure(f"node {n} has {descriptors} descriptors, {connected} connections (at most {CONNECTIONS}) "
                              f"and {mapped} mappings in minute {minute}; in minute {WARM} it had {warm[0][1:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.minutes < WARM + 2:
        parser.error(f"--minutes must be at least {WARM + 2}: less has nothing to compare")
    enter()
    more = {"limits": {"progress_timeout": f"{int(1000 * PATIENCE_S)}ms"}, "network": {"heartbeat": "400ms"}}
    history = []
    with Machine(options.build, NODES, more) as machine:
        machine.start_all()
        soak = Soak(machine, random.Random(options.seed))
        end = time.monotonic() + 60 * options.minutes
        while time.monotonic() < end:
            pause_at = min(end, time.monotonic() + PERIOD_S)
            while time.monotonic() < pause_at:
                soak.step()
            history.append(soak.pause())
            print(f"minute {len(history):3}: " + "; ".join(
                f"node {n}: {memory} KiB, {descriptors} descriptors, {connected} connections, {mapped} mappings"
                for n, (memory, descriptors, connected, mapped) in zip(KEPT, history[-1])), dict(soak.counts), flush=True)
        machine.stop()
    check_flat(history)
    print(f"soak: {options.minutes:g} minutes, {dict(soak.counts)}: flat, and no job on record")


if __name__ == "__main__":
    main()
