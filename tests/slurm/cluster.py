# SPDX-License-Identifier: Apache-2.0
"""cluster: a real Slurm of four nodes on this host, for a test, beside four emulated daemons.

Everything runs in namespaces of its own (mount, pid, net, uts, ipc): the ports are those of a network
that only this test sees, Slurm's files are in a tmpfs, and no process is left when the test ends or is
killed. Node K of Slurm is node K of a 2x2 torus; a task prolog sets TORUS_SOCKET accordingly.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

NODES = 4
DEADLINE_S = 60
ADDRESS = "10.117.0.1"
PACKAGES = {"slurmctld": "slurmctld", "slurmd": "slurmd", "srun": "slurm-client", "munged": "munge",
            "unshare": "util-linux", "ip": "iproute2"}
SKIPPED = 77
INSIDE = "TORUS_TEST_INSIDE"

CONFIGURATION = """\
ClusterName=torus
SlurmctldHost=torus({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
# linuxproc forgets a process whose parent has ended
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=0
SlurmdParameters=config_overrides
KillWait=2
TaskProlog={folder}/task_prolog
{torus}
NodeName=n[0-3] NodeHostname=torus NodeAddr={address} Port=[6820-6823] CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def enter(torusctl):
    """Becomes `unshare`, which runs this script again as the command of `torusctl emulate`, in new
    namespaces. It returns in that run. Slurm's files are in /run, which only the namespace sees."""
    if os.environ.get(INSIDE):
        return
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    missing = [package for program, package in PACKAGES.items() if not shutil.which(program, path=path)]
    if missing:
        print(f"skipped: apt-get install {' '.join(missing)}")
        sys.exit(SKIPPED)
    spaces = ["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child",
              "--mount-proc"]
    # in a user namespace slurmd cannot drop its groups
    if os.geteuid() != 0 or subprocess.run([*spaces, "true"], check=False).returncode != 0:
        print("skipped: run the test as root, where namespaces can be made")
        sys.exit(SKIPPED)
    os.environ.update({"PATH": path, INSIDE: "1", "TMPDIR": "/run"})
    os.execvp(spaces[0], [*spaces, "sh", "-ec", 'mount -t tmpfs tmpfs /run; exec "$@"', "sh", torusctl,
                          "emulate", "2x2", "--ranks", "1", "--keep-going", "--", sys.executable,
                          *sys.argv])


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


class Cluster:
    """The running Slurm. `sockets` are those of the daemons, `folder` has logs and configuration."""

    def __init__(self, source, build):
        self.sockets = os.environ["TORUS_SOCKETS"].split(":")
        self.folder = tempfile.mkdtemp(prefix="torus-slurm-")
        self.processes = []
        self.torusctl = os.path.join(build, "bin", "torusctl")
        os.chmod(self.folder, 0o755)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("TORUS_", "SLURM_", "OMPI_"))}
        self.environment.update(SLURM_CONF=self.path("slurm.conf"),
                                LD_LIBRARY_PATH=os.path.join(build, "lib"))
        try:
            self.network()
            self.configure(source)
            self.start()
        except BaseException:
            self.stop()
            raise

    def path(self, name):
        return os.path.join(self.folder, name)

    def network(self):
        """Gives the namespaces a host name, its address, and folders that Slurm writes to."""
        write(self.path("hosts"), f"127.0.0.1 localhost\n{ADDRESS} torus\n")
        for words in (["hostname", "torus"], ["ip", "link", "set", "lo", "up"],
                      # a device besides lo, or Open MPI finds no network
                      ["ip", "link", "add", "torus0", "type", "veth", "peer", "name", "torus1"],
                      ["ip", "address", "add", f"{ADDRESS}/24", "dev", "torus0"],
                      ["ip", "link", "set", "torus0", "up"], ["ip", "link", "set", "torus1", "up"],
                      ["mount", "--bind", self.path("hosts"), "/etc/hosts"],
                      ["mount", "-t", "tmpfs", "tmpfs", "/sys/fs/cgroup"]):
            subprocess.run(words, check=True)

    def configure(self, source):
        with open("/dev/urandom", "rb") as f:
            secret = f.read(64)
        with open(self.path("key"), "wb") as f:
            f.write(secret)
        os.chmod(self.path("key"), 0o400)
        for name in ["state"] + [f"tmp.n{k}" for k in range(NODES)] + [f"spool.n{k}" for k in range(NODES)]:
            os.mkdir(self.path(name))
        scripts = os.path.join(source, "conf", "slurm")
        for name in ("prolog.sh", "epilog.sh"):
            with open(os.path.join(scripts, name), encoding="utf-8") as f:
                write(self.path(name), f.read().replace("/etc/torusd/", self.folder + "/"), 0o755)
        with open(os.path.join(scripts, "slurm.conf"), encoding="utf-8") as f:
            torus = f.read().replace("/usr/libexec/torus/slurm-prolog", self.path("prolog.sh"))
        torus = torus.replace("/usr/libexec/torus/slurm-epilog", self.path("epilog.sh"))
        write(self.path("slurm.conf"),
              CONFIGURATION.format(folder=self.folder, address=ADDRESS, torus=torus))
        write(self.path("cgroup.conf"), "CgroupPlugin=cgroup/v1\n")
        cases = "".join(f"n{k}) echo export TORUS_SOCKET={path} ;;\n"
                        for k, path in enumerate(self.sockets))
        write(self.path("task_prolog"), f"#!/bin/sh\ncase $SLURMD_NODENAME in\n{cases}esac\n", 0o755)
        self.settings()

    def settings(self, more=""):
        """Writes the settings of the prolog and the epilog, with `more` after them."""
        cases = "".join(f"n{k}) TORUS_SOCKET={path} ;;\n" for k, path in enumerate(self.sockets))
        write(self.path("slurm.sh"), f"TORUSCTL={self.torusctl}\nSHAPE=2x2\nLIMIT_S=10\n"
                                     f"case $SLURMD_NODENAME in\n{cases}esac\n{more}\n")

    def start(self):
        def begin(name, *words):
            with open(self.path(name + ".out"), "wb") as out:
                # pylint: disable=consider-using-with
                self.processes.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out,
                                                       stderr=out, env=self.environment))
        begin("munged", "munged", "--foreground", "--force", f"--socket={self.path('munge')}",
              f"--key-file={self.path('key')}", f"--log-file={self.path('munge.log')}",
              f"--pid-file={self.path('munge.pid')}", f"--seed-file={self.path('seed')}")
        self.until("munged listens", lambda: os.path.exists(self.path("munge")))
        begin("slurmctld", "slurmctld", "-D", "-c")
        for k in range(NODES):
            begin(f"n{k}", "slurmd", "-D", "-N", f"n{k}")
        self.until("all nodes are idle", lambda: set(self.states().values()) == {"idle"})

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def until(self, what, condition):
        """Waits until a condition holds; if it does not, says what the logs of Slurm have at the end."""
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.1)
        logs = ""
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".log", ".out")):
                with open(self.path(name), encoding="utf-8", errors="replace") as f:
                    logs += f"== {name}\n" + "".join(f.readlines()[-15:])
        raise AssertionError(f"it did not happen within {DEADLINE_S} s: {what}\n{logs}")

    def run(self, *words, expect=0, more=None):
        """Runs a command of Slurm; returns its output, that of standard error last."""
        done = subprocess.run(words, env={**self.environment, **(more or {})}, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=2 * DEADLINE_S, cwd=self.folder)
        if expect is not None and done.returncode != expect:
            raise AssertionError(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def states(self):
        """Returns {node: state}."""
        done = self.run("sinfo", "--noheader", "--Node", "--format=%N %T", expect=None)
        return dict(line.split() for line in done.splitlines() if line.startswith("n") and
                    len(line.split()) == 2)

    def reason(self, node):
        """Returns the reason of a drained node, or an empty string."""
        for line in self.run("scontrol", "show", "node", node).splitlines():
            if line.strip().startswith("Reason="):
                return line.strip().removeprefix("Reason=").rpartition(" [")[0]
        return ""

    def all_is_over(self):
        """Waits until no job is left, also none whose epilog runs."""
        self.until("no job is left", lambda: not self.run("squeue", "--noheader").strip())
