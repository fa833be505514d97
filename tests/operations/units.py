#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""units: the shipped units under a real systemd: start, kill, hang, reload, drain, stop, two emulated nodes, socket.

usage: units.py BUILD [CASE ...]
"""
import json
import os
import re
import shutil
import subprocess
import sys

import machine
from booted import ENVIRONMENT, Booted
from machine import Failure, until

UNIT = "torusd.service"
NODE = "torusd@n{}.service"
ONE_OF_TWO = """[torus]
shape = 2
[node]
coordinates = {node}
socket = /run/torusd/n{node}/torusd.sock
state_directory = /var/lib/torusd/n{node}
[peers]
"""
EMULATED = ONE_OF_TWO + """endpoints = ipc:///run/torusd/n0/peers
    ipc:///run/torusd/n1/peers
"""
# Nodes of two hosts have names or addresses, and listen at all addresses or at one.
OVER_TCP = ONE_OF_TWO + """listen = tcp://{listen}:71{node}0
endpoints = tcp://{name}:7100
    tcp://{name}:7110
[security]
insecure = yes
"""


def install(booted, build, prefix="/usr"):
    """Installs the build in the booted machine, as the README says."""
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "DESTDIR": booted.root})
    shutil.copy(os.path.join(build, "bin", "caller"), booted.root + "/usr/local/bin/caller")
    booted.boot()
    booted.run("ldconfig")
    booted.run("systemd-sysusers", f"{prefix}/lib/sysusers.d/torusd.conf")
    booted.run("systemd-tmpfiles", "--create", f"{prefix}/lib/tmpfiles.d/torusd.conf")


def status(booted, *words):
    """Returns what the daemon tells torusctl."""
    return json.loads(booted.run("torusctl", "status", "--json", *words).stdout)


def drop_in(booted, unit, text):
    """Changes a unit as an administrator does."""
    booted.write(f"/etc/systemd/system/{unit}.d/test.conf", text)
    booted.systemctl("daemon-reload")


def a_unit_starts_and_stops(booted):
    booted.systemctl("start", UNIT)
    if not booted.show(UNIT, "StatusText").startswith("node 0 (0) of 1: "):
        raise Failure(f"STATUS is {booted.show(UNIT, 'StatusText')}")
    if status(booted)["clients"] is None:
        raise Failure("the daemon has no status")
    booted.systemctl("stop", UNIT)
    if booted.show(UNIT, "Result") != "success":
        raise Failure(f"after its stop, the result of the unit is {booted.show(UNIT, 'Result')}")


def a_killed_daemon_is_started_again(booted):
    booted.systemctl("start", UNIT)
    booted.signal(UNIT, "SIGKILL")
    booted.wait_property(UNIT, "NRestarts", "1")
    booted.wait_property(UNIT, "ActiveState", "active")
    status(booted)
    booted.systemctl("stop", UNIT)


def a_stopped_daemon_is_ended_by_the_watchdog(booted):
    drop_in(booted, UNIT, "[Service]\nWatchdogSec=1\n")
    booted.systemctl("start", UNIT)
    booted.signal(UNIT, "SIGSTOP")
    booted.wait_journal(UNIT, "Watchdog timeout")
    booted.wait_property(UNIT, "NRestarts", "1")
    booted.wait_property(UNIT, "ActiveState", "active")
    status(booted)
    booted.systemctl("stop", UNIT)


def configure(booted, text):
    booted.write("/etc/torusd/torusd.conf", f"[torus]\nshape = 1\n{text}")


def a_unit_that_fails_again_and_again_is_refused_until_it_is_reset(booted):
    """What docs/service.md says of such a unit."""
    configure(booted, "[node]\nsocket = /proc/nothing/socket\n")
    booted.systemctl("start", UNIT, check=False)
    booted.wait_journal(UNIT, "cannot listen on /proc/nothing/socket: ")
    booted.wait_journal(UNIT, "Start request repeated too quickly")
    configure(booted, "")
    if booted.systemctl("start", UNIT, check=False).returncode == 0:
        raise Failure("systemd starts the unit")
    booted.systemctl("reset-failed", UNIT)
    booted.systemctl("start", UNIT)
    status(booted)
    booted.systemctl("stop", UNIT)


def a_reload_changes_what_it_can(booted):
    booted.systemctl("start", UNIT)
    main_pid = booted.show(UNIT, "MainPID")
    configure(booted, "[log]\nlevel = debug\n[limits]\nclients = 77\n")
    booted.systemctl("reload", UNIT)
    booted.wait_journal(UNIT, "changed: log.level")
    booted.wait_journal(UNIT, "need a restart: limits.clients")
    booted.wait_property(UNIT, "ActiveState", "active")
    until(30, lambda: "a restart is needed for limits.clients" in booted.show(UNIT, "StatusText"),
          lambda: f"STATUS is {booted.show(UNIT, 'StatusText')}")
    if booted.show(UNIT, "MainPID") != main_pid:
        raise Failure("the reload has restarted the daemon")


def a_wrong_setting_fails_the_reload_and_the_others_change(booted):
    booted.systemctl("start", UNIT)
    main_pid = booted.show(UNIT, "MainPID")
    configure(booted, "[limits]\nclients = many\n[log]\nlevel = debug\n")
    if booted.systemctl("reload", UNIT, check=False).returncode == 0:
        raise Failure("systemctl reload does not fail")
    # of torusctl reload
    booted.wait_journal(UNIT, "changed: log.level; reload refused: ")
    booted.wait_journal(UNIT, "clients = many: expected a whole number")
    booted.signal(UNIT, "SIGHUP")  # the daemon refuses the setting, too
    booted.wait_journal(UNIT, "reload refused, and the setting stays as it was")
    booted.wait_property(UNIT, "ActiveState", "active")
    status(booted)
    if booted.show(UNIT, "MainPID") != main_pid:
        raise Failure("the daemon was restarted")


class Caller:
    """A rank of a job of two ranks: caller.c."""

    def __init__(self, booted, rank, socket="/run/torusd/torusd.sock"):
        variables = f"TORUS_JOB=job TORUS_SIZE=2 TORUS_RANK={rank} TORUS_SOCKET={socket}".split()
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [*booted.inside(), "env", *variables, "/usr/local/bin/caller"],
            env=ENVIRONMENT, text=True, bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def expect(self, word):
        line = self.process.stdout.readline().strip()
        if line != word:
            raise Failure(f"a rank says '{line}', not '{word}'")

    def call(self):
        self.process.stdin.write("\n")
        self.expect("started")

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


def status_names_the_rank_that_blocks(booted):
    booted.systemctl("start", UNIT)
    callers = [Caller(booted, rank) for rank in range(2)]
    for caller in callers:
        caller.expect("joined")
    callers[0].call()
    pattern = "an operation of user 0 has waited [0-9]+ s for rank 1 on node 0, process [0-9]+$"
    until(60, lambda: re.search(pattern, booted.show(UNIT, "StatusText")),
          lambda: f"STATUS is {booted.show(UNIT, 'StatusText')}")
    callers[1].call()
    for caller in callers:
        caller.expect("done")
        caller.end()
    until(60, lambda: "waited" not in booted.show(UNIT, "StatusText"), "STATUS still names the rank")


def start_emulated(booted, text=EMULATED, **places):
    """Starts two emulated nodes, which have links to each other."""
    for node in range(2):
        booted.write(f"/etc/torusd/n{node}.conf", text.format(node=node, **places))
    booted.systemctl("enable", "torusd@n0", "torusd@n1", "torusd-emulated.target")
    booted.systemctl("start", "torusd-emulated.target")
    for node in range(2):
        unit = NODE.format(node)
        booted.wait_property(unit, "ActiveState", "active")
        until(30, lambda u=unit: "1 of 1 peers up" in booted.show(u, "StatusText"),
              lambda u=unit: f"STATUS of {u} is {booted.show(u, 'StatusText')}")


def a_drain_completes_the_operations_in_flight(booted):
    start_emulated(booted)
    callers = [Caller(booted, rank, f"/run/torusd/n{rank}/torusd.sock") for rank in range(2)]
    for caller in callers:
        caller.expect("joined")
    callers[1].call()
    until(30, lambda: status(booted, "--socket", "/run/torusd/n0/torusd.sock")["operations"],
          "node 0 does not hear of the call of node 1")
    booted.signal(NODE.format(0), "SIGSTOP")
    callers[0].call()
    booted.signal(NODE.format(1), "SIGSTOP")
    booted.signal(NODE.format(0), "SIGCONT")
    until(30, lambda: " 1 operation" in booted.show(NODE.format(0), "StatusText"), "node 0 has no operation")
    booted.systemctl("stop", "--no-block", NODE.format(0))
    until(30, lambda: booted.show(NODE.format(0), "StatusText").startswith("draining: "),
          lambda: f"STATUS is {booted.show(NODE.format(0), 'StatusText')}")
    if booted.show(NODE.format(0), "ActiveState") != "deactivating":
        raise Failure("the unit does not wait for the operation")
    booted.signal(NODE.format(1), "SIGCONT")
    for caller in callers:
        caller.expect("done")
        caller.end()
    booted.wait_property(NODE.format(0), "ActiveState", "inactive")
    if booted.show(NODE.format(0), "Result") != "success":
        raise Failure(f"the result of the unit is {booted.show(NODE.format(0), 'Result')}")
    if booted.show(NODE.format(0), "StatusText") != "stopped":
        raise Failure(f"STATUS of the stopped unit is {booted.show(NODE.format(0), 'StatusText')}")


def two_emulated_nodes_run_under_the_target(booted):
    start_emulated(booted)
    booted.systemctl("restart", "torusd-emulated.target")
    booted.wait_property(NODE.format(0), "ActiveState", "active")
    booted.systemctl("stop", "torusd-emulated.target")
    for node in range(2):
        booted.wait_property(NODE.format(node), "ActiveState", "inactive")


def wait_peers(booted, node, up):
    unit = NODE.format(node)
    until(30, lambda: f"{up} of 1 peers up" in booted.show(unit, "StatusText"),
          lambda: f"STATUS of {unit} is {booted.show(unit, 'StatusText')}:\n{booted.journal('-u', unit)[-3000:]}")


def stop_and_kill_a_peer(booted, **places):
    start_emulated(booted, OVER_TCP, **places)
    survivor = booted.show(NODE.format(0), "MainPID")
    booted.systemctl("stop", NODE.format(1))
    wait_peers(booted, 0, 0)
    booted.systemctl("start", NODE.format(1))
    wait_peers(booted, 0, 1)
    booted.signal(NODE.format(1), "SIGKILL")
    booted.wait_property(NODE.format(1), "NRestarts", "1")
    wait_peers(booted, 1, 1)
    wait_peers(booted, 0, 1)
    if booted.show(NODE.format(0), "MainPID") != survivor:
        raise Failure(f"node 0 was restarted:\n{booted.journal('-u', NODE.format(0))[-3000:]}")


def a_node_outlives_its_peer_with_names(booted):
    stop_and_kill_a_peer(booted, listen="*", name="localhost")


def a_node_outlives_its_peer_with_addresses(booted):
    stop_and_kill_a_peer(booted, listen="127.0.0.1", name="127.0.0.1")


def the_first_process_starts_the_daemon_by_its_socket(booted):
    booted.systemctl("start", "torusd.socket")
    booted.wait_property(UNIT, "ActiveState", "inactive")
    status(booted)
    booted.wait_property(UNIT, "ActiveState", "active")
    booted.signal(UNIT, "SIGKILL")
    status(booted)  # it waits until the daemon is there again
    booted.wait_property(UNIT, "NRestarts", "1")
    booted.systemctl("stop", UNIT)
    status(booted, "--timeout", "30")
    booted.systemctl("stop", "torusd.socket", UNIT)
    if booted.run("test", "-e", "/run/torusd/torusd.sock", check=False).returncode == 0:
        raise Failure("the socket is left")


def an_installation_below_home_runs(booted, prefix):
    booted.run("chmod", "700", os.path.dirname(prefix))
    units = f"{prefix}/lib/systemd/system"
    booted.systemctl("link", *(f"{units}/{name}" for name in os.listdir(booted.root + units)))
    booted.systemctl("start", UNIT)
    if not booted.show(UNIT, "ExecStart").startswith(f"{{ path={prefix}/sbin/torusd "):
        raise Failure(f"the unit runs {booted.show(UNIT, 'ExecStart')}")
    booted.systemctl("reload", UNIT)
    booted.wait_journal(UNIT, f"reloaded {prefix}/etc/torusd/torusd.conf")
    booted.systemctl("stop", UNIT)


CASES = (a_unit_starts_and_stops, a_killed_daemon_is_started_again, a_stopped_daemon_is_ended_by_the_watchdog,
         a_unit_that_fails_again_and_again_is_refused_until_it_is_reset, a_reload_changes_what_it_can,
         a_wrong_setting_fails_the_reload_and_the_others_change, status_names_the_rank_that_blocks,
         a_drain_completes_the_operations_in_flight,
         two_emulated_nodes_run_under_the_target, a_node_outlives_its_peer_with_names,
         a_node_outlives_its_peer_with_addresses, the_first_process_starts_the_daemon_by_its_socket,
         an_installation_below_home_runs)
PREFIX = "/home/someone/torus"


def main():
    machine.enter()
    build, *names = sys.argv[1:]
    for case in CASES:
        if names and case.__name__ not in names:
            continue
        print(f"== {case.__name__}", flush=True)
        words = case.__code__.co_varnames[:case.__code__.co_argcount]
        with Booted() as booted:
            install(booted, build, PREFIX if "prefix" in words else "/usr")
            case(*[booted, PREFIX][:len(words)])


main()
