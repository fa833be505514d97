#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuts.py: real daemons on hosts whose network is cut, slow or deaf, or that are stopped or killed, while jobs call.

usage: cuts.py BUILD [--seeds N] [--from S] [--kind KIND] [--nodes N] [--quick]

Each seed draws a machine of 2, 3, 4 or 9 nodes, a job across all of them, a job inside each part of the network, and
disturbances; then everything heals. Calls inside a part go on. Calls that need a silent node end: NODE_FAILED where a
quorum goes on without it, PARTITIONED elsewhere, with one sentence for all ranks of a side. After healing, the ranks
that no epoch has excluded meet in calls again, and the others know that they never will. At the end a new job works on
all nodes, and nothing of any job is on record. --quick plays two seeds of a few seconds each. It needs root, to make
network namespaces.
"""
import argparse
import random
import signal
import statistics
import sys
import time
import traceback

from machine import Failure, Machine, check_sound, enter, named, until

KINDS = ["cut", "cut", "cut", "one-way", "slow", "stop", "stop-clients"]
HEAL_S = 40  # for all ranks to meet again, under load
LATE_S = 0.1
NODE_FAILED, RANK_FAILED, PARTITIONED, SHUTDOWN = -9, -8, -17, -15


class Play:
    """One seed: what it draws, and what it has done to whom."""

    def __init__(self, seed, options):
        self.seed = seed
        self.draw = draw = random.Random(seed)
        self.nodes = draw.choice([2, 3, 3, 4, 4, 9])
        self.kind = draw.choice(KINDS)
        self.fabric = "routed" if draw.random() < 0.2 else "direct"
        self.patience = draw.choice([1.5, 2.0, 3.0])
        self.kinds = draw.choice([1, 7, 7, 8])
        self.mishap = draw.choice(["none", "none", "client", "daemon"])
        self.is_young = draw.random() < 0.2  # the daemons do not vote yet
        self.rounds = draw.choice([1, 1, 2])
        self.is_quick = options.quick
        if options.quick:
            self.fabric, self.patience, self.is_young, self.rounds = "direct", 1.0, False, 1
            self.mishap = "client" if seed % 2 else "none"
            self.nodes = 2 + seed % 3
            self.kind = ["cut", "cut", "stop", "one-way"][seed % 4]
        self.kind = options.kind or self.kind
        self.nodes = options.nodes or self.nodes
        if self.kind == "slow":
            self.mishap = "none"
        self.heartbeat = self.patience / 5
        parts = 2 if self.nodes < 4 or draw.random() < 0.7 else 3
        self.part = list(range(parts)) + [draw.randrange(parts) for _ in range(self.nodes - parts)]
        draw.shuffle(self.part)
        self.hurt = set()  # nodes whose daemon was stopped, killed, or made deaf
        self.deaths = 0
        self.machine = None
        self.jobs = []  # the first one is across, then one for each part
        self.began = self.ended = 0.0

    def __str__(self):
        more = ", young" * self.is_young
        return (f"seed {self.seed}: {self.nodes} nodes, {self.fabric}, {self.kind}, parts {self.part}, "
                f"progress_timeout {self.patience} s, kinds {self.kinds}, death of {self.mishap}{more}")

    # ---- the machine ----

    def begin(self, machine):
        self.machine = machine
        machine.start_all()
        pause = 40000 if self.nodes > 4 else 10000
        across = list(range(self.nodes)) + [self.draw.randrange(self.nodes)]
        self.jobs = [machine.job(across, pause, self.kinds, name="across")]
        for k in sorted(set(self.part)):
            nodes = [n for n in range(self.nodes) if self.part[n] == k]
            self.jobs.append(machine.job(nodes + nodes[-1:], pause, self.kinds, name="inside"))
        for job in self.jobs:
            job.wait_joined()
        if not self.is_young:
            machine.wait_old(self.patience + 0.3)

    def length(self):
        """Returns how long a disturbance lasts: much shorter than progress_timeout, about as long, or longer."""
        if self.draw.random() < 0.08 and not self.is_quick:
            return self.draw.uniform(15, 60)
        return self.draw.choice([self.draw.uniform(0.2, 0.5 * self.patience), self.draw.uniform(0.5, 2) * self.patience,
                                 2 * self.patience + 4.5, 2 * self.patience + 4.5])

    def disturb(self):
        """Begins a disturbance, and returns the function that ends it."""
        machine, draw = self.machine, self.draw
        if self.kind == "cut":
            self.began = machine.cut(self.part)
            return machine.heal
        if self.kind == "one-way":
            pairs = [draw.sample(range(self.nodes), 2) for _ in range(draw.randint(1, self.nodes - 1))]
            pairs = sorted({tuple(p) for p in pairs})
            self.hurt |= {n for pair in pairs for n in pair}
            for a, b in pairs:
                self.began = machine.mute(a, b)
            return lambda: [machine.mute(a, b, False) for a, b in pairs]
        if self.kind == "slow":
            node = draw.randrange(self.nodes)
            machine.shape_link(node, draw.choice(["1mbit", "4mbit", "20mbit"]))
            return lambda: machine.shape_link(node, None)
        if self.kind == "stop":
            runs = [n for n in range(self.nodes) if machine.runs(n)]
            nodes = draw.sample(runs, draw.randint(1, max(1, len(runs) // 2)))
            self.hurt |= set(nodes)
            for n in nodes:
                self.began = machine.signal(n, signal.SIGSTOP)
            return lambda: [machine.signal(n, signal.SIGCONT) for n in nodes if machine.runs(n)]
        players = draw.sample([p for p in machine.players() if p.alive()], 2)
        for p in players:
            self.began = p.kill(signal.SIGSTOP)
        return lambda: [p.kill(signal.SIGCONT) for p in players if p.alive()]

    def die(self):
        """Kills a client or a daemon, if the seed says so."""
        machine = self.machine
        if self.mishap == "client":
            alive = [p for p in machine.players() if p.alive()]
            self.draw.choice(alive).kill()
            self.deaths += 1
        elif self.mishap == "daemon":
            node = self.draw.randrange(self.nodes)
            if machine.runs(node):
                machine.kill(node)
                self.hurt.add(node)
                self.deaths += 1

    def round(self):
        time.sleep(self.draw.uniform(0.05, 0.5))
        length, early = self.length(), self.draw.random() < 0.3
        if early:
            self.die()
        heal = self.disturb()
        at = self.draw.uniform(0.1, 0.9) * length
        time.sleep(at)
        if not early:
            self.die()
        time.sleep(length - at)
        if length > 2 * self.patience + 4:
            self.check_cut()
        heal()
        self.ended = time.monotonic()
        return length

    # ---- what the ranks are told ----

    def is_strict(self):
        """Returns true if the endings of the cut follow from the parts alone."""
        return self.kind == "cut" and self.fabric == "direct" and self.deaths == 0

    def has_quorum(self, node):
        side = [n for n in range(self.nodes) if self.part[n] == self.part[node]]
        return 2 * len(side) > self.nodes or (2 * len(side) == self.nodes and 0 in side)

    def check_cut(self):
        """Checks what the ranks know when a long cut ends."""
        if not self.is_strict():
            return
        for p in self.jobs[0].read().player:
            if p.over:
                continue
            latest = p.errors[-1] if p.errors else None
            if self.has_quorum(p.node):
                side = {q.rank for q in self.jobs[0].player if self.part[q.node] == self.part[p.node]}
                if set(p.members) - side or (side - set(p.members) and self.rounds == 1):
                    raise Failure(f"{p}: its group has ranks {p.members}, its side {side}\n" + self.jobs[0].describe())
                if not p.meets(time.monotonic() - 2):
                    raise Failure(f"{p}: its calls do not go on\n" + self.jobs[0].describe())
            elif p.members_needed(self.part) and not (latest and latest.code == PARTITIONED and latest.at > self.began):
                raise Failure(f"{p} has no quorum, and was told {latest}\n" + self.jobs[0].describe())
        self.check_inside()

    def check_inside(self):
        for job in self.jobs[1:]:
            for p in job.read().player:
                if p.errors:
                    raise Failure(f"{p}, whose nodes hear each other, was told {p.errors[0]}\n" + job.describe())
                if not p.meets(time.monotonic() - 2):
                    raise Failure(f"{p}: its calls do not go on\n" + job.describe())

    def check_sentences(self):
        """Checks that ranks of one side that waited in one call have one sentence for its end."""
        told = {}
        for p in self.jobs[0].player:
            for e in p.errors:
                if e.code not in (NODE_FAILED, PARTITIONED) or e.number == "shrink":
                    continue
                if e.began < self.began < e.at < self.ended:
                    key = (self.part[p.node], e.generation, e.number)
                    other = told.setdefault(key, (e, p))[0]
                    if (other.code, other.text) != (e.code, e.text):
                        raise Failure(f"call {e.number}: {told[key][1]} was told {other}; {p} {e}")

    def check_accusations(self):
        """Checks that the sentences name only nodes that were hurt, or on another side."""
        if self.fabric == "routed":  # packets may be lost with a node that forwards them
            return
        for p in self.machine.players():
            for e in p.errors:
                for n in named(e.text):
                    # the other side has the word if it finds first that both answer again
                    away = self.kind == "cut" and (self.part[n] != self.part[p.node] or "again, but" in e.text)
                    if not away and n not in self.hurt and p.node not in self.hurt and self.kind != "slow":
                        raise Failure(f"{p} was told of node {n}, to which nothing has happened: {e}")

    def settled(self, job):
        """Returns true if all ranks of a job meet in calls, or know that they never will."""
        since = time.monotonic() - 1
        alive = {p.rank: p for p in job.alive()}
        for p in alive.values():
            if p.over:
                continue
            if p.good is None or p.good < max(since, self.ended) or p.generation != len(p.shrunk):
                return False
            if any(r not in alive or alive[r].over for r in p.members):
                return False
        return True

    def check_end(self):
        machine = self.machine
        for n in range(self.nodes):
            if not machine.runs(n):
                machine.start(n)
        machine.wait_ready(range(self.nodes))
        self.ended = time.monotonic()
        until(HEAL_S + 2 * self.patience, lambda: all(self.settled(job) for job in self.jobs),
              lambda: "after healing, ranks neither meet nor know that they never will\n" + machine.describe())

    def check_loss(self, lengths):
        """Checks that nobody was left out without need."""
        if self.deaths or self.fabric == "routed":
            return
        everybody = all(p.generation == 0 and not p.over for p in self.machine.players())
        if self.kind == "cut":
            quorum = any(self.has_quorum(n) for n in range(self.nodes))
            if not everybody and (not quorum or max(lengths) < 0.6 * self.patience):
                raise Failure("nobody could be left out, and some were\n" + self.machine.describe())
            self.check_inside()
        if self.kind in ("slow", "stop-clients") or max(lengths) < 0.5 * self.patience:
            told = [f"{p} was told {e}" for p in self.machine.players() for e in p.errors
                    if self.kind != "slow" or e.code != PARTITIONED]
            if told:
                raise Failure("nothing was lost, but " + told[0])

    def delays(self):
        """Returns how long after the cut, less progress_timeout, the ranks that needed a silent node were told."""
        first = [min((e for e in p.errors if e.at > self.began), key=lambda e: e.at, default=None)
                 for p in self.jobs[0].player]
        return [e.at - self.began - self.patience for e in first if e and e.began < self.began + 0.5]


def run(seed, options, delays):
    """Plays a seed. It returns how late a thread of a rank has woken at most."""
    play = Play(seed, options)
    print(play, flush=True)
    more = {"limits": {"progress_timeout": f"{int(play.patience * 1000)}ms"},
            "network": {"heartbeat": f"{int(play.heartbeat * 1000)}ms"},
            "torus": {"fabric": play.fabric}}
    with Machine(options.build, play.nodes, more) as machine:
        play.begin(machine)
        try:
            lengths = []
            for k in range(play.rounds):
                lengths.append(play.round())
                if k + 1 < play.rounds:
                    time.sleep(play.draw.uniform(0, 2 * play.patience))
            play.check_end()
            check_sound(machine.jobs)
            if play.is_strict() and play.rounds == 1:
                play.check_sentences()
                delays += play.delays()
            play.check_accusations()
            play.check_loss(lengths)
        except Failure as e:
            late = max((s for p in machine.players() for _, s in p.late), default=0)
            e.args = (f"{e}\n  a thread woke {late:.2f} s late at most; disturbances of {lengths} s",)
            raise
        machine.end_jobs()
        machine.probe()
        machine.check_idle()
        machine.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--from", type=int, default=1, dest="first")
    parser.add_argument("--kind", choices=sorted(set(KINDS)))
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    options.seeds = 2 if options.quick else options.seeds
    enter()
    failed, delays = [], []
    for seed in range(options.first, options.first + options.seeds):
        try:
            run(seed, options, delays)
        except (Failure, AssertionError) as e:
            print(f"FAILED seed {seed}: {e}", flush=True)
            if not isinstance(e, Failure):
                traceback.print_exc()
            failed.append(seed)
    if delays:
        print(f"cuts: {len(delays)} ranks were told progress_timeout and {statistics.median(delays):.2f} s after a cut "
              f"(median), at most {max(delays):.2f} s")
    print(f"cuts: {len(failed)} of {options.seeds} seeds failed: {failed}; --seeds 1 --from SEED repeats one")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
