#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kills.py: kill -9 of processes and daemons at random phases of calls, with the default limits.

usage: kills.py BUILD [--kills N] [--seed S] [--nodes N] [--fabric NAME] [--kinds K]
       [--fault KIND] [--markdown]

The survivors of a job shrink their group and go on. No call of theirs waits for longer than 1 s after the kill. A kill
during which a thread of a rank woke more than 100 ms late is repeated and counted, because the processor was busy. Each
kill has a seed of its own, S, S + 1, ..., which draws the victims and the phase. It prints a table: for each kind of
fault, the number of kills, the longest wait of a call (median, worst), how soon all survivors went on (median, worst),
and how many kills were repeated. It needs root, to make network namespaces.
"""
import argparse
import random
import statistics
import sys
import time

from machine import Failure, Machine, check_sound, enter, until

LIMIT_S, LATE_S, DEADLINE_S = 1.0, 0.1, 60
VOTES_S = 30.5  # a daemon votes when it has run for progress_timeout
RANKS_PER_NODE, LEAST_RANKS = 2, 3
FAULTS = {
    "process": "a process",
    "processes": "two processes, the second one up to 30 ms later",
    "parent": "a process with a child that keeps the connection open",
    "restart": "a daemon that starts again at once",
    "daemon": "a daemon that stays down",
    "both": "a daemon that stays down, and a process up to 30 ms later",
}
SHARES = {"process": 0.3, "processes": 0.15, "parent": 0.15, "restart": 0.15, "daemon": 0.15, "both": 0.1}


class Kills:
    """A machine, the job of the moment, and what has been measured."""

    def __init__(self, machine, options):
        self.machine, self.options = machine, options
        self.job = None
        self.down = []
        self.share = SHARES if not options.fault else {name: 0 for name in FAULTS} | {options.fault: 1}
        self.found = {name: [] for name in FAULTS}  # (longest wait, time until all go on)
        self.repeated = dict.fromkeys(FAULTS, 0)
        self.slow = []

    # ---- the job ----

    def survivors(self):
        return [p for p in self.job.alive() if not p.over and p.node not in self.down]

    def end_job(self):
        if self.job:
            check_sound([self.job])
            self.machine.jobs.remove(self.job)
            self.job.end()
        self.job = None

    def new_job(self, draw):
        self.end_job()
        up = [n for n in range(self.machine.nodes) if n not in self.down]
        words = (4000, draw.choice([1, self.options.kinds])) + (("fork",) if draw.random() < 0.3 else ())
        self.job = self.machine.job(up * RANKS_PER_NODE, *words)
        self.job.wait_joined()
        self.job.has_children = len(words) == 3
        self.wait_meeting(time.monotonic())

    def wait_meeting(self, since):
        """Waits until the survivors go on in a group of their own, and returns when all of them did."""
        def met():
            left = self.survivors()
            ranks = tuple(sorted(p.rank for p in left))
            return all(tuple(sorted(p.members)) == ranks and p.meets(since) and p.generation == len(p.shrunk)
                       for p in left)
        until(DEADLINE_S, met, lambda: "the survivors do not go on\n" + self.machine.describe())
        return time.monotonic()

    # ---- one kill ----

    def choose(self, draw):
        """Returns the kind of the next fault: one that is due and that the machine is ready for."""
        due = [f for f in FAULTS if len(self.found[f]) < round(self.share[f] * self.options.kills)]
        votes = time.monotonic() > max(self.machine.started) + VOTES_S
        more = 2 * (len(self.down) + 1) < self.machine.nodes
        apart = [f for f in due if f in ("daemon", "both")]
        if apart and votes and more:
            return draw.choice(apart)
        if self.down and not (apart and votes and more):
            self.restart_all()
        if "restart" in due and (not apart or time.monotonic() < max(self.machine.started) + 3 or
                                 not set(due) - {"restart"}):
            return "restart"
        near = [f for f in due if f not in ("daemon", "both", "restart")]
        if near:
            return draw.choice(near)
        if apart:
            self.machine.wait_old(VOTES_S)
            return draw.choice(apart)
        return "restart" if "restart" in due else None

    def restart_all(self):
        self.end_job()
        for n in self.down:
            self.machine.start(n)
        self.machine.wait_ready(self.down)
        self.down = []

    def strike(self, fault, draw):
        """Kills the victims of a fault; returns when the first one died, and the nodes to start again."""
        again = []
        left = self.survivors()
        if fault in ("restart", "daemon", "both"):
            node = draw.choice(sorted({p.node for p in left}))
            at = self.machine.kill(node)
            self.down.append(node)
            if fault == "restart":
                again = [node]
        else:
            at = draw.choice(left).kill()
        if fault in ("processes", "both"):
            time.sleep(draw.uniform(0, 0.03))
            draw.choice(self.survivors()).kill()
        for n in again:
            self.machine.start(n)
        return at, again

    def kill(self, seed):
        draw = random.Random(seed)
        fault = self.choose(draw)
        if fault is None:
            return False
        children = fault == "parent"
        if (self.job is None or len(self.survivors()) < LEAST_RANKS + 2 or self.job.has_children != children or
                len({p.node for p in self.survivors()}) < 2):
            self.new_job(draw)
            while self.job.has_children != children:
                self.new_job(draw)
        time.sleep(draw.uniform(0, 0.05))
        at, again = self.strike(fault, draw)
        went_on = self.wait_meeting(at) - at
        wait = max(self.waits(p, at) for p in self.job.player if p.alive())
        late = max((s for p in self.job.player for t, s in p.late if t > at - LATE_S), default=0)
        if late > LATE_S:
            self.repeated[fault] += 1
            print(f"seed {seed}: {fault}: {wait:.3f} s, a thread woke {late:.3f} s late: repeated", flush=True)
        else:
            self.found[fault].append((wait, went_on))
            if wait > LIMIT_S:
                self.slow.append(seed)
                print(f"seed {seed}: {fault}: a call waited for {wait:.3f} s\n{self.job.describe()}", flush=True)
        if again:
            self.machine.wait_ready(again)
            self.down.remove(again[0])
            self.end_job()
        return True

    @staticmethod
    def waits(player, at):
        """Returns the longest wait of a player's calls after a time."""
        spans = [(e.began, e.at) for e in player.errors] + [(b, e) for e, b, _, _ in player.shrunk]
        spans += [(b, e) for b, e, _, _ in player.waits]
        return max((e - max(b, at) for b, e in spans if e > at), default=0.0)

    # ---- the table ----

    def table(self, markdown):
        rows = [("fault", "kills", "median", "worst", "went on, median", "worst", "repeated")]
        for fault, found in self.found.items():
            waits, ons = [w for w, _ in found], [o for _, o in found]
            if found:
                rows.append((FAULTS[fault], str(len(found)), ms(statistics.median(waits)), ms(max(waits)),
                             ms(statistics.median(ons)), ms(max(ons)), str(self.repeated[fault])))
        if markdown:
            rows.insert(1, ("---",) * 7)
            return "\n".join("| " + " | ".join(row) + " |" for row in rows)
        return "\n".join(f"{row[0]:58}" + "".join(f"{cell:>17}" for cell in row[1:]) for row in rows)


