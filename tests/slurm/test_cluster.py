# SPDX-License-Identifier: Apache-2.0
"""Programs under a real Slurm of four nodes on this host, with a torusd for each.

usage: test_cluster.py SOURCE BUILD [TEST ...]"""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import unittest

import cluster

BUILD = os.path.abspath(sys.argv[2])
SOURCE = os.path.abspath(sys.argv[1])
RANKS = os.path.join(BUILD, "bin", "slurm_ranks")
CTL = os.path.join(BUILD, "bin", "torusctl")
SHOW = bool(os.environ.get("TORUS_TEST_SHOW"))  # print commands and output, as in docs/slurm.md
slurm = None


def setUpModule():
    global slurm  # pylint: disable=global-statement
    slurm = cluster.Cluster(SOURCE, BUILD)
    unittest.addModuleCleanup(slurm.stop)


def sums(ranks):
    """Returns the lines that `ranks sum` prints, without the numbers of the nodes."""
    return sorted(f"rank {r} of {ranks}: the sum is {ranks * (ranks - 1) // 2}" for r in range(ranks))


def without_node(text):
    return sorted(re.sub(r" on node \d+", "", line) for line in text.splitlines()
                  if line.startswith("rank "))


class Slurm(unittest.TestCase):
    maxDiff = None

    def tearDown(self):
        slurm.settings()
        slurm.run("scancel", "--user", "root", expect=None)
        slurm.all_is_over()
        for node, state in slurm.states().items():
            if state != "idle":
                slurm.run("scontrol", "update", f"NodeName={node}", "State=RESUME")
        slurm.until("all nodes are idle", lambda: set(slurm.states().values()) == {"idle"})
        slurm.until("no rank is left", lambda: not any(self.clients(k) for k in range(cluster.NODES)))

    def clients(self, node):
        """Returns the ranks of jobs at the daemon of a node, as torusctl names them."""
        done = subprocess.run([CTL, "status", "--here", "--json", "--socket", slurm.sockets[node]], check=True,
                              text=True, stdout=subprocess.PIPE, timeout=cluster.DEADLINE_S)
        return [c for c in json.loads(done.stdout)["clients"] if c["job"]]

    def run_slurm(self, *words, **options):
        text = slurm.run(*words, **options)
        if SHOW:
            print("$", " ".join(words), f"\n{text}", flush=True)
        return text

    # ---- programs ----

    def test_a_program_in_c_finds_its_ranks_and_the_daemon_of_its_node(self):
        for library in ("none", "pmi2", "pmix"):
            for ranks, nodes in ((4, 4), (8, 4), (3, 2), (1, 1)):
                with self.subTest(library=library, ranks=ranks, nodes=nodes):
                    text = self.run_slurm("srun", f"--mpi={library}", f"-N{nodes}", f"-n{ranks}", RANKS, "sum")
                    self.assertEqual(without_node(text), sums(ranks))
                    self.assertEqual(len(set(re.findall(r"on node (\d+)", text))), nodes)

    def test_a_program_in_python(self):
        text = self.run_slurm("srun", "-N4", "-n8", "/usr/bin/python3",
                              os.path.join(SOURCE, "client/python/examples/hello.py"),
                              more={"PYTHONPATH": os.path.join(BUILD, "python")})
        self.assertEqual(without_node(text), sums(8))

    def test_a_program_of_open_mpi_goes_through_torusd(self):
        component = os.path.join(BUILD, "lib/openmpi")
        program = os.path.join(BUILD, "bin/mpi_moves")
        if not os.path.exists(program):
            self.skipTest("apt-get install openmpi-bin libopenmpi-dev, and build again")
        for nodes in (4, 2):
            text = self.run_slurm("srun", "--mpi=pmix", f"-N{nodes}", "-n4", program, "beyond", more={
                "OMPI_MCA_mca_base_component_path": component + ":SYSTEM_DEFAULT:USER_DEFAULT",
                "OMPI_MCA_coll_torus_all": "1", "OMPI_MCA_coll_torus_verbose": "1"})
            self.assertIn("all is well", text)
            counts = [int(n) for n in re.findall(r"coll:torus: (\d+) calls? went through torusd", text)]
            self.assertEqual(len(counts), 4, text)
            self.assertGreater(min(counts), 0)
            self.assertEqual(set(re.findall(r"fell back \((\w+)\)", text)) - {"internal"}, set())

    def test_steps_of_one_allocation_are_jobs_of_their_own(self):
        script = f"srun -n2 -N2 --exact {RANKS} sum & srun -n2 -N2 --exact {RANKS} sum & wait"
        text = self.run_slurm("salloc", "-N2", "-n4", "sh", "-c", script)
        self.assertEqual(without_node(text), sorted(2 * sums(2)))

    def batch(self, *words):
        """Runs a batch job to its end."""
        self.run_slurm("sbatch", "--wait", *words)

    def output(self, name):
        with open(slurm.path(name), encoding="utf-8") as f:
            text = f.read()
        if SHOW:
            print(f"$ cat {name}\n{text}", flush=True)
        return text

    def test_a_job_array_has_a_job_of_torusd_for_each_task(self):
        self.batch("--array=0-3", "-N2", "-n2", "--output=array-%a.txt",
                   "--wrap", f"echo task $SLURM_ARRAY_TASK_ID; srun {RANKS} sum")
        for task in range(4):
            text = self.output(f"array-{task}.txt")
            self.assertEqual(text.splitlines()[0], f"task {task}")
            self.assertEqual(without_node(text), sums(2))

    def test_a_batch_script_itself_is_a_job_of_one_rank(self):
        self.batch("-N4", "-n4", "--output=batch.txt", "--wrap", f"{RANKS} sum; srun {RANKS} sum")
        self.assertEqual(without_node(self.output("batch.txt")), sorted(sums(1) + sums(4)))

    def test_a_job_that_loses_a_rank_goes_on_without_it(self):
        text = self.run_slurm("srun", "-N4", "-n4", RANKS, "lose", "2", expect=137)
        for rank in (0, 1, 3):
            self.assertRegex(text, f"(?m)^rank {rank}: .*rank 2")
        self.assertEqual(without_node("\n".join(line for line in text.splitlines() if " of 3 " in line)),
                         sums(3))

    # ---- prolog and epilog ----

    def refused(self, node, words):
        """Starts a job on a node, and checks that the node is drained with a reason of these words,
        that the job does not run there, and that it runs elsewhere."""
        text = self.run_slurm("srun", f"-w{node}", "-n1", RANKS, "sum", expect=1)
        self.assertIn(f"Prolog failure on node {node}", text)
        slurm.until(f"{node} is drained", lambda: slurm.states()[node] in ("drained", "draining"))
        self.assertIn(words, slurm.reason(node))
        if SHOW:
            print("$ sinfo -R\n" + slurm.run("sinfo", "-R", "--format=%60E %9u %N"), flush=True)
        self.assertEqual(without_node(self.run_slurm("srun", "-N3", "-n3", RANKS, "sum")), sums(3))
        self.assertIn(words, slurm.reason(node))  # Slurm does not replace it by "Prolog error"
        slurm.run("scancel", "--user", "root", expect=None)
        slurm.all_is_over()

    def daemon(self, node):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.connect(slurm.sockets[node])
            return struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]

    def resumed(self, node):
        slurm.run("scontrol", "update", f"NodeName={node}", "State=RESUME")
        text = self.run_slurm("srun", f"-w{node}", "-n1", RANKS, "sum")
        self.assertEqual(without_node(text), sums(1))

    def test_the_prolog_drains_a_node_whose_daemon_hangs(self):
        slurm.settings("LIMIT_S=1")
        daemon = self.daemon(2)
        os.kill(daemon, signal.SIGSTOP)
        try:
            self.refused("n2", "torusd: no answer within 1 s")
        finally:
            os.kill(daemon, signal.SIGCONT)
        slurm.settings()
        self.resumed("n2")

    def test_the_prolog_drains_a_node_without_a_daemon(self):
        slurm.settings("[ $SLURMD_NODENAME != n1 ] || TORUS_SOCKET=/run/torusd/torusd.sock")
        self.refused("n1", "torusd: nobody listens at /run/torusd/torusd.sock: systemctl restart torusd")
        slurm.settings()
        self.resumed("n1")

    def test_the_prolog_drains_a_node_of_another_shape(self):
        slurm.settings("[ $SLURMD_NODENAME != n3 ] || SHAPE=4x4")
        self.refused("n3", "torusd: its shape is 2x2, SHAPE is 4x4")
        slurm.settings()
        self.resumed("n3")

    def test_a_batch_job_of_a_drained_node_is_queued_again(self):
        slurm.settings("[ $SLURMD_NODENAME != n0 ] || SHAPE=4x4")
        job = slurm.run("sbatch", "--parsable", "-N1", "-n1", "--output=again.txt", "--wrap",
                        f"{RANKS} sum").strip()

        def fields():
            return dict(word.split("=", 1) for word in slurm.run("scontrol", "show", "job", job).split()
                        if "=" in word)
        found = slurm.until("the job is queued again", lambda: (f := fields())["Restarts"] == "1" and
                            f["JobState"] == "PENDING" and f)
        self.assertEqual(found["Reason"], "BeginTime")  # and not JobHeldAdmin
        slurm.run("scontrol", "update", f"JobId={job}", "StartTime=now")  # instead of in 2 minutes
        slurm.all_is_over()
        self.assertRegex(self.output("again.txt"), r"^rank 0 of 1 on node [123]: ")

    def test_the_epilog_ends_what_a_job_leaves(self):
        for options in ([], ["ignore"]):
            self.run_slurm("srun", "-N4", "-n4", RANKS, "escape", *options)
            slurm.until("the epilogs have ended all ranks",
                        lambda: not any(self.clients(k) for k in range(cluster.NODES)))
            slurm.all_is_over()
            self.assertEqual(set(slurm.states().values()), {"idle"})

    def test_without_the_epilog_ranks_would_stay(self):
        """What the test above relies on: Slurm itself does not end these processes."""
        slurm.settings("exit 0")
        slurm.run("srun", "-N4", "-n4", RANKS, "escape")
        slurm.all_is_over()
        left = [c["pid"] for k in range(cluster.NODES) for c in self.clients(k)]
        self.assertEqual(len(left), 4)
        for process in left:
            os.kill(process, signal.SIGKILL)
        slurm.until("the daemons have noticed", lambda: not any(self.clients(k) for k in range(cluster.NODES)))


if __name__ == "__main__":
    cluster.enter(CTL)
    del sys.argv[1:3]
    unittest.main()
