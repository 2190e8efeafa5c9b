"""bench/run crowd: one server with 100,000 held locks and 10,000 waiters.

    bench/run crowd [--quick] [RLOCK_BINARY]

Bare clients send what rlock sends: their requests were recorded from rlock, and each has a lock, an owner
and a latch of its own. A held lock is renewed every 10 s, as at the default lease. A waiter is subscribed
on a connection of its own, and asks every 5 s. One half waits for plain locks, a hundred for each. The
other half waits for fair locks, a thousand for each. All requests come on 50 connections.

While they go on, the real rlock looks at the locks. The figures are of one phase each:

CPU        of the server, as a share of one processor, by INFO cpu.
requests   that run a script, a second, by INFO commandstats.
scripts    how long one script kept the server busy: the median, 99th and 99.9th percentile by INFO
           latencystats, and the longest by SLOWLOG. At last, a fair lock whose waiters have all died
           is taken, while nobody else asks for anything.

Takes five minutes. Needs 11,000 descriptors in a process: `ulimit -Hn`.
"""

import argparse
import os
import re
import resource
import select
import socket
import subprocess
import threading
import time

from redisson_peer import WATCHDOG
from scripts import NESTED, NAME, RlockRuns, acts_of, filled
from server import Broken, Redis, packed

RENEWED, ASKED = 10.0, 5.0  # s, how often
TICK = 0.01  # s
CONNECTIONS = 50  # that requests come on
LEASE = b"30000"  # ms, of the locks that are renewed
COPY = """
for i = ARGV[1], ARGV[2] do
  local name = string.format('held-%06d', i)
  redis.call('hset', name, ARGV[3]:gsub('^........', string.format('%08x', i)), 1)
  redis.call('pexpire', name, 30000)
  redis.call('copy', 'rlock_info:{NAME}', 'rlock_info:{' .. name .. '}')
end
"""


def parse_crowd_options(argv):
    parser = argparse.ArgumentParser(prog="bench/run crowd")
    parser.add_argument("--quick", action="store_true", help="a tenth of it")
    parser.add_argument("rlock", nargs="?", metavar="RLOCK_BINARY")
    return parser.parse_args(argv)


