# SPDX-License-Identifier: Apache-2.0
"""torus-array fft with real daemons: output files compared with NumPy."""
import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

from cases import pick

CTL = os.path.abspath(sys.argv.pop(1))
ARRAY = os.path.join(os.path.dirname(CTL), "torus-array")
LONG = bool(os.environ.get("TORUS_TEST_LONG"))
DEADLINE_S = 120


def emulate(shape, *arguments, ranks=None):
    many = ["--ranks", str(ranks)] if ranks else []
    return subprocess.run([CTL, "emulate", shape, *many, "--prefix", "--", ARRAY, *arguments],
                          capture_output=True, text=True, timeout=DEADLINE_S)


def error_of(result, reference):
    norm = np.linalg.norm(reference)
    return np.linalg.norm(result - reference) / (norm if norm else 1)


def real_transform(kind, n):
    """Returns the matrix of a real-to-real transform of n numbers, as FFTW defines it."""
    k, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    if kind == "dct1":
        inner = 2 * np.cos(np.pi * j * k / max(1, n - 1))
        inner[:, [0, -1]] /= 2
        return inner
    if kind == "dct3":
        inner = 2 * np.cos(np.pi * j * (k + 0.5) / n)
        inner[:, 0] = 1
        return inner
    if kind == "dst3":
        inner = 2 * np.sin(np.pi * (j + 1) * (k + 0.5) / n)
        inner[:, -1] /= 2
        return inner
    return {"dct2": lambda: 2 * np.cos(np.pi * (j + 0.5) * k / n),
            "dct4": lambda: 2 * np.cos(np.pi * (j + 0.5) * (k + 0.5) / n),
            "dst1": lambda: 2 * np.sin(np.pi * (j + 1) * (k + 1) / (n + 1)),
            "dst2": lambda: 2 * np.sin(np.pi * (j + 0.5) * (k + 1) / n),
            "dst4": lambda: 2 * np.sin(np.pi * (j + 0.5) * (k + 0.5) / n)}[kind]()


def real_transforms(array, kinds):
    for axis, kind in kinds.items():
        matrix = real_transform(kind, array.shape[axis])
        array = np.moveaxis(np.tensordot(matrix, array, (1, axis)), 0, axis)
    return array


