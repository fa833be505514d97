#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""addresses.py: two nodes whose network has IPv6 alone, with each form of their addresses in [peers].

usage: addresses.py BUILD

The hosts have no address of IPv4, not even 127.0.0.1. The daemons listen, connect, and open their streams by addresses
in brackets, by link-local addresses with a zone, and by names that have addresses of IPv6 only; a job works; torusctl
names the hosts; metrics are served at [::1]. It needs root, to make network namespaces.
"""
import subprocess
import sys

from machine import PORT, Failure, Machine, enter, in_host

NAMES, METRICS = ("alpha", "beta"), 9817
# what it shows: the settings of [peers], and the hosts as torusctl names them
CASES = {
    "addresses": ({"endpoints": f"tcp://[FD00:77:0::1]:{PORT} tcp://[fd00:77::2]:{PORT}"}, ("fd00:77::1", "fd00:77::2")),
    "a list of hosts": ({"hosts": "[fd00:77::1], [fd00:77::2]"}, ("fd00:77::1", "fd00:77::2")),
    "zones": ({"endpoints": f"tcp://[fe80::1%net0]:{PORT} tcp://[fe80::2%net0]:{PORT}"}, ("fe80::1%net0", "fe80::2%net0")),
    "names": ({"hosts": ",".join(NAMES), "port": 7217}, NAMES),
}


class Six(Machine):
    """A machine whose hosts have addresses of IPv6 alone."""

    def __init__(self, build, peers):
        self.setting = peers
        super().__init__(build, 2, {"metrics": {"listen": f"[::1]:{METRICS}"}})

    def addresses(self, node):
        return ["address del 127.0.0.1/8 dev lo", *(f"address add {network}{node + 1}/64 dev net0 nodad"
                                                   for network in ("fd00:77::", "fe80::"))]

    def peers(self):
        return self.setting


def check(machine, hosts):
    machine.start_all()
    machine.probe()
    for node in range(machine.nodes):
        peer = next(p for p in machine.status(node)["peers"] if p["state"] == "up")
        if f"tcp://{hosts[1 - node]}:" not in peer["endpoint"].replace("[", "").replace("]", ""):
            raise Failure(f"node {node} is connected to {peer['endpoint']}")
        listens = subprocess.run([*in_host(node), "ss", "-tln"], check=True, text=True, capture_output=True).stdout
        if "0.0.0.0" in listens:
            raise Failure(f"node {node} listens on IPv4:\n{listens}")
        script = f"import urllib.request as u; print(u.urlopen('http://[::1]:{METRICS}/metrics').read().decode())"
        text = subprocess.run([*in_host(node), sys.executable, "-c", script], check=True, text=True,
                              capture_output=True).stdout
        if "torus_peers" not in text:
            raise Failure(f"node {node} has no metrics:\n{text[:500]}")
    machine.check_idle()
    machine.stop()


def main():
    enter()
    with open("/run/hosts", "w", encoding="utf-8") as f:
        f.write("".join(f"fd00:77::{n + 1} {name}\n" for n, name in enumerate(NAMES)))
    subprocess.run(["mount", "--bind", "/run/hosts", "/etc/hosts"], check=True)
    for name, (peers, hosts) in CASES.items():
        with Six(sys.argv[1], peers) as machine:
            try:
                check(machine, hosts)
            except Failure as e:
                raise Failure(f"{name}: {e}\n{machine.describe()}") from e
    print(f"addresses: daemons with IPv6 alone were connected by {', '.join(CASES)}")


if __name__ == "__main__":
    try:
        main()
    except Failure as e:
        print(f"addresses: {e}", file=sys.stderr)
        sys.exit(1)
