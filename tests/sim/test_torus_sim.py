# SPDX-License-Identifier: Apache-2.0
"""torus-sim: what docs/network.md states of it, in virtual time, so on every machine the same. The
cases that take minutes run with TORUS_TEST_LONG=1."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

SIM = os.path.abspath(sys.argv.pop(1))
LONG = os.environ.get("TORUS_TEST_LONG") == "1"
SANITIZED = bool(os.environ.get("TORUS_TEST_SANITIZED"))


def run(*arguments):
    return subprocess.run([SIM, *arguments], capture_output=True, text=True, timeout=3000)


def alltoall(shape, *arguments):
    done = run("alltoall", "--json", "--shape", shape, *arguments)
    if done.returncode != 0:
        raise AssertionError(f"{shape} {arguments}: {done.stderr}")
    return json.loads(done.stdout)


def long(test):
    return unittest.skipUnless(LONG, "minutes: TORUS_TEST_LONG=1")(test)


def figures(test):
    """Leaves out, under a sanitizer, long runs for figures that are those of the release build anyway."""
    return unittest.skipIf(SANITIZED, "figures, which the release build has checked")(test)


# What docs/network.md states: shape, method, packets a pair, further options, efficiency.
FIGURES = [
    ("8x8", "random", 16, "", 0.963),
    ("4x4x4", "random", 16, "", 0.964),
    ("4x4x8", "two-phase", 16, "", 0.978),
    ("8x8", "pairwise", 16, "", 0.409),
    ("8x8", "phased", 64, "", 0.983),
    ("8x8", "phased", 64, "--mesh", 0.978),
    ("8x8", "phased", 64, "--barrier-scope all", 0.951),
    ("8x8", "phased", 64, "--barrier phase", 0.988),
    ("8x8", "phased", 64, "--barrier none", 0.993),
    ("8x8", "random", 16, "--order number", 0.938),
    ("8x8", "random", 16, "--arbitration none", 0.589),
    ("8x8", "random", 16, "--arbitration injection", 0.395),
]
LONG_FIGURES = [
    ("5x5x5", "random", 16, "", 0.980),
    ("8x8x8", "random", 4, "", 0.978),
    ("8x8x8", "random", 4, "--order number", 0.793),
    ("8x8x8", "random", 2, "--arbitration injection", 0.305),
    ("8x8x16", "random", 2, "", 0.724),  # the collapse on a long shape
    ("8x8x16", "two-phase", 4, "", 0.979),
    ("8x8", "phased", 256, "", 0.996),
    ("8x8x8", "phased", 27, "", 0.978),
    ("8x8x8", "phased", 63, "", 0.984),
]


class Figures(unittest.TestCase):
    def check(self, figures):
        for shape, method, packets, more, efficiency in figures:
            with self.subTest(shape=shape, method=method, packets=packets, more=more):
                got = alltoall(shape, "--method", method, "--packets", str(packets),
                               *more.split())
                self.assertAlmostEqual(got["efficiency"], efficiency, delta=0.005)

    @figures
    def test_as_documented(self):
        self.check(FIGURES)

    @long
    def test_as_documented_where_it_takes_minutes(self):
        self.check(LONG_FIGURES)


def redist(shape, before, after, elements, *arguments):
    done = run("redist", "--json", "--shape", shape, "--from", before, "--to", after, "--elements",
               elements, *arguments)
    if done.returncode != 0:
        raise AssertionError(f"{before} -> {after} {arguments}: {done.stderr}")
    return json.loads(done.stdout)


# What docs/redistribution.md states of an 8x8 torus: layouts, elements, slots by schedule.
SIDE_BY_SIDE, MIXED = ("@0-27", "@28-63"), ("@0-54:2", "@1-55:2,56-63")
REDISTRIBUTIONS = [
    (2, 28, SIDE_BY_SIDE, 564480, {"circulant": 195, "matching": 203, "caterpillar": 255}),
    (2, 28, MIXED, 564480, {"circulant": 150, "matching": 160, "caterpillar": 227}),
    (4, 24, SIDE_BY_SIDE, 677376, {"circulant": 245, "matching": 278, "caterpillar": 260}),
    (4, 24, MIXED, 677376, {"circulant": 224, "matching": 210, "caterpillar": 224}),
]
LONG_REDISTRIBUTIONS = [
    (2, 28, SIDE_BY_SIDE, 14112000, {"circulant": 4051, "matching": 3958, "caterpillar": 4335}),
    (2, 28, MIXED, 14112000, {"circulant": 2458, "matching": 2365, "caterpillar": 3528}),
    (4, 24, SIDE_BY_SIDE, 16934400, {"circulant": 4590, "matching": 5031, "caterpillar": 5119}),
    (4, 24, MIXED, 16934400, {"circulant": 2880, "matching": 2815, "caterpillar": 3257}),
]


def fft(shape, elements, *arguments):
    done = run("fft", "--json", "--shape", shape, "--elements", elements, *arguments)
    if done.returncode != 0:
        raise AssertionError(f"fft of {elements} on {shape} {arguments}: {done.stderr}")
    return json.loads(done.stdout)


class Transforms(unittest.TestCase):
    @figures
    def test_transposes_come_near_the_bound_of_their_all_to_alls(self):
        pencils = ("--from", "(block, block, *) on 16x4", "--to", "(*, block, block) on 16x4")
        for elements, arguments, moves in (("128x128x128", (), 2), ("128x128x128", pencils, 2),
                                           ("1048576", (), 3)):
            with self.subTest(elements=elements, arguments=arguments):
                got = fft("4x4x4", elements, *arguments)
                self.assertEqual(got["steps"], moves)
                self.assertLessEqual(got["slots"], 1.1 * got["t_min_in_turn_slots"])
                self.assertLessEqual(got["t_min_slots"], got["t_min_in_turn_slots"])
                self.assertGreaterEqual(got["slots"], got["t_min_slots"])

    @figures
    def test_on_a_long_torus_relays_come_near_it_too(self):
        ways = {method: fft("4x4x12", "192x192x128", "--bytes", "16", "--method", method)
                for method in ("auto", "random")}
        self.assertLessEqual(ways["auto"]["slots"], 1.1 * ways["auto"]["t_min_in_turn_slots"])
        self.assertLess(1.1 * ways["auto"]["slots"], ways["random"]["slots"])

    @figures
    def test_moves_over_other_links_overlap(self):
        got = fft("4x4x4", "256x256x256", "--from", "(block, block, *) on 16x4", "--to",
                  "(*, block, block) on 16x4")
        self.assertLess(got["slots"], got["t_min_in_turn_slots"])

    def test_what_is_missing_or_wrong_is_said(self):
        for more, words in ((["fft", "--shape", "2x2"], "needs --elements"),
                            (["fft", "--shape", "2x2", "--elements", "8x8", "--grid", "z"], "nodes")):
            done = run(*more)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)


class Redistributions(unittest.TestCase):
    def check(self, cases):
        for x, y, (before, after), elements, slots in cases:
            for schedule, expected in slots.items():
                with self.subTest(x=x, y=y, before=before, schedule=schedule):
                    got = redist("8x8", f"cyclic({x}){before}", f"cyclic({y}){after}",
                                 str(elements), "--bytes", "4", "--schedule", schedule)
                    self.assertEqual(got["method"], schedule)
                    self.assertLess(abs(got["slots"] / expected - 1), 0.02)
                    self.assertLessEqual(got["t_min_slots"], got["slots"])

    @figures
    def test_as_documented(self):
        self.check(REDISTRIBUTIONS)

    @long
    def test_as_documented_of_long_arrays(self):
        self.check(LONG_REDISTRIBUTIONS)

    def test_the_bound_is_of_nodes_planes_and_all_links(self):
        # 64 packets from node 0, which has two links; each of 64 from all to one
        got = redist("4x4", "boxes 0:65536@0", "boxes 0:32768 32768:65536 @1,2", "65536", "--bytes",
                     "1")
        self.assertEqual(got["t_min_slots"], 64 / 4)
        got = redist("4x4", "block@0-14", "boxes 0:60@15", "60", "--bytes", "1K")
        self.assertEqual(got["t_min_slots"], 60 / 4)
        # the upper half of a mesh to the lower: 64 packets through a plane of 4 links
        got = redist("4x4m", "block@0-1,4-5,8-9,12-13", "block@2-3,6-7,10-11,14-15", "64",
                     "--bytes", "1K")
        self.assertEqual(got["t_min_slots"], 64 / 4)
        # neighbours in a ring of 16 each give theirs away: 16 packets over 16 links, either way
        got = redist("16", "block@0-15", "block@8-15,0-7", "16", "--bytes", "1K")
        self.assertEqual(got["t_min_slots"], 16 * 8 / 32)

    def test_arrays_of_several_axes_and_pieces_that_stay_are_counted(self):
        stays = redist("2x2", "(block, *)", "(block, *)", "64x64")
        self.assertEqual((stays["t_min_slots"], stays["packet_hops"]), (0, 0))
        turns = redist("2x2", "(block, *)", "(*, block)", "64x64", "--bytes", "16")
        self.assertGreaterEqual(turns["packet_hops"], 3 * 16 * 64 * 16 / 1024)
        self.assertGreaterEqual(turns["slots"], turns["t_min_slots"])

    def test_what_is_missing_or_wrong_is_said(self):
        base = ["redist", "--shape", "2x2", "--from", "block", "--to", "cyclic"]
        for more, words, code in (([], "needs --from, --to and --elements", 2),
                                  (["--elements", "4x"], "up to 6 axes", 2),
                                  (["--elements", "9", "--schedule", "fast"], "circulant", 2),
                                  (["--elements", "9", "--to", "cyklic"], "at character 1", 1),
                                  (["--elements", "9", "--to", "cyclic@0-4"], "rank 4 is not in the group of 4 ranks", 1)):
            done = run(*base, *more)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(words, done.stderr)
        self.assertEqual(run("plan_redist", "--shape", "2x2").returncode, 2)


class Phased(unittest.TestCase):
    def case(self, shape, *arguments):
        return alltoall(shape, "--method", "phased", *arguments)

    def test_aligned_starts_reach_the_bound(self):
        got = self.case("8x8", "--packets", "16", "--control", "0")
        self.assertEqual(got["slots"], got["t_min_slots"])
        self.assertEqual(got["transit_waits"], 0)

    def test_one_part_with_the_gap_never_meets(self):
        one = ["--parts", "1", "--packets", "16", "--control", "0", "--arbitration", "injection"]
        on = self.case("8x8", *one)
        off = self.case("8x8", *one, "--gap", "off")
        self.assertEqual(on["transit_waits"], 0)
        self.assertEqual(on["efficiency"], 0.5)  # one dimension at a time
        self.assertGreater(off["transit_waits"], 0)

    def test_mesh(self):
        for shape in ("8mx8m", "5mx4m"):
            got = self.case(shape, "--packets", "16", "--control", "0")
            self.assertGreaterEqual(got["efficiency"], 0.97, shape)


class Gates(unittest.TestCase):
    @figures
    def test_what_is_short_takes_two_diameters(self):
        for shape, hops in [("4x4x4", 6), ("3x5", 3), ("2x2x2x2", 4), ("7", 3), ("8x8x8", 12)]:
            for call in (["barrier"], ["allreduce", "--bytes", "8"]):
                done = run(*call, "--json", "--shape", shape)
                self.assertAlmostEqual(json.loads(done.stdout)["slots"], 2 * hops, 1, shape)


class Program(unittest.TestCase):
    @figures
    def test_halving_is_ahead_of_rings_where_steps_count(self):
        def slots(method, size):
            done = run("allreduce", "--json", "--shape", "8x8", "--latency", "1", "--slots", "16",
                       "--bytes", size, "--method", method)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)["slots"]
        whole, halves, rings = (slots(method, "4K") for method in ("swing-whole", "swing",
                                                                   "bucket"))
        self.assertLess(whole, halves)
        self.assertLess(halves, rings)
        self.assertLess(slots("bucket", "256K"), slots("swing", "256K"))

    def test_result_has_what_is_promised(self):
        got = alltoall("3x4m", "--packets", "2")
        for key in ("shape", "method", "bytes", "seed", "slots", "t_min_slots", "efficiency",
                    "utilization", "packet_hops", "packet_hops_per_s", "trace_hash"):
            self.assertIn(key, got)
        self.assertEqual(len(got["utilization"]), 2)
        self.assertEqual(got["bytes"], 2048)

    def test_hops_are_minimal(self):
        # every packet of a torus of k nodes goes k/4 hops on average, of a mesh (k^2 - 1)/3k
        got = alltoall("4x4", "--method", "random", "--packets", "3")
        self.assertEqual(got["packet_hops"], 16 * 16 * 3 * 2)
        got = alltoall("5m", "--method", "pairwise", "--packets", "1")
        self.assertEqual(got["packet_hops"], 2 * (4 * 1 + 3 * 2 + 2 * 3 + 1 * 4))

    def test_same_seed_same_history(self):
        first, again = (alltoall("3x3", "--packets", "4", "--seed", "7") for _ in range(2))
        other = alltoall("3x3", "--packets", "4", "--seed", "8")
        self.assertEqual(first["trace_hash"], again["trace_hash"])
        self.assertEqual(first["slots"], again["slots"])
        self.assertNotEqual(first["trace_hash"], other["trace_hash"])

    def test_long_messages_and_slow_gates_are_no_deadlock(self):
        got = alltoall("2", "--packets", str(1 << 20), "--method", "random")
        self.assertGreater(got["efficiency"], 0.99)
        self.assertGreater(alltoall("4x4", "--control", "5000")["slots"], 10000)

    def test_deadlock_is_found_without_the_bubble(self):
        done = run("alltoall", "--shape", "8x8", "--method", "random", "--packets", "8",
                   "--escape-only", "--no-bubble", "--slots", "2", "--straight", "0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("deadlock: no packet can move", done.stderr)
        alltoall("8x8", "--method", "random", "--packets", "2", "--escape-only", "--slots", "2")

    def test_plot_and_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            plot, trace = os.path.join(folder, "p.svg"), os.path.join(folder, "t")
            alltoall("2x3x2m", "--packets", "2", "--plot", plot, "--trace", trace)
            root = xml.etree.ElementTree.parse(plot).getroot()
            self.assertTrue(root.tag.endswith("svg"))
            self.assertGreater(os.path.getsize(trace), 1000)

    def test_the_axes_of_a_plot_have_round_numbers_names_and_a_scale(self):
        with tempfile.TemporaryDirectory() as folder:
            plot = os.path.join(folder, "p.svg")
            for packets in ("1", "7", "64"):
                alltoall("4x8", "--packets", packets, "--plot", plot)
                root = xml.etree.ElementTree.parse(plot).getroot()
                words = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
                numbers = [float(w) for w in words if re.fullmatch(r"\d+(\.\d+)?", w)]
                slots = numbers[:numbers.index(0, 1)]  # then come the nodes
                self.assertIn(len(slots), range(4, 10))
                self.assertEqual(slots, [slots[1] * i for i in range(len(slots))])
                self.assertRegex(f"{slots[1]:e}", r"^[125]\.0+e")
                for name in ("utilization of the links", "direction", "node", "bytes on a link:", "0 bytes"):
                    self.assertIn(name, words)
                self.assertIn("a packet of 1 KiB takes one on a link (1.024 us at 1 GB/s)", " ".join(words))

    def test_bad_input(self):
        for arguments, words in ((["alltoall"], "missing --shape"),
                                 ([], "missing collective"),
                                 (["alltoall", "--shape", "4x"], "expected a size"),
                                 (["alltoall", "--shape", "4", "--packets", "0"], "--packets 0"),
                                 (["alltoall", "--shape", "4", "--gap", "maybe"], "one of: on off"),
                                 (["broadcast", "--shape", "5x3m", "--root", "15"],
                                  "the root, 15, is no rank of a group of 15 ranks"),
                                 (["gather", "--shape", "4", "--group", "nodes:1-2", "--root", "2"],
                                  "must be below 2"),
                                 (["alltoall", "--shape", "4", "--plot", "/nowhere/p"],
                                  "cannot write"),
                                 (["alltoall", "--shape", "4", "--trace", "/dev/full"],
                                  "cannot write")):
            done = run(*arguments)
            self.assertNotEqual(done.returncode, 0, arguments)
            self.assertIn(words, done.stderr, arguments)


if __name__ == "__main__":
    unittest.main()
