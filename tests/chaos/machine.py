# SPDX-License-Identifier: Apache-2.0
"""machine: hosts of one machine with real daemons, and jobs of players (player.c), for tests of failures.

A host is a network namespace. Its port is on one of the bridges of the machine: hosts whose ports are on different
bridges do not hear each other. The whole test is in namespaces of its own, so that no process, device or name is left
when it ends or is killed.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
INSIDE = "TORUS_TEST_INSIDE"
NETWORK = "10.77.0."
PORT = 7117
SHAPES = {1: "1", 2: "2", 3: "3", 4: "2x2", 5: "5", 6: "2x3", 9: "3x3", 16: "4x4"}
CODES = {-3: "NO_DAEMON", -6: "TIMEOUT", -8: "RANK_FAILED", -9: "NODE_FAILED", -11: "BUSY", -15: "SHUTDOWN",
         -17: "PARTITIONED"}
EXPECTED = (-6, -8, -9, -11, -15, -17)
SPACES = ["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc"]


class Failure(AssertionError):
    """A daemon or a rank did what the rules forbid."""


def enter():
    """Runs this script again in new namespaces, and returns in that run. It needs root; else it skips the test."""
    if os.environ.get(INSIDE):
        return
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    if not all(shutil.which(program, path=path) for program in ("ip", "nsenter", "unshare")):
        print("skipped: apt-get install iproute2 util-linux")
        sys.exit(SKIPPED)
    trial = ["sh", "-ec", "mount -t tmpfs tmpfs /run; ip netns add try; "
                          "ip link add try0 type bridge; ip link add try1 type veth"]
    if os.geteuid() != 0 or subprocess.run([*SPACES, *trial], check=False, stderr=subprocess.DEVNULL,
                                           env={**os.environ, "PATH": path}).returncode != 0:
        print("skipped: run the test as root, where network namespaces, bridges and veth devices can be made")
        sys.exit(SKIPPED)
    os.environ.update({"PATH": path, INSIDE: "1"})
    sys.stdout.flush()
    script = 'mount -t tmpfs tmpfs /run; exec "$@"'
    os.execvp(SPACES[0], [*SPACES, "sh", "-ec", script, "sh", sys.executable, *sys.argv])


def ip(*lines):
    """Runs commands of ip, all or until one fails."""
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True)


def in_host(node):
    return ["nsenter", f"--net=/run/netns/h{node}"]


def until(limit_s, condition, what):
    """Waits until a condition holds, and returns what it returns. `what` may be a function."""
    end = time.monotonic() + limit_s
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise Failure(f"after {limit_s} s: " + (what() if callable(what) else what))
        time.sleep(0.02)


class Call:
    """What a player was told by one call."""

    def __init__(self, at, generation, number, began, code, text):
        self.at, self.generation, self.number, self.began = at, generation, number, began
        self.code, self.text = code, text

    def __str__(self):
        return f"{CODES.get(self.code, self.code)} after {self.at - self.began:.2f} s: {self.text}"


class Player:
    """A rank, and what its output says so far."""

    def __init__(self, machine, job, rank, node, words):
        self.machine, self.job, self.rank, self.node = machine, job, rank, node
        self.path = machine.path(f"{job.name}.{rank}")
        self.dead = self.stopped = False
        self.joined = self.over = self.good = self.failed = None
        self.generation = 0
        self.members = tuple(range(job.size))
        self.errors, self.waits, self.late, self.shrunk, self.wrong = [], [], [], [], []
        self.pending = None  # (since when it waits, generation, call)
        with open(self.path, "wb") as out:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen(
                [*machine.wrap, machine.player, machine.socket(node), job.name, *map(str, (job.size, rank, *words))],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        self.output = open(self.path, encoding="utf-8", errors="replace")  # pylint: disable=consider-using-with
        self.rest = ""

    def __str__(self):
        return f"rank {self.rank} of {self.job.name} on node {self.node}"

    def read(self):
        """Takes in what the player has written since."""
        *lines, self.rest = (self.rest + self.output.read()).split("\n")
        for line in lines:
            word, _, text = line.partition(" ")
            if hasattr(self, "on_" + word):
                getattr(self, "on_" + word)(*text.split(" "))
            else:
                self.wrong.append(line)
        return self

    def on_joined(self, at, _):
        self.joined = float(at)

    def on_failed(self, _, code, *text):
        self.failed = f"{CODES.get(int(code), code)}: {' '.join(text)}"

    def on_good(self, at, generation, _):
        self.good, self.generation, self.pending = float(at), int(generation), None

    def on_waited(self, at, generation, number, began):
        self.waits.append((float(began), float(at), int(generation), number))
        self.pending = None

    def on_pending(self, _, generation, number, began):
        self.pending = (float(began), int(generation), int(number))

    def on_error(self, at, generation, number, began, code, *text):
        self.errors.append(Call(float(at), int(generation), number, float(began), int(code), " ".join(text)))
        self.pending = None

    def on_shrunk(self, at, generation, began, chain, members):
        self.members = tuple(map(int, members.split(",")))
        self.shrunk.append((float(at), float(began), chain, self.members))
        self.generation, self.pending = int(generation), None

    def on_over(self, at, _):
        self.over, self.pending = float(at), None

    def on_late(self, at, seconds):
        self.late.append((float(at), float(seconds)))

    def alive(self):
        return not self.dead

    def meets(self, since):
        """Returns true if a call has ended well after a time."""
        return self.alive() and self.good is not None and self.good > since

    def members_needed(self, part):
        """Returns true if its group has ranks on another part of the network."""
        return any(part[self.job.nodes[r]] != part[self.node] for r in self.members)

    def kill(self, number=signal.SIGKILL):
        """Kills this process alone, not a child of it."""
        os.kill(self.process.pid, number)
        if number == signal.SIGKILL:
            self.process.wait()
            self.read()
            self.dead = True
        return time.monotonic()

    def describe(self):
        if self.dead:
            return f"{self}: killed"
        state = "over" if self.over else f"waits in {self.pending}" if self.pending else "goes on"
        return (f"{self}: {state}, generation {self.generation}, good {ago(self.good)}; "
                f"latest errors {[str(e) for e in self.errors[-2:]]}")


def ago(at):
    return "never" if at is None else f"{time.monotonic() - at:.2f} s ago"


class Job:
    """Players, rank i on node nodes[i]."""

    def __init__(self, machine, name, nodes, words=()):
        self.machine, self.name, self.size, self.nodes = machine, name, len(nodes), nodes
        self.player = [Player(machine, self, i, n, words) for i, n in enumerate(nodes)]

    def read(self):
        for p in self.player:
            p.read()
        return self

    def alive(self):
        return [p for p in self.read().player if p.alive()]

    def wait_joined(self, limit_s=60):
        def formed():
            if any(p.failed for p in self.alive()):
                raise Failure(f"{self.name} does not form: {[p.failed for p in self.player if p.failed]}")
            return all(p.joined for p in self.player)
        until(limit_s, formed, lambda: f"{self.name} has not formed\n" + self.describe())

    def describe(self):
        return "\n".join("  " + p.describe() for p in self.read().player)

    def end(self):
        """Ends the players; each must end by itself."""
        for p in self.player:
            if p.alive() and p.process.poll() is None:
                p.kill(signal.SIGCONT)
                p.kill(signal.SIGTERM)
        for p in self.player:
            try:
                p.process.wait(30)
            except subprocess.TimeoutExpired as e:
                raise Failure(f"{p} does not end") from e
            finally:
                try:
                    os.killpg(p.process.pid, signal.SIGKILL)  # a child that it forked
                except ProcessLookupError:
                    pass
            p.read().output.close()
            if not p.dead and not p.failed and p.process.returncode != 0:
                raise Failure(f"{p} ended with {p.process.returncode}")


class Machine:
    """Daemons on hosts, with the settings of `more`: {section: {key: value}}."""

    def __init__(self, build, nodes, more=None, wrap=()):
        self.nodes, self.wrap = nodes, list(wrap)  # wrap: a program that runs the daemons and the players
        self.bin = os.path.join(build, "bin")
        self.player = os.path.join(self.bin, "player")
        self.folder = tempfile.mkdtemp(prefix="torus-chaos-")
        self.settings = {"limits": {"progress_timeout": "3s"}, "network": {"heartbeat": "500ms"},
                         "torus": {"fabric": "direct"}, "fft": {"effort": "estimate"}, "log": {"level": "info"}}
        for section, keys in (more or {}).items():
            self.settings.setdefault(section, {}).update(keys)
        self.process = [None] * nodes
        self.started = [0.0] * nodes
        self.jobs = []
        self.numbers = 0
        self.connect()

    def path(self, name):
        return os.path.join(self.folder, name)

    def socket(self, node):
        return self.path(f"s{node}")

    def log(self, node):
        with open(self.path(f"l{node}"), encoding="utf-8", errors="replace") as f:
            return f.read()

    # ---- the network ----

    def connect(self):
        """Makes the hosts and one bridge for each part of the network."""
        lines = ["link set lo up"]
        for n in range(self.nodes):
            lines += [f"link add b{n} type bridge", f"link set b{n} up", f"netns add h{n}",
                      f"link add p{n} type veth peer name net0 netns h{n}", f"link set p{n} master b0 up"]
        ip(*lines)
        for n in range(self.nodes):
            subprocess.run(["ip", "-n", f"h{n}", "-batch", "-"], check=True, text=True, input="\n".join(
                ["link set lo up", *self.addresses(n), "link set net0 up"]) + "\n")

    def addresses(self, node):
        """Returns the commands of ip that give a host its addresses."""
        return [f"address add {NETWORK}{node + 1}/24 dev net0"]

    def peers(self):
        """Returns the settings of [peers], the same on all nodes."""
        return {"endpoints": "".join(f"\n    tcp://{NETWORK}{n + 1}:{PORT}" for n in range(self.nodes))}

    def cut(self, part):
        """Parts the network: node n is in part[n], a small number. It returns when."""
        ip(*(f"link set p{n} master b{part[n]}" for n in range(self.nodes)))
        return time.monotonic()

    def heal(self):
        return self.cut([0] * self.nodes)

    def mute(self, a, b, muted=True):
        """Makes node b deaf to node a: packets from a to b get lost, those from b to a do not."""
        to = f"{NETWORK}{b + 1} dev net0"
        line = f"neigh replace {to} lladdr 02:00:00:00:00:99 nud permanent" if muted else f"neigh del {to}"
        subprocess.run(["ip", "-n", f"h{a}", *line.split()], check=True)
        return time.monotonic()

    def unplug(self, node, out=True):
        """Takes the cable of a host out, or puts it in again."""
        subprocess.run([*in_host(node), "ip", "link", "set", "net0", "down" if out else "up"], check=True)

    def shape_link(self, node, rate):
        """Limits both directions of a node's link; None: no limit."""
        for words in ([*in_host(node), "tc", "qdisc"], ["tc", "qdisc"]):
            device = "net0" if words[0] == "nsenter" else f"p{node}"
            if rate:
                limit = ["replace", "dev", device, "root", "tbf", "rate", rate, "burst", "16kb", "limit", "256kb"]
            else:
                limit = ["del", "dev", device, "root"]
            subprocess.run(words + limit, check=True)

    def shape_way(self, a, b, rate):
        """Limits the way from node a to node b alone; None: no limit. The way back is not limited."""
        tc = [*in_host(a), "tc"]
        if not rate:
            subprocess.run([*tc, "qdisc", "del", "dev", "net0", "root"], check=True)
            return
        # a long queue would delay heartbeats and the acknowledgements of the way back, too
        subprocess.run([*in_host(a), "ip", "link", "set", "net0", "gso_max_segs", "1"], check=True)
        for words in ("qdisc replace dev net0 root handle 1: htb default 1",
                      "class add dev net0 parent 1: classid 1:1 htb rate 10gbit quantum 60000",
                      f"class add dev net0 parent 1: classid 1:2 htb rate {rate} burst 16kb quantum 1600",
                      "qdisc add dev net0 parent 1:2 pfifo limit 30",
                      f"filter add dev net0 parent 1: protocol ip u32 match ip dst {NETWORK}{b + 1} flowid 1:2"):
            subprocess.run([*tc, *words.split()], check=True)

    # ---- daemons ----

    def configure(self, node):
        shape = SHAPES[self.nodes]
        columns = int(shape.rpartition("x")[2])
        settings = {section: dict(keys) for section, keys in self.settings.items()}
        settings["node"] = {"coordinates": f"{node // columns},{node % columns}" if "x" in shape else node,
                            "socket": self.socket(node), "state_directory": self.path(f"d{node}")}
        settings["torus"]["shape"] = shape
        settings["peers"] = self.peers()
        settings.setdefault("security", {"insecure": "yes"})
        os.makedirs(self.path(f"d{node}"), exist_ok=True)
        with open(self.path(f"c{node}"), "w", encoding="utf-8") as f:
            for section, keys in settings.items():
                f.write(f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()))

    def start(self, node):
        """Starts a daemon; wait_ready waits for it."""
        self.configure(node)
        with open(self.path(f"l{node}"), "ab") as log:
            # pylint: disable=consider-using-with
            self.process[node] = subprocess.Popen(
                [*in_host(node), *self.wrap, os.path.join(self.bin, "torusd"), "--config", self.path(f"c{node}")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.started[node] = time.monotonic()

    def start_all(self):
        for n in range(self.nodes):
            self.start(n)
        self.wait_ready(range(self.nodes))

    def wait_ready(self, nodes, limit_s=60):
        def ready(n):
            if self.process[n].poll() is not None:
                raise Failure(f"the daemon of node {n} has ended:\n{self.log(n)}")
            return os.path.exists(self.socket(n)) and self.status(n) is not None
        for n in nodes:
            until(limit_s, lambda n=n: ready(n), lambda n=n: f"the daemon of node {n} does not serve:\n{self.log(n)}")

    def status(self, node):
        """Returns the status that a daemon tells, or None."""
        run = subprocess.run([os.path.join(self.bin, "torusctl"), "status", "--json", "--socket", self.socket(node)],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        return json.loads(run.stdout) if run.returncode == 0 else None

    def wait_old(self, seconds):
        """Waits until all daemons have run so long: they vote then."""
        time.sleep(max(0.0, max(self.started) + seconds - time.monotonic()))

    def signal(self, node, number):
        os.kill(self.process[node].pid, number)
        return time.monotonic()

    def kill(self, node):
        """Kills a daemon. Its players live, and are told so."""
        self.process[node].kill()
        self.process[node].wait()
        return time.monotonic()

    def lose(self, node):
        """Ends a daemon as a loss of power does: nobody hears that its connections end. The node must be cut off."""
        self.kill(node)
        subprocess.run([*in_host(node), "ss", "--kill", "--tcp", "--numeric"], check=True, stdout=subprocess.DEVNULL)

    def runs(self, node):
        return self.process[node] is not None and self.process[node].poll() is None

    # ---- jobs ----

    def job(self, nodes, *words, name="job"):
        self.numbers += 1
        job = Job(self, f"{name}{self.numbers}", nodes, words)
        self.jobs.append(job)
        return job

    def players(self):
        return [p for job in self.jobs for p in job.read().player]

    def end_jobs(self):
        for job in self.jobs:
            job.end()
        ended, self.jobs = self.jobs, []
        return ended

    def probe(self, limit_s=60):
        """Checks that a new job on all nodes works."""
        job = self.job(list(range(self.nodes)), 1000, 8, name="probe")
        job.wait_joined(limit_s)
        since = time.monotonic()
        until(limit_s, lambda: all(p.meets(since) for p in job.alive()),
              lambda: "a new job does not work\n" + job.describe())
        check_sound([job])
        if any(p.errors for p in job.player):
            raise Failure("a new job gets errors\n" + job.describe())
        self.jobs.remove(job)
        job.end()

    def left(self):
        """Returns what the daemons still have of jobs."""
        found = []
        for n in range(self.nodes):
            if not self.runs(n):
                continue
            status = self.status(n)
            if status is None:
                found.append(f"node {n} does not answer")
                continue
            ranks = [c for c in status["clients"] if c["rank"] >= 0]
            for name, what in (("ranks", ranks), ("jobs", status["jobs"]), ("operations", status["operations"])):
                if what:
                    found.append(f"node {n} has {name}: {json.dumps(what)[:300]}")
        return found

    def check_idle(self, limit_s=30):
        """Checks that nothing of any job is on record."""
        until(limit_s, lambda: not self.left(), lambda: "; ".join(self.left()))

    def stop(self):
        """Stops the daemons, which must end well."""
        for n in range(self.nodes):
            if self.runs(n):
                self.signal(n, signal.SIGCONT)
                self.signal(n, signal.SIGTERM)
        for n in range(self.nodes):
            if self.process[n] is None:
                continue
            try:
                code = self.process[n].wait(60)
            except subprocess.TimeoutExpired as e:
                raise Failure(f"the daemon of node {n} does not stop") from e
            if code not in (0, -signal.SIGKILL):
                raise Failure(f"the daemon of node {n} ended with {code}:\n{self.log(n)[-3000:]}")

    def describe(self):
        lines = [f"{job.name}:\n{job.describe()}" for job in self.jobs]
        for n in range(self.nodes):
            tail = "\n".join("    " + line for line in self.log(n).split("\n")[-12:]) if self.process[n] else ""
            lines.append(f"  log of node {n}:\n{tail}")
        return "\n".join(lines)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        for process in self.process + [p.process for job in self.jobs for p in job.player]:
            if process and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        ip(*(f"link del p{n}" for n in range(self.nodes)), *(f"link del b{n}" for n in range(self.nodes)),
           *(f"netns del h{n}" for n in range(self.nodes)))
        if kind is None:
            shutil.rmtree(self.folder)
        else:
            print(f"logs and outputs of the ranks are in {self.folder}", flush=True)


# ---- what always holds ----

def check_sound(jobs):
    """Checks results, the calls that no fault explains, and that no group has two successors."""
    for job in jobs:
        successor = {}
        for p in job.read().player:
            if p.wrong:
                raise Failure(f"{p}: {p.wrong[0]}")
            odd = [e for e in p.errors if e.code not in EXPECTED]
            if odd:
                raise Failure(f"{p}: {odd[0]}")
            for _, _, chain, members in p.shrunk:
                other = successor.setdefault(chain, (members, p))
                if other[0] != members:
                    raise Failure(f"split brain: {other[1]} goes on with ranks {other[0]}, and {p} with {members}")


def named(text):
    """Returns the nodes that a sentence names as silent or lost."""
    return {int(n) for n in re.findall(r"(?:lost |: )node (\d+)", text)}
