# SPDX-License-Identifier: Apache-2.0
"""torusctl ops and stragglers with ranks that wait for one rank."""
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from cases import SANITIZED

CTL = os.path.abspath(sys.argv.pop(1))
LATE = os.path.abspath(sys.argv.pop(1))
CALLER = os.path.join(os.path.dirname(CTL), "caller")
STRAGGLE = os.path.abspath(sys.argv.pop(1))
SCOPE = f" that user {os.getuid()} may see" if os.getuid() else ""
DEADLINE_S = 60
CALLS = ["allreduce(sum, double, 1)", "scan(sum, double, 1000)", "gather(double, 1000, root 1)",
         "shrink"]


class Operations(unittest.TestCase):
    def waiting(self, shape, ranks, fabric):
        """Starts ranks of which rank 0 is late; returns the process and the socket of its daemon."""
        process = subprocess.Popen([CTL, "emulate", shape, "--ranks", str(ranks), "--fabric", fabric,
                                    "--", LATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        socket = process.stdout.readline().split()[-1]
        return process, socket

    def ops(self, socket, *options):
        done = subprocess.run([CTL, "ops", "--socket", socket, *options], capture_output=True,
                              text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def until(self, socket, condition):
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            found = json.loads(self.ops(socket, "--json"))["operations"]
            if condition(found):
                return found
        self.fail(f"still {found}")

    def test_who_is_missing_is_told_for_every_kind_of_operation(self):
        for shape, ranks, fabric in [("1x3", 5, "direct"), ("2x2", 4, "routed")]:
            process, socket = self.waiting(shape, ranks, fabric)
            others = list(range(1, ranks))
            # node 0 is also the root of the tree on the routed fabric: it knows all arrivals
            found = self.until(socket, lambda all: len(all) == 4 and
                               {tuple(o["missing"]) for o in all} == {(0,)})
            self.assertEqual([o["kind"] for o in found], CALLS)
            for number, o in enumerate(found):
                self.assertEqual(o["sequence"], number % 3)  # shrinks are numbered by themselves
                self.assertEqual((o["phase"], o["arrived"], o["late"]), ("waiting", others, False))
                self.assertGreater(o["age_ns"], 0)
                here = {c["rank"]: c["arrived"] for c in o["here"]}
                self.assertEqual(here, {0: False, 1: True} if fabric == "direct" else {0: False})
                self.assertEqual({c["program"] for c in o["here"]}, {"late"})
                self.assertEqual({c["rank"]: c["arrived"] for c in o["processes"]},
                                 {rank: rank > 0 for rank in range(ranks)})
            text = self.ops(socket)
            self.assertIn("4 operations are in flight", text)
            self.assertEqual(text.count(f"arrived   {ranks - 1} of {ranks} ranks: 1-{ranks - 1}\n"
                                        "  missing   0\n"), 4)
            self.assertEqual(text.count("late: has not called"), 4)
            # the daemon of another node knows as much
            other = socket[:-1] + "2"
            self.until(other, lambda all: len(all) == 4 and
                       {(tuple(o["missing"]), o["absent"][0]["cause"]) for o in all} ==
                       {((0,), "late_rank")})
            self.assertIn("cause     rank 0 on node 0, process ", self.ops(other))
            self.assertIn("node 2: ", self.ops(other, "--here"))
            process.stdin.close()
            self.assertEqual(process.wait(DEADLINE_S), 0)

    def test_the_cause_is_the_state_of_the_process(self):
        process, socket = self.waiting("1", 4, "direct")
        found = self.until(socket, lambda all: len(all) == 4 and
                           all[0]["missing"] == [0] and
                           all[0]["absent"][0]["cause"] == "late_rank")
        absent = found[0]["absent"]
        self.assertEqual([(a["rank"], a["node"], a["node_state"]) for a in absent], [(0, 0, "up")])
        os.kill(absent[0]["pid"], signal.SIGSTOP)
        found = self.until(socket, lambda all: all[0]["absent"][0]["cause"] == "stopped_process")
        self.assertEqual(found[0]["absent"][0]["process_state"], "T")
        self.assertIn(f"process {absent[0]['pid']} (late), is stopped (SIGSTOP", self.ops(socket))
        os.kill(absent[0]["pid"], signal.SIGCONT)
        process.stdin.close()
        self.assertEqual(process.wait(DEADLINE_S), 0)

    def stragglers(self, socket, *arguments):
        done = subprocess.run([CTL, "stragglers", "--socket", socket, *arguments],
                              capture_output=True, text=True, timeout=DEADLINE_S)
        return done.returncode, done.stdout, done.stderr

    def straggle(self, shape="1", *options):
        """Runs a job of 8 ranks: rank 5 computes for 20 ms before each of 10 barriers.

        Returns the process, the socket of its daemon, and how long rank 5 has computed in ns."""
        process = subprocess.Popen([CTL, "emulate", shape, "--ranks", "8", *options, "--", STRAGGLE,
                                    "5", "10", "20"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        socket, computed = process.stdout.readline().split()[-2:]
        return process, socket, int(computed)

    def test_the_rank_that_made_others_wait_is_first(self):
        for shape, options in (("1", []), ("1", ["--set", "node.segments=no"]), ("2x2", [])):
            process, socket, computed = self.straggle(shape, *options)
            code, text, error = self.stragglers(socket, "--json")
            self.assertEqual((code, error), (0, ""))
            record = json.loads(text)
            first = record["stragglers"][0]
            self.assertEqual((record["version"], record["size"], record["error"]), (1, 8, 0))
            self.assertEqual(record["calls"], 22)
            self.assertEqual((first["rank"], first["node"]), (5, 0 if shape == "1" else 2))
            self.assertGreater(first["pid"], 0)
            # the machine may be busy, and under sanitizers the others are late: the simulator's
            # test has narrow bounds
            least = 0 if SANITIZED else 7 * computed / 2
            self.assertGreater(first["waited_ns"], least)
            self.assertLess(first["waited_ns"], 7 * computed * 10)
            barrier = {k["kind"]: k for k in first["kinds"]}["barrier"]
            self.assertGreaterEqual(barrier["last"], 5)
            self.assertEqual(sum(k["waited_ns"] for k in first["kinds"]), first["waited_ns"])
            if shape == "2x2":  # calls by request: the segment knows sums only
                self.assertIn(first["longest_kind"], ("barrier", "allreduce"))
                self.assertEqual(first["longest_group"], 0)
                self.assertLess(first["longest_operation"], 22)
                self.assertGreater(first["longest_age_ns"], 0)
                self.assertLess(first["longest_age_ns"] + first["longest_ns"], record["formed_ns"])
                self.assertRegex(self.stragglers(socket)[1], r"\n +5 +2 .* (barrier|allreduce) \d+, since \d\d:")
            self.assertEqual(sum(r["last"] for r in record["stragglers"]), record["calls"])
            code, text, error = self.stragglers(socket, record["job"])
            self.assertIn("22 calls are over; the ranks waited", text)
            process.stdin.close()
            self.assertEqual(process.wait(DEADLINE_S), 0)

    def test_the_record_of_a_job_has_the_calls_that_wait_now(self):
        _, socket = self.waiting("1x2", 3, "direct")
        [late] = self.until(socket, lambda all: len(all) == 4 and all[0]["age_ns"] >= 1e9 and
                            {tuple(o["missing"]) for o in all} == {(0,)})[0]["absent"]
        why = subprocess.run([CTL, "why", "--socket", socket], text=True, capture_output=True, check=True,
                             timeout=DEADLINE_S).stdout
        self.assertLess(why.index("now 4 calls are in flight"), why.index("no call has failed"))
        self.assertIn(f"\n  cause     rank 0 on node 0, process {late['pid']} (late), ", why)
        for command in ("stragglers", "why"):
            done = subprocess.run([CTL, command, "--socket", socket], text=True, capture_output=True,
                                  check=True, timeout=DEADLINE_S)
            self.assertIn("\nnow 4 calls are in flight (torusctl ops has the reasons):\n", done.stdout)
            self.assertRegex(done.stdout, r"\n  allreduce\(sum, double, 1\), operation 0, has waited for [0-9.]+u?m?s, since "
                                          rf"\d\d:\d\d:\d\d, for rank 0 on node 0, process {late['pid']}\n")
            self.assertRegex(done.stdout, r"^job \S+ of user \d+: 3 ranks, formed [0-9.]+u?m?s ago, "
                                          r"at \d\d:\d\d:\d\d\.\d{3}; not over\n")
            done = subprocess.run([CTL, command, "--socket", socket, "--json"], text=True,
                                  capture_output=True, check=True, timeout=DEADLINE_S)
            found = json.loads(done.stdout)["in_flight"]
            self.assertEqual([o["missing"] for o in found], [[0]] * 4)
            self.assertEqual({o["kind"] for o in found}, set(CALLS))
            self.assertEqual({c["cause"] for o in found for c in o["causes"]}, {"late_rank"})
            ages = [o["age_ns"] for o in found]
            self.assertEqual(ages, sorted(ages, reverse=True))

    def test_the_silence_of_a_node_is_charged_to_the_node_and_not_to_its_rank(self):
        """The daemon of rank 0 is stopped when that rank calls. The others wait for the daemon."""
        process = subprocess.Popen([CTL, "emulate", "1x2", "--ranks", "3", "--", "sh", "-c",
                                    f"{LATE} && [ $TORUS_RANK = 0 ] && {CTL} stragglers --json && {CTL} why"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        folder = os.path.dirname(process.stdout.readline().split()[-1])
        self.until(folder + "/s1", lambda all: len(all) == 4 and
                   {tuple(o["missing"]) for o in all} == {(0,)})
        [daemon] = [int(p) for p in subprocess.run(["pgrep", "-f", f"{folder}/c0( |$)"],
                                                   capture_output=True, text=True).stdout.split()]
        os.kill(daemon, signal.SIGSTOP)
        process.stdin.close()  # rank 0 calls
        silent_ns = 0
        try:
            soon, until = "", time.monotonic() + DEADLINE_S
            while "  cause     rank 0: node 0 " not in soon and time.monotonic() < until:
                soon = self.ops(folder + "/s1", "--timeout", "0.1")
            self.assertRegex(soon, r"node 0 (does not answer, though it was heard \d+m?s ago\n +its daemon stands still, or "
                                   r"what is sent to it is lost|has been silent for [1-9])")
            while silent_ns < 2e9:
                done = json.loads(self.ops(folder + "/s1", "--json", "--timeout", "0.1"))
                silent_ns = max([s.get("silent_ns", 0) for s in done["silent"] if s["node"] == 0], default=0)
            why = subprocess.run([CTL, "why", "--socket", folder + "/s1", "--timeout", "0.1"], text=True,
                                 capture_output=True, check=True, timeout=DEADLINE_S).stdout
        finally:
            os.kill(daemon, signal.SIGCONT)
        since = r"[0-9.]+s, since \d\d:\d\d:\d\d\n"
        self.assertRegex(why, r"\n  cause     rank 0: node 0 has been silent for " + since)
        self.assertLess(why.index("  cause     rank 0: node 0"), why.index("no call has failed"))
        self.assertRegex(why, r"! node 0 did not answer, silent for [0-9.]+s: no answer within 0.1 s\n")
        text = re.sub(r"(?m)^\[0\] ", "", process.stdout.read())
        self.assertRegex(text, r"node 0 was silent for [0-9.]+s, since [0-9:]+, because its daemon "
                               r"did not run: the calls of 2 ranks waited to hear from it, [0-9.]+s summed over them; that is charged to no rank")
        [silence] = json.JSONDecoder().raw_decode(text[text.index("{"):])[0]["silences"]
        self.assertEqual(silence["node"], 0)
        self.assertGreater(silence["longest_ns"], silent_ns - 5e8)
        self.assertEqual((silence["silences"], silence["ranks"]), (1, 2))
        self.assertGreaterEqual(silence["silence_longest_ns"], silence["longest_ns"])
        self.assertEqual(silence["silence_longest_ns"], silence["silence_ns"])
        self.assertGreater(silence["silence_longest_age_ns"], 0)

    def test_nodes_that_do_not_answer_are_listed_in_time(self):
        process, socket = self.waiting("1x4", 4, "direct")
        folder = os.path.dirname(socket)
        self.until(socket, lambda all: len(all) == 4 and
                   {tuple(o["missing"]) for o in all} == {(0,)})
        [daemon] = [int(p) for p in subprocess.run(["pgrep", "-f", f"{folder}/c2( |$)"],
                                                   capture_output=True, text=True).stdout.split()]
        os.kill(daemon, signal.SIGSTOP)
        done = json.loads(self.ops(socket, "--json", "--timeout", "0.3"))
        # the node that has heard node 2 last says how long it has been silent
        far = json.loads(self.ops(folder + "/s3", "--json", "--timeout", "0.3"))["silent"]
        os.kill(daemon, signal.SIGCONT)
        self.assertEqual([(s["node"], s["heard_by"] in (0, 1, 3)) for s in far], [(2, True)])
        self.assertEqual([s["node"] for s in done["silent"]], [2])
        self.assertIn("no answer within 0.3 s", done["silent"][0]["error"])
        self.assertGreater(done["silent"][0]["silent_ns"], 0)
        self.assertEqual([p["rank"] for p in done["operations"][0]["processes"]], [0, 1, 3])
        self.until(socket, lambda all: len(all[0]["processes"]) == 4)
        process.stdin.close()
        self.assertEqual(process.wait(DEADLINE_S), 0)

    def test_no_link_is_slow_while_its_far_end_is_silent(self):
        """Data is in flight to a daemon that is stopped, and stays there."""
        process = subprocess.Popen([CTL, "emulate", "3", "--ranks", "3", "--fabric", "routed", "--link-rate", "2MB/s",
                                    "--keep-going", "--", "sh", "-c",
                                    f"echo $TORUS_SOCKET; exec {CTL} bench --alltoall 64MiB --iterations 1"],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        folder = os.path.dirname(process.stdout.readline().split()[-1])
        socket = folder + "/s0"
        self.until(socket, lambda all: any(o["phase"] == "running" and o["age_ns"] > 2e9 for o in all))
        [daemon] = [int(p) for p in subprocess.run(["pgrep", "-f", f"{folder}/c1( |$)"],
                                                   capture_output=True, text=True).stdout.split()]
        os.kill(daemon, signal.SIGSTOP)
        self.addCleanup(os.kill, daemon, signal.SIGCONT)
        silent_ns, answers = 0, 0
        while silent_ns < 3.5e9:
            done = json.loads(self.ops(socket, "--json", "--timeout", "0.1"))
            silent_ns = max([s.get("silent_ns", 0) for s in done["silent"] if s["node"] == 1], default=0)
            if silent_ns < 1.5e9:  # three heartbeats: after two and a half the node is silent
                continue
            answers += 1
            [operation] = [o for o in done["operations"] if o["phase"] == "running"]
            self.assertEqual({(c["cause"], c.get("node")) for c in operation["causes"]}, {("silent_node", 1)})
        self.assertGreater(answers, 1)

    def test_a_job_that_forms_is_listed_with_who_is_missing(self):
        done = subprocess.run([CTL, "emulate", "1x2", "--ranks", "1", "--", "sh", "-c", f"""
            TORUS_JOB=long TORUS_RANK=2 TORUS_SIZE=4 {CTL} bench 2>&- &
            until {CTL} ops | grep 'job long .* is forming: 1 of 4 ranks have joined'; do
                sleep 0.1; done
            {CTL} ops | grep '  missing   0-1,3$'"""], capture_output=True, text=True,
                              timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_why_tells_who_cancelled_the_joins_of_a_job(self):
        done = subprocess.run([CTL, "emulate", "1x2", "--ranks", "1", "--", "sh", "-c", f"""
            TORUS_JOB=long TORUS_RANK=2 TORUS_SIZE=4 {CTL} bench 2>&- &
            until {CTL} ops | grep -q 'job long .* is forming'; do sleep 0.1; done
            {CTL} cancel long --why 'wrong input' >&-; wait; {CTL} why long"""],
                              capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"why       job long: its joins were cancelled by user \d+ on node 0 \(0,0\): "
                                      r"wrong input; 3 of 4 ranks had never joined: ranks 0-1, 3\n")

    def test_why_tells_of_a_job_that_forms_and_of_the_one_before_it(self):
        done = subprocess.run([CTL, "emulate", "1x2", "--ranks", "1", "--", "sh", "-c", f"""
            join() {{ TORUS_JOB=long TORUS_RANK=$1 TORUS_SIZE=4 {CALLER} </dev/null >&- 2>&- & }}
            forms() {{ until {CTL} ops | grep -q 'job long .* is forming'; do sleep 0.1; done; }}
            join 2; forms
            for options in 'why long' 'why' 'stragglers long' 'why long --json' 'jobs'; do
                {CTL} $options; echo; echo =====; done
            join 0; join 1; join 3; wait; join 2; forms
            {CTL} why long; echo =====; {CTL} why long --json; echo =====
            kill $!; until {CTL} why long | grep 'long .*did not form'; do sleep 0.1; done; echo =====
            {CTL} why long"""], capture_output=True, text=True,
                              timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        *texts, jobs, both, after, _, gone = re.sub(r"(?m)^\[0\] ", "", done.stdout).split("=====\n")
        *texts, as_json = texts
        for text in texts:
            self.assertRegex(text, r"^job long of user \d+ is forming: 1 of 4 ranks have joined\n"
                                   r"  waiting   for \S+, since \d\d:\d\d:\d\d\n  missing   0-1,3\n"
                                   r"  joined    rank 2 on node 0, process \d+, caller\n"
                                   r"  check     .*TORUS_JOB=long, TORUS_SIZE=4")
        record = json.loads(as_json)
        self.assertEqual((record["job"], record["size"], record["formed_ns"], record["stragglers"]), ("long", 4, 0, []))
        forming = record["forming"]
        self.assertEqual((forming["joined"], forming["missing"], [p["rank"] for p in forming["processes"]]),
                         (1, [0, 1, 3], [2]))
        self.assertGreater(forming["forming_ns"], 0)
        self.assertIn("ranks 0-1,3 have not joined", jobs)
        self.assertRegex(both, r"^job long of user \d+ is forming: (.*\n)+\nthe job of this name before it:\n"
                               r"job long of user \d+: 4 ranks, formed .*; ended ")
        record = json.loads(after)
        self.assertEqual((record["error"], record["forming"]["joined"]), (0, 1))
        self.assertGreater(record["formed_ns"], record["forming"]["forming_ns"])
        self.assertRegex(gone, r"^job long of user \d+: 4 ranks, did not form\n(  .*\n)+\nthe job of this name before it:\n"
                               r"job long of user \d+: 4 ranks, formed .*; ended ")

    def test_why_tells_of_a_job_that_did_not_form(self):
        done = subprocess.run([CTL, "emulate", "1x2", "--ranks", "1", "--", "sh", "-c", f"""
            TORUS_JOB=short TORUS_RANK=2 TORUS_SIZE=4 {CALLER} </dev/null >&- 2>&- & process=$!
            until {CTL} ops | grep -q 'job short .* is forming'; do sleep 0.1; done
            kill $process
            while {CTL} ops | grep -q 'job short .* is forming'; do sleep 0.1; done
            for options in 'why short' 'why' 'stragglers short' 'why short --json'; do {CTL} $options; echo =====; done
            {CTL} trace short"""], capture_output=True, text=True, timeout=DEADLINE_S)
        *texts, record, _ = re.sub(r"(?m)^\[0\] ", "", done.stdout).split("=====\n")
        for text in texts:
            self.assertRegex(text, r"^job short of user \d+: 4 ranks, did not form\n"
                                   r"  began     \S+ ago, at \S+, when its first process joined\n  ended     \S+ ago, at \S+\n"
                                   r"  why       job short: its processes ended or were cancelled, and 3 of 4 "
                                   r"ranks had never joined: ranks 0-1, 3\n$")
        record = json.loads(record)
        self.assertEqual((record["job"], record["size"], record["formed_ns"], record["unformed"]["size"]), ("short", 4, 0, 4))
        self.assertGreater(record["unformed"]["begun_ns"], record["unformed"]["ended_ns"])
        self.assertIn("no node has a record of a job short of yours", done.stderr)

    def test_why_names_other_jobs_that_may_be_meant(self):
        done = subprocess.run([CTL, "emulate", "1x2", "--ranks", "1", "--", "sh", "-c", f"""
            start() {{ TORUS_JOB=$1 TORUS_RANK=0 TORUS_SIZE=$2 {CALLER} <$fifo >&- 2>&- & }}
            fifo=${{TORUS_SOCKET%/*}}/never; mkfifo $fifo; sleep 60 >$fifo & holder=$!
            start one 1
            until {CTL} jobs | grep -q 'one .* running'; do sleep 0.1; done
            start two 2
            until {CTL} ops | grep -q 'job two .* is forming'; do sleep 0.1; done
            for options in 'why one' 'why' 'why --json' 'why --user 4711' 'why --user me'; do
                {CTL} $options 2>&1; echo =====; done
            kill $holder"""], capture_output=True, text=True, timeout=DEADLINE_S)
        one, latest, record, nobody, wrong, _ = re.sub(r"(?m)^\[0\] ", "", done.stdout).split("=====\n")
        self.assertRegex(one, "^job one of user ")
        self.assertNotIn("other job", one)  # no other user has one of this name
        self.assertRegex(latest, r"^job two of user (?s:.*)\n1 other job: one of user \d+; torusctl why JOB \[--user UID\] shows another\n$")
        self.assertEqual([(o["job"], o["runs"]) for o in json.loads(record)["other_jobs"]], [("one", True)])
        self.assertEqual(nobody, "torusctl why: no node has a record of a job of user 4711\n")
        self.assertIn("--user takes the number of a user", wrong)

    def test_a_job_that_has_lost_a_node_is_broken_and_not_forming(self):
        process = subprocess.Popen([CTL, "emulate", "1x4", "--ranks", "3", "--", "sh", "-c", f"""
            [ $TORUS_RANK = 0 ] && exec {CALLER}
            mkfifo ${{TORUS_SOCKET%/*}}/never$TORUS_RANK
            {CALLER} 0<>${{TORUS_SOCKET%/*}}/never$TORUS_RANK | sed -u "s|$| $TORUS_SOCKET|" """],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        said = sorted(process.stdout.readline() for _ in range(3))
        self.assertEqual([line.split()[1] for line in said], ["joined"] * 3)
        folder = os.path.dirname(said[-1].split()[-1])
        for node in 2, 3:  # node 3 has no rank
            [daemon] = [int(p) for p in subprocess.run(["pgrep", "-f", f"{folder}/c{node}( |$)"],
                                                       capture_output=True, text=True).stdout.split()]
            os.kill(daemon, signal.SIGKILL)
        found, until = {"joined": 3}, time.monotonic() + DEADLINE_S
        while found["joined"] == 3 and time.monotonic() < until:
            done = subprocess.run([CTL, "jobs", "--socket", folder + "/s0", "--json"], text=True,
                                  capture_output=True, timeout=DEADLINE_S)
            [found] = json.loads(done.stdout)["jobs"]
        self.assertEqual((found["joined"], found["state"]), (2, "silent"))
        self.assertIn("rank 2 may be on node 2, which gives no answer", found["text"])
        self.assertEqual(json.loads(self.ops(folder + "/s0", "--json"))["forming"], [])
        process.stdin.close()

    def test_why_names_the_rank_that_died_when_the_job_is_over(self):
        process = subprocess.Popen([CTL, "emulate", "1x2", "--", "sh", "-c",
                                    f"{LATE} 2>&-; exec sleep 600"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        socket = process.stdout.readline().split()[-1]
        found = self.until(socket, lambda all: len(all) == 4 and all[0]["missing"] == [0])
        os.kill(found[0]["absent"][0]["pid"], signal.SIGKILL)
        self.until(socket, lambda all: not all)
        done = subprocess.run([CTL, "why", found[0]["job"], "--socket", socket[:-1] + "1"],
                              capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the first call failed ", done.stdout)
        self.assertIn(f"rank 0 of job {found[0]['job']} died: process ", done.stdout)
        self.assertRegex(done.stdout, "the others waited most for rank 0 on node 0, process [1-9]")

    def test_why_names_all_ranks_of_its_sentence(self):
        process = subprocess.Popen([CTL, "emulate", "1x2", "--ranks", "4", "--", "sh", "-c", f"""
            echo $TORUS_JOB $TORUS_SOCKET
            case $TORUS_RANK in
            0 | 2) echo go | exec {CALLER} 100 ;;
            *) mkfifo ${{TORUS_SOCKET%/*}}/never$TORUS_RANK
               exec {CALLER} 0<>${{TORUS_SOCKET%/*}}/never$TORUS_RANK ;;
            esac"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stdout.close)
        _, job, socket = process.stdout.readline().split()
        said = iter(process.stdout.readline, "")
        self.assertTrue(any("2 of 4 ranks had not arrived in time: ranks 1, 3" in s for s in said))
        done = subprocess.run([CTL, "why", job, "--json", "--socket", socket], text=True,
                              capture_output=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        named = json.loads(done.stdout)["named"]
        self.assertEqual([(n["rank"], n["node"]) for n in named], [(1, 0), (3, 1)])

    def test_why_tells_which_ranks_made_which_call(self):
        cases = {"3": ["rank 3 called barrier", "the other 3 ranks called broadcast(byte, 67108864, root 0)"],
                 "1 | 3": ["ranks 0,2 called broadcast(byte, 67108864, root 0)", "ranks 1,3 called barrier"]}
        for odd, sides in cases.items():
            with self.subTest(odd=odd):
                process = subprocess.Popen([CTL, "emulate", "1x2", "--ranks", "4", "--keep-going", "--", "sh", "-c", f"""
                    echo $TORUS_JOB $TORUS_SOCKET
                    mkfifo ${{TORUS_SOCKET%/*}}/never$TORUS_RANK
                    exec 3<>${{TORUS_SOCKET%/*}}/never$TORUS_RANK
                    case $TORUS_RANK in
                    {odd}) {STRAGGLE} 0 1 0; cat <&3 ;;
                    *) (echo go; cat <&3) | {CALLER} ;;
                    esac"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                for cleanup in process.wait, process.kill, process.stdin.close, process.stdout.close:
                    self.addCleanup(cleanup)
                line = ""
                while "/" not in line:
                    line = process.stdout.readline()
                _, job, socket = line.split()
                until, said = time.monotonic() + DEADLINE_S, ""
                named = r"\n  rank 3 is on node 1, process \d+\n"  # node 1 may hear of the failure later
                while time.monotonic() < until and not (re.search(named, said) and
                                                        all(f"\n  {side}\n" in said for side in sides)):
                    said = subprocess.run([CTL, "why", job, "--socket", socket], text=True, capture_output=True,
                                          timeout=DEADLINE_S).stdout
                self.assertIn("\n  " + "\n  ".join(sides) + "\n", said)
                self.assertRegex(said, named)

    def cancel(self, socket, *arguments):
        done = subprocess.run([CTL, "cancel", "--socket", socket, "--timeout", "60",
                               *arguments], capture_output=True,
                              text=True, timeout=DEADLINE_S)
        return done.returncode, done.stdout, done.stderr

    def test_cancelled_calls_end_at_all_ranks_with_the_name_of_the_user(self):
        for shape, fabric in (("1x3", "direct"), ("2x2", "routed")):
            process = subprocess.Popen([CTL, "emulate", shape, "--fabric", fabric, "--", LATE],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.kill)
            for pipe in (process.stdout, process.stderr):
                self.addCleanup(pipe.close)
            socket = process.stdout.readline().split()[-1]
            found = self.until(socket, lambda all: len(all) == 4 and all[0]["missing"] == [0])
            job = found[0]["job"]
            code, text, error = self.cancel(socket, job, "--operation", "9")
            self.assertEqual((code, text), (1, ""))
            self.assertIn(f"no operation 9 of job {job} is in flight", error)
            code, text, error = self.cancel(socket, "nobody")
            self.assertEqual((code, text), (1, ""))
            self.assertIn("no node has a job nobody of yours", error)
            code, text, error = self.cancel(socket, job, "--operation", "0", "--why", "a test",
                                            "--json")
            self.assertEqual((code, error), (0, ""))
            told = json.loads(text)
            self.assertEqual((told["version"], told["job"], told["operations"], told["left"]),
                             (1, job, 1, 0))
            self.until(socket, lambda all: len(all) < 4)
            process.stdin.close()
            said = process.stderr.read()
            self.assertEqual(process.wait(DEADLINE_S), 1)
            ranks = 2 if fabric == "direct" else 3  # rank 0 calls when the others have ended
            self.assertGreaterEqual(said.count(f"operation 0 of job {job} was cancelled by user "
                                        f"{os.getuid()} on node 0"), ranks)
            self.assertGreaterEqual(said.count(": a test\n"), ranks)

    def test_a_cancellation_counts_no_call_that_began_after_it(self):
        process = subprocess.Popen([CTL, "emulate", "1x2", "--ranks", "2", "--", "sh", "-c", f"""
            echo $TORUS_JOB $TORUS_SOCKET
            mkfifo ${{TORUS_SOCKET%/*}}/never$TORUS_RANK
            exec 3<>${{TORUS_SOCKET%/*}}/never$TORUS_RANK
            [ $TORUS_RANK = 1 ] && exec {CALLER} <&3
            (echo go; echo go; cat <&3) | {CALLER}"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stdout.close)
        line = ""
        while "/" not in line:
            line = process.stdout.readline()
        _, job, socket = line.split()
        socket = socket[:-1] + "0"
        self.until(socket, lambda all: [o["missing"] for o in all if o["sequence"] == 0] == [[1]] * len(all) and all)
        self.assertEqual(self.cancel(socket, job), (0, f"job {job} of user {os.getuid()}: cancelled 1 operation\n", ""))

    def test_a_job_without_a_call_has_nothing_to_cancel(self):
        done = subprocess.run([CTL, "emulate", "1x1", "--ranks", "1", "--", "sh", "-c", f"""
            mkfifo ${{TORUS_SOCKET%/*}}/never
            {CALLER} 0<>${{TORUS_SOCKET%/*}}/never &
            until {CTL} jobs | grep -q $TORUS_JOB; do sleep 0.1; done
            {CTL} cancel $TORUS_JOB --timeout 60 2>&1
            echo code $?
            kill $!"""], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertRegex(done.stdout, "no call of job [^ ]+ was in flight, so nothing was cancelled")
        self.assertIn("code 1\n", done.stdout)

    def test_a_cancellation_is_not_watched(self):
        code, _, error = self.cancel("/nowhere", "job", "--watch")
        self.assertEqual(code, 2)
        self.assertIn("--watch: a cancellation happens once; torusctl ops --watch shows what is left", error)

    def test_a_cancelled_job_ends_also_while_it_forms(self):
        done = subprocess.run([CTL, "emulate", "1x2", "--ranks", "1", "--", "sh", "-c", f"""
            TORUS_JOB=long TORUS_RANK=2 TORUS_SIZE=4 {CTL} bench 2>&1 &
            until {CTL} ops | grep -q 'job long .* is forming: 1 of 4 ranks have joined'; do
                sleep 0.1; done
            {CTL} cancel long --timeout 60
            wait $! || true"""], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cancelled 1 join\n", done.stdout)
        self.assertIn("the join of job long was cancelled by user", done.stdout)

    def test_a_cancellation_is_the_reason_also_when_the_ranks_have_ended_upon_it(self):
        process = subprocess.Popen([CTL, "emulate", "1x2", "--keep-going", "--", LATE], text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stdout.close)
        socket = process.stdout.readline().split()[-1]
        found = self.until(socket, lambda all: len(all) == 4 and all[0]["missing"] == [0])
        job = found[0]["job"]
        self.assertEqual(self.cancel(socket, job, "--why", "a test")[0], 0)
        for command in "jobs", "status", "groups":
            until, said = time.monotonic() + DEADLINE_S, ""
            while "is broken" not in said and time.monotonic() < until:
                said = subprocess.run([CTL, command, "--socket", socket], text=True, capture_output=True,
                                      timeout=DEADLINE_S).stdout
            self.assertRegex(said, rf"job {job} is broken: rank 1 of job {job} ended after its call had failed: process \d+ "
                                   r"on node 1 \(0,1\); the first call of the job that failed: .*operation \d of job "
                                   rf"{job} was cancelled by user {os.getuid()} on node 0 \(0,0\): a test\n")
            if command != "groups":
                self.assertRegex(said, rf"\n{job} .* broken ")

    def test_stopped_ranks_are_all_named_also_when_their_job_is_cancelled(self):
        process = subprocess.Popen([CTL, "emulate", "1x2", "--ranks", "4", "--keep-going", "--", LATE], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for cleanup in process.wait, process.kill, process.stdin.close, process.stdout.close:
            self.addCleanup(cleanup)
        socket = process.stdout.readline().split()[-1]
        found = self.until(socket, lambda all: len(all) == 4 and all[0]["missing"] == [0])
        job, pids = found[0]["job"], {p["rank"]: p["pid"] for p in found[0]["processes"]}
        for rank in 0, 3:  # rank 3 has called, and waits
            self.addCleanup(os.kill, pids[rank], signal.SIGCONT)
            os.kill(pids[rank], signal.SIGSTOP)
        self.until(socket, lambda all: [c["cause"] for c in all[0]["causes"]] == ["stopped_process", "stopped_caller"])
        said = self.ops(socket)
        self.assertRegex(said, rf"\n  cause     rank 0 on node 0, process {pids[0]} \(late\), is stopped \(SIGSTOP; ")
        self.assertRegex(said, rf"\n  later     rank 3 on node 1, process {pids[3]} \(late\), is stopped \(SIGSTOP; SIGCONT "
                               r"continues it\)\n            it has called: the next call will wait for it\n")
        self.assertEqual(self.cancel(socket, job)[0], 0)
        for command in ["ops"], ["jobs"], ["why", job]:
            until, said = time.monotonic() + DEADLINE_S, ""
            while "have not left" not in said and time.monotonic() < until:
                said = subprocess.run([CTL, *command, "--socket", socket], text=True, capture_output=True,
                                      timeout=DEADLINE_S).stdout
            self.assertRegex(said, rf"\n! job {job} was cancelled [0-9.]+m?s ago; rank 0 on node 0, process {pids[0]}; rank 3 "
                                   rf"on node 1, process {pids[3]}, are stopped \(SIGSTOP\) and have not left: continue them ")

    def test_a_job_that_forms_is_listed_once_on_each_node(self):
        done = subprocess.run([CTL, "emulate", "1x2", "--ranks", "1", "--", "sh", "-c", f"""
            at=${{TORUS_SOCKET%0}}1
            for rank in 1 2 3; do
                TORUS_JOB=long TORUS_RANK=$rank TORUS_SIZE=4 TORUS_SOCKET=$at {CTL} bench 2>&1 &
            done
            until {CTL} ops | grep -q 'job long .* is forming: 3 of 4 ranks have joined'; do
                sleep 0.1; done
            {CTL} jobs; {CTL} status
            {CTL} jobs --socket $at --json | tr -d '\\n '; echo
            {CTL} jobs --socket $at --json --here | tr -d '\\n '; echo
            {CTL} cancel long --timeout 60
            wait || true"""], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\nlong +\d+ 3 of 4 1 +forming +[0-9.]+m?s rank 0 has not joined\n")
        self.assertRegex(done.stdout, r"\nlong +\d+ +forming +4 +3 +0 *\n")
        lists = [json.loads(line)["jobs"] for line in done.stdout.splitlines() if line[:1] == "{"]
        for jobs in lists:
            self.assertGreater(next(j for j in jobs if j["name"] == "long")["forming_ns"], 0)
        self.assertEqual([[(j["name"], j["joined"]) for j in jobs if j["name"] == "long"]
                          for jobs in lists], [[("long", 3)]] * 2)

    def test_an_unknown_job_is_said(self):
        process, socket, _ = self.straggle()
        code, text, error = self.stragglers(socket, "nobody")
        self.assertEqual((code, text), (1, ""))
        self.assertIn("no node has a record of a job nobody", error)
        process.stdin.close()
        self.assertEqual(process.wait(DEADLINE_S), 0)

    def test_nothing_in_flight_is_said(self):
        done = subprocess.run([CTL, "emulate", "1", "--", CTL, "ops"], capture_output=True,
                              text=True, timeout=DEADLINE_S)
        self.assertEqual((done.returncode, done.stdout), (0, f"node 0: no operation is in flight{SCOPE}\n"))

    def test_a_name_does_not_reach_a_terminal_as_it_is(self):
        name, shown = "p\x1b[31m\nq\u202e", r"p\u001b[31m\u000aq\u202e"
        process = subprocess.Popen([CTL, "emulate", "1", "--ranks", "2", "--", "bash", "-c", 'exec -a "$0" "$1"', name, LATE],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        socket = process.stdout.readline().split()[-1]
        done = subprocess.run([CTL, "status", "--socket", socket], capture_output=True, text=True, timeout=DEADLINE_S,
                              check=True)
        self.assertEqual(done.stdout.count(f" {shown}\n"), 2, done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        process.stdin.close()
        self.assertEqual(process.wait(DEADLINE_S), 0)
        done = subprocess.run([CTL, "emulate", "1", "--", "env", f"TORUS_JOB={name}", LATE], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f'the job name "{shown}" is not plain text: byte 2 is the control character U+001B', done.stderr)

    def test_wrong_usage_and_no_daemon_are_told_apart(self):
        for options, code in ((["--what"], 2), (["--socket", "/nonexistent/socket"], 3)):
            done = subprocess.run([CTL, "ops", *options], capture_output=True, text=True,
                                  timeout=DEADLINE_S)
            self.assertEqual(done.returncode, code)
            self.assertNotEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
