# SPDX-License-Identifier: Apache-2.0
"""programs: a copy of the tree, its build, and the programs that may notice a change.

The copy and its build are in build/mutation, so the work tree stays as it is. A changed file is compiled into an object
of its own. The linker takes this object in place of the archive's member. All tests of tests/core are one program,
because they run in less time than it takes to link them one by one.
"""
import collections
import glob
import hashlib
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HOME = os.path.join(TOP, "build/mutation")
COPY = os.path.join(HOME, "source")
BUILD = os.path.join(HOME, "build")
FLAGS = "-O1 -w -Werror=incompatible-pointer-types -Werror=int-conversion"
MEMORY_BYTES = 64 << 30  # the simulator reserves much that it does not touch
UNLIMITED = 1e9          # seconds
PATIENCE = 5             # times the processor time that a test needs without a change
# Tests whose source includes the file itself.
INCLUDED = {"test_steps_0": "daemon/segment/meeting.c", "test_letter_steps_0": "daemon/segment/letter.c"}

sys.path.insert(0, os.path.join(TOP, "tests", "swarm"))
import test_swarm  # noqa: E402  pylint: disable=wrong-import-position

Test = collections.namedtuple("Test", "name arguments cpu_s wall_s")


def digest(*parts):
    h = hashlib.sha256()
    for part in parts:
        h.update(part if isinstance(part, bytes) else part.encode())
    return h.hexdigest()[:16]


def content(path):
    with open(path, "rb") as f:
        return f.read()


def store(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def quiet(command):
    return subprocess.run(command, cwd=BUILD, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def copy_tree():
    """copy_tree makes the copy equal to the work tree; unchanged files keep their times."""
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=TOP,
                           stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
    names = {n for n in names if n and os.path.isfile(os.path.join(TOP, n))}
    for name in names:
        source, target = os.path.join(TOP, name), os.path.join(COPY, name)
        if not os.path.exists(target) or content(source) != content(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(source, target)
            os.utime(target)
    for folder, _, files in os.walk(COPY):
        for name in files:
            path = os.path.join(folder, name)
            if os.path.relpath(path, COPY) not in names:
                os.remove(path)


def build(programs):
    """build compiles the programs of the copy."""
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        subprocess.run(["cmake", "-S", COPY, "--preset", "debug", "-B", BUILD, f"-DCMAKE_C_FLAGS_DEBUG={FLAGS}"],
                       cwd=COPY, stdout=subprocess.DEVNULL, check=True)
    done = subprocess.run(["cmake", "--build", BUILD, "--target", *programs], cwd=COPY, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"mutate.py: the tree does not compile\n{done.stdout[-3000:]}")


def names_of(folder, pattern):
    return sorted(os.path.basename(p)[:-2] for p in glob.glob(os.path.join(TOP, "tests", folder, pattern)))


CORE = names_of("core", "test_*.c")
SIM = names_of("sim", "test_*_sim.c")
SEGMENT = ["test_parts", "test_meetings", "test_letters", *INCLUDED]


class Commands:
    """The commands of ninja that compile an object and link a program."""

    def __init__(self):
        programs = [*CORE, *SIM, *SEGMENT, "torus-swarm"]
        build(programs)
        text = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", *(f"bin/{p}" for p in programs)],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        self.objects, self.links = {}, {}
        for line in text.split("\n"):
            line = re.sub(r"^\S*ccache ", "", line)
            compiled = re.search(r" -o (\S+) -c (\S+)$", line)
            linked = re.search(r" -o bin/(\S+) ", line)
            if compiled:
                line = re.sub(r" -M[DTF]+( \S+\.[od])?(?= )| -MF \S+", "", line)
                key = compiled.group(1) if "/tests/" in compiled.group(2) else os.path.relpath(compiled.group(2), COPY)
                self.objects[key] = shlex.split(line)
            elif linked:
                self.links[linked.group(1)] = shlex.split(line.removeprefix(": && ").removesuffix(" && :"))
        self.join_core()

    def join_core(self):
        """join_core makes one program of the tests of the core: core_tests runs them in turn."""
        folder = os.path.join(HOME, "core_tests")
        objects = []
        for name in CORE:
            for word in self.links[name]:
                target = os.path.join(folder, os.path.basename(word))
                if not word.endswith(".o") or target in objects:
                    continue
                os.makedirs(folder, exist_ok=True)
                main = ["--redefine-sym", f"main={name}"] if f"/{name}.c.o" in word else []
                quiet(["objcopy", *main, word, target])
                objects.append(target)
        source = os.path.join(folder, "main.c")
        store(source, "#include <stdio.h>\n" + "".join(f"int {name}(void);\n" for name in CORE) +
              "int main(void)\n{\n" + "".join(f'    puts("{name}");\n    fflush(stdout);\n    if ({name}())\n'
                                              "        return 1;\n" for name in CORE) + "    return 0;\n}\n")
        quiet(["cc", "-c", source, "-o", source[:-1] + "o"])
        words = [w for w in self.links[CORE[0]] if not w.endswith(".o")]
        at = words.index("-o")
        self.links["core_tests"] = words[:at] + objects + [source[:-1] + "o", "-o", "bin/core_tests"] + words[at + 2:]
        if not quiet(self.links["core_tests"]):
            sys.exit("mutate.py: the tests of the core do not link into one program")

    def compile(self, key, source, target, *more):
        """compile returns True if a source compiles in place of the one of the object; `more` precedes other folders."""
        words = self.objects[key]
        return quiet([words[0], *more, *words[1:-4], "-o", target, "-c", source])

    def link(self, program, target, changed, own):
        """link links a program with a changed object; the program's own object of that source is left out."""
        words = [w for w in self.links[program] if not w.endswith(f"/{own}.o")]
        at = words.index("-o")
        words[at:at + 2] = [changed, "-o", target]
        return quiet(words)


def run(words, cpu_s=None, wall_s=None):
    """run returns (True if the program succeeds, the last line of its output that names a test)."""

    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        if cpu_s:
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s), int(cpu_s) + 1))

    try:
        done = subprocess.run(words, cwd=HOME, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, errors="replace",
                              stderr=subprocess.DEVNULL, timeout=wall_s, preexec_fn=limit, check=False)
        good, text = done.returncode == 0, done.stdout
    except subprocess.TimeoutExpired as e:
        good, text = False, (e.stdout or b"").decode(errors="replace")
    return good, next((line for line in reversed(text.split("\n")) if line.startswith("test_")), "")


