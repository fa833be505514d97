# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings of the package, on every rank of a job."""
import doctest
import importlib
import os
import pkgutil
import sys

import torus


def main():
    examples = failures = 0
    with torus.Job() as job:
        job.timeout = 30
        for info in sorted(pkgutil.iter_modules(torus.__path__), key=lambda i: i.name):
            if info.name == "_torus":
                continue
            module = importlib.import_module(f"torus.{info.name}")
            result = doctest.testmod(module, extraglobs={"job": job, "torus": torus})
            examples += result.attempted
            failures += result.failed
        if failures or examples < 30:
            print(f"{examples} examples, {failures} failures", flush=True)
            os._exit(1)
    if job.rank == 0:
        print(f"{examples} examples")


sys.exit(main())
