#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""units: the shipped units under a real systemd: start, kill, hang, reload, drain, stop, two emulated nodes.

usage: units.py BUILD [CASE ...]
"""
import json
import os
import subprocess
import sys

import machine
from booted import Booted
from machine import Failure, until

UNIT = "torusd.service"
EMULATED = """[torus]
shape = 2
[node]
coordinates = {node}
socket = /run/torusd/n{node}/torusd.sock
state_directory = /var/lib/torusd/n{node}
[peers]
endpoints = ipc:///run/torusd/n0/peers
    ipc:///run/torusd/n1/peers
"""


def install(booted, build):
    """Installs the build in the booted machine, as the README says."""
    subprocess.run(["cmake", "--install", build, "--prefix", "/usr"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "DESTDIR": booted.root})
    booted.boot()
    booted.run("ldconfig")
    booted.run("systemd-sysusers")
    booted.run("systemd-tmpfiles", "--create", "torusd.conf")


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


def two_emulated_nodes_run_under_the_target(booted):
    for node in range(2):
        booted.write(f"/etc/torusd/n{node}.conf", EMULATED.format(node=node))
    booted.systemctl("enable", "torusd@n0", "torusd@n1", "torusd-emulated.target")
    booted.systemctl("start", "torusd-emulated.target")
    for node in range(2):
        unit = f"torusd@n{node}.service"
        booted.wait_property(unit, "ActiveState", "active")
        until(30, lambda u=unit: "1 of 1 peers up" in booted.show(u, "StatusText"),
              lambda u=unit: f"STATUS of {u} is {booted.show(u, 'StatusText')}")
    booted.systemctl("restart", "torusd-emulated.target")
    booted.wait_property("torusd@n0.service", "ActiveState", "active")
    booted.systemctl("stop", "torusd-emulated.target")
    for node in range(2):
        booted.wait_property(f"torusd@n{node}.service", "ActiveState", "inactive")


CASES = (a_unit_starts_and_stops, a_killed_daemon_is_started_again, a_stopped_daemon_is_ended_by_the_watchdog,
         two_emulated_nodes_run_under_the_target)


def main():
    machine.enter()
    build, *names = sys.argv[1:]
    for case in CASES:
        if names and case.__name__ not in names:
            continue
        print(f"== {case.__name__}", flush=True)
        with Booted() as booted:
            install(booted, build)
            case(booted)


main()
