# SPDX-License-Identifier: Apache-2.0
"""The extension module torus._torus, for the limited API: one wheel for all versions of Python."""
from setuptools import setup

setup(cffi_modules=["build_torus.py:ffi"], options={"bdist_wheel": {"py_limited_api": "cp39"}})