class Transforms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.random = np.random.default_rng(7)

    def path(self, name):
        return os.path.join(self.folder, name)

    def transform(self, array, *options, shape="2x2", ranks=None):
        np.save(self.path("in.npy"), array)
        done = emulate(shape, "fft", self.path("in.npy"), self.path("out.npy"), *options,
                       ranks=ranks)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.npy", "out.npy"])
        return np.load(self.path("out.npy"))

    def close(self, result, reference):
        epsilon = np.finfo(result.dtype).eps
        bound = 4 * epsilon * np.sqrt(np.log2(max(2, reference.size)))
        self.assertLessEqual(error_of(result, reference), bound)

    def complex(self, rows, columns):
        return self.random.normal(size=(rows, columns, 2)).view(np.complex128)[..., 0]

    def test_every_shape_and_rank_count_agrees_with_numpy(self):
        cases = [("1x1", 1, 7, 5), ("1x1", 4, 13, 31), ("1x2", 3, 1, 1), ("2x2", 4, 97, 101),
                 ("3x3", 9, 344, 403), ("3x3", 16, 5, 300), ("2x2x2", 8, 128, 64),
                 ("3x2m", 12, 300, 500), ("4m", 4, 31, 1), ("2x2", 5, 1, 211)]
        if LONG:
            cases += [(shape, ranks, rows, columns)
                      for shape in ("1x1", "1x2", "2x2", "3x3", "2x2x2", "3x3m", "2mx3m")
                      for ranks in (1, 2, 3, 7, 16)
                      for rows, columns in ((1, 1), (3, 2), (17, 19), (300, 500))
                      if ranks <= 4 * np.prod([int(n.strip("m")) for n in shape.split("x")])]
        for shape, ranks, rows, columns in pick(cases):
            with self.subTest(shape=shape, ranks=ranks, rows=rows, columns=columns):
                z = self.complex(rows, columns)
                spectrum = self.transform(z, shape=shape, ranks=ranks)
                self.close(spectrum, np.fft.fft2(z))
                self.close(self.transform(spectrum, "--inverse", shape=shape, ranks=ranks), z)

    def test_element_types_keep_single_precision_single(self):
        for name in pick(("i1", "u2", ">i4", "<i8", "f4", ">f4", "f8", ">f8", "c8", ">c16", "?")):
            with self.subTest(type=name):
                array = (self.random.normal(size=(11, 6)) * 50).astype(name)
                result = self.transform(array)
                single = np.dtype(name).newbyteorder("=") in (np.float32, np.complex64)
                self.assertEqual(result.dtype, np.complex64 if single else np.complex128)
                wide = array.astype(np.complex128)
                self.close(result, np.fft.fft2(wide))

    def test_memory_order_is_kept(self):
        array = np.asfortranarray(self.complex(23, 10))
        result = self.transform(array)
        self.assertTrue(result.flags.f_contiguous and not result.flags.c_contiguous)
        self.close(result, np.fft.fft2(array))

    def test_norms_are_those_of_numpy(self):
        z = self.complex(9, 14)
        for norm in pick(("backward", "ortho", "forward")):
            self.close(self.transform(z, "--norm", norm), np.fft.fft2(z, norm=norm))
            self.close(self.transform(z, "--norm", norm, "--inverse"), np.fft.ifft2(z, norm=norm))

    def test_the_real_part_alone(self):
        z = self.complex(12, 7)
        result = self.transform(z, "--inverse", "--real-part")
        self.assertEqual(result.dtype, np.float64)
        self.close(result, np.fft.ifft2(z).real)

    def array(self, *shape):
        return self.random.normal(size=(*shape, 2)).view(np.complex128)[..., 0]

    def test_arrays_of_one_to_six_axes(self):
        for shape in pick(((1000,), (6, 5, 7), (3, 4, 5, 6), (2, 3, 2, 3, 2), (2, 3, 2, 3, 2, 3))):
            with self.subTest(shape=shape):
                z = self.array(*shape)
                self.close(self.transform(z, ranks=6), np.fft.fftn(z))

    def test_compare_tells_how_far_arrays_are_apart(self):
        z = self.array(4, 5, 6)
        np.save(self.path("z.npy"), z)
        np.save(self.path("spectrum.npy"), np.ascontiguousarray(np.fft.fftn(z)))
        np.save(self.path("line.npy"), z.ravel())
        for names, code in ((("spectrum.npy", "z.npy", "--fft"), 0), (("z.npy", "z.npy"), 0),
                            (("spectrum.npy", "z.npy"), 1), (("line.npy", "z.npy"), 1)):
            done = subprocess.run([ARRAY, "compare", *(name if name.startswith("--")
                                                     else self.path(name) for name in names)],
                                  capture_output=True, text=True, timeout=DEADLINE_S)
            self.assertEqual(done.returncode, code)
            self.assertIn("the same axes" if names[0] == "line.npy" else "relative L2 error",
                          done.stdout + done.stderr)

    def test_compare_names_what_does_not_go_together(self):
        np.save(self.path("a.npy"), self.array(4, 5))
        np.save(self.path("b.npy"), np.asfortranarray(self.array(5, 4)))
        done = subprocess.run([ARRAY, "compare", self.path("a.npy"), self.path("b.npy")],
                              capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn("a.npy has shape (4, 5) in C order", done.stderr)
        self.assertIn("b.npy has shape (5, 4) in Fortran order", done.stderr)

    def test_chosen_axes_alone(self):
        z = self.array(8, 6, 9)
        for text, axes in (("1", (1,)), ("0,2", (0, 2)), ("-1,0", (-1, 0))):
            self.close(self.transform(z, "--axes", text), np.fft.fftn(z, axes=axes))
            self.close(self.transform(np.asfortranarray(z), "--axes", text, "--inverse"),
                       np.fft.ifftn(z, axes=axes))

    def test_real_numbers_to_half_a_spectrum_and_back(self):
        for shape in pick(((12, 10), (5, 7), (6, 1), (31,), (4, 5, 9))):
            with self.subTest(shape=shape):
                a = self.random.normal(size=shape)
                half = self.transform(a, "--real", ranks=5)
                self.close(half, np.fft.rfftn(a))
                back = self.transform(half, "--real", "--inverse", "--last", str(shape[-1]))
                self.assertEqual(back.dtype, np.float64)
                self.close(back, a)
        a = self.random.normal(size=(6, 8, 5)).astype(np.float32)
        half = self.transform(a, "--real", "--axes", "2,1")
        self.assertEqual(half.dtype, np.complex64)
        self.close(half, np.fft.rfftn(a, axes=(2, 1)))
        self.close(self.transform(half, "--real", "--inverse", "--axes", "2,1"), a)

    def test_real_numbers_to_real_ones_of_every_kind_and_back(self):
        a = self.random.normal(size=(9, 8, 5))
        for kind in pick(("dct1", "dct2", "dct3", "dct4", "dst1", "dst2", "dst3", "dst4")):
            with self.subTest(kind=kind):
                there = self.transform(a, "--kinds", kind)
                self.assertEqual(there.dtype, np.float64)
                self.close(there, real_transforms(a, {0: kind, 1: kind, 2: kind}))
                self.close(self.transform(there, "--kinds", kind, "--inverse"), a)
        mixed = self.transform(np.asfortranarray(a.astype(np.float32)), "--axes", "2,0",
                               "--kinds", "dst1,dct2", shape="1x2")
        self.assertEqual(mixed.dtype, np.float32)
        self.close(mixed, real_transforms(a, {2: "dst1", 0: "dct2"}))

    def test_precision_layouts_grid_and_method(self):
        z = self.array(12, 10, 8)
        result = self.transform(z, "--precision", "single", shape="2x3")
        self.assertEqual(result.dtype, np.complex64)
        self.close(result, np.fft.fftn(z))
        for options in pick((("--grid", "3x2"), ("--grid", "4", "--method", "pairwise"),
                        ("--from", "(cyclic, block, *) on 2x3", "--to", "(*, *, cyclic(3))"),
                        ("--from", "(block, *, *) @0-2", "--to", "(*, block, *) @3-5"),
                        ("--to", "(*, block, *) order 2,1,0", "--method", "random"))):
            with self.subTest(options=options):
                self.close(self.transform(z, *options, shape="2x3"), np.fft.fftn(z))
                self.close(self.transform(np.asfortranarray(z), *options, shape="2x3"),
                           np.fft.fftn(z))

    def test_a_check_transforms_back(self):
        np.save(self.path("in.npy"), self.array(20, 30))
        for options in ((), ("--norm", "ortho"), ("--norm", "forward", "--inverse")):
            done = emulate("1x2", "fft", self.path("in.npy"), self.path("out.npy"), "--check",
                           *options)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            found = re.findall(r"error (\S+) \(bound (\S+)\)", done.stdout)
            self.assertEqual(len(found), 2)
            for error, bound in found:
                self.assertLess(float(error), float(bound))

    def test_a_check_compares_with_fftw_in_one_process(self):
        real, half = self.random.normal(size=(12, 10, 7)), self.path("half.npy")
        np.save(half, np.fft.rfftn(real))
        np.save(self.path("real.npy"), real)
        np.save(self.path("turned.npy"), np.asfortranarray(real.astype(np.float32)))
        for name, *options in (("real.npy", "--kinds", "dct1,dst4", "--axes", "2,0"),
                               ("real.npy", "--real", "--axes", "2,1"), ("real.npy", "--real-part"),
                               ("turned.npy", "--real", "--norm", "ortho"),
                               ("half.npy", "--real", "--inverse", "--last", "7")):
            with self.subTest(name=name, options=options):
                done = emulate("1x3", "fft", self.path(name), self.path("out.npy"), "--check",
                               *options)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("compared with FFTW on the whole array", done.stdout)

    def test_a_check_of_a_long_array_is_there_and_back_alone(self):
        np.save(self.path("in.npy"), np.ones((2100, 2000), np.float32))
        done = emulate("1x2", "fft", self.path("in.npy"), self.path("out.npy"), "--check",
                       "--axes", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("transform and inverse", done.stdout)
        self.assertIn("no comparison with FFTW", done.stdout)

    def test_a_check_tells_that_an_input_is_no_spectrum_of_real_numbers(self):
        np.save(self.path("in.npy"), self.array(6, 4))
        done = emulate("1x2", "fft", self.path("in.npy"), self.path("out.npy"), "--check",
                       "--inverse", "--real")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not be the spectrum of a real array", done.stderr)

    def test_what_is_asked_for_wrongly_is_a_sentence(self):
        np.save(self.path("in.npy"), self.array(6, 4))
        for options, code, words in (
                (("--axes", "0,,1"), 2, "a list such as 0,2"),
                (("--axes", ""), 2, "a list such as 0,2"),
                (("--axes", "2"), 1, "no axis 2 in an array of 2"),
                (("--axes", "1,-1"), 1, "names axis 1 twice"),
                (("--grid", "2x"), 2, "such as 4x2"),
                (("--grid", "2x2"), 1, "fewer axes than the array"),
                (("--norm", "some"), 2, "backward, ortho or forward"),
                (("--method", "phase"), 2, "one of auto, random, "),
                (("--kinds", "dct5"), 2, "dct1 to dct4"),
                (("--kinds", "complex"), 2, "dct1 to dct4"),
                (("--kinds", "dct2", "--real"), 2, "excludes --real and --real-part"),
                (("--kinds", "dct2"), 1, "--kinds needs real numbers"),
                (("--precision", "half"), 2, "single or double"),
                (("--last", "9"), 2, "needs --inverse --real"),
                (("--real",), 1, "--real needs real numbers"),
                (("--real", "--real-part"), 2, "--real-part"),
                (("--inverse", "--real", "--last", "9"), 1, "give 6 or 7 real numbers"),
                (("--from", "(blok, *)"), 1, "--from, character 2"),
                (("--to", "boxes 0:6,0:2 @0"), 1, "no box covers"),
                (("--bogus",), 2, "unknown option --bogus"),
                (("--check", "--axes"), 2, "unknown option --axes, or missing value")):
            with self.subTest(options=options):
                done = emulate("1x2", "fft", self.path("in.npy"), self.path("out.npy"), *options)
                self.assertEqual(done.returncode, code)
                self.assertIn(words, done.stderr)
        np.save(self.path("in.npy"), self.random.normal(size=(1, 4)))
        for options, words in ((("--kinds", "dct1,dct2,dct3"), "3 kinds for 2 axes"),
                               (("--kinds", "dct1"), "DCT-I must have at least two points")):
            done = emulate("1x2", "fft", self.path("in.npy"), self.path("out.npy"), *options)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
        self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_json_is_an_object_a_rank(self):
        np.save(self.path("in.npy"), self.random.normal(size=(6, 4)))
        done = emulate("1x2", "fft", self.path("in.npy"), self.path("out.npy"), "--json", "--real")
        ranks = [json.loads(line.split(" ", 1)[1]) for line in done.stdout.splitlines()]
        self.assertEqual(sorted(rank["rank"] for rank in ranks), [0, 1])
        for rank in ranks:
            self.assertEqual(rank["version"], 1)
            self.assertEqual(rank["from"], {"elements": 12, "bytes": 96})
            self.assertEqual(rank["to"], {"elements": 9, "bytes": 144})
            self.assertEqual(set(rank["seconds"]), {"join", "plan", "read", "execute", "write"})

    def test_progress_is_shown_on_a_terminal_alone(self):
        np.save(self.path("in.npy"), self.array(15, 10))
        script = '[ $TORUS_RANK = 1 ] || exec 2>"$TERMINAL"; exec "$@"'
        terminal, other = os.openpty()
        done = subprocess.run([CTL, "emulate", "1x2", "--", "/bin/sh", "-c", script, "sh", ARRAY,
                               "fft", self.path("in.npy"), self.path("out.npy")],
                              env={**os.environ, "TERMINAL": os.ttyname(other)}, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0)
        os.set_blocking(terminal, False)
        shown, end = "", time.monotonic() + DEADLINE_S
        while not shown.endswith("\r\x1b[K") and time.monotonic() < end:
            with contextlib.suppress(BlockingIOError):  # the terminal hands over one piece at a time
                shown += os.read(terminal, 65536).decode()
        os.close(terminal)
        os.close(other)
        self.assertRegex(shown, r"in.npy: reading.*in.npy: transforming.*in.npy: writing")
        self.assertTrue(shown.endswith("\r\x1b[K"))

    def test_timing_names_every_node_and_phase(self):
        np.save(self.path("in.npy"), self.complex(10, 10))
        done = emulate("2x2", "fft", self.path("in.npy"), self.path("out.npy"), "--timing")
        self.assertEqual(done.returncode, 0)
        for node in range(4):
            self.assertIn(f"node {node} ", done.stdout)
        for phase in ("read", "join", "plan", "execute", "write"):
            self.assertIn(phase, done.stdout)

    def test_what_cannot_be_read_fails_on_every_rank_and_leaves_no_file(self):
        np.save(self.path("point.npy"), np.array(5.0))
        np.save(self.path("empty.npy"), np.zeros((0, 4)))
        np.save(self.path("half.npy"), np.zeros((4, 4), dtype=np.float16))
        before = sorted(os.listdir(self.folder))
        for name, words in (("point.npy", "single element"), ("empty.npy", "no elements"),
                            ("half.npy", "f2"), ("absent.npy", "No such file"),
                            (".", "this is a directory")):
            done = emulate("1x2", "fft", self.path(name), self.path("out.npy"))
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
            for rank in range(2):
                self.assertIn(f"[{rank}] torus-array fft", done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_an_output_that_cannot_be_written_fails_on_every_rank(self):
        np.save(self.path("in.npy"), np.ones((4, 4)))
        done = emulate("1x2", "fft", self.path("in.npy"), self.path("absent/out.npy"))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "the directory .*absent/: No such file")

    def test_an_output_that_is_no_regular_file_is_refused_and_stays(self):
        np.save(self.path("in.npy"), np.ones((4, 4)))
        os.mkdir(self.path("folder"))
        os.mkfifo(self.path("pipe"))
        os.symlink("/dev/null", self.path("link"))
        before = [os.lstat(self.path(name)) for name in ("folder", "pipe", "link")]
        for name in ("folder", "pipe", "link"):
            done = emulate("1x2", "fft", self.path("in.npy"), self.path(name))
            self.assertEqual(done.returncode, 1)
            self.assertIn("regular file", done.stderr)
        self.assertEqual([os.lstat(self.path(name)).st_ino for name in ("folder", "pipe", "link")],
                         [stat.st_ino for stat in before])
        self.assertEqual(len(os.listdir(self.folder)), 4)

    def test_what_dead_jobs_have_left_is_removed_and_nothing_else(self):
        np.save(self.path("in.npy"), np.ones((4, 4)))
        other = ["in.npy.01234567.part", "out.npy.part", "out.npy.0123.part", "out.npy.0123456x.part"]
        for name in other + ["out.npy.01234567.part", "out.npy.89abcdef.part"]:
            open(self.path(name), "wb").close()
        with open(self.path("out.npy.89abcdef.part"), "rb") as writing:
            fcntl.flock(writing, fcntl.LOCK_SH)
            done = emulate("1x2", "fft", self.path("in.npy"), self.path("out.npy"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(os.listdir(self.folder)),
                         sorted(other + ["in.npy", "out.npy", "out.npy.89abcdef.part"]))

    def interrupted(self, how):
        """Runs a job until its output is being written, does `how`, and returns its exit code."""
        np.save(self.path("in.npy"), self.random.normal(size=(2500, 2000)))
        for _ in range(20):
            job = subprocess.Popen([CTL, "emulate", "1x2", "--", ARRAY, "fft", self.path("in.npy"),
                                    self.path("out.npy")], stderr=subprocess.DEVNULL)
            writing = False
            while job.poll() is None and not writing:
                writing = any(name.endswith(".part") for name in os.listdir(self.folder))
                time.sleep(0.0005)
            if writing and not os.path.exists(self.path("out.npy")):
                how(job)
            code = job.wait(DEADLINE_S)
            if code != 0:
                return code
            os.unlink(self.path("out.npy"))  # it was faster
        self.fail("no job was caught while it wrote")

    def rank_0_of(self, job):
        try:
            [keeper] = open(f"/proc/{job.pid}/task/{job.pid}/children").read().split()
            for child in open(f"/proc/{keeper}/task/{keeper}/children").read().split():
                environment = open(f"/proc/{child}/environ", "rb").read().split(b"\0")
                if b"TORUS_RANK=0" in environment:
                    return int(child)
        except (OSError, ValueError):
            pass  # it has ended meanwhile
        return None

    def test_a_rank_that_is_killed_while_it_writes_leaves_no_file(self):
        def kill_rank_0(job):
            rank = self.rank_0_of(job)
            if rank:
                os.kill(rank, signal.SIGKILL)

        self.assertEqual(self.interrupted(kill_rank_0), 128 + signal.SIGKILL)
        self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_an_interrupted_job_leaves_no_file(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number):
                self.assertEqual(self.interrupted(lambda job: job.send_signal(number)),
                                 128 + number)
                self.assertEqual(os.listdir(self.folder), ["in.npy"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
