"""bench/run fair: what the handover of a fair lock costs while 10 to 10,000 waiters are in the queue.

    bench/run fair [--quick] [--handovers N]

Takes two to three minutes, a minute with --quick (up to 1,000 waiters, fewer handovers). Needs what
rlock's build needs. Leaves Redisson out if there is no JDK or Maven, or if it cannot be downloaded.

handover   from before the holder's release is written until the next waiter has its grant: the median,
           with the 95th percentile in brackets. For Redisson, from the call of unlock() until lock()
           returns in the next thread. Every former holder first joins the queue again, at the end. Then
           the next handover starts. The order is checked, and that rlock leaves nothing on the server.
script     what the server took for the script that releases, and for the script that grants, in the
           same handovers: medians of SLOWLOG's times. SLOWLOG logs what takes longer than 5 us. These
           scripts all do. Hardly any command inside them does, so that the log does not slow them down.

mixed      the heads are rlock's, and that many waiters of Redisson queue behind them. The peer is a queue of
           as many waiters, all of Redisson. The goal is less than 1 ms for the two scripts.

The benchmark uses rlock's library, not the program, because 10,000 processes are too many. See
fair_queue.cpp and redisson/. Both sides talk to one server over TCP, one after the other.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import threading

from server import Broken, find_program

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(HERE)
POM = os.path.join(HERE, "redisson", "pom.xml")
SECONDS = 120  # that one side may take for one size
MIXED = (1000, 10000)  # waiters of Redisson behind rlock's
OWNER = re.compile(r"[0-9a-f-]{36}:\d+")


def parse_fair_options(argv):
    parser = argparse.ArgumentParser(prog="bench/run fair")
    parser.add_argument("--quick", action="store_true", help="up to 1,000 waiters only")
    parser.add_argument("--handovers", type=int, help="that are measured (300; quick: 100)")
    options = parser.parse_args(argv)
    options.handovers = max(options.handovers or (100 if options.quick else 300), 2)
    return options


def redisson_version():
    with open(POM, encoding="utf-8") as file:
        version = re.search("<redisson.version>(.*)</redisson.version>", file.read())
    return f"Redisson {version[1]}"


def compile_java(pom, out, *options):
    """Returns the class path of what Maven builds in `out`. Throws Broken if it cannot be built."""
    for program in ("java", "mvn"):
        find_program(program)
    maven = ["mvn", "-q", "-B", "-f", pom, *options, "compiler:compile", "dependency:copy-dependencies"]
    for more in (["-o"], []):  # it has what it needs, or it downloads that
        done = subprocess.run([*maven, *more], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode == 0:
            return f"{out}/classes:{out}/jars/*"
    errors = [line for line in done.stdout.decode().splitlines() if "ERROR" in line]
    raise Broken("Maven failed: " + "".join(errors[:1]))


def median(values):
    return statistics.median(values) if values else float("nan")


class Result:
    def __init__(self, handovers, release, grant, others):
        self.handovers = handovers  # all in microseconds
        self.release, self.grant = median(release), median(grant)
        self.others = others  # what else was asked for meanwhile: name -> times

    @property
    def handover(self):
        return median(self.handovers)

    def handover_text(self):
        return f"{self.handover:,.0f} ({statistics.quantiles(self.handovers, n=20)[-1]:,.0f})"

    def script_text(self):
        return f"{self.release:,.0f} + {self.grant:,.0f}"


def read_scripts(redis):
    """Returns (connection's name, whether it is Redisson's release, owner, microseconds) of each
    script that was run, in order."""
    scripts = []
    for _, _, took, words, _, name in reversed(redis.command("SLOWLOG", "GET", -1)):
        if words[0].upper() not in ("EVAL", "EVALSHA"):
            continue
        owner = next((word for word in words if OWNER.fullmatch(word)), None)
        latch = any(word.startswith("redisson_unlock_latch:") for word in words)
        scripts.append((name, latch, owner, took))
    return scripts


def sort_by_name(scripts):
    """rlock: fair_queue's connections are named after what they do."""
    times = {kind: [took for name, _, _, took in scripts if name == kind]
             for kind in ("release", "grant", "join", "ask")}
    del times["join"][::2]  # who joins first asks whether the lock is free
    return times


def sort_by_order(scripts):
    """Redisson: only a release has a latch; the grant before it is its owner's last request."""
    times = {"release": [], "grant": [], "join or ask": []}
    requests = {}  # owner -> time of its last request
    for _, is_release, owner, took in scripts:
        if not is_release:
            if owner in requests:
                times["join or ask"].append(requests[owner])
            requests[owner] = took
            continue
        times["release"].append(took)
        if owner in requests:
            times["grant"].append(requests.pop(owner))
    return times


