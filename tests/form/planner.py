#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""planner: check that only the planning thread of a daemon calls FFTW's planner.

usage: planner.py SOURCE

FFTW's own functions are called in daemon/compute/fft. Of the functions there that call the planner
(compute/fft/fft.h), those that make plans are called in daemon/io by the planning thread's tasks
alone; ALLOWED names the files, and the functions in them.
"""
import glob
import os
import re
import sys

FFTW = re.compile(r"\b(fftwf?_|FFTW\()(plan_|destroy_plan|import_|export_|cleanup|execute|set_timelimit|forget_wisdom)")
PLANS = re.compile(r"\b(td_fft_make_plan|td_fft_make_plan_within|td_fft_sweep|td_fft_prepare|td_fft_run|td_fft_import|td_fft_export|"
                   r"td_fft_fini|td_step_run|td_wisdom_compose|td_wisdom_load|td_fft_plan_make|"
                   r"td_fft_plan_destroy)\(")
ALLOWED = {
    ("io/plans/waiting.c", "make"): "a task of the planning thread",
    ("io/plans/waiting.c", "sweep"): "a task of the planning thread",
    ("io/plans/plans.c", "ask"): "a task of the planning thread",
    ("io/plans/plans.c", "learn"): "a task of the planning thread",
    ("io/plans/plans.c", "compose"): "a task of the planning thread",
    ("io/plans/plans.c", "td_plans_create"): "before the loop runs",
    ("io/plans/plans.c", "td_plans_free"): "after the loop and the thread have ended",
    ("io/plans/wisdom.c", "import_body"): "of td_wisdom_load",
    ("io/plans/wisdom.c", "td_wisdom_compose"): "is the function itself",
    ("io/driver.c", "finish"): "after the loop has ended",
}


def functions(path):
    """Yield (name, body) of the functions of a file, without comments."""
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    for m in re.finditer(r"^[a-z_][^\n;]*?\b\*?(\w+)\((?:[^;{}]*)\)\n\{\n(.*?)^\}", text, re.S | re.M):
        yield m.group(1), m.group(2)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    daemon = os.path.join(sys.argv[1], "daemon")
    wrong, used = 0, set()
    for path in sorted(glob.glob(os.path.join(daemon, "**/*.c"), recursive=True)):
        name = os.path.relpath(path, daemon)
        if name.startswith("compute/fft/"):
            continue
        for function, body in functions(path):
            if FFTW.search(body):
                print(f"daemon/{name}: {function} calls FFTW: daemon/compute/fft does")
                wrong += 1
            if not name.startswith("io/") or not PLANS.search(body):
                continue
            if (name, function) not in ALLOWED:
                print(f"daemon/{name}: {function} calls {PLANS.search(body).group(1)}, which may wait "
                      "for FFTW's planner: make it a task of the planning thread (io/plans/planner.h)")
                wrong += 1
            used.add((name, function))
    for name, function in sorted(set(ALLOWED) - used):
        print(f"tests/form/planner.py: {function} of daemon/{name} does not call the planner any more")
        wrong += 1
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
