#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tutorial: the commands of docs/tutorial.md print on two hosts what the page says.

usage: tutorial.py SOURCE BUILD

A host is a network namespace with a copy-on-write view of this machine's root, where the build is installed. What
stands for `sudo`, `systemctl` and `scp` is below. Numbers, keys and durations may differ from the page's.
"""
import os
import re
import shutil
import subprocess
import sys
import threading
import unittest

import machine

SOURCE, BUILD = (os.path.abspath(path) for path in sys.argv[1:3])
HOSTS = ("alpha", "beta")
PAGE = os.path.join(SOURCE, "docs", "tutorial.md")
DEADLINE_S = 60
SUDO = 'sudo() { [ "$1" != -u ] && { "$@"; return; }; local user=$2; shift 2; runuser -u "$user" -- "$@"; }\n'
DAEMON = "setpriv --reuid torusd --regid torusd --init-groups"
AGENT = """#!/bin/sh
host=$1
shift
exec nsenter --target 1 --all ip netns exec $host unshare --uts sh -c 'hostname "$0"; exec chroot /run/$0/root sh -c "$1"' $host "$*"
"""
INSTALL = """cmake --install {build} --prefix /usr >/dev/null
ldconfig
systemd-sysusers 2>/dev/null
systemd-tmpfiles --create /usr/lib/tmpfiles.d/torusd.conf
install -d -m 700 -o torusd -g torusd /var/lib/torusd
"""


def fenced(language):
    """Returns the fenced blocks of the page in a language, each as its lines."""
    blocks, fence = [], None
    with open(PAGE, encoding="utf-8") as f:
        for line in f.read().splitlines():
            if line.startswith("```"):
                fence = line if fence is None else None
                if fence == "```" + language:
                    blocks.append([])
            elif fence == "```" + language:
                blocks[-1].append(line)
    return blocks


def steps():
    """Yields the commands of the page: host, command, and the lines that they print."""
    for lines in fenced(""):
        step = None
        for line in lines:
            command = re.match(rf"({'|'.join(HOSTS)})\$ (.*)", line)
            if command:
                if step:
                    yield step
                step = (command[1], command[2], [])
            elif step:
                step[2].append(line)
        if step:
            yield step


def blurred(line):
    """Returns a line without what differs between two runs."""
    # the units forbid their daemons to ask the kernel (ProtectClock=); those of this test may
    line = line.replace("clocks of node 0 (alpha) and node 1 (beta) are", "clock of node 0 (alpha) is")
    line = re.sub(r"\b[0-9a-f]{64}\b", "KEY", line.strip())
    line = re.sub(r"-?\d+(\.\d+)? ?(ns|us|ms|s)\b", "TIME", line)
    return re.sub(r"\d\d:\d\d:\d\d(\.\d+)?|(?<=process )\d+|\d+(?= trace events)", "N", line)


class Tutorial(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        machine.ip("link set lo up", "link add bridge type bridge", "link set bridge up")
        for i, host in enumerate(HOSTS):
            root = f"/run/{host}/root"
            subprocess.run(["sh", "-ec", f"""
