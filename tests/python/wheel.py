# SPDX-License-Identifier: Apache-2.0
"""The wheel has the package alone, for all versions of Python; the tests use what it installs.

usage: wheel.py FOLDER-OF-THE-WHEEL FOLDER-OF-THE-PACKAGE
"""
import glob
import inspect
import os
import subprocess
import sys
import zipfile

import torus


def unannotated():
    """Returns the public functions of the package without types of their arguments or results."""
    found = []
    for owner in [torus, torus.fft] + [v for v in vars(torus).values() if inspect.isclass(v)]:
        for name, value in vars(owner).items():
            value = getattr(value, "__func__", getattr(value, "fget", value))
            if name[0] == "_" or not inspect.isfunction(value) or not (
                    value.__module__.startswith("torus")):
                continue
            signature = inspect.signature(value)
            typed = [p.annotation for p in list(signature.parameters.values())
                     if p.name not in ("self", "cls")] + [signature.return_annotation]
            if inspect.Signature.empty in typed or not value.__doc__:
                found.append(f"{owner.__name__}.{name}")
    return found


def main():
    wheels, package = sys.argv[1:]
    assert os.path.dirname(torus.__file__) == os.path.join(os.path.realpath(package), "torus")
    wheel, = glob.glob(os.path.join(wheels, "*.whl"))
    assert "-cp39-abi3-" in wheel, wheel
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            assert name.startswith(("torus/", "torusd-")), name
            assert name.endswith((".py", ".abi3.so", "/py.typed")) or ".dist-info/" in name, name
            if name.startswith("torus/"):
                with open(os.path.join(package, name), "rb") as file:
                    assert file.read() == archive.read(name), name
    shown = subprocess.run(["readelf", "-d", os.path.join(package, "torus", "_torus.abi3.so")],
                           check=True, capture_output=True, text=True).stdout
    assert "NEEDED" in shown and "[libtorus.so.0]" in shown, shown  # it is not vendored
    assert not unannotated(), unannotated()


main()