def connect(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


class Load(threading.Thread):
    """Sends each request over and over, in its own time."""

    def __init__(self):
        super().__init__(daemon=True)
        self.requests = []  # how often, connection, text
        self.poll = select.epoll()
        self.connections = {}
        self.is_over = False
        self.late = 0.0  # s, at the most

    def add(self, every, connection, text):
        self.requests.append((every, connection, text))
        if connection.fileno() not in self.connections:
            self.connections[connection.fileno()] = connection
            self.poll.register(connection, select.EPOLLIN)

    def run(self):
        due = {}  # turn -> connection -> what to send then; and again after a whole round
        turns = {every: round(every / TICK) for every, _, _ in self.requests}
        for number, (every, connection, text) in enumerate(self.requests):
            of_turn = due.setdefault((every, number % turns[every]), {})
            of_turn[connection] = of_turn.get(connection, b"") + text
        for connection in self.connections.values():
            connection.setblocking(False)
        start, turn = time.monotonic(), 0
        while not self.is_over:
            for every, count in turns.items():
                for connection, text in due.get((every, turn % count), {}).items():
                    connection.sendall(text)
            turn += 1
            end = start + turn * TICK
            self.late = max(self.late, time.monotonic() - end)
            while True:
                left = end - time.monotonic()
                for descriptor, _ in self.poll.poll(max(left, 0)):
                    if not self.connections[descriptor].recv(1 << 20):
                        return  # the server has ended
                if left <= 0:
                    break

    def stop(self):
        self.is_over = True
        self.join()


class Crowd:
    def __init__(self, bench, quick):
        self.bench = bench
        self.redis = bench.redis
        self.load = Load()
        self.listeners = []
        self.connections = [connect(bench.socket) for _ in range(CONNECTIONS)]
        self.held = 10000 if quick else 100000
        self.waiting = 1000 if quick else 10000
        self.seconds = 5 if quick else 20
        self.rows = []

    def rlock(self, command, *words):
        return subprocess.run([self.bench.rlock, command, "-r", f"unix://{self.bench.socket}", *words],
                              env=self.bench.environment, stdin=subprocess.DEVNULL, check=True,
                              stdout=subprocess.PIPE).stdout

    def record(self):
        runs = RlockRuns(self.bench, self.bench.rlock)
        for _ in range(2):  # at first, the server does not know the scripts
            nested = runs.nested()
            self.joining = {kind: runs.waiter(kind)[0] for kind in ("plain", "fair")}
            self.redis.command("FLUSHALL")
        renewal = dict(zip(NESTED, acts_of(nested)))["renew"][0]
        self.renewal = [LEASE if word == WATCHDOG else word for word in renewal]

    # --- who holds and waits ---

    def hold(self):
        """Makes the locks, and has them renewed."""
        owner = next(word for word in self.renewal if re.fullmatch(b"[0-9a-f-]{36}:[0-9]+", word))
        self.rlock("acquire", "--no-watchdog", "--lease", "10m", "NAME")
        for first in range(0, self.held, 1000):
            self.redis.command("EVAL", COPY, 0, first, first + 999, owner)
        for i in range(self.held):
            text = packed(filled(self.renewal, b"held-%06d" % i, i))
            self.load.add(RENEWED, self.connections[i % CONNECTIONS], text)

    def join(self, kind, name, serial):
        """Has a waiter join. Returns the connection of its request, and the request."""
        asking, listening = self.connections[serial % CONNECTIONS], Redis(self.bench.socket)
        self.listeners.append(listening)
        for request in self.joining[kind]:
            words = filled(request, name, serial)
            if words[0] == b"SUBSCRIBE":
                listening.command(*words)
            elif words[0] == b"EVALSHA":
                text = packed(words)
                asking.sendall(text)
                if not asking.recv(1 << 16).startswith(b"*"):
                    raise Broken("a waiter's request failed")
        return asking, text

    def wait(self):
        for first, kind, each in ((0, "plain", 100), (self.waiting // 2, "fair", 1000)):
            flags = ["--fair"] if kind == "fair" else []
            for i in range(first, first + self.waiting // 2):
                name = f"{kind}-{i // each:06d}"
                if i == first or i % each == 0:
                    self.rlock("acquire", "--no-watchdog", "--lease", "10m", *flags, name)
                self.load.add(ASKED, *self.join(kind, name.encode(), 1000000 + i))

    # --- figures ---

    def used(self):
        cpu = self.redis.info("cpu")
        return float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"])

    def phase(self, label, act):
        """Does something, and adds a row of what the server did meanwhile."""
        self.redis.command("CONFIG", "RESETSTAT")
        self.redis.command("SLOWLOG", "RESET")
        begin, before = time.monotonic(), self.used()
        act()
        took = time.monotonic() - begin
        cpu = (self.used() - before) / took
        requests = self.redis.command_stats("evalsha")["calls"] / took
        spread = dict(part.split("=") for part in self.redis.info("latencystats").get(
            "latency_percentiles_usec_evalsha", "p50=0,p99=0,p99.9=0").split(","))
        longest = max((entry[2] for entry in self.redis.command("SLOWLOG", "GET", -1)
                       if entry[3][0].upper().startswith("EVAL")), default=0)
        self.rows.append((label, f"{took:.1f} s", f"{cpu:.0%}", f"{requests:,.0f}",
                          *(f"{float(spread[of]):,.0f}" for of in ("p50", "p99", "p99.9")), f"{longest:,}"))

    def sweep(self, dead):
        """A queue of so many dead waiters, and one that lives takes the lock."""
        name = f"dead-{dead}"
        self.rlock("acquire", "--no-watchdog", "--lease", "3s", "--fair", name)
        requests = [filled(request, name.encode(), 2000000 + i) for i in range(dead)
                    for request in self.joining["fair"] if request[0] == b"EVALSHA"]
        # They would have lived for an hour (KINDS of scripts.py).
        texts = [packed([b"1" if word == b"3600000" else word for word in words]) for words in requests]
        connection = Redis(self.bench.socket)
        for first in range(0, len(texts), 100):
            connection.socket.sendall(b"".join(texts[first:first + 100]))
            for _ in texts[first:first + 100]:
                connection.reply()
        connection.close()
        time.sleep(45)  # by then, each would have asked again
        self.phase(f"alone: `rlock exec --fair` behind {dead:,} dead waiters",
                   lambda: self.rlock("exec", "--fair", name, "--", "true"))

    def measure(self):
        self.record()
        empty = int(self.redis.info("memory")["used_memory"])
        self.hold()
        locks = int(self.redis.info("memory")["used_memory"]) - empty
        self.wait()
        self.load.start()
        time.sleep(RENEWED)
        whole = int(self.redis.info("memory")["used_memory"]) - empty
        self.phase("they renew and ask", lambda: time.sleep(self.seconds))
        listed = []
        self.phase("and `rlock list`", lambda: listed.append(self.rlock("list", "--json")))
        self.phase("and `rlock doctor`", lambda: self.rlock("doctor"))
        self.phase("and `rlock inspect-queue` of a thousand waiters",
                   lambda: self.rlock("inspect-queue", f"fair-{self.waiting // 2000:06d}"))
        self.load.stop()
        if listed[0].count(b"held-") < self.held:
            raise Broken(f"`rlock list` found {listed[0].count(b'held-')} of {self.held} locks")
        for dead in (1000, self.waiting):
            self.sweep(dead)
        return locks, whole


def measure_crowd(bench, options):
    """Measures with `bench`, which has children and a server, and prints the table."""
    bench.options = options
    bench.rlock = bench.build()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = bench.start_server()
    crowd = Crowd(bench, options.quick)
    for name, value in (("maxclients", crowd.waiting + 1000), ("slowlog-log-slower-than", 100),
                        ("slowlog-max-len", 100000)):
        bench.redis.command("CONFIG", "SET", name, value)
    locks, whole = crowd.measure()
    print(f"rlock with {server}, {crowd.held:,} held locks, {crowd.waiting:,} waiters, "
          f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}\n")
    print(f"memory: {locks / 2**20:.0f} MiB for the held locks, {whole / 2**20:.0f} MiB with the waiters "
          f"and their connections. The clients were {crowd.load.late:.2f} s late at the most.\n")
    print("| phase | took | CPU | requests/s | script, us: median | 99 % | 99.9 % | longest |")
    print("|" + "---|" * 8)
    for row in crowd.rows:
        print("| " + " | ".join(row) + " |")
