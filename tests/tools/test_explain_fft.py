# SPDX-License-Identifier: Apache-2.0
"""torus-plan fft: printed stages, compared with parts of an array counted here."""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CTL = os.path.abspath(sys.argv.pop(1))
PLAN = os.path.join(os.path.dirname(CTL), "torus-plan")
os.environ["TORUS_SOCKET"] = "/nonexistent/socket"  # else it takes the fabric of a daemon


def explain(shape, elements, *options):
    return subprocess.run([PLAN, "fft", "--shape", shape, "--elements", elements,
                           *options], capture_output=True, text=True, timeout=60)


def told(*arguments):
    done = explain(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def moves(plan):
    return [stage for stage in plan["stages"] if stage["stage"] == "move"]


def passes(plan):
    return [stage for stage in plan["stages"] if stage["stage"] == "transform"]


def sizes(array):
    return [int(n) for n in array["elements"].split("x")]


def part(array, owner):
    """The box of an owner, by a layout of blocks: a range for each axis."""
    text, grid, order = re.fullmatch(r"\((.*)\)(?: on (\S+))?(?: by (\S+))?",
                                     array["layout"]).groups()
    axes = [axis.strip() for axis in text.split(",")]
    dealt = [d for d, axis in enumerate(axes) if axis != "*"]
    parts = dict(zip(dealt, map(int, grid.split("x")))) if grid else {}
    which, rest = {}, owner
    for d in reversed([int(d) for d in order.split(",")] if order else dealt):
        which[d] = rest % parts[d]
        rest //= parts[d]
    box = []
    for d, n in enumerate(sizes(array)):
        block = -(-n // parts.get(d, 1))
        begin = min(n, which.get(d, 0) * block)
        box.append(range(0) if rest else range(begin, min(n, begin + block)))
    return box


def common(a, b):
    return math.prod(max(0, min(x.stop, y.stop) - max(x.start, y.start)) for x, y in zip(a, b))


class Plans(unittest.TestCase):
    def check_moves(self, plan, node, nodes):
        """The node sends the others the elements that the layouts require, in every move."""
        for move in moves(plan):
            element = move["from"]["element_bytes"]
            mine = part(move["from"], node)
            want = {n: element * common(mine, part(move["to"], n)) for n in range(nodes)}
            self.assertEqual(move["stays"], want.pop(node))
            self.assertEqual({peer["node"]: peer["bytes"] for peer in move["sends"]},
                             {n: size for n, size in want.items() if size})
            self.assertEqual(move["bytes"], sum(want.values()))

    def check_stages(self, plan):
        """Every axis is transformed once, where it is whole, and stages follow each other."""
        axes = []
        for stage in passes(plan):
            axes.append(stage["axis"])
            self.assertEqual(stage["from"]["layout"].strip("()").split(",")[stage["axis"]].split(
                ")")[0].strip(), "*")
        self.assertEqual(sorted(axes), sorted(set(axes)))
        for before, after in zip(plan["stages"], plan["stages"][1:]):
            self.assertEqual(before["to"]["layout"], after["from"]["layout"])
            self.assertEqual(before["to"]["place"], after["from"]["place"])
        return set(axes)

    def test_parts_are_those_that_layouts_say(self):
        for shape, elements, *options in (
                ("4x4x4", "128x128x128"), ("3x3", "20x31x17"), ("2x2x2", "12x10x8x6"),
                ("4x4", "64x64x64", "--from", "(block, block, *) on 4x4", "--to",
                 "(*, block, block) on 4x4"),
                ("4x4", "6x7x9", "--grid", "2x8"), ("2x3", "40x30", "--axes", "0"),
                ("8", "9x8x7", "--kinds", "dct2,dst1,dct4", "--precision", "single")):
            nodes = math.prod(int(n) for n in shape.split("x"))
            for node in (0, nodes - 1):
                place, rest = [], node
                for n in reversed(shape.split("x")):
                    place.insert(0, str(rest % int(n)))
                    rest //= int(n)
                with self.subTest(shape=shape, elements=elements, options=options, node=node):
                    plan = told(shape, elements, *options, "--node", ",".join(place))
                    self.assertEqual(plan["node"], node)
                    self.check_moves(plan, node, nodes)
                    axes = self.check_stages(plan)
                    self.assertEqual(axes, {0} if "--axes" in options
                                     else set(range(elements.count("x") + 1)))

    def test_what_one_node_sends_is_what_the_other_receives(self):
        for options in ((), ("--method", "phased"), ("--method", "two-phase")):
            one, other = (told("4x4", "64x32x16", "--from", "(cyclic(3), *, *)", "--node", place,
                               *options) for place in ("1,2", "3,2"))
            for a, b in zip(moves(one), moves(other)):
                sent = [peer["bytes"] for peer in a["sends"] if peer["node"] == other["node"]]
                received = [peer["bytes"] for peer in b["receives"] if peer["node"] == one["node"]]
                self.assertEqual(sent, received)

    def test_transposes_of_slabs_have_the_bound_of_the_all_to_all(self):
        for shape, load in (("4x4", 8), ("5x5", 15), ("4x4x4", 32), ("8x8", 64)):
            nodes = math.prod(int(n) for n in shape.split("x"))
            n = 8 * nodes if nodes < 64 else 2 * nodes
            plan = told(shape, f"{n}x{n}x4", "--packet", "1K", "--grid", str(nodes))
            message = n * n * 4 * 16 / nodes ** 2
            for move in moves(plan):
                self.assertEqual(move["among"], nodes)
                self.assertAlmostEqual(move["t_min_slots"], load * message / 1024)
            self.assertAlmostEqual(plan["totals"]["t_min_slots"], 2 * load * message / 1024)
            self.assertGreaterEqual(plan["totals"]["predicted_slots"],
                                    plan["totals"]["t_min_slots"])

    def test_a_partial_packet_takes_the_time_of_its_bytes(self):
        times = [told("8", "64x32", "--link-rate", "1GB/s", "--packet", packet)["totals"]["moves_s"]
                 for packet in ("1K", "16K", "256K")]
        for time in times:
            self.assertAlmostEqual(time, times[0], 9)
        # of 512 bytes to each of seven nodes, twice: no link carries less than 4 KiB
        self.assertGreaterEqual(times[0], 2 * 4096 / 1e9)
        self.assertLess(times[0], 3 * 4096 / 1e9)

    def test_pencils_exchange_with_their_row_alone(self):
        plan = told("4x4x8", "32x32x32", "--from", "(block, block, *) on 16x8", "--to",
                    "(*, block, block) on 16x8")
        self.assertEqual(plan["grid"], [16, 8])
        self.assertEqual([move["among"] for move in moves(plan)], [8, 16])
        for move, dimensions in zip(moves(plan), ((2,), (0, 1))):
            for d in range(3):
                self.assertEqual(move["byte_hops"][d] > 0, d in dimensions)

    def test_operations_are_five_n_log_n(self):
        plan = told("2x2", "24x20x28")
        n = 24 * 20 * 28
        self.assertAlmostEqual(plan["totals"]["operations"], 5 * n * math.log2(n))
        half = told("2x2", "24x20x28", "--axes", "2", "--kinds", "r2c")
        self.assertAlmostEqual(half["totals"]["operations"], 2.5 * n * math.log2(28))
        self.assertEqual(passes(half)[0]["to"]["elements"], "24x20x15")
        self.assertEqual(passes(half)[0]["from"]["element_bytes"], 8)

    def test_the_grid_that_is_asked_for_is_taken_and_others_stand_beside_it(self):
        plan = told("4x4", "32x32x32", "--grid", "8x2")
        self.assertEqual((plan["grid"], plan["reason"]), ([8, 2], "it was requested"))
        grids = [tuple(grid["grid"]) for grid in plan["grids"]]
        self.assertEqual(sorted(grids), [(2, 8), (4, 4), (8, 2), (16,)])
        self.assertEqual([tuple(grid["grid"]) for grid in plan["grids"] if grid["chosen"]],
                         [(8, 2)])
        times = [grid["predicted_slots"] for grid in plan["grids"]]
        self.assertEqual(times, sorted(times))

    def test_the_method_that_is_asked_for_is_taken(self):
        for method in ("random", "phased", "pairwise", "two-phase"):
            plan = told("4x4x4", "64x64x64", "--method", method, "--packet", "1K")
            for move in moves(plan):
                self.assertEqual(move["method"], method)
                self.assertEqual(move["predicted_slots"],
                                 move["predicted_slots_by_method"][method])

    def test_text_says_whether_the_method_is_the_one_asked_for(self):
        options = ("4x4", "64x64", "--method", "phased")
        self.assertIn("phased, as requested", explain(*options).stdout)
        self.assertIn("random, because phased needs boxes",
                      explain(*options, "--from", "(block, *) @0-4", "--to",
                              "(*, block) @0-4").stdout)

    def test_one_long_axis_is_a_matrix(self):
        plan = told("4", "4096")
        self.assertEqual([stage["axis"] for stage in passes(plan)], [0, 1])
        self.assertEqual(math.prod(stage["points"] for stage in passes(plan)), 4096)
        self.assertIn("matrix", plan["reason"])

    def test_the_direct_fabric_has_no_slots(self):
        plan = told("2x2", "16x16x16", "--fabric", "direct")
        self.assertIsNone(plan["totals"]["t_min_slots"])
        self.assertTrue(all(move["busiest_link"] is None for move in moves(plan)))
        self.assertIn("no prediction", explain("2x2", "16x16x16", "--fabric", "direct").stdout)

    def test_text_tells_stages_grids_and_totals(self):
        text = explain("4x4x4", "128x128x128", "--packet", "1K", "--link-rate", "5GB/s",
                       "--gflops", "10", "--from", "(cyclic, *, *)").stdout
        for words in ("slabs", "Grids of nodes", "* 64", "  1. transform axis 2", "256 lines",
                      "move to (*, block, *) on 64 (by node), in scratch", "the last redistribution",
                      "504 KiB to 63 nodes", "8 KiB stay", "T_min      256 slots", "others     ",
                      "and 57 more nodes", "T_min 512 in sequence", "220 million operations",
                      "at the links' rate", "of which chunks hide"):
            self.assertIn(words, text)
        self.assertEqual(len(re.findall("    to node", explain(
            "4x4", "64x64x64", "--all").stdout)), 2 * 15)

    def test_the_picture_has_every_stage(self):
        with tempfile.TemporaryDirectory() as folder:
            for elements, *options in (("32x32x32",), ("32x32", "--from", "(cyclic(3), *)"),
                                       ("4096",), ("8x8x8x8", "--grid", "4x2x2"),
                                       ("16x8", "--from", "boxes 0:8,0:8 8:16,0:8")):
                path = os.path.join(folder, "plan.svg")
                self.assertEqual(explain("4x4", elements, *options, "--plot", path).returncode, 0)
                root = xml.etree.ElementTree.parse(path).getroot()
                plan = told("4x4", elements, *options)
                bars = [e for e in root.iter() if e.get("class") == "move"]
                self.assertEqual(len(bars), len(moves(plan)))
                arrows = [e for e in root.iter() if (e.text or "").startswith("transform axis")]
                self.assertEqual(len(arrows), len(passes(plan)))

    def test_the_picture_colours_the_part_of_the_node(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.svg")
            for elements, options, parts in (("32x32", (), 1), ("32x32", ("--from", "(cyclic(1), *)"), 2),
                                             ("32x32x32", (), 3)):
                explain("4x4", elements, *options, "--plot", path)
                root = xml.etree.ElementTree.parse(path).getroot()
                own = [e.get("d") for e in root.iter("{http://www.w3.org/2000/svg}path") if e.get("fill") == "#e8853a"]
                first = [d for d in own if float(re.match(r"M([\d.]+)", d)[1]) < 250]
                self.assertEqual(len(first), parts)  # a sheet has one side, a cube three
                for d in first if parts < 3 else []:  # the front of the cube is this node's
                    y = [float(n) for n in re.findall(r" ([\d.]+)", d)]
                    self.assertLess(max(y) - min(y), 60)  # not the whole of it
        done = explain("2x2", "8x8", "--plot", "/nowhere/plan.svg")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write /nowhere/plan.svg", done.stderr)

    def test_what_is_wrong_is_a_sentence(self):
        for elements, options, words in (
                ("8x", (), "missing --elements"),
                ("8x8x8x8x8x8x8", (), "missing --elements"),
                ("4000000000x8", (), "at most 2147483647 points"),
                ("2000000000x2000000000x2000000000", (), "overflows 63 bits"),
                ("8x8", ("--axes", "2"), "no axis 2 in an array of 2 axes"),
                ("8x8", ("--axes", "0,-2"), "names axis 0 twice"),
                ("8x8", ("--axes", "0;1"), "a list such as 0,2"),
                ("8x8", ("--kinds", "dct9"), "--kinds must be"),
                ("8x8", ("--kinds", "dct2,dct2,dct2"), "3 kinds for 2 axes"),
                ("8x8", ("--kinds", "dct2,complex"), "cannot be combined with complex"),
                ("8x8", ("--kinds", "r2c"), "only one axis may be R2C or C2R"),
                ("8x8", ("--kinds", "none"), "at least one axis"),
                ("1x8", ("--kinds", "dct1"), "at least two points"),
                ("8x8", ("--inverse", "--kinds", "complex,r2c"), "R2C must be forward"),
                ("8x8", ("--grid", "2x2"), "fewer axes than the array"),
                ("8x8", ("--grid", "2*2"), "--grid must be"),
                ("8x8", ("--method", "fast"), "--method must be one of auto"),
                ("8x8", ("--from", "(blok, *)"), "at character 2"),
                ("8x8", ("--to", "boxes 0:4,0:8 @0"), "no box covers"),
                ("8x8", ("--to", "(block, *) @0-99"), "layout after"),
                ("8x8", ("--link-rate", "fast"), "bytes per second"),
                ("8x8", ("--gflops", "0"), "--gflops must be"),
                ("8x8", ("--precision", "half"), "single or double"),
                ("8x8", ("--ranks-per-node", "0"), "1 to 1024"),
                ("8x8", ("--bogus", "1"), "unknown option --bogus"),
                ("8x8", ("--plot",), "unknown option --plot, or missing value")):
            with self.subTest(elements=elements, options=options):
                done = explain("2x2", elements, *options)
                self.assertEqual(done.returncode, 2)
                self.assertIn(words, done.stderr)
        self.assertEqual(explain("64x64", "8x8", "--ranks-per-node", "5").returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
