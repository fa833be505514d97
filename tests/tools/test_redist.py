# SPDX-License-Identifier: Apache-2.0
"""torus-array redist with real daemons: the output is the input or its transpose for all layouts; the
part of each rank is that of the layout."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from cases import pick

CTL = os.path.abspath(sys.argv.pop(1))
ARRAY = os.path.join(os.path.dirname(CTL), "torus-array")
DEADLINE_S = 120


def emulate(shape, *arguments, ranks=None):
    many = ["--ranks", str(ranks)] if ranks else []
    return subprocess.run([CTL, "emulate", shape, *many, "--prefix", "--", ARRAY, "redist", *arguments],
                          capture_output=True, text=True, timeout=DEADLINE_S)


def cyclic(n, block, parts, part):
    """Returns the indices of a part of an axis of n."""
    return [i for i in range(n) if i // block % parts == part]


def block(n, parts, part):
    return cyclic(n, max(1, -(-n // parts)), parts, part)


class Redistributions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.random = np.random.default_rng(5)

    def path(self, name):
        return os.path.join(self.folder, name)

    def some(self, shape, dtype="f8"):
        """Returns an array in which neighbouring elements differ."""
        count = int(np.prod(shape))
        raw = self.random.bytes(count * np.dtype(dtype).itemsize)
        return np.frombuffer(raw, dtype=dtype).reshape(shape)

    def move(self, array, before, after, *options, shape="2x2", ranks=5):
        np.save(self.path("in.npy"), array)
        done = emulate(shape, self.path("in.npy"), self.path("out.npy"), "--from", before, "--to",
                       after, *options, ranks=ranks)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.output = done.stdout
        return np.load(self.path("out.npy"))

    def same(self, result, array):
        self.assertEqual((result.dtype, result.shape), (array.dtype, array.shape))
        self.assertEqual(result.tobytes(), np.ascontiguousarray(array).tobytes())

    def test_the_output_is_the_input_whatever_the_layouts(self):
        cases = [
            ((1000,), "block", "cyclic"),
            ((997,), "cyclic(2)@0-2", "cyclic(4)@1-4"),
            ((3,), "block", "cyclic@4,2"),
            ((0,), "block", "cyclic"),
            ((70, 33), "(block, *)", "(*, block)"),
            ((70, 33), "(cyclic(3)+2, *) @0-3", "(block, cyclic(4)) on 2x2 @1-4"),
            ((70, 33), "(*, block) order 1,0 @0-1", "(cyclic, *) order 1,0"),
            ((2, 50), "(block, *)", "boxes 0:2,0:20 0:1,20:50 1:2,20:50 @4,0,2"),
            ((9, 8, 7), "(block, *, cyclic(2)) on 2x2 @0-3", "(*, cyclic, *) order 2,0,1"),
            ((5, 4, 3, 6), "(*, *, *, cyclic(4))", "(block, block, *, *) on 2x2 order 3,1,0,2"),
        ]
        for shape, before, after in pick(cases):
            for schedule in ("auto", "caterpillar"):
                with self.subTest(shape=shape, before=before, after=after, schedule=schedule):
                    array = self.some(shape)
                    self.same(self.move(array, before, after, "--schedule", schedule), array)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.npy", "out.npy"])

    def test_elements_of_every_type_and_size_are_moved(self):
        for dtype in pick(("i1", ">i4", "f2", "f8", "c16", "S3", "U5", "M8[ns]", "?",
                      [("x", "<f4"), ("shape", "u1"), ("at", "<i2", (3,))], "V100000")):
            with self.subTest(type=dtype):
                array = self.some((11, 6), "u1" if dtype == "?" else "V4" if dtype == "U5" else dtype)
                if dtype in ("?", "U5"):  # not all bytes are such elements
                    array = (self.random.random((11, 6)) * 1e5 // 1).astype(dtype)
                self.same(self.move(array, "(cyclic, *)", "(*, cyclic(2)) @3,1"), array)

    def test_axes_change_places(self):
        for shape, axes in (((40, 7), (1, 0)), ((5, 6, 7), (2, 0, 1)), ((5, 6, 7), (0, 2, 1)),
                            ((2, 3, 4, 5), (3, 1, 0, 2))):
            with self.subTest(axes=axes):
                array = self.some(shape, "<i4")
                stars = ", *" * (len(axes) - 1)
                result = self.move(array, f"(cyclic(2){stars})", f"(block{stars})", "--transpose",
                                   ",".join(map(str, axes)))
                self.same(result, array.transpose(axes))

    def test_memory_order_of_the_file_is_kept(self):
        array = np.asfortranarray(self.some((30, 20, 3)))
        for options, expected in (((), array), (("--transpose", "1,2,0"), array.transpose(1, 2, 0))):
            result = self.move(array, "(cyclic(4), *, *)", "(*, block, *) order 1,0,2", *options)
            self.assertTrue(result.flags.f_contiguous and not result.flags.c_contiguous)
            self.same(result, expected)

    def test_each_rank_has_what_the_layout_says(self):
        array = self.some((23, 11))
        self.move(array, "(block, *)", "(block, cyclic(2)) on 2x2 @0,1,3,4", "--local-out",
                  self.path("part-%r.npy"))
        for place, rank in enumerate((0, 1, 3, 4)):
            rows, columns = block(23, 2, place // 2), cyclic(11, 2, 2, place % 2)
            self.same(np.load(self.path(f"part-{rank}.npy")), array[np.ix_(rows, columns)])
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["in.npy", "out.npy"] + [f"part-{rank}.npy" for rank in (0, 1, 3, 4)])

    def test_a_part_is_written_with_its_axes_in_order_whatever_its_memory(self):
        array = self.some((4, 9))
        self.move(array, "(block, *)", "(block, *) order 1,0", "--transpose", "1,0", "--local-out",
                  self.path("%r-%r.npy"))
        parts = [np.load(self.path(f"{rank}-{rank}.npy")) for rank in range(5)]
        self.same(np.concatenate(parts), array.T)
        self.assertEqual([len(part) for part in parts], [2, 2, 2, 2, 1])

    def test_parts_may_be_empty(self):
        array = self.some((3, 4))
        self.move(array, "(*, block)", "(block, *)", "--local-out", self.path("part-%r.npy"))
        self.assertEqual([np.load(self.path(f"part-{rank}.npy")).shape for rank in range(5)],
                         [(1, 4)] * 3 + [(0, 4)] * 2)

    def test_ranks_tell_what_they_had_and_how_long_it_took(self):
        array = self.some((10, 3))
        self.move(array, "(block, *)", "(*, cyclic) @0-2", "--json", ranks=4)
        ranks = sorted((json.loads(line.split("] ", 1)[-1]) for line in self.output.splitlines()),
                       key=lambda rank: rank["rank"])
        self.assertEqual([rank["from"]["elements"] for rank in ranks], [9, 9, 9, 3])
        self.assertEqual([rank["to"]["bytes"] for rank in ranks], [80, 80, 80, 0])
        self.assertEqual(set(ranks[0]["seconds"]), {"join", "plan", "read", "execute", "write"})
        self.move(array, "(block, *)", "(*, cyclic)", "--timing", ranks=4)
        self.assertIn("rank 3: 3 elements before, 0 after, of 8 bytes", self.output)
        self.assertIn("slowest rank: join", self.output)

    def refused(self, before, after, *options, name="in.npy", out="out.npy", code=1):
        done = emulate("1x2", self.path(name), self.path(out), "--from", before, "--to", after,
                       *options, ranks=3)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertFalse(os.path.exists(self.path("out.npy")))
        return done.stderr

    def test_the_wrong_character_of_a_layout_is_pointed_at(self):
        np.save(self.path("in.npy"), np.zeros((10, 9)))
        for before, after, name, text, at in (
                ("(block, cyklic)", "(block, *)", "from", "(block, cyklic)", 8),
                ("(block, *)", "(block, *) on 2x2", "to", "(block, *) on 2x2", None),
                ("(block, *)", "(block, *", "to", "(block, *", 9)):
            told = self.refused(before, after).splitlines()
            self.assertEqual(len(told), 3, told)  # one rank tells
            head, line, caret = (part.removeprefix("[0] ") for part in told)
            self.assertTrue(head.startswith(f"torus-array redist: --{name}, character "), head)
            self.assertEqual(line, "  " + text)
            self.assertEqual(caret.strip(), "^")
            self.assertIn(f"character {caret.index('^') - 1}:", head)
            if at is not None:
                self.assertEqual(caret.index("^"), 2 + at)

    def test_layouts_that_do_not_fit_are_refused_and_nothing_is_left(self):
        np.save(self.path("in.npy"), np.zeros((10, 9)))
        for before, after, options, words in (
                ("(block, *)", "(block, *) @0-3", (), "rank 3 is not in the group of 3 ranks"),
                ("boxes 0:10,0:5 @3", "(block, *)", (), "--from boxes 0:10,0:5 @3:"),
                ("(block, *)", "boxes 0:10,0:5 0:10,4:9", (), "ranks 0 and 1 overlap"),
                ("(block, *)", "boxes 0:10,0:5", (), "no box covers 40 of the array's 90 elements"),
                ("(block, *)", "block", (), "--to, character"),
                ("(block, *)", "(block, *)", ("--transpose", "1"), "expected the 2 axes"),
                ("(block, *)", "(block, *)", ("--transpose", "0,0"), "expected the 2 axes"),
                ("(block, *)", "(block, *)", ("--transpose", "0,2"), "expected the 2 axes"),
                ("(block, *)", "(block, *)", ("--transpose", "0,1,"), "expected the 2 axes"),
                ("(block, *)", "(block, *)", ("--transpose", "0,1,2"), "expected the 2 axes")):
            with self.subTest(words=words, options=options):
                self.assertIn(words, self.refused(before, after, *options))
        self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_files_that_cannot_be_used_are_named(self):
        np.save(self.path("whole.npy"), np.zeros((10, 9)))
        with open(self.path("whole.npy"), "rb") as whole, open(self.path("short.npy"), "wb") as short:
            short.write(whole.read()[:-1])
        np.save(self.path("scalar.npy"), np.float64(1))
        np.save(self.path("objects.npy"), np.array([None, 1]), allow_pickle=True)
        for name, words in (("short.npy", "its shape needs"), ("absent.npy", "No such file"),
                            ("scalar.npy", "single element"), ("objects.npy", "Python objects")):
            told = self.refused("(block, *)", "(*, block)", name=name)
            self.assertIn(words, told)
            self.assertIn(name, told)
        self.assertIn("No such file",
                      self.refused("(block, *)", "(*, block)", name="whole.npy", out="no/out.npy"))
        self.assertIn("No such file",
                      self.refused("(block, *)", "(*, block)", "--local-out", self.path("no/%r.npy"),
                                   name="whole.npy"))
        os.mkdir(self.path("folder"))
        self.assertIn("regular file",
                      self.refused("(block, *)", "(*, block)", name="whole.npy", out="folder"))
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["folder", "objects.npy", "scalar.npy", "short.npy", "whole.npy"])

    def test_wrong_arguments_are_a_matter_of_usage(self):
        for options, words in ((("--schedule", "swift"), "--schedule must be auto"), (("--fast",), "unknown option --fast"),
                               (("--local-out", "part.npy"), "needs %r"), (("more",), "one input")):
            self.assertIn(words, self.refused("block", "block", *options, code=2))
        done = subprocess.run([ARRAY, "redist", "a.npy", "b.npy", "--from", "block"],
                              capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 2)
        self.assertIn("missing --from or --to", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
