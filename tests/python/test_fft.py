# SPDX-License-Identifier: Apache-2.0
"""torus.fft against numpy.fft and scipy.fft."""
import inspect

import numpy as np
import scipy.fft

import torus
from world import RankTest

NORMS = (None, "backward", "ortho", "forward")


def by_cosines(name, whole, type=2, norm=None, orthogonalize=None):
    """Returns an orthogonal sine transform of type 2 or 3 as a cosine transform. SciPy before 1.12
    scales the wrong element: https://github.com/scipy/scipy/issues/18452."""
    number = type if name[0] == "d" else 5 - type
    for axis in range(whole.ndim) if name[-1] == "n" else [whole.ndim - 1]:
        signs = (-1.0) ** np.arange(whole.shape[axis])
        cosine = getattr(scipy.fft, name[:-1 if name[-1] == "n" else None].replace("dst", "dct"))
        turned = np.moveaxis(whole, axis, -1)
        if number == 2:
            turned = cosine(turned * signs, type=type, norm=norm, orthogonalize=True)[..., ::-1]
        else:
            turned = cosine(turned[..., ::-1], type=type, norm=norm, orthogonalize=True) * signs
        whole = np.moveaxis(turned, -1, axis)
    return whole


class Transforms(RankTest):
    def setUp(self):
        super().setUp()
        self.side = int(self.job.size ** 0.5)

    def check(self, name, whole, *args, layout=None, out=None, module=scipy.fft, **named):
        """Compares a function with that of scipy or numpy."""
        x = torus.DistArray.fromwhole(whole, layout)
        result = getattr(torus.fft, name)(x, *args, layout=out, **named)
        ortho = named.get("orthogonalize")
        if "dst" in name and named.get("type") in (2, 3) and (
                named["norm"] == "ortho" if ortho is None else ortho):
            reference = by_cosines(name, whole, **named)
        else:
            reference = getattr(module, name)(whole, *args, **named)
        if module is scipy.fft:
            self.assertEqual(result.dtype, reference.dtype)
        single = result.dtype in (np.float32, np.complex64)
        self.close(result.whole(), reference, 1e-6 if single else 1e-14)
        if out:
            self.assertEqual(result.layout, out)
        np.testing.assert_array_equal(x.whole(), whole)  # the input is unchanged

    def real(self, *shape):
        return self.random.normal(size=shape)

    def complex(self, *shape):
        return self.real(*shape) + 1j * self.real(*shape)

    def test_no_name_is_forgotten(self):
        """Names of numpy.fft and scipy.fft that are no transforms of arrays, or are not supported:
        docs/python.md names them."""
        out = {"fht", "ifht", "fhtoffset", "next_fast_len", "prev_fast_len", "set_workers", "get_workers",
               "set_backend", "skip_backend", "set_global_backend", "register_backend"}
        theirs = {n for m in (np.fft, scipy.fft) for n in getattr(m, "__all__", dir(m))
                  if callable(getattr(m, n)) and n[0] != "_"}
        self.assertEqual(theirs - out - {"test"}, set(torus.fft.__all__))

    def test_names_and_arguments(self):
        """The arguments that numpy and scipy have in common with ours have the same order."""
        for name in torus.fft.__all__:
            ours = [p for p in inspect.signature(getattr(torus.fft, name)).parameters
                    if p != "layout"]
            if hasattr(np.fft, name):
                theirs = list(inspect.signature(getattr(np.fft, name)).parameters)
                self.assertEqual(ours[1:], theirs[1:len(ours)], name)
            theirs = list(inspect.signature(getattr(scipy.fft, name)).parameters)
            theirs = [p for p in theirs if p not in ("overwrite_x", "workers", "plan")]
            self.assertEqual(ours[1:], theirs[1:], name)

    def test_norms(self):
        z, r = self.complex(9, 12), self.real(9, 12)
        for norm in NORMS:
            for name in ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "irfft", "irfftn", "hfft",
                         "irfft2", "hfft2", "hfftn"):
                self.check(name, z, norm=norm)
            for name in ("rfft", "rfft2", "rfftn", "ihfft", "ihfft2", "ihfftn"):
                self.check(name, r, norm=norm)
            self.check("fft2", z, norm=norm, module=np.fft)
            self.check("hfft", z, norm=norm, module=np.fft)
            self.check("ihfft", r, norm=norm, module=np.fft)

    def test_axes(self):
        z, r = self.complex(6, 5, 8), self.real(6, 5, 8)
        for axis in (0, 1, 2, -2):
            for name in ("fft", "ifft", "irfft", "hfft"):
                self.check(name, z, axis=axis)
            for name in ("rfft", "ihfft"):
                self.check(name, r, axis=axis)
            self.check("dct", r, axis=axis)
        for axes in ((0, 1), (2, 0), (1,), (0, 1, 2)):
            self.check("fftn", z, axes=axes)
            self.check("rfftn", r, axes=axes)
            self.check("irfftn", z, axes=axes)
            self.check("hfftn", z, axes=axes)
            self.check("ihfftn", r, axes=axes)
            self.check("dstn", r, axes=axes)

    def test_layouts(self):
        z, r = self.complex(12, 10), self.real(12, 10)
        grid = f"(block, cyclic(2)) on {self.side}x{self.side}"
        last = self.job.size - 1
        for layout in ("(*, block)", "(cyclic, *)", f"(*, *) @{last}", "(*, block) order 1,0", grid):
            for out in (None, "(*, block)", f"(*, *) @{last}"):
                self.check("fft2", z, layout=layout, out=out)
                self.check("rfft2", r, layout=layout, out=out)
                self.check("dctn", r, layout=layout, out=out)
        self.check("rfft2", r, layout="boxes 0:12,0:10" + " -" * last)

    def test_one_axis(self):
        for n in (1, 2, 97, 1000):
            self.check("fft", self.complex(n))
            self.check("rfft", self.real(n), layout="(cyclic)")
            self.check("dct", self.real(n), type=2)
        self.check("ifft", self.complex(4096))

    def test_lengths(self):
        z, r = self.complex(6, 7), self.real(6, 7)
        for n in (3, 7, 12):
            self.check("fft", z, n=n)
            self.check("fft", z, n=n, axis=0)
            self.check("rfft", r, n=n, axis=0)
            self.check("irfft", z, n=n)
            self.check("irfft", z, n=n, axis=0)
            self.check("dct", r, n=n)
            self.check("fft", self.complex(9), n=n)
        self.check("fft2", z, s=(4, 9))
        self.check("irfft2", z, s=(8, 11))
        self.check("rfftn", r, s=(5, 10))
        self.check("hfft2", z, s=(8, 11))
        self.check("ihfftn", r, s=(5, 10))
        self.check("fftn", self.complex(3, 4, 5), s=(6, 2))

    def test_real_to_real(self):
        r = self.real(7, 6)
        for kind in (1, 2, 3, 4):
            for norm in NORMS:
                for name in ("dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn"):
                    self.check(name, r, type=kind, norm=norm)
                    if kind < 4 and norm:
                        self.check(name, r, type=kind, norm=norm, orthogonalize=norm != "ortho")

    def test_types(self):
        for dtype in ("f4", "c8", "f2", "i4", "b1", "u8", "f8", "c16"):
            whole = (self.real(8, 6) * 9).astype(dtype)
            self.check("fft2", whole)
            if np.dtype(dtype).kind != "c":
                self.check("rfft2", whole)
                if dtype not in ("b1",):
                    self.check("dctn", whole)
        for dtype in (">f4", ">c8", ">f8", ">i4"):  # as in scipy, single stays single
            self.check("fft2", (self.real(8, 6) * 9).astype(dtype))
        for wrong in ("S3", "f16", "M8[s]"):
            with self.assertRaisesRegex(TypeError, "no transform"):
                torus.fft.fft(torus.DistArray((4, 4), wrong))

    def test_shifts(self):
        for shape in ((9,), (6, 7)):
            whole = self.real(*shape)
            x = torus.DistArray.fromwhole(whole, "(cyclic" + ", *" * (len(shape) - 1) + ")")
            np.testing.assert_array_equal(torus.fft.fftshift(x).whole(), np.fft.fftshift(whole))
            np.testing.assert_array_equal(torus.fft.ifftshift(x).whole(), np.fft.ifftshift(whole))
            np.testing.assert_array_equal(torus.fft.fftshift(x, 0).whole(),
                                          np.fft.fftshift(whole, 0))
        k = torus.fft.fftfreq(7)
        whole = self.real(6, 7)
        filtered = torus.fft.ifft2(torus.fft.fft2(torus.DistArray.fromwhole(whole)) * (k == 0))
        self.close(filtered.whole(), np.fft.ifft2(np.fft.fft2(whole) * (k == 0)), 1e-14)

    def test_mistakes(self):
        x = torus.DistArray((4, 6))
        for wrong, kind, words in (
                (lambda: torus.fft.fft(np.zeros(4)), TypeError, "DistArray"),
                (lambda: torus.fft.fft(x, norm="both"), ValueError, "norm"),
                (lambda: torus.fft.fft(x, axis=2), ValueError, "axis"),
                (lambda: torus.fft.fftn(x, axes=(0, 0)), ValueError, "twice"),
                (lambda: torus.fft.fft(x, n=0), ValueError, "length"),
                (lambda: torus.fft.rfft(x + 1j), TypeError, "real"),
                (lambda: torus.fft.dct(x, type=5), ValueError, "type"),
                (lambda: torus.fft.dct(torus.DistArray((4, 1)), type=1), ValueError, "two"),
                (lambda: torus.fft.fft(torus.DistArray((0, 3))), ValueError, "no elements"),
                (lambda: torus.fft.fft(x, layout="(blok, *)"), torus.InvalidError, "layout")):
            with self.assertRaisesRegex(kind, words):
                wrong()
