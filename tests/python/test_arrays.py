# SPDX-License-Identifier: Apache-2.0
"""DistArrays against NumPy: layouts, movement, operators, reductions, files."""
import errno
import os
import tempfile
from unittest import mock

import numpy as np

import torus
from world import RankTest


class Arrays(RankTest):
    def layouts(self, dimensions):
        """Returns layouts for arrays of so many axes and at least 4 indices along each."""
        size = self.job.size
        side = int(size ** 0.5)
        if dimensions == 1:
            return [None, "(cyclic)", "(cyclic(3))", "(block+2)", "(block(9)) on 1 @0",
                    f"(*) @{size - 1}"]
        rest = ", *" * (dimensions - 2)
        found = [None, f"(*, cyclic{rest})", f"(cyclic(2), *{rest})", f"(*, *{rest}) @{size - 1}",
                 f"(*, block{rest}) order " + ",".join(map(str, range(dimensions)[::-1]))]
        if side * side == size:
            found.append(f"(block, cyclic(2){rest}) on {side}x{side}")
            found.append(f"(cyclic, block{rest}) on {side}x{side}")
        return found

    def arrays(self):
        """Yields NumPy arrays and layouts for them."""
        for shape in ((23,), (7, 10), (5, 6, 4)):
            whole = self.random.normal(size=shape)
            for layout in self.layouts(len(shape)):
                yield whole, layout
        size = self.job.size
        boxes = "boxes 0:2,0:10 " + " ".join(["2:7,0:10"] + ["-"] * (size - 2)) if size > 1 else (
            "boxes 0:7,0:10")
        yield self.random.normal(size=(7, 10)), boxes

    def same(self, array, reference):
        """Fails unless each rank has its part of the reference."""
        self.assertEqual(array.shape, reference.shape)
        self.assertEqual(array.local.shape, tuple(len(i) for i in array.layout_indices()))
        if array.local.size:
            np.testing.assert_array_equal(array.local, reference[np.ix_(*array.layout_indices())])

    def test_layouts_with_any_blanks(self):
        """Blanks between the words of a layout have no meaning."""
        last = self.job.size - 1
        x = self.random.normal(size=(5, 2 * last + 3))
        for texts in ((f"(block, *) @0-{last}", f"(block, *)@0-{last}", f"( block ,*)@ 0 - {last}"),
                      (f"(*, cyclic(2)) order 1,0 @{last}", f"(*,cyclic( 2 ))order 1 , 0@{last}"),
                      ("(cyclic+1, *)", "(cyclic + 1,*)"),
                      (f"(*, block) on {last + 1}", f"(*,block)on {last + 1}")):
            arrays = [torus.DistArray.fromwhole(x, text) for text in texts]
            for a in arrays:
                self.assertEqual(a.layout, texts[0])
                np.testing.assert_array_equal(a.local, arrays[0].local)
                np.testing.assert_array_equal(a.whole(), x)
        with self.assertRaisesRegex(torus.InvalidError, "expected"):
            torus.DistArray.fromwhole(x, "(block, *)@")

    def test_layouts_and_moves(self):
        for whole, layout in self.arrays():
            x = torus.DistArray.fromwhole(whole, layout)
            self.same(x, whole)
            np.testing.assert_array_equal(x.whole(), whole)
            counts = self.job.allreduce(x.local.size)
            self.assertEqual(counts, whole.size)  # each element is on one rank
            for target in self.layouts(whole.ndim):
                self.same(x.redistribute(target), whole)
            self.same(x.T, whole.T)
            if whole.ndim == 3:
                self.same(torus.redistribute(x, "(cyclic, *, *)", [1, 2, 0]),
                          whole.transpose(1, 2, 0))
            gathered = x.gather(self.job.size - 1)
            if self.job.rank == self.job.size - 1:
                np.testing.assert_array_equal(gathered, whole)
            else:
                self.assertIsNone(gathered)

    def test_types(self):
        for dtype in ("f4", "i2", "c16", "S5", ">f8", [("a", "i4"), ("b", "f8", 2)], "b1", "M8[s]",
                      "u1", "f16"):
            whole = np.zeros((6, 5), dtype)
            whole.view(np.uint8)[...] = self.random.integers(0, 2, whole.view(np.uint8).shape)
            x = torus.DistArray.fromwhole(whole, "(*, cyclic)").redistribute("(cyclic, *)")
            self.assertEqual(x.dtype, whole.dtype)
            self.assertEqual(x.whole().tobytes(), whole.tobytes())
        with self.assertRaisesRegex(TypeError, "objects"):
            torus.DistArray(3, object)

    def test_construction(self):
        x = torus.fromfunction(lambda i, j: 100 * i + j, (9, 8), int, "(cyclic, *)")
        reference = np.fromfunction(lambda i, j: 100 * i + j, (9, 8), dtype=int)
        self.same(x, reference)
        root = self.job.size - 1
        y = torus.DistArray.scatter(reference if self.job.rank == root else None, root, "(*, block)")
        self.same(y, reference)
        self.assertEqual(y.layout, "(*, block)")
        pairs = np.zeros((4, 3), [("a", "i4"), ("b", "f8", 2)])
        pairs["a"] = np.arange(12).reshape(4, 3)
        self.same(torus.DistArray.scatter(pairs if self.job.rank == 0 else None), pairs)
        for wrong in (None, [1, 2], np.array(5), np.array([{}])):
            with self.assertRaisesRegex(TypeError, "rank 0 scatters"):
                torus.DistArray.scatter(wrong)
        z = torus.DistArray((9, 8), local=x.redistribute().local * 2)
        self.same(z, 2 * reference)
        half = self.job.Split(self.job.rank % 2)
        self.same(torus.fromfunction(lambda i: i, 7, group=half), np.arange(7.0))
        half.Free()
        self.same(torus.DistArray((3, 0, 2)), np.zeros((3, 0, 2)))

    def test_operators(self):
        for whole, layout in self.arrays():
            x = torus.DistArray.fromwhole(whole, layout)
            y = torus.DistArray.fromwhole(whole[::-1].copy(), layout)
            a, b = whole, whole[::-1]
            row = np.arange(whole.shape[-1]) + 1.0
            for result, reference in (
                    (x + y, a + b), (x - 2, a - 2), (3 / (x + 10), 3 / (a + 10)), (-x, -a),
                    (abs(x), abs(a)), (x ** 2 * row, a ** 2 * row), (row - x, row - a),
                    (x + 1j * y, a + 1j * b), (np.maximum(x, y), np.maximum(a, b)),
                    (np.floor(x), np.floor(a)), (np.fmin(x, 0), np.fmin(a, 0)),
                    ((x + 1j * y).imag, b), ((x + 1j * y).conj(), a - 1j * b),
                    (x.astype("f4"), a.astype("f4")), (np.isfinite(x), np.isfinite(a)),
                    (x * whole[:1], a * whole[:1])):
                self.same(result, reference)
                self.assertEqual(result.dtype, reference.dtype)
            self.close(np.exp(x).whole(), np.exp(a), 1e-15)
            self.same(x > y, a > b)
            self.same((x == x) & (y < 0) | ~(x > 0), (b < 0) | ~(a > 0))
            z = x.copy()
            z += y
            z *= 2
            np.subtract(z, 1, out=z, where=z > 0)
            reference = (a + b) * 2
            reference[reference > 0] -= 1
            self.same(z, reference)
            whole_part, fraction = np.divmod(x, 0.5)
            self.same(whole_part, np.divmod(a, 0.5)[0])
            self.same(fraction, np.divmod(a, 0.5)[1])
            self.same(x, whole)

    def test_operators_of_mixed_layouts(self):
        """The result has the layout of the left operand."""
        arrays = [(a, l) for a, l in self.arrays() if a.shape == (7, 10)]
        for n, (a, layout) in enumerate(arrays):
            b, other = arrays[n - 1]
            x, y = torus.DistArray.fromwhole(a, layout), torus.DistArray.fromwhole(b, other)
            for result, reference in ((x + y, a + b), (x * 2 - y, a * 2 - b), (x > y, a > b),
                                      (np.hypot(x, y), np.hypot(a, b))):
                self.same(result, reference)
                self.assertEqual(result.layout, x.layout)
            z = x.copy()
            z -= y
            self.same(z, a - b)
            self.same(y, b)
            self.assertEqual(z.layout, x.layout)
            out = y.copy()
            self.assertIs(np.add(x, 1, out=out, where=y > 0), out)
            self.same(out, np.where(b > 0, a + 1, b))
            self.assertEqual(out.layout, y.layout)
            np.subtract(x, out, out=out)
            self.same(out, a - np.where(b > 0, a + 1, b))

    def test_errors_of_one_rank(self):
        """An operator that raises on one rank ends on all of them, though its output moves."""
        x, out = torus.DistArray((7, 10)), torus.DistArray((7, 10), layout="(*, block)")
        x.local[...] = -1.0 if self.job.rank == 0 else 4.0
        with np.errstate(all="raise"):
            if self.job.rank == 0:
                self.assertRaises(FloatingPointError, np.sqrt, x, out=out)
            else:
                np.sqrt(x, out=out)
        valid = x.whole() > 0
        np.testing.assert_array_equal(out.whole()[valid], 2)

    def test_operands_that_are_broadcast(self):
        for whole, layout in self.arrays():
            x = torus.DistArray.fromwhole(whole, layout)
            for part in (whole[:1], whole[..., :1], whole[-1] if whole.ndim > 1 else whole[:1]):
                y = torus.DistArray.fromwhole(part)
                self.same(x * y, whole * part)
                self.same(y - x, part - whole)
                self.assertEqual((y - x).layout, x.layout)
                z = x.copy()
                z /= y
                self.same(z, whole / part)

    def test_operators_refuse(self):
        x, y = torus.DistArray((8, 1)), torus.DistArray((1, 6))
        with self.assertRaisesRegex(ValueError, "one DistArray must have the shape"):
            x + y  # pylint: disable=pointless-statement
        with self.assertRaisesRegex(ValueError, "out has shape"):
            np.add(torus.DistArray((8, 6)), 1, out=torus.DistArray((1, 6)))
        half = self.job.Dup()
        with self.assertRaisesRegex(ValueError, "groups"):
            x + torus.DistArray((8, 1), group=half)  # pylint: disable=expression-not-assigned
        half.Free()
        x = torus.DistArray((8, 6))
        for wrong, words in ((lambda: x + torus.DistArray(8), "broadcast"),
                             (lambda: x + np.ones(5), "broadcast"), (lambda: bool(x), "any"),
                             (lambda: x + np.ones((2, 8, 6)), "broadcast")):
            with self.assertRaisesRegex(ValueError, words):
                wrong()
        for wrong, words in ((lambda: np.asarray(x), "whole"), (lambda: x[0], "indexed"),
                             (lambda: np.linalg.norm(x), "whole"),
                             (lambda: self.job.Bcast(x), "local"),
                             (lambda: np.add.accumulate(x), "")):
            with self.assertRaisesRegex(TypeError, words):
                wrong()
        for layout in ("(block, *", "(blok, *)", "(block)", "(block, block)", "boxes 0:8,0:5"):
            with self.assertRaisesRegex(torus.InvalidError, "layout"):
                torus.DistArray((8, 6), layout=layout)
        with self.assertRaisesRegex(ValueError, "local has shape"):
            torus.DistArray((8, 6), local=np.zeros((99, 1)))
        with self.assertRaisesRegex(ValueError, "permutation"):
            x.transpose([0, 0])
        with self.assertRaises(ValueError):
            torus.DistArray((1,) * 7)

    def test_reductions(self):
        for whole, layout in list(self.arrays())[::2]:
            x = torus.DistArray.fromwhole(whole, layout)
            results = []
            for name in ("sum", "prod", "min", "max", "mean", "std", "var", "all", "any"):
                result = getattr(x, name)()
                self.close(result, getattr(whole, name)())
                self.assertEqual(np.asarray(result).dtype, getattr(whole, name)().dtype)
                results.append(np.asarray(result).tobytes())
            self.assertEqual(len(set(self.job.allgather(b"".join(results)))), 1)  # equal bits
            self.assertEqual((x.argmin(), x.argmax()), (whole.argmin(), whole.argmax()))
            if whole.ndim == 1:
                self.assertEqual((x.argmin(0), x.argmax(-1)), (whole.argmin(), whole.argmax()))
            self.close(np.sum(x), whole.sum())
            self.close(np.add.reduce(x, axis=None), whole.sum())
            self.close(np.mean(x), whole.mean())
            for axis in range(-1, whole.ndim) if whole.ndim > 1 else ():
                for name in ("sum", "mean") if axis else ("min", "any"):
                    self.close(getattr(x, name)(axis=axis).whole(),
                               getattr(whole, name)(axis=axis))
                self.close(x.std(axis=axis).whole(), whole.std(axis=axis))
                self.close(np.var(x, axis, ddof=1).whole(), whole.var(axis, ddof=1))
                np.testing.assert_array_equal(x.argmin(axis).whole(), whole.argmin(axis))
                np.testing.assert_array_equal(np.argmax(x, axis).whole(), whole.argmax(axis))
            if whole.ndim == 3:
                self.close(x.sum(axis=(0, 2)).whole(), whole.sum(axis=(0, 2)))
                self.close(x.max((-1, 1)).whole(), whole.max((-1, 1)))
            self.close((x - x.mean()).std(), whole.std())

    def test_reductions_that_keep_axes(self):
        for whole, layout in list(self.arrays())[::2]:
            x = torus.DistArray.fromwhole(whole, layout)
            axes = [None, 0, -1] + ([(0, 2), (-1, 1), (0, 1, 2)] if whole.ndim == 3 else [])
            for axis in axes:
                for name in ("sum", "prod", "min", "max", "mean", "std", "var", "all", "any", "argmin",
                             "argmax")[:None if axis is None or isinstance(axis, int) else -2]:
                    result = getattr(x, name)(axis=axis, keepdims=True)
                    reference = getattr(whole, name)(axis=axis, keepdims=True)
                    self.assertEqual(result.shape, reference.shape, (name, axis))
                    self.assertEqual(result.dtype, reference.dtype, (name, axis))
                    self.close(result.whole() if isinstance(result, torus.DistArray) else result,
                               reference)
                    same = getattr(np, name)(x, axis=axis, keepdims=True)
                    self.assertEqual(same.shape, reference.shape)
                self.close((x - x.mean(axis=axis, keepdims=True)).whole(),
                           whole - whole.mean(axis=axis, keepdims=True))
                self.close((np.max(x, axis, keepdims=True) / x).whole(),
                           whole.max(axis, keepdims=True) / whole)
                kept = np.add.reduce(x, axis=axis, keepdims=True)
                self.assertEqual(kept.shape, np.add.reduce(whole, axis=axis, keepdims=True).shape)

    def test_types_of_reductions(self):
        for dtype in ("b1", "i1", "u2", "i4", "u8", "f2", "f4", "f16", "c8", "c16"):
            whole = self.random.integers(0, 3, (7, 5)).astype(dtype)
            x = torus.DistArray.fromwhole(whole, "(cyclic, *)")
            for name in ("sum", "prod", "mean", "var", "max"):
                result, reference = getattr(x, name)(), getattr(whole, name)()
                self.assertEqual(np.asarray(result).dtype, reference.dtype, (name, dtype))
                self.close(np.asarray(result).astype("c16"), np.asarray(reference).astype("c16"),
                           2e-3 if dtype == "f2" else 1e-5)
            if dtype[0] != "c":
                for result, reference in ((x.var(0), whole.var(0)), (x.argmax(1), whole.argmax(1))):
                    self.assertEqual(result.dtype, reference.dtype, dtype)
            self.assertEqual(x.argmax() if dtype[0] != "c" else 0,
                             whole.argmax() if dtype[0] != "c" else 0)
        nans = np.array([1.0, np.nan, 0.0, np.nan, 5.0])
        x = torus.DistArray.fromwhole(nans, "(cyclic)")
        self.assertTrue(np.isnan(x.max()) and np.isnan(x.sum()))
        self.assertEqual((x.argmax(), x.argmin()), (1, 1))
        empty = torus.DistArray((0, 3))
        self.assertEqual((empty.sum(), empty.prod(), empty.any(), empty.all()), (0, 1, False, True))
        with self.assertRaises(ValueError):
            empty.max()

    def test_files(self):
        folder = self.job.bcast(tempfile.mkdtemp() if self.job.rank == 0 else None)
        path = os.path.join(folder, "x.npy")
        for whole, layout in list(self.arrays())[::3]:
            torus.save(path, torus.DistArray.fromwhole(whole, layout))
            np.testing.assert_array_equal(np.load(path), whole)
            self.job.Barrier()
            self.same(torus.load(path, layout), whole)
        self.assertEqual(os.listdir(folder), ["x.npy"])
        self.job.Barrier()
        fortran = np.asfortranarray(self.random.normal(size=(4, 5)).astype(">f4"))
        if self.job.rank == 0:
            np.save(path, fortran)
        self.job.Barrier()
        x = torus.load(path)
        self.assertEqual(x.dtype, fortran.dtype)
        self.same(x, fortran)
        torus.save(path, torus.DistArray((0, 4)))
        self.assertEqual(np.load(path).shape, (0, 4))
        with self.assertRaises(FileNotFoundError):
            torus.load(os.path.join(folder, "none.npy"))
        with self.assertRaises(FileNotFoundError if self.job.rank == 0 else torus.TorusError):
            torus.save(os.path.join(folder, "no", "x.npy"), torus.DistArray(5))
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with mock.patch("os.posix_fallocate", side_effect=full):
            with self.assertRaises(OSError if self.job.rank == 0 else torus.TorusError):
                torus.save(path, torus.DistArray(5))
        self.assertEqual(os.listdir(folder), ["x.npy"])
        self.job.Barrier()
        if self.job.rank == 0:
            np.save(path, np.array([{}, None]), allow_pickle=True)
        self.job.Barrier()
        with self.assertRaises(ValueError):
            torus.load(path)
        self.job.Barrier()
        if self.job.rank == 0:
            os.remove(path)
            os.rmdir(folder)

    def test_plans_are_freed(self):
        """More layouts than a group keeps, then the group ends before its arrays do."""
        group = self.job.Dup()
        arrays = [torus.fromfunction(lambda i: i, n, group=group) for n in range(1, 80)]
        self.assertEqual(len(group.plans), group.PLANS_MAX)
        for n, x in enumerate(arrays):
            self.assertEqual(x.redistribute("(cyclic)").sum(), n * (n + 1) / 2)
        group.Free()
        del arrays
        self.job.Barrier()
