# SPDX-License-Identifier: Apache-2.0
"""torus-plan redist: schedules, compared with owners counted element by element."""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CTL = os.path.abspath(sys.argv.pop(1))
PLAN = os.path.join(os.path.dirname(CTL), "torus-plan")
os.environ["TORUS_SOCKET"] = "/nonexistent/socket"  # else it takes the fabric of a daemon
KINDS = ["auto", "circulant", "colouring", "classes", "matching", "caterpillar"]


def redist(source, to, *options):
    return subprocess.run([PLAN, "redist", "--from", source, "--to", to, *options],
                          capture_output=True, text=True, timeout=60)


def told(source, to, *options):
    done = redist(source, to, "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def owners(p, x, q, y, elements):
    """What part has how many elements for what part."""
    count = {}
    for e in range(elements):
        pair = (e // x % p, e // y % q)
        count[pair] = count.get(pair, 0) + 1
    return count


class Schedules(unittest.TestCase):
    def check(self, plan, wanted, first_source, first_target):
        """Every step is a partial permutation; every pair meets once, with its blocks."""
        met = {}
        for step in plan["steps"]:
            self.assertEqual(len({m["src"] for m in step}), len(step))
            self.assertEqual(len({m["dst"] for m in step}), len(step))
            for m in step:
                pair = (m["src"] - first_source, m["dst"] - first_target)
                self.assertNotIn(pair, met)
                met[pair] = m["blocks"]
        self.assertEqual(met, wanted)

    def test_the_example_of_the_source(self):
        plan = told("cyclic(2)@0-2", "cyclic(4)@0-5")
        self.assertEqual([(m["src"], m["dst"]) for m in plan["steps"][0]], [(0, 0), (1, 2), (2, 1)])
        self.assertEqual(plan["schedule"], "circulant")

    def test_half_the_steps_of_the_caterpillar(self):
        for p, q, k in [(28, 36, 14), (40, 48, 3)]:
            layouts = f"cyclic(3)@0-{p - 1}", f"cyclic({3 * k})@{p}-{p + q - 1}"
            plan = told(*layouts)
            self.assertEqual((len(plan["steps"]), plan["bound_steps"]), (18, 18))
            other = told(*layouts, "--schedule", "caterpillar")
            self.assertEqual(len(other["steps"]), max(p, q))

    def test_blocks_are_those_of_a_superblock(self):
        for p, x, q, y in [(3, 2, 6, 4), (4, 6, 3, 2), (5, 4, 7, 6), (6, 9, 4, 6), (1, 5, 4, 3)]:
            whole = math.lcm(p * x, q * y) if p > 1 else q * y
            unit = math.gcd(x, y) if p > 1 else y
            wanted = {pair: n // unit for pair, n in owners(p, x, q, y, whole).items()}
            for kind in KINDS:
                with self.subTest(p=p, x=x, q=q, y=y, kind=kind):
                    plan = told(f"cyclic({x})@2-{p + 1}", f"cyclic({y})@1-{q}", "--schedule", kind)
                    self.check(plan, wanted, 2, 1)
                    sent = [sum(n for (a, _), n in wanted.items() if a == i) for i in range(p)]
                    got = [sum(n for (_, b), n in wanted.items() if b == i) for i in range(q)]
                    self.assertEqual(plan["bound_volume"], max(sent + got))
                    self.assertGreaterEqual(len(plan["steps"]), plan["bound_steps"])
                    if kind not in ("classes", "caterpillar"):
                        self.assertEqual(len(plan["steps"]), plan["bound_steps"])

    def test_bytes_are_those_of_the_array(self):
        plan = told("cyclic(2)@0-2", "cyclic(4)@0-5", "--elements", "1003", "--element", "4")
        wanted = owners(3, 2, 6, 4, 1003)
        for step in plan["steps"]:
            for m in step:
                self.assertEqual(m["elements"], wanted.pop((m["src"], m["dst"])))
                self.assertEqual(m["bytes"], 4 * m["elements"])
        self.assertEqual(wanted, {})

    def test_several_axes_and_boxes(self):
        plan = told("(block, cyclic) on 2x3", "(cyclic, block) on 3x2 @6-11", "--elements", "12x18")
        self.assertEqual(plan["schedule"], "circulant")
        self.assertEqual(sum(m["elements"] for step in plan["steps"] for m in step), 12 * 18)
        plan = told("boxes 0:10,0:5 0:10,5:9 @0,4", "(block, *) on 3", "--elements", "10x9")
        self.assertEqual(sum(m["blocks"] for step in plan["steps"] for m in step), 90)
        self.assertEqual(len(plan["steps"]), 3)

    def test_text_names_every_schedule(self):
        text = redist("cyclic(2)@0-2", "cyclic(4)@0-5", "--elements", "1M").stdout
        for word in KINDS[1:] + ["bound", "superblock", "24 elements"]:
            self.assertIn(word, text)

    def test_the_picture_has_every_message(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "steps.svg")
            self.assertEqual(redist("cyclic@0-6", "cyclic(3)@0-9", "--plot", path).returncode, 0)
            root = xml.etree.ElementTree.parse(path).getroot()
            cells = [e for e in root if (e.get("fill") or "").startswith("hsl")]
            self.assertEqual(len(cells), 70)

    def test_links_of_a_ring(self):
        plan = told("cyclic@0-3", "cyclic(4)@0-3", "--shape", "4")
        self.assertEqual(plan["links"], {"shape": "4", "steps": 3, "together": 2})
        plan = told("cyclic@0-7", "cyclic(8)@0-7", "--shape", "4", "--ranks-per-node", "2")
        self.assertEqual(plan["links"]["together"], 8)
        self.assertEqual(redist("cyclic@0-3", "cyclic(4)@0-4", "--shape", "4").returncode, 2)

    def test_what_is_wrong_is_pointed_at(self):
        for source, options, sentence in [
                ("cyclic(2@0-2", [], "character 9"),
                ("cyclic(2)@0-2", ["--elements", "99999999999999999999"], "99999999999999999999"),
                ("cyclic(2)", [], "names no ranks"),
                ("block@0-3", [], "missing --elements"),
                ("(block, *) on 3", ["--elements", "10"], "axes"),
                ("(block, *) on 3", ["--elements", "10x4"], "axes"),
                ("boxes 0:5 4:9 @0,1", ["--elements", "9"], "overlap"),
                ("boxes 0:5 6:9 @0,1", ["--elements", "9"], "no box covers"),
                ("cyclic(2)@0-2", ["--schedule", "circular"], "--schedule must be"),
                ("cyclic(2)@0-2", ["--elements", "ten"], "--elements ten: expected sizes"),
                ("cyclic(2)@0,0", [], "twice"),
                ("cyclic(2)@0-2", ["--colour", "red"], "unknown option --colour")]:
            done = redist(source, "cyclic(4)@0-5", *options)
            self.assertEqual(done.returncode, 2, source)
            self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    unittest.main()