def baseline(seeds, slow_s, say):
    """Returns the programs that need at most slow_s of processor time: the core's or the segment's, the swarm, the others.

    build/mutation/baseline.json keeps the times of each program while the program stays the same.
    """
    skip = ["--skip", ",".join(test_swarm.KNOWN)] if test_swarm.KNOWN else []
    swarm = ["--seeds", str(seeds), "--failures", "1", *skip]
    path, tests = os.path.join(HOME, "baseline.json"), []
    kept = json.loads(content(path)) if os.path.exists(path) else {}
    for name in ["core_tests", *SEGMENT, "torus-swarm", *SIM]:
        program, arguments = os.path.join(BUILD, "bin", name), swarm if name == "torus-swarm" else []
        always = name in SEGMENT or arguments
        key = digest(content(program), *arguments)
        if key not in kept or kept[key][2] < slow_s:
            say(f"baseline: {name}")
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), os.times().elapsed
            good = run([program, *arguments], None if always else slow_s + 1)[0]
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            if not good and (always or cpu_s < slow_s):
                sys.exit(f"mutate.py: {name} {' '.join(arguments)} fails without a change")
            kept[key] = [cpu_s, os.times().elapsed - start, UNLIMITED if always or good else slow_s]
            store(path, json.dumps(kept))
        if always or kept[key][0] <= slow_s:
            tests.append(Test(name, arguments, *kept[key][:2]))
    # a seed of the swarm fails soon, so it comes before the simulated tests, which must be linked one by one
    return sorted(tests, key=lambda t: (t.name in SIM, t.cpu_s))
