#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run: an MPI program under plain Open MPI, or with the component on an emulated torus.

usage: run.py TORUSCTL COMPONENT PROGRAM RANKS SHAPE [--taken RANKS] [--fell REASON ...]
              [--mca NAME=VALUE ...] [--environment RANK:NAME=VALUE ...] [--rank RANK:NAME=VALUE ...]
              [--argument ARGUMENT] [--defaults] [--keep-going] [--set SETTING ...] [--stranger RANKS]
              [--refused TEXT]

SHAPE is `plain`, that of the torus, or `none`: with the component, but without a daemon. The program passes if it
prints "all is well" and returns 0. With the component, every rank must make calls through torusd, and a call may fall
back only for the reasons that are given. --taken 0,2: only these ranks use torusd; the others must not. --rank sets a
parameter of the component on one rank only, --environment a variable. --argument is passed to the program.
--defaults: coll_torus_all is not set. --keep-going: a daemon may end. --set: for torusctl emulate. --stranger 1,2: these ranks use a daemon of
another machine of the same shape. --refused: the program has to fail in MPI_Init, and say TEXT.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

SECONDS = 100
# Under direct modex Open MPI 4.1.4 fails in MPI_Init now and then, also alone and without collectives of others (8 of
# 100 starts of four ranks): a rank asks for what another one has not published yet. It is started again then. mpirun may
# lose the sentences of ranks that fail: it cannot unpack them.
RACES, STARTS = ("PML add procs failed", "Data unpack would read past end of buffer in file ../../../orte/util/show_help.c"), 10


def pairs(items):
    """Returns {rank: [(name, value)]} of RANK:NAME=VALUE."""
    found = {}
    for item in items:
        rank, _, rest = item.partition(":")
        name, _, value = rest.partition("=")
        found.setdefault(int(rank), []).append((name, value))
    return found


def launch(arguments):
    """Returns the command that starts the ranks: with one part of the command line for each rank if
    ranks differ."""
    command = ["mpirun", "--oversubscribe", "--bind-to", "none"]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    for item in arguments.mca:
        command += ["--mca", *item.split("=", 1)]
    if arguments.shape != "plain":
        command += ["--mca", "coll_torus_verbose", "1"]
    program = ["sh", "-c", 'case ,%s, in *,$OMPI_COMM_WORLD_RANK,*) export TORUS_SOCKET=$STRANGER;; esac;'
               ' unset TORUS_SOCKETS; exec "$@"' % arguments.stranger, "sh"] if arguments.stranger else []
    program += [arguments.program] + ([arguments.argument] if arguments.argument else [])
    variables, parameters = pairs(arguments.environment), pairs(arguments.rank)
    if not variables and not parameters:
        return command + ["-n", str(arguments.ranks), *program]
    for rank in range(arguments.ranks):
        command += [":"] if rank else []
        command += ["-n", "1"]
        for name, value in variables.get(rank, []):
            command += ["-x", f"{name}={value}"]
        for name, value in parameters.get(rank, []):
            command += ["-x", f"OMPI_MCA_{name}={value}"]
        command += program
    return command


def judge(arguments, output):
    """Returns what is wrong with the counters that the ranks print."""
    counts = [int(n) for n in re.findall(r"coll:torus: (\d+) calls? went through torusd", output)]
    reasons = set(re.findall(r"\d+ fell back \((\w+)\)", output))
    users = [n for n in counts if n > 0]
    expected = arguments.ranks if arguments.taken is None else len(arguments.taken)
    wrong = []
    if len(users) != expected:
        wrong.append(f"{len(users)} ranks made calls through torusd; expected {expected}")
    if reasons - set(arguments.fell):
        wrong.append(f"calls fell back: {sorted(reasons - set(arguments.fell))}")
    if set(arguments.fell) - reasons - {"internal"}:
        wrong.append(f"no call fell back for {sorted(set(arguments.fell) - reasons)}")
    return wrong


def run(command, environment, has_race):
    """Runs a command, again if Open MPI has lost its own race."""
    start = 1
    while True:
        done = subprocess.run(command, env=environment, timeout=SECONDS, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        race = next((r for r in RACES if r in done.stdout), None)
        if not has_race or done.returncode == 0 or not race or start == STARTS:
            return done
        print(f"start {start}: Open MPI has lost its own race ({race}); again", flush=True)
        start += 1


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("torusctl")
    parser.add_argument("component")
    parser.add_argument("program")
    parser.add_argument("ranks", type=int)
    parser.add_argument("shape")
    parser.add_argument("--taken", type=lambda t: [int(r) for r in t.split(",") if r])
    parser.add_argument("--fell", nargs="*", default=["internal"])
    parser.add_argument("--mca", nargs="*", default=[])
    parser.add_argument("--environment", nargs="*", default=[])
    parser.add_argument("--argument")
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--set", nargs="*", default=[])
    parser.add_argument("--defaults", action="store_true")
    parser.add_argument("--stranger")
    parser.add_argument("--rank", nargs="*", default=[])
    parser.add_argument("--refused")
    arguments = parser.parse_args()
    environment = dict(os.environ, OMPI_MCA_btl_base_warn_component_unused="0",
                       OMPI_MCA_coll_torus_all="0" if arguments.defaults else "1")
    command = launch(arguments)
    if arguments.shape != "plain":
        environment["OMPI_MCA_mca_base_component_path"] = \
            os.path.dirname(arguments.component) + ":SYSTEM_DEFAULT:USER_DEFAULT"
    if arguments.shape == "none":
        environment["TORUS_SOCKET"] = "/nonexistent/socket"
        environment.pop("TORUS_SOCKETS", None)
    elif arguments.shape != "plain":
        command = [arguments.torusctl, "emulate", arguments.shape, "--ranks", "1",
                   *(["--keep-going"] if arguments.keep_going else []),
                   *[word for setting in arguments.set for word in ("--set", setting)], "--", *command]
    if arguments.stranger:
        command = [arguments.torusctl, "emulate", arguments.shape, "--ranks", "1", "--", "sh", "-c",
                   'export STRANGER=$TORUS_SOCKET; exec "$@"', "sh", *command]
    if not shutil.which("mpirun"):
        sys.exit("run.py: mpirun is missing: install openmpi-bin")
    try:
        done = run(command, environment, "pmix_base_async_modex=1" in arguments.mca)
    except subprocess.TimeoutExpired as late:
        sys.exit(f"run.py: no end after {SECONDS} s: {' '.join(command)}\n"
                 f"{(late.stdout or b'').decode(errors='replace')}")
    if arguments.refused:
        if done.returncode == 0 or arguments.refused not in done.stdout:
            sys.exit(f"{done.stdout}\nrun.py: exit code {done.returncode}; expected a failure that says: "
                     f"{arguments.refused}")
        print(f"{arguments.ranks} ranks, {arguments.shape}: refused")
        return
    wrong = [] if done.returncode == 0 else [f"exit code {done.returncode}"]
    if "all is well" not in done.stdout:
        wrong.append("the program did not say that all is well")
    if arguments.shape == "none":
        said = len(re.findall("coll:torus: torusd is not used by rank", done.stdout))
        if said != arguments.ranks:
            wrong.append(f"{said} ranks say that torusd is not used")
    elif arguments.shape != "plain":
        wrong += judge(arguments, done.stdout)
    if wrong:
        sys.exit(f"{done.stdout}\nrun.py: {'; '.join(wrong)}\n{' '.join(command)}")
    print(f"{arguments.ranks} ranks, {arguments.shape}: all is well")


if __name__ == "__main__":
    main()
