#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packages: install, start, upgrade and purge the Debian packages in a clean root, under a real systemd.

usage: packages.py SOURCE [--built]

./dev package makes the packages; --built: it has made them. The clean root is Debian's smallest, with the packages that
ours depend on, a compiler, pkg-config and Open MPI; it stays in build/operations/root for the next run. The packages are
installed by the commands of docs/tutorial.md.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

import machine
from booted import Booted
from machine import Failure, until

PACKAGES = ("torusd", "libtorus0", "libtorus-dev", "torusctl", "torus-tools", "torusd-openmpi", "python3-torusd")
# automake: libopenmpi-dev needs it by way of a name that it provides, which debootstrap does not find
TOOLS = {"systemd", "gcc", "libc6-dev", "pkg-config", "openmpi-bin", "libopenmpi-dev", "automake"}
SUDO = 'sudo() { "$@"; }\n'  # the smallest Debian lacks it, and root needs none
SUM = """#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    double sum = 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&(double){rank}, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d: the sum is %g\\n", rank, sum);
    return MPI_Finalize();
}
"""
UNIT = "torusd.service"


def output(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def dependencies(files):
    """Returns the packages of Debian that ours need: the first alternative of each."""
    found = set(TOOLS)
    for file in files:
        for part in output("dpkg-deb", "--field", file, "Depends").split(","):
            found.add(re.split(r"[ |:(]", part.strip())[0])
    # python3-cffi-backend provides its programming interface under names with a version
    return sorted({re.sub(r"-api-(min|max)$", "", name) for name in found if name not in PACKAGES})


def mirror(root):
    """Returns the words for debootstrap: this machine's release, the root, and this machine's mirror."""
    with open("/etc/os-release", encoding="ascii") as f:
        release = re.search(r"^VERSION_CODENAME=(\w+)$", f.read(), re.M).group(1)
    for line in output("apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(SUITE)").splitlines():
        site, *names = line.split()
        if release in names:
            return release, root, site
    raise Failure(f"no mirror of {release} is configured")


def clean_root(source, files):
    """Returns the clean root, which is made if it is not there or lacks a package."""
    root, needed = os.path.join(source, "build", "operations", "root"), ",".join(dependencies(files))
    stamp = root + ".packages"
    if os.path.exists(stamp):
        with open(stamp, encoding="ascii") as f:
            if f.read() == needed:
                return root
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    subprocess.run(["debootstrap", "--variant=minbase", f"--include={needed}", *mirror(root)], check=True,
                   stdout=subprocess.DEVNULL)
    with open(stamp, "w", encoding="ascii") as f:
        f.write(needed)
    return root


def files_of(folder):
    found = [f for f in glob.glob(os.path.join(folder, "*.deb")) if "-dbgsym_" not in f]
    if sorted(os.path.basename(f).split("_")[0] for f in found) != sorted(PACKAGES):
        raise Failure(f"./dev package has made {found}")
    return found


def bump(file, folder):
    """Makes the package of the next version, with the same contents."""
    work = os.path.join(folder, "work")
    subprocess.run(["dpkg-deb", "--raw-extract", file, work], check=True)
    control = os.path.join(work, "DEBIAN", "control")
    with open(control, encoding="utf-8") as f:
        text = f.read()
    version = re.search(r"^Version: (.*)$", text, re.M).group(1)
    with open(control, "w", encoding="utf-8") as f:
        f.write(text.replace(f"Version: {version}\n", f"Version: {version}+1\n").replace(
            f"(= {version})", f"(= {version}+1)"))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", work, folder], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(work)


def dpkg(booted, *words):
    return booted.run("env", "DEBIAN_FRONTEND=noninteractive", "dpkg", *words).stdout


def commands(source):
    """Returns the commands of the first block of docs/tutorial.md: the installation, and the one after it."""
    with open(os.path.join(source, "docs", "tutorial.md"), encoding="utf-8") as f:
        block = re.search(r"^```sh\n(.*?)^```$", f.read(), re.M | re.S).group(1)
    install, rest = re.fullmatch(r"(sudo apt install (?:.*\\\n)*.*\n)(sudo systemctl stop torusd .*\n)", block).groups()
    return install, rest


def check_tutorial(booted, source):
    """Installs by the commands of the tutorial, in the folder of the packages."""
    install, rest = commands(source)
    booted.write("/etc/apt/apt.conf.d/yes", 'APT::Get::Assume-Yes "true";\n')
    said = booted.run("env", "DEBIAN_FRONTEND=noninteractive", "sh", "-ec", SUDO + "cd /now\n" + install).stdout
    for package in PACKAGES:
        if f"Setting up {package}" not in said:
            raise Failure(f"apt does not install {package}:\n{said}")
    booted.wait_property(UNIT, "ActiveState", "active")
    booted.run("sh", "-ec", SUDO + rest)
    booted.wait_property(UNIT, "ActiveState", "inactive")
    booted.systemctl("start", UNIT)


def check_openmpi(booted):
    """mpirun runs an unmodified program, whose call goes through torusd."""
    booted.run("sh", "-c", 'printf "%s" "$1" >/tmp/sum.c', "sh", SUM)
    booted.run("mpicc", "-o", "/tmp/sum", "/tmp/sum.c")
    said = booted.run("sh", "-ec", """
        folder=$(dirname "$(dpkg -L torusd-openmpi | grep 'mca_coll_torus[.]so$')")
        export OMPI_MCA_mca_base_component_path=$folder:SYSTEM_DEFAULT:USER_DEFAULT HOME=/tmp
        cd /tmp; mpirun --oversubscribe -n 4 --mca coll_torus_all 1 --mca coll_torus_verbose 1 ./sum""", user=65534).stdout
    for rank in range(4):
        if f"rank {rank}: the sum is 6\n" not in said:
            raise Failure(f"mpirun prints:\n{said}")
    if said.count("coll:torus: 1 call went through torusd") != 4:
        raise Failure(f"the calls do not go through torusd:\n{said}")


def expect(booted, text, *words, user=None):
    said = booted.run(*words, user=user).stdout
    if text not in said:
        raise Failure(f"{' '.join(words)} does not say '{text}':\n{said}")


def exists(booted, path):
    return booted.run("test", "-e", path, check=False).returncode == 0


def check_installed(booted):
    """The service of one node runs at once, on a Unix socket alone, and programs use it."""
    booted.wait_property(UNIT, "ActiveState", "active")
    expect(booted, "enabled", "systemctl", "is-enabled", UNIT)
    for name in ("tcp", "tcp6"):
        if " 0A " in booted.run("cat", f"/proc/net/{name}").stdout:
            raise Failure("a TCP port is open")
    for unit in ("torusd.socket", "torusd-emulated.target"):
        booted.wait_property(unit, "ActiveState", "inactive")
    expect(booted, "0 of 0 peers up", "torusctl", "status", user=65534)
    booted.run("sh", "-ec", "cd /tmp; cp /usr/share/doc/libtorus-dev/examples/hello.c .; "
                            "cc -o hello hello.c $(pkg-config --cflags --libs torus)")
    expect(booted, "rank 0 of 1", "/tmp/hello", user=65534)
    expect(booted, "1.0", "python3", "-c", "import numpy, torus\nwith torus.Job() as job:\n"
                   "    a = numpy.ones(1)\n    job.Allreduce(a, b := numpy.zeros(1))\n    print(b[0])", user=65534)
    for page in ("man1/torusctl.1", "man1/torus-plan.1", "man1/torus-array.1", "man1/torus-sim.1", "man3/libtorus.3", "man3/torus_iallreduce.3",
                 "man5/torusd.conf.5", "man8/torusd.8"):
        if not glob.glob(f"{booted.root}/usr/share/man/{page}*") and not excluded(booted):
            raise Failure(f"{page} is not installed")
    component = booted.run("sh", "-ec", "ldd /usr/lib/*/torus/openmpi/mca_coll_torus.so").stdout
    for path in ("/etc/torusd/torusd.conf.d", "/usr/share/doc/torusd-openmpi/README.Debian"):
        if not exists(booted, path):
            raise Failure(f"{path} is not installed")
    if "not found" in component:
        raise Failure(f"the component of Open MPI lacks libraries:\n{component}")


def excluded(booted):
    """Returns true if dpkg leaves manual pages out, as in images of containers."""
    return booted.run("sh", "-c", "grep -rqs path-exclude=/usr/share/man /etc/dpkg", check=False).returncode == 0


def check_upgrade(booted):
    """An upgrade keeps the configuration, the keys and the state, and restarts the service."""
    configuration = booted.root + "/etc/torusd/torusd.conf"
    with open(configuration, "a", encoding="utf-8") as f:
        f.write("\n[limits]\nclients = 77\n")
    booted.run("torusctl", "keygen", "--coordinates", "0", "/etc/torusd/keys", user="torusd")
    booted.run("touch", "/var/lib/torusd/state", user="torusd")
    booted.systemctl("restart", UNIT)
    before = booted.show(UNIT, "MainPID")
    dpkg(booted, "--install", *sorted("/next/" + name for name in os.listdir(booted.root + "/next")))
    until(30, lambda: booted.show(UNIT, "MainPID") not in ("0", before), "the upgrade does not restart the service")
    booted.wait_property(UNIT, "ActiveState", "active")
    expect(booted, "+1", "dpkg-query", "--show", "torusd")
    expect(booted, "clients = 77", "cat", "/etc/torusd/torusd.conf")
    expect(booted, "limits.clients", "torusctl", "config", "show")
    for path in ("/etc/torusd/keys/torusd.key", "/var/lib/torusd/state"):
        if not exists(booted, path):
            raise Failure(f"the upgrade has removed {path}")
    expect(booted, "rank 0 of 1", "/tmp/hello", user=65534)


def check_removal(booted):
    """A removal keeps the configuration; a purge leaves nothing but the user."""
    dpkg(booted, "--remove", "torusd")
    until(30, lambda: not exists(booted, "/run/torusd/torusd.sock"), "the daemon still runs")
    if not exists(booted, "/etc/torusd/torusd.conf"):
        raise Failure("the removal has removed the configuration")
    booted.write("/etc/torusd/torusd.conf.d/site.conf", "[security]\nkey = /etc/torusd/keys/torusd.key\n")
    dpkg(booted, "--purge", *PACKAGES)
    for path in ("/etc/torusd", "/run/torusd", "/var/lib/torusd", "/usr/sbin/torusd", "/usr/include/torus",
                 "/usr/lib/python3/dist-packages/torus"):
        if exists(booted, path):
            raise Failure(f"after the purge {path} is left: {booted.run('ls', '-R', path).stdout}")
    left = booted.systemctl("list-unit-files", "torusd*", "--no-legend", check=False).stdout
    if left.strip():
        raise Failure(f"after the purge units are left: {left}")


def main():
    source = os.path.abspath(sys.argv[1])
    folder = os.path.join(source, "build", "packages")
    if not os.environ.get(machine.INSIDE):
        if os.geteuid() != 0 or not shutil.which("debootstrap", path=os.environ["PATH"] + ":/usr/sbin"):
            print("skipped: run it as root; apt-get install debootstrap")
            sys.exit(machine.SKIPPED)
        if "--built" not in sys.argv:
            subprocess.run([os.path.join(source, "dev"), "package"], check=True)
        clean_root(source, files_of(folder))
    machine.enter()
    files = files_of(folder)
    with Booted(clean_root(source, files)) as booted:
        for name, make in (("now", shutil.copy), ("next", bump)):
            os.mkdir(f"{booted.root}/{name}")
            for file in files:
                make(file, f"{booted.root}/{name}")
        booted.boot()
        check_tutorial(booted, source)
        check_installed(booted)
        check_openmpi(booted)
        print("installed, and it serves", flush=True)
        check_upgrade(booted)
        print("upgraded, with its configuration", flush=True)
        check_removal(booted)
        print("purged", flush=True)


main()
