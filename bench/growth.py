"""bench/run growth: what locks, holders and waiters cost the server, to plan before there are many of them.

    bench/run growth [--quick] [RLOCK_BINARY]

memory       of the server for a held lock, by MEMORY USAGE of its keys. The expiry takes about 50 bytes
             more for each key. Also for each waiter: in keys, and in all by used_memory.
connections  that rlock has open, and its descriptors, while it holds (and has renewed) or waits. With
             three servers: on all of them together.
server time  that scripts take, without reading requests and writing answers, by INFO commandstats.
capacity     requests a second that redis-benchmark gets from one server, with 50 connections and the
             same requests that rlock sends. redis-benchmark needs a processor itself.
handover     N waiters of one lock get it one after the other. The figures are the requests that all
             waiters send for each handover, and the wait of the last waiter, divided by N.
fairness     N clients want one lock, over and over: how often each gets it.

Takes about a minute. Needs redis-benchmark.
"""

import argparse
import os
import re
import subprocess
import threading
import time

from figures import mebibytes
from redlock import start_servers
from server import CHANNEL, Broken, Redis, find_program, recorded, wait_until

KINDS = (("reentrant", []), ("reentrant, --no-info", ["--no-info"]),
         ("reentrant, --fence", ["--fence"]), ("fair", ["--fair"]), ("simple", ["--kind", "simple"]))
LOCK_KEYS = ("%s", "rlock_info:{%s}", "redisson_lock_token:{%s}")
QUEUE_KEYS = ("redisson_lock_queue:{%s}", "redisson_lock_timeout:{%s}", "rlock_info:{%s}")

# As many copies of a lock as ARGV[1] says, under the names that redis-benchmark gives.
COPIES = """
for i = 0, ARGV[1] - 1 do
  local name = string.format('lock%012d', i)
  redis.call('copy', 'NAME', name)
  redis.call('copy', 'rlock_info:{NAME}', 'rlock_info:{' .. name .. '}')
end
"""


def parse_growth_options(argv):
    parser = argparse.ArgumentParser(prog="bench/run growth")
    parser.add_argument("--quick", action="store_true", help="fewer of each")
    parser.add_argument("rlock", nargs="?", metavar="RLOCK_BINARY")
    return parser.parse_args(argv)