mkdir /run/{host}; mount -t tmpfs tmpfs /run/{host}; mkdir /run/{host}/up /run/{host}/work {root}
mount -t overlay overlay -o lowerdir=/,upperdir=/run/{host}/up,workdir=/run/{host}/work {root}
mount -t proc proc {root}/proc; mount --rbind /dev {root}/dev; mount --rbind /sys {root}/sys
mount -t tmpfs tmpfs {root}/run; mount -t tmpfs tmpfs {root}/root
mkdir -p {root}{SOURCE} {root}{BUILD}; mount --bind {SOURCE} {root}{SOURCE}; mount --bind {BUILD} {root}{BUILD}
rm -rf {root}/etc/torusd
"""], check=True)
            machine.ip(f"netns add {host}", f"link add p{i} type veth peer name net0 netns {host}",
                       f"link set p{i} master bridge up")
            for words in ("link set lo up", f"address add 10.77.0.{i + 1}/24 dev net0", "link set net0 up"):
                subprocess.run(["ip", "-n", host, *words.split()], check=True)
            cls.write(host, "/etc/hosts", "127.0.0.1 localhost\n10.77.0.1 alpha\n10.77.0.2 beta\n")
            cls.write(host, "/usr/bin/agent", AGENT, 0o755)
            cls.run_on(host, INSTALL.format(build=BUILD))
            for name in ("hello.c", "hello.py", "late.py"):
                cls.write(host, f"/root/{name}", cls.program(name))

    @staticmethod
    def program(name):
        if name == "hello.c":
            with open(os.path.join(SOURCE, "client", "examples", name), encoding="utf-8") as f:
                return f.read()
        return next("\n".join(b) + "\n" for b in fenced("python") if ("sleep" in "".join(b)) == (name == "late.py"))

    @staticmethod
    def write(host, path, text, mode=0o644):
        os.makedirs(os.path.dirname(f"/run/{host}/root{path}"), exist_ok=True)
        with open(f"/run/{host}/root{path}", "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(f"/run/{host}/root{path}", mode)

    @staticmethod
    def on(host, command):
        return ["ip", "netns", "exec", host, "unshare", "--uts", "sh", "-c",
                'hostname "$1"; shift; exec "$@"', "sh", host, "chroot", f"/run/{host}/root", "/bin/bash", "-ec",
                SUDO + "cd /root\n" + command]

    @classmethod
    def run_on(cls, host, command):
        """Returns what a command prints, stderr after stdout."""
        done = subprocess.run(cls.on(host, command), capture_output=True, text=True, timeout=DEADLINE_S, check=False,
                              stdin=subprocess.DEVNULL,
                              env={**os.environ, "OMPI_MCA_plm_rsh_agent": "/usr/bin/agent", "PYTHONPATH": BUILD + "/python",
                                   "OMPI_MCA_oob_tcp_if_include": "net0", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "HWLOC_HIDE_ERRORS": "2"})
        cls.code = done.returncode
        return [x for x in (done.stdout + done.stderr).splitlines() if not x.startswith("[hwloc/")]

    def start(self, host, command):
        """Runs a command in the background, until the end of the test."""
        with open(f"/run/{host}.log", "a", encoding="utf-8") as log:
            process = subprocess.Popen(self.on(host, command), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                       env={**os.environ, "PYTHONPATH": BUILD + "/python"})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def serve(self, host):
        """Does what `systemctl enable --now torusd` does, and waits until the daemon serves."""
        self.start(host, f"exec {DAEMON} torusd --config /etc/torusd/torusd.conf")
        machine.until(DEADLINE_S, lambda: os.path.exists(f"/run/{host}/root/run/torusd/torusd.sock"),
                      lambda: f"torusd of {host} does not serve:\n" + self.log(host))

    @staticmethod
    def log(host):
        with open(f"/run/{host}.log", encoding="utf-8") as f:
            return f.read()

    def configure(self):
        """Writes the two files of the page, with the keys of these hosts."""
        peers, site = next((b for b in fenced("") if b[0].startswith("0 ")), None), None
        for b in fenced(""):
            site = b if b[0] == "[torus]" else site
        lines = []
        for host in HOSTS:
            with open(f"/run/{host}/root/root/line", encoding="utf-8") as f:
                lines.append(f.read())
        self.assertEqual([blurred(x) for x in peers], [blurred(x) for x in lines])
        for host in HOSTS:
            self.write(host, "/etc/torusd/peers", "".join(lines))
            self.write(host, "/etc/torusd/torusd.conf.d/site.conf", "\n".join(site) + "\n")

    def agrees(self, printed, expected):
        """Compares lines; "..." stands for any, and ranks print in any order."""
        printed, expected = [[blurred(x) for x in lines if x.strip()] for lines in (printed, expected)]
        if expected and expected[-1] == "...":
            printed, expected = printed[:len(expected) - 1], expected[:-1]
        in_order = not all(x.startswith("rank ") for x in printed)
        return printed == expected if in_order else sorted(printed) == sorted(expected)

    def check(self, host, command, expected):
        """Runs a command until it prints what the page says: daemons connect, and ranks arrive, in their own time."""
        last = []

        def good():
            last[:] = self.run_on(host, command)
            return self.agrees(last, expected)
        limit = DEADLINE_S if "torusctl" in command and "keygen" not in command else 0
        machine.until(limit, good, lambda: f"{host}$ {command}\nprints\n" + "\n".join(last) + "\ninstead of\n" +
                      "\n".join(expected))

    def test_each_command_prints_what_the_page_says(self):
        played = 0
        for host, command, expected in steps():
            played += 1
            if command.startswith("sudo torusd --check-config") and host == HOSTS[0]:
                self.configure()
            if "systemctl" in command:
                self.serve(host)
            elif command.startswith("scp"):
                shutil.copy(f"/run/{HOSTS[0]}/root/root/hello", f"/run/{HOSTS[1]}/root/root/hello")
            elif command.endswith("&") or (command.startswith("TORUS_JOB") and not expected):
                self.start(host, command.removesuffix("&"))
            else:
                if command.startswith("torusctl why"):  # its job has to end first
                    machine.until(DEADLINE_S, lambda: any("ended" in x for x in self.run_on(host, command)), "no end")
                self.check(host, command, expected)
        self.assertGreater(played, 18)


class Variables(unittest.TestCase):
    def test_the_page_lists_all_variables_that_the_code_reads(self):
        found = set()
        for folder, _, files in os.walk(os.path.join(SOURCE, "client")):
            for name in files:
                if name.endswith((".c", ".py")):
                    with open(os.path.join(folder, name), encoding="utf-8") as f:
                        found.update(re.findall(r'getenv\("(\w+)"\)|environ(?:\.get\(|\[)"(\w+)"', f.read()))
        names = {a or b for a, b in found}
        self.assertIn("TORUS_SOCKET", names)
        with open(PAGE, encoding="utf-8") as f:
            page = f.read()
        self.assertEqual([n for n in sorted(names) if f"`{n}`" not in page], [])


if __name__ == "__main__":
    machine.enter()
    del sys.argv[1:3]
    unittest.main()
