# SPDX-License-Identifier: Apache-2.0
"""torus-plan: its lines compared with the methods, its totals with the bound."""
import itertools
import json
import math
import os
import re
import subprocess
import sys
import unittest

CTL = os.path.abspath(sys.argv.pop(1))
ARRAY = os.path.join(os.path.dirname(CTL), "torus-array")
PLAN = os.path.join(os.path.dirname(CTL), "torus-plan")
os.environ["TORUS_SOCKET"] = "/nonexistent/socket"  # else it takes the fabric of a daemon
METHODS = ["random", "phased", "pairwise", "two-phase"]
BYTES = 12288


def explain(shape, *options):
    return subprocess.run([PLAN, "alltoall", "--shape", shape, *options],
                          capture_output=True, text=True, timeout=60)


def program(shape, *options):
    """One node's JSON, its rounds spread out."""
    done = explain(shape, "--json", "--bytes", str(BYTES), "--packet", "1K", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    found["steps"] = [step for r in found["rounds"] for step in r["steps"] * r["count"]]
    return found


class Shape:
    def __init__(self, text):
        parts = text.split("x")
        self.text = text
        self.wrap = [not part.endswith("m") for part in parts]
        self.size = [int(part.rstrip("m")) for part in parts]
        self.nodes = math.prod(self.size)
        self.places = list(itertools.product(*(range(k) for k in self.size)))

    def load2(self, dimension):
        """Twice the messages on the busiest link of a dimension: as td_bound_load2."""
        k = self.size[dimension]
        return self.nodes // k * (k * k // 4) * (1 if self.wrap[dimension] else 2)

    def node(self, place):
        return self.places.index(tuple(place))

    def programs(self, *options):
        return [program(self.text, "--node", ",".join(map(str, place)), *options)
                for place in self.places]


def sends(found):
    return [step for step in found["steps"] if step["kind"] == "send"]


class Explain(unittest.TestCase):
    def test_the_lines_of_a_small_phased_program_are_those_of_its_meaning(self):
        done = explain("3x4", "--method", "phased", "--bytes", "12K", "--packet", "1K",
                       "--node", "1,0")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [re.sub(r" +", " ", line.strip()) for line in done.stdout.splitlines()]
        begin = lines.index("phase 1 of 2, dimension 0: part 1 of 2")
        # half of the data of the four nodes of each row, then of the three of each column
        self.assertEqual(lines[begin:begin + 10], [
            "phase 1 of 2, dimension 0: part 1 of 2",
            "+1,0 to node 8 (2,0) 24 KiB in 24 packets, 1 hop",
            "-1,0 to node 0 (0,0) 24 KiB in 24 packets, 1 hop",
            "barrier of 3 nodes along dimension 0: 0 4 8",
            "phase 1 of 2, dimension 1: part 2 of 2",
            "0,+1 to node 5 (1,1) 18 KiB in 18 packets, 1 hop",
            "0,-1 to node 7 (1,3) 18 KiB in 18 packets, 1 hop",
            "barrier of 4 nodes along dimension 1: 4 5 6 7",
            "0,+2 to node 6 (1,2) 9 KiB in 9 packets, 2 hops, a gap of 1 slot after each",
            "0,-2 to node 6 (1,2) 9 KiB in 9 packets, 2 hops, a gap of 1 slot after each"])
        self.assertIn("method phased: it was requested", lines)
        self.assertIn("T_min 72 slots, at one packet per slot and link", lines)
        # the picture: this node sends along its column and its row
        self.assertIn("1 . . .", lines)
        self.assertIn("* 1 2 1", lines)

    def test_what_repeats_is_told_once(self):
        text = explain("4x4", "--method", "random", "--bytes", "16K", "--packet", "1K").stdout
        self.assertIn("round 1 of 16\n", text)
        self.assertIn("    and 3 more\n", text)
        self.assertTrue(text.endswith("\n15 more rounds like this\n"))
        every = explain("4x4", "--method", "random", "--bytes", "16K", "--packet", "1K", "--all")
        self.assertEqual(every.stdout.count("to node"), 15)
        text = explain("4x4", "--method", "phased", "--bytes", "1M", "--relay", "1M").stdout
        self.assertRegex(text, r"before the next segment\n.*\n.*\n\n\d+ more segments like this")

    def test_totals_are_the_bound_of_every_dimension_for_every_method(self):
        for text in ["3x3", "4x4", "3x4", "2x2x4", "1x5", "4x4x2", "7", "8x2"]:
            shape = Shape(text)
            for method in METHODS:
                found = program(text, "--method", method)
                where = f"{text} {method}"
                loads = [shape.load2(d) * BYTES for d in range(len(shape.size))]
                self.assertEqual(found["totals"]["byte_hops"], loads, where)
                self.assertEqual(found["t_min_slots"], max(loads) / 2 / 1024, where)
                self.assertGreater(found["predicted_slots"], 0.99 * found["t_min_slots"], where)
                self.assertEqual(found["totals"]["bytes"], sum(s["bytes"] for s in sends(found)))
                self.assertEqual(found["totals"]["messages"], len(sends(found)))

    def test_links_of_a_mesh_carry_what_the_bound_says(self):
        for text in ["3x4m", "4mx4m", "5m", "2mx3"]:
            shape = Shape(text)
            carried = {}
            for place, found in zip(shape.places, shape.programs("--method", "phased")):
                for step in sends(found):
                    d, way = step["dimension"], step["offset"][step["dimension"]]
                    at = list(place)
                    for _ in range(abs(way)):
                        link = (tuple(at), d, way > 0)
                        carried[link] = carried.get(link, 0) + step["bytes"]
                        at[d] = (at[d] + (1 if way > 0 else -1)) % shape.size[d]
                    self.assertEqual(at, step["coordinates"])
            for d in range(len(shape.size)):
                most = max((n for link, n in carried.items() if link[1] == d), default=0)
                self.assertEqual(2 * most, shape.load2(d) * BYTES, f"{text} {d}")

    def test_direct_methods_send_each_node_its_message_once(self):
        for text in ["3x3", "4x2m", "5x3"]:
            shape = Shape(text)
            for method in ["random", "pairwise"]:
                for me, found in enumerate(shape.programs("--method", method)):
                    sent = [0] * shape.nodes
                    for step in sends(found):
                        sent[step["node"]] += step["bytes"]
                    self.assertEqual(sent, [0 if n == me else BYTES for n in range(shape.nodes)])

    def test_two_phase_goes_along_the_longest_ring_then_in_the_plane(self):
        found = program("3x3x6", "--method", "two-phase", "--node", "1,1,2")
        for step in sends(found):
            along = [bool(way) for way in step["offset"]]
            self.assertEqual(along[2], step["phase"] == 0)
            self.assertEqual(any(along[:2]), step["phase"] == 1)
            self.assertEqual(step["hops"], sum(abs(way) for way in step["offset"]))

    def test_all_nodes_of_a_barrier_have_it_at_the_same_place(self):
        for scope, options in [("ring", []), ("all", ["--barrier-scope", "all"]),
                               ("phase", ["--barrier", "phase"])]:
            shape = Shape("3x4")
            chains = {}
            for me, found in enumerate(shape.programs("--method", "phased", *options)):
                for step in found["steps"]:
                    if step["kind"] == "barrier":
                        self.assertIn(me, step["among"])
                        chains.setdefault(tuple(step["among"]), {}).setdefault(me, []).append(
                            step["phase"])
            for among, phases in chains.items():
                self.assertEqual(set(phases), set(among), scope)
                self.assertEqual(len(set(map(tuple, phases.values()))), 1, scope)
            self.assertEqual(len(chains), 1 if scope == "all" else 3 + 4)
        self.assertEqual(program("3x4", "--method", "phased", "--barrier",
                                 "none")["totals"]["barriers"], 0)

    def test_the_gap_can_be_turned_off_and_the_fabric_changed(self):
        with_gap = program("6x3", "--method", "phased")
        self.assertEqual({s["gap"] - s["hops"] for s in sends(with_gap)}, {-1})
        for options in [["--gap", "off"], ["--fabric", "direct"]]:
            found = program("6x3", "--method", "phased", *options)
            self.assertEqual({s["gap"] for s in sends(found)}, {0})
        self.assertIsNone(found["predicted_slots"])
        self.assertEqual(found["fabric"], "direct")

    def test_the_choice_and_its_reason_are_told(self):
        found = program("8x8x16")
        self.assertEqual(found["method"], "two-phase")
        self.assertIn("one dimension is so long", found["reason"])

    def test_wrong_usage_is_refused_with_a_sentence(self):
        for options, words in [(["--method", "best"], "--method must be"),
                               (["--bytes", "0"], "--bytes"),
                               (["--node", "3,0"], "--node must have"),
                               (["--node", "0"], "--node must have"),
                               (["--packet", "1"], "--packet must be"),
                               (["--what", "0"], "unknown option --what"),
                               (["--gap"], "missing value")]:
            done = explain("3x3", *options)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
        self.assertIn("character", explain("3xx3").stderr)
        self.assertEqual(explain("1").returncode, 0)



OPERATIONS = ["barrier", "broadcast", "reduce", "allreduce", "reduce_scatter", "scan", "exscan",
              "prefix", "gather", "scatter", "allgather", "alltoallv"]


def call(operation, shape, *options):
    return subprocess.run([PLAN, operation, "--shape", shape, *options],
                          capture_output=True, text=True, timeout=60)


class Call:
    """All nodes' programs of one operation."""

    def __init__(self, operation, text, *options):
        shape = Shape(text)
        self.node = []
        for place in shape.places:
            done = call(operation, text, "--json", "--packet", "1K", "--node",
                        ",".join(map(str, place)), *options)
            assert done.returncode == 0, done.stderr
            self.node.append(json.loads(done.stdout))

    def sent(self):
        return {(n["node"], peer["node"]): peer["bytes"] for n in self.node for peer in n["sends"]}

    def received(self):
        return {(peer["node"], n["node"]): peer["bytes"] for n in self.node
                for peer in n["receives"]}

    def into(self):
        return [n["totals"]["received_bytes"] for n in self.node]


class EveryOperation(unittest.TestCase):
    def test_what_one_node_sends_the_other_receives(self):
        for operation in OPERATIONS:
            for fabric in ["direct", "routed"]:
                for each in ["1", "3"]:
                    options = ["--bytes", "12K", "--fabric", fabric, "--ranks-per-node", each]
                    found = Call(operation, "2x3", *options)
                    where = (operation, fabric, each)
                    self.assertEqual(found.sent(), found.received(), where)
                    self.assertEqual(bool(found.sent()), operation != "barrier", where)
                    for n in found.node:
                        totals = n["totals"]
                        self.assertEqual(totals["bytes"], sum(p["bytes"] for p in n["sends"]))
                        moved = sum(f["bytes"] for f in n["families"])
                        self.assertEqual(moved, totals["bytes"] + totals["received_bytes"], where)
                        self.assertEqual(n["ranks"], 6 * int(each))

    def test_nodes_get_what_the_operation_means(self):
        vector = 64 * 1024
        for fabric in ["direct", "routed"]:
            options = ["--bytes", str(vector), "--fabric", fabric]
            rooted = ["--root", "5", *options]
            self.assertEqual(Call("broadcast", "3x3", *rooted).into(),
                             [0 if n == 5 else vector for n in range(9)])
            self.assertEqual(Call("allgather", "3x3", *options).into(), [8 * vector] * 9)
            for operation, into in [("gather", [8 if n == 5 else 0 for n in range(9)]),
                                    ("scatter", [0 if n == 5 else 1 for n in range(9)])]:
                self.assertEqual(Call(operation, "3x3", *rooted).into(), [n * vector for n in into])
            parts = Call("alltoallv", "3x3", "--spread", "0", *options)
            self.assertEqual(set(parts.sent().values()), {vector})
            self.assertEqual(len(parts.sent()), 72)

    def test_an_allreduce_goes_round_rings_or_halves_by_its_length(self):
        for size, method in (("3K", "reduce_swing_whole"), ("16K", "reduce_swing"),
                             ("4M", "reduce_bucket")):
            done = call("allreduce", "8x8x8", "--json", "--bytes", size, "--packet", "1K")
            self.assertEqual(json.loads(done.stdout)["method"], method, size)
        for method in ("bucket", "swing", "swing-whole"):
            done = call("allreduce", "8x8", "--bytes", "64K", "--method", method)
            self.assertIn("reduce_" + method.replace("-", "_") + ": it was requested", done.stdout)
        for kind in ("reduce_scatter", "allgather"):
            for size, method in (("128", "swing"), ("16K", "bucket")):
                done = call(kind, "8x8", "--json", "--bytes", size, "--packet", "1K")
                self.assertEqual(json.loads(done.stdout)["method"], kind + "_" + method, size)
        done = call("allreduce", "6x6", "--json", "--bytes", "4K", "--packet", "1K", "--method",
                    "swing")
        self.assertEqual(json.loads(done.stdout)["method"], "reduce_bucket")

    def test_a_large_allreduce_loads_all_links_alike_and_as_little_as_the_bound(self):
        for text, links in [("4x4", 4), ("3x3x3", 6)]:
            done = call("allreduce", text, "--json", "--bytes", "9M", "--packet", "1K")
            found, nodes = json.loads(done.stdout), Shape(text).nodes
            bound = 2 * 9 * 1024 * 1024 * (nodes - 1) / nodes / links
            self.assertAlmostEqual(found["t_min_slots"], bound / 1024, 3)
            self.assertGreaterEqual(found["busiest_link"]["bytes"], bound - 1)
            self.assertLess(found["busiest_link"]["bytes"], 1.05 * bound)

    def test_links_are_loaded_as_the_bound_says_where_every_node_has_something_for_every_other(self):
        for text in ["4x4", "3x5m", "2x2x4"]:
            shape = Shape(text)
            done = call("alltoallv", text, "--json", "--bytes", "4K", "--spread", "0", "--packet",
                        "1K")
            found = json.loads(done.stdout)
            most = max(shape.load2(d) for d in range(len(shape.size))) / 2
            self.assertEqual(found["t_min_slots"], most * 4)
            self.assertGreaterEqual(found["busiest_link"]["bytes"], most * 4096)
            self.assertLess(found["busiest_link"]["bytes"], 1.5 * most * 4096)

    def test_short_calls_travel_with_the_gate_along_one_tree(self):
        for fabric in ["direct", "routed"]:
            for operation in OPERATIONS:
                if operation in ["alltoallv", "barrier"]:
                    continue
                found = Call(operation, "3x4", "--bytes", "8", "--fabric", fabric).node
                self.assertEqual({n["totals"]["messages"] for n in found}, {0}, operation)
                roots = [n for n in found if n["gate"]["parent"] is None]
                self.assertEqual([n["node"] for n in roots], [found[0]["gate"]["root"]])
                for n in found:
                    self.assertNotIn(n["gate"]["carries"], ["none", "nothing"])
                    for child in n["gate"]["children"]:
                        self.assertEqual(found[child]["gate"]["parent"], n["node"])
                self.assertEqual(sum(len(n["gate"]["children"]) for n in found), 11)

    def test_text_tells_the_method_the_peers_and_the_bound(self):
        text = call("scan", "4", "--bytes", "1M", "--node", "1").stdout
        self.assertTrue(text.startswith(
            "scan(sum, double, 131072) on 4, routed fabric: 4 ranks, 1 per node"))
        self.assertIn("  method     scan_chain: ", text)
        self.assertIn("  T_min      2 slots", text)
        self.assertRegex(text, r"Sends\n  to node 2 \(2\) +1 MiB in \d+ messages .* 1 hop")
        self.assertRegex(text, r"Receives\n  from node 0 \(0\) +1 MiB in ")
        long = call("allgather", "4mx4").stdout
        self.assertIn("and 3 more nodes; --all shows them", long)
        self.assertEqual(call("allgather", "4mx4", "--all").stdout.count("  from node "), 15)

    def test_the_method_asked_for_is_taken(self):
        for operation, method, name in [("prefix", "stream", "prefix_stream"),
                                        ("prefix", "round-trips", "prefix_round_trips"),
                                        ("prefix", "gather", "gather"),
                                        ("alltoallv", "pairwise", "pairwise"),
                                        ("broadcast", "links", "bcast_trees"),
                                        ("broadcast", "binary", "bcast")]:
            done = call(operation, "3x3", "--json", "--bytes", "12K", "--method", method)
            self.assertEqual(json.loads(done.stdout)["method"], name)

    def test_calls_that_no_daemon_takes_are_refused(self):
        for operation, options, words in [("scan", ["--root", "1"], "no root"),
                                          ("gather", ["--op", "sum"], "to reductions only"),
                                          ("reduce", ["--type", "float3"], "--type must be"),
                                          ("reduce", ["--bytes", "12"], "multiple of the type"),
                                          ("reduce", ["--root", "9"], "root"),
                                          ("reduce", ["--op", "xor"], "integers and bytes"),
                                          ("scan", ["--method", "links"], "accepts no --method"),
                                          ("scan", ["--mode", "often"], "--mode must be"),
                                          ("reduce", ["--method", "stream"], "rooted call"),
                                          ("scan", ["--spread", "0"], "to alltoallv only"),
                                          ("scan", ["--ranks-per-node", "1025"], "1 to 1024"),
                                          ("sort", [], "unknown operation sort")]:
            done = call(operation, "3x3", *options)
            self.assertEqual(done.returncode, 2, (operation, options))
            self.assertIn(words, done.stderr)

    def test_a_command_that_is_cut_short_is_guessed(self):
        for program, word, guess in ((CTL, "stra", "stragglers"), (CTL, "emul", "emulate"),
                                     (CTL, "dotcor", "doctor"), (ARRAY, "ftt", "fft")):
            done = subprocess.run([program, word], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"unknown command {word}; the nearest is {guess}; ", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_command_that_moved_is_named(self):
        for word, now in (("explain", "torus-plan"), ("fft", "torus-array fft"), ("picture", "torus-array picture")):
            done = subprocess.run([CTL, word, "more"], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr, f"torusctl: {word} is another program now: {now} (package torus-tools)\n")

    def test_who_does_not_know_the_commands_is_told_them(self):
        def ask(*arguments):
            done = subprocess.run([CTL, *arguments], capture_output=True, text=True, timeout=60)
            return done.returncode, done.stdout, done.stderr
        everything = ask("--help")
        self.assertEqual(everything[0], 0)
        self.assertIn("\n  ops ", everything[1])
        self.assertEqual(ask("-h"), everything)
        self.assertEqual(ask("help"), everything)
        one = ask("ops", "--help")
        self.assertIn("usage: torusctl ops ", one[1])
        self.assertEqual(ask("ops", "-h"), one)
        self.assertEqual(ask("help", "ops"), one)
        code, _, error = ask("help", "statuss")
        self.assertEqual(code, 2)
        self.assertIn("unknown command statuss; the nearest is status", error)
        code, _, error = ask("--timeout", "1", "status")
        self.assertEqual(code, 2)
        self.assertIn("--timeout: the command comes first, then its options", error)


class Times(unittest.TestCase):
    """On the direct fabric a node has one link to all others, and messages that wait for one another cost 8 KiB."""
    PACKET, MESSAGE = 256 << 10, 8 << 10

    def told(self, operation, *options):
        done = subprocess.run([PLAN, operation, "--shape", "4", "--fabric", "direct", "--packet", "256K",
                               "--bytes", "1M", "--json", *options], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_predictions_are_the_bytes_of_the_busiest_node(self):
        n, two = 1 << 20, ("--ranks-per-node", "2")
        for operation, options, most in [
                ("allreduce", (), 3 * n // 2 + 2 * self.MESSAGE),
                ("allreduce", two, 3 * n // 2 + 2 * self.MESSAGE),
                ("reduce", (), 6 * n // 4 + 2 * self.MESSAGE),
                ("reduce", two, 9 * n // 4 + 2 * self.MESSAGE),
                ("reduce_scatter", two, 12 * n + self.MESSAGE),
                ("gather", two, 6 * n + self.MESSAGE),
                ("allgather", (), 3 * n + self.MESSAGE),
                ("alltoall", ("--bytes", "32K"), 3 * (n // 32) / 0.87 + self.MESSAGE),
                ("alltoall", (), 3 * n + 3 * self.MESSAGE)]:
            with self.subTest(operation=operation, options=options):
                found = self.told(operation, *options)["predicted_slots"]
                self.assertAlmostEqual(found, most / self.PACKET, delta=0.001)

    def test_a_scan_passes_the_nodes_in_pieces(self):
        least = min((n // each - 1 + 3) * (each + self.MESSAGE)
                    for n in [1 << 20] for each in [1 << k for k in range(13, 19)])
        self.assertAlmostEqual(self.told("scan")["predicted_slots"], least / self.PACKET, delta=0.001)
        self.assertAlmostEqual(self.told("broadcast")["predicted_slots"], least / self.PACKET, delta=0.001)

    def test_times_need_the_rate_of_a_link(self):
        for operation in ("allreduce", "alltoall"):
            self.assertIsNone(self.told(operation)["predicted_seconds"])
            found = self.told(operation, "--link-rate", "1MB/s")
            self.assertAlmostEqual(found["predicted_seconds"], found["predicted_slots"] * self.PACKET / 1e6, places=6)
        done = subprocess.run([PLAN, "allreduce", "--shape", "4", "--fabric", "direct", "--bytes", "1M",
                               "--link-rate", "1MB/s"], capture_output=True, text=True, timeout=60)
        self.assertIn("  predicted  6.0625 slots: 1589 ms at 1 MB/s\n", done.stdout)


class OwnMachine(unittest.TestCase):
    def test_the_daemon_of_this_node_tells_shape_and_fabric(self):
        for fabric in ("direct", "routed"):
            done = subprocess.run([CTL, "emulate", "2x3", "--ranks", "1", "--fabric", fabric, "--", "sh", "-c",
                                   f"{PLAN} allreduce; {PLAN} alltoall --shape 4x4; "
                                   f"{PLAN} alltoall --shape 4x4 --fabric routed"],
                                  capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"on 2x3, {fabric} fabric: 6 ranks", done.stdout)
            self.assertIn(f"All-to-all on 4x4, {fabric} fabric", done.stdout)
            self.assertIn("All-to-all on 4x4, routed fabric", done.stdout)

    def test_the_daemon_of_this_node_tells_what_a_message_costs(self):
        for overhead, method in (("128KiB", "bcast"), ("1KiB", "bcast_chain")):
            done = subprocess.run([CTL, "emulate", "8", "--ranks", "1", "--set", f"network.message_overhead={overhead}", "--",
                                   PLAN, "broadcast", "--bytes", "64KiB"], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"  method     {method}: ", done.stdout)

    def test_without_a_daemon_the_shape_is_needed(self):
        done = subprocess.run([PLAN, "allreduce"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("missing --shape, such as 4x4: no daemon", done.stderr)


if __name__ == "__main__":
    unittest.main()
