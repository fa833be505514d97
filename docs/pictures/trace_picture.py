#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trace_picture TRACE.json PICTURE.png [BEGIN_S END_S]: draw the calls of a torusctl trace.

One line a rank, grouped by node; the lines of gates below. Waits are light, runs dark, late ranks and
errors red. BEGIN_S and END_S select a part of the time axis, in seconds.
"""
import json
import sys

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLOURS = [("wait", "#9ecae1", "wait for a rank"), ("gate", "#6baed6", "wait for the gate"),
           ("run", "#08519c", "run"), ("LATE", "#cb181d", "rank has not called")]


def colour(name):
    """Returns the colour of an interval, or None for one that contains others."""
    return next((c for start, c, _ in COLOURS if name.startswith(start)), None)


def main():
    with open(sys.argv[1], encoding="utf-8") as text:
        trace = json.load(text)
    events = trace["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events
             if e["ph"] == "M" and e["name"] == "thread_name"}
    lines = sorted(k for k, name in names.items() if name.startswith("rank") and "(" not in name)
    place = {key: i for i, key in enumerate(lines)}
    end = max(e["ts"] + e.get("dur", 0) for e in events) * 1e-6
    window = [float(v) for v in sys.argv[3:5]] or [0, end]
    figure, axes = plt.subplots(figsize=(9, 0.35 * len(lines) + 1.4), layout="constrained")
    for e in events:
        at = place.get((e["pid"], e.get("tid")))
        if at is None or e["ph"] != "X" or not colour(e["name"]):
            continue
        axes.barh(at, e["dur"] * 1e-6, left=e["ts"] * 1e-6, height=0.8, color=colour(e["name"]))
    for e in events:
        at = place.get((e["pid"], e.get("tid")))
        if at is not None and e["ph"] == "i":
            axes.plot(e["ts"] * 1e-6, at, "v", color="#cb181d")
    axes.set_yticks(range(len(lines)), [f"node {p}, {names[p, t]}" for p, t in lines])
    axes.invert_yaxis()
    axes.set_xlim(*window)
    axes.set_xlabel("time since the first event that is kept (s)")
    axes.set_title(f"job {trace['otherData']['job']}: what each rank did")
    handles = [plt.Rectangle((0, 0), 1, 1, color=c) for _, c, _ in COLOURS]
    axes.legend(handles, [label for _, _, label in COLOURS], ncols=len(COLOURS), fontsize="small",
                loc="lower center", bbox_to_anchor=(0.5, 1.1))
    figure.savefig(sys.argv[2], dpi=110)


main()
