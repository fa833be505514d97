# SPDX-License-Identifier: Apache-2.0
"""Makes the module torus._torus from torus/torus.h by cffi, in API mode.

The compiler and the linker find libtorus by pkg-config. TORUS_INCLUDE and TORUS_LIBRARY name the
folders of the header and of the library instead, for a tree without installation.
"""
import os
import re
import subprocess

import cffi

# A user-defined operator: torus/operators.py.
CALLBACKS = """
    extern "Python" void torus_py_combine(const void *, void *, size_t, void *);
    extern "Python" void torus_py_warn(int, const char *, void *);
"""


def flags(option, name):
    """Returns the folders that pkg-config prints, or the folder in an environment variable."""
    if name in os.environ:
        return [os.environ[name]]
    try:
        shown = subprocess.run(["pkg-config", option, "torus"], check=True, capture_output=True,
                               text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit("pkg-config does not find libtorus: install torusd (cmake --install build), "
                         "and set PKG_CONFIG_PATH to the folder of torus.pc if the prefix is not "
                         f"/usr or /usr/local ({error})") from None
    return [word[2:] for word in shown.split() if word[:2] in ("-I", "-L")]


def declarations(folders):
    """Returns the declarations of torus/torus.h, as cffi reads them."""
    for folder in [*folders, "/usr/include", "/usr/local/include"]:
        path = os.path.join(folder, "torus", "torus.h")
        if os.path.exists(path):
            break
    else:
        raise FileNotFoundError("torus/torus.h is in none of " + ", ".join(folders))
    with open(path, encoding="utf-8") as header:
        text = re.sub(r"/\*.*?\*/", "", header.read(), flags=re.S)
    number = text.index("TORUS_API int torus_version")
    text = re.sub(r"\\\n", " ", text[number:])
    text = re.sub(r"^#.*$", "", text, flags=re.M).replace("TORUS_API ", "")
    return text[:text.rindex("}")] if text.rstrip().endswith("}") else text


include = flags("--cflags-only-I", "TORUS_INCLUDE")
ffi = cffi.FFI()
ffi.cdef(declarations(include) + """
    #define TORUS_VERSION_NUMBER ...
""" + CALLBACKS)
ffi.set_source("torus._torus", "#include <torus/torus.h>", libraries=["torus"],
               include_dirs=include, library_dirs=flags("--libs-only-L", "TORUS_LIBRARY"),
               py_limited_api=True)
