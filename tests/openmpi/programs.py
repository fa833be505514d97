#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""programs: packages of Debian, unmodified, under plain Open MPI and with the component.

usage: programs.py TORUSCTL COMPONENT COUNTER [--shapes 1,2x1,2x2] [--only NAME,...] [--required]
       programs.py TORUSCTL COMPONENT - --rounds N [--busy] [--minutes N] [--shapes ...] [--only ...]

Each program runs on four ranks. Its results with the component must agree with those of plain Open
MPI. COUNTER is preloaded (count.c): it counts the collectives and those that went through torusd.
That is with coll_torus_all, so that every call goes through torusd.

--rounds N: no counter; in each round each program runs, with shorter inputs, under plain Open MPI without daemons and
with the component's defaults on each shape. A table has the medians and quartiles of the ratio of the times of a round,
from mpirun's start to its end. --busy: then the same beside two processes that never sleep. --minutes N: no round
starts that would end later; the table says how many rounds there were.

The packages: hpcc lammps lammps-examples quantum-espresso quantum-espresso-data scalapack-mpi-test.
A program whose package is missing is named and left out; with --required it is an error.
"""
import argparse
import atexit
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

RANKS, SECONDS = 4, 240
SCALAPACK = "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests"
EXAMPLES = "/usr/share/lammps/examples"
HPCC = "/usr/share/doc/hpcc/examples/_hpccinf.txt"
SILICON = """&control
 calculation='scf', prefix='si', pseudo_dir='/usr/share/espresso/pseudo', outdir='./out',
 tprnfor=.true.
/
&system
 ibrav=2, celldm(1)=10.20, nat=2, ntyp=1, ecutwfc=18.0
/
&electrons
 conv_thr=1.0d-9
/
ATOMIC_SPECIES
 Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.26 0.25 0.25
K_POINTS automatic
 3 3 3 1 1 1