def ms(seconds):
    return f"{1000 * seconds:.0f} ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=9)
    parser.add_argument("--fabric", default="direct")
    parser.add_argument("--kinds", type=int, default=8, help="kinds of calls (player.c); 8: torus_dup, too")
    parser.add_argument("--fault", choices=FAULTS, help="this kind of fault only")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    enter()
    more = {"limits": {"progress_timeout": "30s"}, "network": {"heartbeat": "500ms"},
            "torus": {"fabric": options.fabric}}
    with Machine(options.build, options.nodes, more) as machine:
        machine.start_all()
        kills = Kills(machine, options)
        seed = options.seed
        try:
            while kills.kill(seed):
                seed += 1
                if (seed - options.seed) % 50 == 0:
                    print(f"{seed - options.seed} kills", flush=True)
        except Failure as e:
            print(kills.table(options.markdown))
            sys.exit(f"kills: seed {seed}: {e}")
        kills.end_job()
        kills.restart_all()
        machine.check_idle()
        machine.stop()
    print(kills.table(options.markdown))
    print(f"kills: {len(kills.slow)} of {sum(map(len, kills.found.values()))} kills made a call wait for longer than "
          f"{LIMIT_S} s: {kills.slow}")
    sys.exit(bool(kills.slow))


if __name__ == "__main__":
    main()
