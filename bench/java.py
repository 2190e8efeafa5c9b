"""bench/run java: how long a handover takes between rlock and Redisson, compared with Redisson alone.

    bench/run java [--quick] [--rounds N] [RLOCK_BINARY]

A holder releases a plain lock, and one waiter, who has slept for a while, gets it. Holder and waiter are
`rlock exec`, or a Java process with the real Redisson (driven by tests/interop/peer): four pairings, which
take turns. In "Redisson to Redisson", they are two processes. All talk to one server over TCP. The time is
from the arrival of the holder's release at the server to that of the waiter's next request for the lock,
by MONITOR. A ratio is the median of the ratios to "Redisson to Redisson" in the same round, with their
quartiles in brackets. Takes about a minute. Needs a JDK and Maven.
"""

import argparse
import os
import subprocess
import time

from fair import redisson_version
from figures import Table, milliseconds, ratio_text
from redisson_peer import LEASE, start_redisson
from server import Broken, Redis, script_arrivals, wait_until

NAME = "job"


def parse_java_options(argv):
    parser = argparse.ArgumentParser(prog="bench/run java")
    parser.add_argument("--quick", action="store_true", help="10 rounds")
    parser.add_argument("--rounds", type=int, help="handovers of each pairing (60; quick: 10)")
    parser.add_argument("rlock", nargs="?", metavar="RLOCK_BINARY")
    options = parser.parse_args(argv)
    options.rounds = max(options.rounds or (10 if options.quick else 60), 2)
    return options


class Rlock:
    """Holds the lock, or waits for it, as `rlock exec`."""

    def __init__(self, bench):
        self.bench = bench
        self.command = [bench.rlock, "exec", "-r", f"redis://127.0.0.1:{bench.port}", "--lease", "10m",
                        NAME, "--", "cat"]
        self.run = None

    def hold(self):
        self.run = self.bench.start(self.command, stdin=subprocess.PIPE)

    wait = hold

    def is_asleep(self):
        return self.bench.redis.waiters(NAME) == 1

    def release(self):
        self.run.stdin.close()

    def finish(self):
        """After release: waits until it is done."""
        if self.run.wait(10) != 0:
            raise Broken(f"rlock: status {self.run.returncode}")
        self.bench.children.remove(self.run)


class Java:
    """The same as a thread of Redisson's."""

    def __init__(self, redisson):
        self.redisson = redisson
        self.number = None

    def lock(self):
        return self.redisson.send("a", "lock", "plain", NAME, LEASE.decode())

    def hold(self):
        self.redisson.answer(self.lock())

    def wait(self):
        self.number = self.lock()

    def is_asleep(self):
        return self.redisson.ask("-", "asleep") == "1"

    def release(self):
        if self.number:
            self.redisson.answer(self.number)
        self.number = self.redisson.send("a", "unlock", "plain", NAME)

    def finish(self):
        self.redisson.answer(self.number)
        self.number = None


def hand_over(redis, holder, waiter):
    """Returns the time between the release and the waiter's request."""
    holder.hold()
    wait_until("the lock is held", lambda: redis.command("EXISTS", NAME) == 1)
    waiter.wait()
    wait_until("the waiter sleeps", waiter.is_asleep)
    time.sleep(0.1)  # it asks once more, then it sleeps
    monitor = Redis(redis.path)
    monitor.command("MONITOR")
    holder.release()
    arrivals = script_arrivals(monitor)
    (released, _), (asked, _) = next(arrivals), next(arrivals)
    monitor.close()
    holder.finish()
    wait_until("the waiter holds", lambda: redis.command("EXISTS", NAME) == 1)
    waiter.release()
    waiter.finish()
    wait_until("all is over", lambda: redis.command("EXISTS", NAME) == 0)
    return asked - released


def measure_java(bench, options):
    """Measures with `bench`, which has children and a server, and prints the table."""
    bench.options = options
    bench.rlock = bench.build()
    server = bench.start_server()
    peers = []
    for _ in range(2):
        redisson, why = start_redisson(bench)
        if not redisson:
            raise Broken(why)
        peers.append(Java(redisson))
    rlock, other = Rlock(bench), Rlock(bench)
    java = redisson_version()
    pairings = {f"{java} to {java}": (peers[0], peers[1]), f"rlock to {java}": (rlock, peers[0]),
                f"{java} to rlock": (peers[0], rlock), "rlock to rlock": (rlock, other)}
    times = {name: [] for name in pairings}
    for number in range(options.rounds + 3):  # the first three warm Java up
        for name in pairings if number % 2 == 0 else reversed(pairings):
            took = hand_over(bench.redis, *pairings[name])
            if number >= 3:
                times[name].append(took)
    table = Table()
    table.rows = [("handover", "at the server", f"ratio to {java} alone")]
    alone = next(iter(times.values()))
    for name, of_pairing in times.items():
        table.rows.append((name, milliseconds(of_pairing), ratio_text(of_pairing, alone)))
    print(f"rlock with {server}, {options.rounds} rounds, {os.cpu_count()} CPUs, "
          f"load {os.getloadavg()[0]:.1f}\n")
    print(table)
