#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""containers: ranks in containers use the torusd of their host through a socket that is mounted there.

usage: containers.py BUILD

A container is one of plain namespaces, or one of podman with a copy-on-write view of this machine's root.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import machine

BUILD = os.path.abspath(sys.argv[1])
BIN = os.path.join(BUILD, "bin")
CTL = os.path.join(BIN, "torusctl")
ARRAY = os.path.join(os.path.dirname(CTL), "torus-array")
DEADLINE_S = 120
NAMESPACES = "exec unshare --user --map-root-user --mount --pid --fork --kill-child --mount-proc --net --ipc --uts \"$@\""
PODMAN = """exec podman --root {folder}/images --runroot {folder}/run --storage-driver vfs --runtime crun \\
    --cgroup-manager cgroupfs run --rm --interactive --quiet --cgroups disabled --network none --log-driver none \\
    --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --env TORUS_SOCKET --env TORUS_JOB --env TORUS_RANK \\
    --env TORUS_SIZE --volume "$(dirname "$TORUS_SOCKET"):$(dirname "$TORUS_SOCKET")" --volume {build}:{build}:ro \\
    --volume {folder}/data:{folder}/data --rootfs /:O "$@\""""
KINDS = {"namespaces": NAMESPACES, "podman": PODMAN}


def process(text):
    """Returns a dictionary of a status file of /proc."""
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


class Containers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="torus-containers.")
        self.addCleanup(shutil.rmtree, self.folder, True)
        os.mkdir(os.path.join(self.folder, "data"))
        self.contain = {}
        for kind, text in KINDS.items():
            path = self.contain[kind] = os.path.join(self.folder, kind)
            with open(path, "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\n" + text.format(folder=self.folder, build=BUILD) + "\n")
            os.chmod(path, 0o755)

    def emulate(self, *words):
        return subprocess.run([CTL, "emulate", *words], capture_output=True, text=True, timeout=DEADLINE_S,
                              stdin=subprocess.DEVNULL, check=False)

    def test_all_ranks_in_containers_transform_an_array(self):
        data = os.path.join(self.folder, "data")
        subprocess.run([sys.executable, "-c",
                        "import numpy, sys; numpy.save(sys.argv[1], numpy.arange(3840.).reshape(48, 80) % 17)",
                        f"{data}/a.npy"], check=True)
        for kind, contain in self.contain.items():
            with self.subTest(kind):
                done = self.emulate("1x2", "--ranks", "4", "--", contain, ARRAY, "fft", f"{data}/a.npy",
                                    f"{data}/{kind}.npy", "--check")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(len(re.findall(r"relative L2 error \S+ \(bound", done.stdout)), 2, done.stdout)

    def test_ranks_inside_and_outside_meet(self):
        for kind, contain in self.contain.items():
            with self.subTest(kind):
                done = self.emulate("1", "--ranks", "4", "--", "sh", "-c",
                                    'case $TORUS_RANK in 0 | 2) exec "$1";; *) exec "$0" "$1";; esac', contain,
                                    os.path.join(BIN, "hello"))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(sorted(line.split(" ", 1)[1] for line in done.stdout.splitlines()),
                                 [f"rank {r} of 4: the sum is 6" for r in range(4)])

    def start_callers(self, contain):
        """Starts two ranks; rank 1 is in a container. Returns the ranks and the socket of their daemon."""
        ranks = subprocess.Popen([CTL, "emulate", "1", "--ranks", "2", "--", "sh", "-c",
                                  'if [ "$TORUS_RANK" = 0 ]; then echo "$TORUS_SOCKET"; (echo; sleep 1000) | "$1"; '
                                  'else sleep 1000 | "$0" "$1"; fi', contain, os.path.join(BIN, "caller")],
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(ranks.wait)
        self.addCleanup(ranks.kill)
        self.addCleanup(ranks.stdout.close)
        lines = [ranks.stdout.readline() for _ in range(4)]
        self.assertEqual(sum(" joined" in line for line in lines), 2, lines)
        return ranks, next(line.split()[1] for line in lines if "/" in line)

    def absent(self, sock, cause):
        """Waits until one rank is absent for this cause, and returns it."""
        def find():
            done = subprocess.run([CTL, "ops", "--socket", sock, "--json"], check=True, capture_output=True, text=True)
            found = [a for o in json.loads(done.stdout)["operations"] for a in o["absent"]]
            return found[0] if len(found) == 1 and found[0]["cause"] == cause else None
        return machine.until(DEADLINE_S, find, f"no rank is absent with cause {cause}")

    def test_a_rank_in_a_container_is_named_by_its_process_outside(self):
        for kind, contain in self.contain.items():
            with self.subTest(kind):
                ranks, sock = self.start_callers(contain)
                late = self.absent(sock, "late_rank")
                self.assertEqual(late["rank"], 1)
                with open(f"/proc/{late['pid']}/status", encoding="utf-8") as f:
                    status = process(f.read())
                self.assertEqual(status["Name"], "caller")
                self.assertEqual(status["NSpid"].split()[0], str(late["pid"]))
                self.assertGreater(len(status["NSpid"].split()), 1, "it is in no container")
                os.kill(late["pid"], signal.SIGSTOP)
                self.absent(sock, "stopped_process")
                os.kill(late["pid"], signal.SIGKILL)
                said = ranks.stdout.readline()
                self.assertIn(f"died: process {late['pid']}", said)
                ranks.kill()
                ranks.wait()


if __name__ == "__main__":
    machine.enter()
    del sys.argv[1]
    subprocess.run("umount -l /sys/fs/cgroup 2>/dev/null; mount -t cgroup2 none /sys/fs/cgroup", shell=True, check=True)
    unittest.main()