class Growth:
    def __init__(self, bench, quick):
        self.bench = bench
        self.redis = bench.redis
        self.rows = []
        self.runs = 100 if quick else 500
        self.requests = 20000 if quick else 200000

    def rlock(self, command, *words):
        return [self.bench.rlock, command, "-r", f"unix://{self.bench.socket}", *words]

    def add(self, figure, value):
        self.rows.append(f"| {figure} | {value} |")

    def run(self, *argv):
        return subprocess.run(argv, env=self.bench.environment, stdin=subprocess.DEVNULL, check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()

    def script_time(self):
        """Returns how many scripts were run since the last call, and their microseconds."""
        stats = self.redis.command_stats("evalsha")
        self.redis.command("CONFIG", "RESETSTAT")
        return stats["calls"], stats["usec"]

    def memory_of(self, key):
        return self.redis.command("MEMORY", "USAGE", key, "SAMPLES", "0") or 0

    def memory(self):
        return int(self.redis.info("memory")["used_memory"])

    def measure_locks(self):
        for kind, flags in KINDS:
            self.redis.command("FLUSHALL")
            take = self.rlock("acquire", "--no-watchdog", "--lease", "10m", *flags)
            self.run(*take, "first")  # knows the scripts
            self.script_time()
            owners = [self.run(*take, f"lock{i:08}") for i in range(self.runs)]
            _, taking = self.script_time()
            size = sum(self.memory_of(key % "lock00000000") for key in LOCK_KEYS)
            for i, owner in enumerate(owners):
                self.run(*self.rlock("renew", "--lease", "10m", "--owner", owner), f"lock{i:08}")
            _, renewing = self.script_time()
            for i, owner in enumerate(owners):
                self.run(*self.rlock("unlock", "--owner", owner), f"lock{i:08}")
            _, releasing = self.script_time()
            times = [total / self.runs for total in (taking, renewing, releasing)]
            self.add(f"{kind}: memory of a lock", f"{size} bytes")
            self.add(f"{kind}: server time to take, renew, release",
                     " + ".join(f"{us:.0f}" for us in times) + " us")

    # --- connections ---

    def clients(self, redis):
        return int(redis.info("clients")["connected_clients"]) - 1

    def count(self, figure, argv, servers, is_there):
        before = sum(map(self.clients, servers))
        child = self.bench.start(argv)
        wait_until("it is there", is_there)
        time.sleep(1.2)  # a holder has renewed twice
        connections = sum(map(self.clients, servers)) - before
        descriptors = len(os.listdir(f"/proc/{child.pid}/fd"))
        self.add(f"{figure}: connections, descriptors, resident",
                 f"{connections}, {descriptors}, {mebibytes(self.bench.resident(child.pid))}")
        return child

    def measure_connections(self):
        urls, _ = start_servers(self.bench, 3)
        three = [Redis(self.bench.path(f"redis{i}.sock")) for i in range(3)]
        several = [word for url in urls for word in ("-r", url)] + ["--restart-delay", "0"]
        for name, servers, flags in (
                ("one server", [self.redis], ["-r", f"unix://{self.bench.socket}"]),
                ("three servers", three, several)):
            def exists(servers=servers):
                return all(redis.command("EXISTS", "job") == 1 for redis in servers)

            def waits(servers=servers):
                return all(redis.waiters("job") == 1 for redis in servers)
            argv = [self.bench.rlock, "exec", *flags, "--lease", "1500ms", "job", "--", "sleep", "60"]
            holder = self.count(f"holder, {name}", argv, servers, exists)
            waiter = self.count(f"waiter, {name}", argv, servers, waits)
            self.bench.stop([waiter])
            self.bench.stop([holder])
        for redis in three:
            redis.close()

    # --- capacity ---

    def captured(self, argv, name):
        """Runs rlock; returns its answer, and the script requests that it sent."""
        answers = []
        requests = recorded(self.redis, lambda: answers.append(self.run(*argv, name)))
        return answers[0], [request for request in requests if request[0] == b"EVALSHA"]

    def capacity(self, request, names=10000000):
        program = find_program("redis-benchmark", "valkey-benchmark")
        out = self.run(program, "-s", self.bench.socket, "-c", "50", "-n", str(self.requests), "-r",
                       str(names), "-q", *request)
        return float(re.findall(r"([0-9.]+) requests per second", out)[-1])

    def measure_capacity(self):
        self.redis.command("FLUSHALL")
        take = self.rlock("acquire", "--no-watchdog", "--lease", "10m")
        owner, requests = self.captured(take, "NAME")
        fresh = [word.replace(b"NAME", b"lock__rand_int__") for word in requests[0]]
        self.add("capacity: taking different locks", f"{self.capacity(fresh):,.0f} /s")
        self.redis.command("FLUSHALL")
        owner = self.run(*take, "NAME")
        renew = self.rlock("renew", "--lease", "10m", "--owner", owner)
        _, requests = self.captured(renew, "NAME")
        # Many locks, since one that is renewed twice in a millisecond is left as it is.
        self.redis.command("EVAL", COPIES, 0, 10000)
        some = [word.replace(b"NAME", b"lock__rand_int__") for word in requests[0]]
        self.add("capacity: renewals", f"{self.capacity(some, 10000):,.0f} /s")
        other = self.rlock("exec", "--no-wait", "-q", "-E", "0", "NAME", "--")
        _, requests = self.captured(other, "true")
        self.add("capacity: asking for a busy lock", f"{self.capacity(requests[0]):,.0f} /s")
        self.redis.command("FLUSHALL")

    # --- many waiters ---

    def measure_handover(self, kind, flags, number):
        self.redis.command("FLUSHALL")
        owner = self.run(*self.rlock("acquire", "--no-watchdog", "--lease", "10m", *flags), "job")
        before = self.memory()
        waiters = [self.bench.start(self.rlock("exec", *flags, "job", "--", "true"))
                   for _ in range(number)]

        def all_wait():
            if kind == "fair":
                return self.redis.command("LLEN", "redisson_lock_queue:{job}") == number
            return self.redis.waiters("job") == number
        wait_until("all wait", all_wait, 120)
        time.sleep(4)  # the server takes buffers back that were not used
        memory = sum(self.memory_of(key % "job") for key in QUEUE_KEYS)
        held = self.memory() - before
        self.script_time()
        start = time.monotonic()
        self.run(*self.rlock("unlock", "--owner", owner), "job")
        for waiter in waiters:
            if waiter.wait(120) != 0:
                raise Broken("a waiter failed")
            self.bench.children.remove(waiter)
        took = (time.monotonic() - start) / number
        calls, us = self.script_time()
        self.add(f"{kind}, {number:,} waiters: requests, server time, time of a handover",
                 f"{calls / number:.1f}, {us / number:.0f} us, {took * 1000:.1f} ms")
        self.add(f"{kind}: server memory of a waiter, in keys and with connections",
                 f"{memory / number:.0f}, {held / number:,.0f} bytes")

    def measure_fairness(self, kind, flags, number, seconds):
        grants = [0] * number
        end = time.monotonic() + seconds

        def work(index):
            while time.monotonic() < end:
                self.run(*self.rlock("exec", *flags, "job", "--", "true"))
                grants[index] += 1
        workers = [threading.Thread(target=work, args=(index,)) for index in range(number)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.add(f"{kind}, {number} clients for {seconds} s: grants a client, fewest to most",
                 f"{sum(grants) / number:.0f}, {min(grants)} to {max(grants)}")

    def measure_wake_up(self):
        for number in (0, 100, 1000):
            listeners = [Redis(self.bench.socket) for _ in range(number)]
            for listener in listeners:
                listener.command("SUBSCRIBE", CHANNEL % "job")
            for _ in range(3):
                self.run(*self.rlock("exec", "job", "--", "true"))
            self.redis.command("CONFIG", "RESETSTAT")
            for _ in range(20):
                self.run(*self.rlock("exec", "job", "--", "true"))
            spent = self.redis.command_stats("publish")["usec_per_call"]
            self.add(f"PUBLISH in a release to {number} listeners", f"{spent:.0f} us")
            for listener in listeners:
                listener.close()


def measure_growth(bench, options):
    """Measures with `bench`, which has children and a server, and prints the table."""
    bench.options = options
    bench.rlock = bench.build()
    server = bench.start_server()
    growth = Growth(bench, options.quick)
    growth.measure_locks()
    growth.measure_capacity()
    for number in (10, 50) if options.quick else (10, 100, 1000):
        growth.measure_handover("plain", [], number)
    growth.measure_handover("fair", ["--fair"], 20 if options.quick else 50)
    for kind, flags in (("plain", []), ("fair", ["--fair"])):
        growth.measure_fairness(kind, flags, 20, 3 if options.quick else 10)
    growth.measure_wake_up()
    growth.measure_connections()
    print(f"rlock with {server}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}\n")
    print("\n".join(["| figure | |", "|---|---|", *growth.rows]))
