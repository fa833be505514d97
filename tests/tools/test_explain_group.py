# SPDX-License-Identifier: Apache-2.0
"""torus-plan group: planes and trees of groups with gaps, as JSON and as picture."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CTL = os.path.abspath(sys.argv.pop(1))
PLAN = os.path.join(os.path.dirname(CTL), "torus-plan")
os.environ["TORUS_SOCKET"] = "/nonexistent/socket"  # else it takes the fabric of a daemon


def group(shape, *options):
    return subprocess.run([PLAN, "group", "--shape", shape, *options],
                          capture_output=True, text=True, timeout=60)


def told(shape, *options):
    done = group(shape, "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Groups(unittest.TestCase):
    def test_every_node_is_in_a_plane_and_the_tree_spans(self):
        for shape, seed in [("8x8", 1), ("8mx8m", 2), ("4x4x4", 3), ("2x3x4x2", 4)]:
            with self.subTest(shape=shape):
                g = told(shape, "--group", "random:0.6", "--seed", str(seed))
                nodes = sorted(n for p in g["planes"] for n in p["nodes"])
                parent = dict(g["parents"])
                self.assertEqual(len(set(nodes)), g["nodes"])
                self.assertEqual(nodes, sorted(parent))
                for plane in g["planes"]:
                    self.assertEqual(len(plane["nodes"]), plane["sides"][0] * plane["sides"][1])
                    self.assertIn(plane["local_root"], plane["nodes"])
                for node in nodes:
                    for _ in range(len(nodes)):
                        node = parent[node]
                    self.assertEqual(node, g["root"])
                self.assertTrue(g["connected"])
                self.assertLessEqual(g["breadth_first"]["best_root"], g["hops"])

    def test_parts_are_joined(self):
        g = told("8x8", "--nodes", "0,2,4,18-22,40")
        self.assertFalse(g["connected"])
        self.assertEqual(sorted(p["gap"] for p in g["planes"]), [0, 2, 2, 2, 3])
        self.assertIn("3 hops away", group("8x8", "--nodes", "0,2,4,18-22,40").stdout)

    def test_a_whole_machine_needs_no_planes(self):
        g = told("4x4x4")
        self.assertTrue(g["box"])
        self.assertEqual((g["hops"], g["root"]), (6, 0))

    def test_the_picture_has_every_node(self):
        with tempfile.TemporaryDirectory() as folder:
            for shape in ["9", "6x5m", "3x4x5"]:
                path = os.path.join(folder, "group.svg")
                done = group(shape, "--group", "random:0.7", "--plot", path)
                self.assertEqual(done.returncode, 0, done.stderr)
                root = xml.etree.ElementTree.parse(path).getroot()
                circles = [e for e in root if e.tag.endswith("circle")]
                nodes = 1
                for size in shape.replace("m", "").split("x"):
                    nodes *= int(size)
                self.assertEqual(len(circles), nodes)
            self.assertEqual(group("2x2x2x2", "--plot", path).returncode, 2)

    def test_what_is_no_group_is_refused(self):
        for options in [["--nodes", "99"], ["--group", "random:2"], ["--nodes", "a"],
                        ["--colour", "red"]]:
            done = group("3x3", *options)
            self.assertEqual(done.returncode, 2, options)
            self.assertTrue(done.stderr)


if __name__ == "__main__":
    unittest.main()