class FairBench:
    def __init__(self, bench, handovers):
        self.bench = bench
        self.handovers = handovers
        self.notes = []

    def build(self):
        for step in (["cmake", "--preset", "release"],
                     ["cmake", "--build", "--preset", "release", "--target", "fair_queue"]):
            subprocess.run(step, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        self.fair_queue = os.path.join(ROOT, "build", "release", "bench", "fair_queue")
        self.java = self.build_redisson()

    def build_redisson(self):
        """Returns the command that starts the peer, or None."""
        out = os.path.join(ROOT, "build", "bench", "redisson")
        try:
            return ["java", "-cp", compile_java(POM, out, f"-Dbench.build={out}"), "FairQueue"]
        except Broken as error:
            self.notes.append(f"Redisson was not measured: {error}")
            return None

    def measure(self, argv, sort, waiters, *more):
        """Returns a Result. Throws Broken if there is none within the time bound."""
        redis = self.bench.redis
        redis.command("FLUSHALL")
        errors = self.bench.path("errors")
        with open(errors, "wb") as log:
            child = self.bench.start([*argv, f"redis://127.0.0.1:{self.bench.port}",
                                      *map(str, (waiters, self.handovers, *more))],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        late = []
        timer = threading.Timer(SECONDS, lambda: (late.append(True), child.kill()))
        timer.start()
        try:
            is_ready = child.stdout.readline() == b"ready\n"
            redis.command("SLOWLOG", "RESET")
            answer = b""
            if is_ready:
                child.stdin.write(b"\n")
                child.stdin.flush()
                answer = child.stdout.readline()
            scripts = read_scripts(redis)
            child.stdin.close()
            status = child.wait()
        finally:
            timer.cancel()
        self.bench.stop([child])
        child.stdout.close()
        if late:
            phase = "filling the queue and warming up" if not is_ready else "handing over"
            raise Broken(f"not done in {SECONDS} s: still {phase}")
        if status != 0 or not answer:
            with open(errors, encoding="utf-8", errors="replace") as log:
                raise Broken(([""] + log.read().splitlines())[-1] or f"status {status}")
        times = sort(scripts)
        if len(times["release"]) < self.handovers:
            raise Broken(f"SLOWLOG has {len(times['release'])} of {self.handovers} releases")
        report = json.loads(answer)
        return Result([ns / 1000 for ns in report["handover_ns"]], times.pop("release"),
                      times.pop("grant"), times)

    def try_redisson(self, waiters):
        if self.java is None:
            return None
        try:
            return self.measure(self.java, sort_by_order, waiters)
        except Broken as error:
            self.notes.append(f"{redisson_version()}, {waiters:,} waiters: {error}")
            return None

    def note_others(self, name, waiters, result):
        texts = [f"{len(times)} x {kind}, {median(times):,.0f} us"
                 for kind, times in result.others.items() if times]
        self.notes.append(f"{name}, {waiters:,} waiters, other scripts: " + "; ".join(texts))

    def row(self, label, own, other):
        row = [label, own.handover_text(), "", "", own.script_text(), "", ""]
        if other is not None:
            row[2:4] = other.handover_text(), f"{own.handover / other.handover:.2f} x"
            row[5:7] = other.script_text(), (
                f"{(own.release + own.grant) / (other.release + other.grant):.2f} x")
        return row

    def rows(self, sizes):
        peer = redisson_version()
        yield ("waiters", "handover, us", peer, "ratio", "scripts: release + grant, us", peer,
               "ratio")
        for waiters in sizes:
            own = self.measure([self.fair_queue], sort_by_name, waiters)
            self.note_others("rlock", waiters, own)
            other = self.try_redisson(waiters)
            if other is not None:
                self.note_others(peer, waiters, other)
            yield self.row(f"{waiters:,}", own, other)
            if waiters in MIXED:
                mixed = self.measure([self.fair_queue], sort_by_name, self.handovers + 100, waiters)
                self.note_others("rlock, mixed", waiters, mixed)
                yield self.row(f"{waiters:,}, mixed", mixed, other)


def measure_fair(bench, options):
    """Measures with `bench`, which has children and a server, and prints the table."""
    fair = FairBench(bench, options.handovers)
    fair.build()
    sizes = (10, 100, 1000) if options.quick else (10, 100, 1000, 10000)
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    server = bench.start_server()
    for name, value in (("maxclients", sizes[-1] + 1000), ("slowlog-log-slower-than", 5),
                        ("slowlog-max-len", 100000)):
        bench.redis.command("CONFIG", "SET", name, value)
    rows = list(fair.rows(sizes))
    print(f"rlock and {redisson_version()} with {server}, {options.handovers} handovers, "
          f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}\n")
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |")
        if number == 0:
            print("|" + "---|" * len(row))
    print("\n" + "\n".join(fair.notes))
