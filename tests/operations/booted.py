#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""booted: a real systemd that boots on a copy of a root directory, for tests of units and packages.

The copy is an overlay whose upper layer is in memory: what happens there changes nothing of the machine. systemd is
process 1 of namespaces of its own, and ends with the test, also if the test is killed. Call machine.enter() first.
"""
import os
import shutil
import subprocess
import tempfile

from machine import Failure, until

TARGET = "torus-boot.target"
CGROUP = "torus-boot-"
NODES = ("null", "zero", "full", "random", "urandom", "tty")
SPACES = ["unshare", "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup", "--fork", "--kill-child"]
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "container": "torus", "LC_ALL": "C.UTF-8"}
# It runs in the namespaces of SPACES, in the new root: $1 is the root, $2 the target.
START = """
hostname torus-boot
ip link set lo up
mount -t proc proc "$1/proc"
mount --bind "$1/proc/sys" "$1/proc/sys"
mount -o remount,bind,ro "$1/proc/sys"
mount -t sysfs -o ro sysfs "$1/sys"
mountpoint -q "$1/sys/fs/cgroup" || mount -t tmpfs tmpfs "$1/sys/fs/cgroup"
mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$1/dev"
for node in $3; do : >"$1/dev/$node"; mount --bind "/dev/$node" "$1/dev/$node"; done
mkdir "$1/dev/pts" "$1/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$1/dev/pts"
ln -s pts/ptmx "$1/dev/ptmx"
ln -s /proc/self/fd "$1/dev/fd"
mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
mount -t tmpfs -o mode=755 tmpfs "$1/run"
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
mkdir -p "$1/run/systemd/system"
printf '[Unit]\\nDescription=The target of a test\\nRequires=systemd-journald.service\\nAfter=systemd-journald.service\\n' \
    >"$1/run/systemd/system/$2"
exec chroot "$1" /lib/systemd/systemd --unit="$2" --show-status=no --log-target=journal
"""


class Booted:
    """A booted copy of a root directory."""

    def __init__(self, root="/"):
        self.folder = tempfile.mkdtemp(prefix="torus-boot-")
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", self.folder], check=True)
        for name in ("upper", "work", "root", "cgroup"):
            os.mkdir(self.path(name))
        self.root = self.path("root")
        options = f"lowerdir={root},upperdir={self.path('upper')},workdir={self.path('work')}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, self.root], check=True)
        subprocess.run(["mount", "-t", "cgroup2", "cgroup2", self.path("cgroup")], check=True)
        self.remove_cgroups()
        self.cgroup = self.path("cgroup", f"{CGROUP}{os.urandom(4).hex()}")
        self.process = None

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def remove_cgroups(self):
        """Removes the control groups of ended tests; those of running ones cannot be removed."""
        for name in os.listdir(self.path("cgroup")):
            if name.startswith(CGROUP):
                for folder, _, _ in os.walk(self.path("cgroup", name), topdown=False):
                    try:
                        os.rmdir(folder)
                    except OSError:
                        pass

    def boot(self):
        """Boots; before it, the files below self.root can be changed."""
        os.mkdir(self.cgroup)
        script = f'echo $$ >"{self.cgroup}/cgroup.procs"; exec "$@"'
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            ["sh", "-ec", script, "sh", *SPACES, "sh", "-ec", START, "sh", self.root, TARGET, " ".join(NODES)],
            stdin=subprocess.DEVNULL, env=ENVIRONMENT, start_new_session=True)
        until(60, lambda: self.run("systemctl", "is-active", "-q", TARGET, check=False).returncode == 0,
              lambda: "systemd does not boot: " + self.run("systemctl", "list-jobs", check=False).stdout)

    def first(self):
        """Returns the process of systemd, or None."""
        if self.process.poll() is not None:
            raise Failure(f"systemd has ended with {self.process.returncode}")
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as f:
            children = f.read().split()
        return int(children[0]) if children else None

    def inside(self):
        """Returns the words that run a command in the booted machine."""
        first = self.first()
        if not first or os.readlink(f"/proc/{first}/root") == "/":
            return ["false"]
        return ["nsenter", "--all", "--root", "--wdns=/", "--target", str(first)]

    def run(self, *words, check=True, user=None, **more):
        """Runs a command in the booted machine."""
        if user:
            words = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *words)
        run = subprocess.run([*self.inside(), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace", check=False, env=ENVIRONMENT, stdin=subprocess.DEVNULL, **more)
        if check and run.returncode != 0:
            raise Failure(f"{' '.join(words)} ended with {run.returncode}:\n{run.stdout}")
        return run

    def systemctl(self, *words, check=True):
        return self.run("systemctl", "--no-pager", *words, check=check)

    def show(self, unit, name):
        """Returns a property of a unit."""
        return self.systemctl("show", "--value", "--property", name, unit).stdout.strip()

    def pids(self):
        """Returns the processes of the booted machine, by their numbers outside."""
        found = []
        for folder, _, _ in os.walk(self.cgroup):
            with open(os.path.join(folder, "cgroup.procs"), encoding="ascii") as f:
                found += f.read().split()
        return found

    def signal(self, unit, name):
        """Sends a signal to the main process of a unit."""
        self.systemctl("kill", "--kill-whom=main", f"--signal={name}", unit)

    def journal(self, *words):
        return self.run("journalctl", "--no-pager", "-o", "cat", *words).stdout

    def wait_journal(self, unit, text, limit_s=30):
        until(limit_s, lambda: text in self.journal("-u", unit),
              lambda: f"the journal of {unit} has no '{text}':\n{self.journal('-u', unit)}")

    def wait_property(self, unit, name, value, limit_s=30):
        until(limit_s, lambda: self.show(unit, name) == value,
              lambda: f"{name} of {unit} is {self.show(unit, name)}, not {value}:\n{self.journal('-u', unit)[-3000:]}")

    def write(self, path, text, mode=0o644):
        """Writes a file of the booted machine, which is not below a folder that systemd mounts."""
        file = self.root + path
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(file, mode)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None and self.process and self.process.poll() is None:
            print(self.journal("-n", "200"), flush=True)
        if self.process:
            self.process.kill()  # systemd and all that it started end with it
            self.process.wait()
            until(30, lambda: not self.pids(), lambda: f"processes are left: {self.pids()}")
        self.remove_cgroups()
        for mount in (self.path("cgroup"), self.root, self.folder):
            subprocess.run(["umount", "-l", mount], check=True)
        shutil.rmtree(self.folder)