"""


# Each run prints it; the daemons' start and end are not part of it.
TIMED = ["sh", "-c", 'began=$(date +%s%N); "$@"; code=$?; echo "took $(($(date +%s%N) - began)) ns"; exit $code', "sh"]


def numbers(text):
    return [float(n) for n in re.findall(r"-?\d+\.?\d*(?:[eE][-+]?\d+)?", text)]


def near(a, b, tolerance):
    return len(a) == len(b) > 0 and all(abs(x - y) <= tolerance * max(1, abs(x)) for x, y in zip(a, b))


def hpcc_folder(folder, short):
    with open(HPCC, encoding="utf-8") as f:
        lines = f.read().splitlines()
    if short:
        lines = [line.replace("1000 ", "250 ") if line.endswith("Ns") else line for line in lines]
    with open(os.path.join(folder, "hpccinf.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


def hpcc_result(folder, _):
    """The checks of HPCC that passed or failed."""
    with open(os.path.join(folder, "hpccoutf.txt"), encoding="utf-8") as f:
        text = f.read()
    checks = re.findall(r"\b(Success=\d)", text) + re.findall(r"(PASSED|FAILED)", text)
    return [float(c in ("Success=1", "PASSED")) for c in checks], 0


def lammps_folder(name):
    def fill(folder, short):
        shutil.copytree(os.path.join(EXAMPLES, name), folder, dirs_exist_ok=True)
        if short and name == "peptide":
            change(os.path.join(folder, "in.peptide"), r"(?m)^run\s+\d+", "run 60")
    return fill


def change(path, pattern, text):
    """Replaces the first text that the pattern finds."""
    with open(path, encoding="utf-8") as f:
        old = f.read()
    new, count = re.subn(pattern, text, old, count=1)
    if count != 1:
        sys.exit(f"{path} has nothing like {pattern}")
    with open(path, "w", encoding="utf-8") as f:
        f.write(new)


def lammps_result(_, output):
    """Energies, temperatures and pressures of the first 50 steps of peptide, and of all steps of melt.
    The sums of ranks round differently, so trajectories part later."""
    pairs = re.findall(r"(?:Eng|Temp|E_\w+|Press) +=\s+(-?\d+\.\d+)", output)[:26]
    table = re.search(r"^ *Step +Temp.*\n((?:[ \d.eE+-]+\n)+)", output, re.M)
    return [float(p) for p in pairs] + (numbers(table.group(1)) if table else []), 1e-4


def silicon_folder(folder, short):
    with open(os.path.join(folder, "si.in"), "w", encoding="utf-8") as f:
        f.write(SILICON.replace("3 3 3", "2 2 2") if short else SILICON)


def silicon_result(_, output):
    return numbers(" ".join(re.findall(r"^!.*$|Total force =\s+\S+", output, re.M))), 1e-7


def scalapack_folder(folder, _):
    """The inputs of the package, but xdlu does not estimate condition numbers. PDGERFS of Debian's ScaLAPACK
    2.2.1 gives PDLACON an estimate that it has not set (valgrind names both), so ranks part, and hang or end,
    by what earlier calls left on the stack: also under plain Open MPI, after a library that fills the stack
    with other bytes."""
    copy_inputs(folder)
    change(os.path.join(folder, "LU.dat"), r"(?m)^T(?=\s+\(T or F\) Test Cond)", "F")


def estimates_folder(folder, _):
    """The input of xdlu with condition estimates, for matrices of 2, 3 and 4 rows. These end well with any
    bytes on the stack; those of 5 rows and more do not."""
    copy_inputs(folder)
    path = os.path.join(folder, "LU.dat")
    change(path, r"(?m)^4(?=\s+number of problems sizes)", "3")
    change(path, r"(?m)^.*(?=\tvalues of M$)", "2 3 4")
    change(path, r"(?m)^.*(?=\tvalues of N$)", "2 3 4")


def copy_inputs(folder):
    for name in os.listdir(SCALAPACK):
        if name.endswith(".dat"):
            shutil.copy(os.path.join(SCALAPACK, name), folder)


def scalapack_result(_, output):
    """The numbers of tests that were made, passed, failed and were skipped."""
    summary = output[output.rfind("Finished"):]
    return numbers(" ".join(re.findall(r"^\s*(\d+) tests .*$", summary, re.M))), 0


def pblas_folder(folder, _):
    for name in os.listdir(os.path.join(SCALAPACK, "PBLAS")):
        if name.endswith(".dat"):
            shutil.copy(os.path.join(SCALAPACK, "PBLAS", name), folder)


def pblas_result(folder, output):
    for name in sorted(os.listdir(folder)):
        if name.endswith((".SUMM", ".out")):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                output += f.read()
    return [float(len(re.findall(word, output))) for word in ("PASSED", "FAILED")], 0


# name: command, file that its package has, how to fill the folder, how to read the results
PROGRAMS = {
    "hpcc": (["hpcc"], HPCC, hpcc_folder, hpcc_result),
    "lammps melt": (["lmp", "-in", "in.melt"], EXAMPLES + "/melt", lammps_folder("melt"), lammps_result),
    "lammps peptide": (["lmp", "-in", "in.peptide"], EXAMPLES + "/peptide", lammps_folder("peptide"),
                       lammps_result),
    "pw.x": (["pw.x", "-in", "si.in"], "/usr/share/espresso/pseudo/Si.pz-vbc.UPF", silicon_folder,
             silicon_result),
    "xdinv": ([SCALAPACK + "/xdinv"], SCALAPACK + "/xdinv", scalapack_folder, scalapack_result),
    "xdqr": ([SCALAPACK + "/xdqr"], SCALAPACK + "/xdqr", scalapack_folder, scalapack_result),
    "xdlu": ([SCALAPACK + "/xdlu"], SCALAPACK + "/xdlu", scalapack_folder, scalapack_result),
    "xdlu estimates": ([SCALAPACK + "/xdlu"], SCALAPACK + "/xdlu", estimates_folder, scalapack_result),
    "dpb1tst": ([SCALAPACK + "/PBLAS/dpb1tst"], SCALAPACK + "/PBLAS/dpb1tst", pblas_folder, pblas_result),
}


def run(arguments, name, shape, counted):
    """Runs a program; shape `plain`: without daemons and the component. With counts it has its whole input.
    Returns its results, their tolerance, its seconds, and the counts."""
    command, _, fill, read = PROGRAMS[name]
    environment = dict(os.environ, OMPI_MCA_btl_base_warn_component_unused="0", OMP_NUM_THREADS="1",
                       OPENBLAS_NUM_THREADS="1")
    launch = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(RANKS)]
    if os.geteuid() == 0:
        launch.append("--allow-run-as-root")
    if counted:
        launch += ["-x", f"LD_PRELOAD={arguments.counter}"]
        environment["OMPI_MCA_coll_torus_all"] = "1"
    if shape != "plain":
        environment["OMPI_MCA_mca_base_component_path"] = \
            os.path.dirname(arguments.component) + ":SYSTEM_DEFAULT:USER_DEFAULT"
    launch = TIMED + launch
    if shape != "plain":
        launch = [arguments.torusctl, "emulate", shape, "--ranks", "1", "--", *launch]
    with tempfile.TemporaryDirectory(prefix="programs.") as folder:
        fill(folder, arguments.rounds > 0)
        done = subprocess.run([*launch, *command], cwd=folder, env=environment, text=True, timeout=SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace",
                              stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            sys.exit(f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}\n{name}, {shape}: exit code {done.returncode}")
        results, tolerance = read(folder, done.stdout)
    seconds = int(re.findall(r"took (\d+) ns", done.stdout)[-1]) / 1e9
    counts = re.findall(r"count: rank \d+: (\d+) collectives, (\d+) through", done.stderr)
    return results, tolerance, seconds, [sum(int(c[i]) for c in counts) for i in (0, 1)]


def compare(arguments, name):
    """Runs a program under all settings. Returns True if the results agree."""
    plain, tolerance, seconds, _ = run(arguments, name, "plain", False)
    print(f"{name}: plain Open MPI: {seconds:.1f} s, {len(plain)} results: {plain[:4]}", flush=True)
    good = any(plain)
    for shape in arguments.shapes:
        found, _, seconds, (calls, through) = run(arguments, name, shape, True)
        agree = near(plain, found, tolerance)
        good = good and agree and calls > 0
        share = 100 * through / calls if calls else 0
        print(f"{name}: {shape}: {seconds:.1f} s, {calls} collectives, {share:.2f} % through torusd, "
              f"results {'agree' if agree else 'DIFFER'}", flush=True)
        if not agree:
            print(f"  plain: {plain[:12]}\n  {shape}: {found[:12]}")
    return good


def quartiles(values):
    good = [v for v in values if not math.isnan(v)]
    low, middle, high = (statistics.quantiles(good, n=4, method="inclusive") if len(good) > 1
                         else (good or [math.nan]) * 3)
    failed = f", {len(values) - len(good)} failed" if len(good) < len(values) else ""
    return f"{middle:.2f} ({low:.2f} to {high:.2f}{failed})"


def seconds_of(arguments, name, shape):
    """Returns the seconds of a run; NaN if it failed, so that the table still comes."""
    try:
        return run(arguments, name, shape, False)[2]
    except (SystemExit, subprocess.TimeoutExpired) as failure:
        print(failure, file=sys.stderr, flush=True)
        return math.nan


def measure(arguments, names, until):
    """Runs rounds of all programs and shapes until `until`, and prints a table. Returns False if there was none, or
    a run failed."""
    settings = ["plain", *arguments.shapes]
    times = {(name, shape): [] for name in names for shape in settings}
    rounds, longest = 0, 0.0
    while rounds < arguments.rounds and time.monotonic() + longest <= until:
        began = time.monotonic()
        for name in names:
            for shape in settings[rounds % len(settings):] + settings[:rounds % len(settings)]:
                times[name, shape].append(seconds_of(arguments, name, shape))
        longest = max(longest, time.monotonic() - began)
        rounds += 1
        print(f"round {rounds}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    if not rounds:
        return False
    print(f"\nMedians and quartiles of {rounds} rounds: seconds of plain Open MPI, then the time with torusd as a "
          "multiple of it\n")
    print("| program | plain | " + " | ".join(arguments.shapes) + " |")
    print("| --- " * (len(settings) + 1) + "|")
    for name in names:
        plain = times[name, "plain"]
        ratios = [quartiles([t / p for t, p in zip(times[name, shape], plain)]) for shape in arguments.shapes]
        print(f"| {name} | {quartiles(plain)} | " + " | ".join(ratios) + " |", flush=True)
    return not any(math.isnan(t) for list_of in times.values() for t in list_of)


def busy(count):
    """Starts processes that never sleep, each on a processor of its own: where they share one, the ranks have the
    others to themselves."""
    processors = sorted(os.sched_getaffinity(0))
    return [subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, [{processor}])\n"
                              "while True: pass"]) for processor in (processors * count)[:count]]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("torusctl", type=os.path.abspath)
    parser.add_argument("component", type=os.path.abspath)
    parser.add_argument("counter", type=os.path.abspath)
    parser.add_argument("--shapes", type=lambda t: t.split(","), default=["1", "2x1", "2x2"])
    parser.add_argument("--only", type=lambda t: t.split(","), default=list(PROGRAMS))
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--required", action="store_true")
    arguments = parser.parse_args()
    missing = [name for name in arguments.only if not os.path.exists(PROGRAMS[name][1])]
    for name in missing:
        print(f"{name}: left out, its package is not installed")
    names = [name for name in arguments.only if name not in missing]
    good = not (missing and arguments.required)
    if arguments.rounds:
        began, seconds = time.monotonic(), 60 * arguments.minutes
        idle = seconds / 3 if arguments.busy else seconds  # each run takes longer beside busy processes
        good = measure(arguments, names, began + idle) and good
        if arguments.busy:
            others = busy(2)
            atexit.register(lambda: [other.kill() for other in others])
            print("\nBeside two processes that never sleep:")
            good = measure(arguments, names, began + seconds) and good
    else:
        for name in names:
            good = compare(arguments, name) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
