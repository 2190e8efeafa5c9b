"""bench/run scripts: what the server takes for each act of rlock's, compared with Redisson's for the same act.

    bench/run scripts [--quick] [--rounds N] [RLOCK_BINARY]

Requests are those that the programs send. Runs of `rlock exec`, and the real Redisson (driven by
tests/interop/peer), do each act once, and MONITOR records what they send. These requests are sent again,
with a lock, an owner and a latch of their own for each, as other runs would send them. The waiters of a
queue get there in the same way, and somebody listens on the channel of each. Every reply is checked.

time   of the server, by INFO commandstats: of the script (EVALSHA, with all that it calls), and of the DEL
       by which the client removes a latch afterwards. "The two scripts" is without DEL.
blocks of 20 calls of one act, one after the other, each for its own lock. Blocks of rlock and Redisson
       take turns: A B, B A, A B ... A time is the median of all blocks. A ratio is the median of the
       ratios of such pairs, with their quartiles in brackets.
hot    nothing happens between two calls.
cold   a process is started before each call (/bin/true). Its code and data displace those of the server
       in the processor's caches. This is how the server meets rlock, which is a process for each run.
queue  of a fair lock: its length when the holder releases. Then the head takes the lock. Then another
       run joins the queue at its end, which is not measured.

Takes about a minute. Leaves Redisson out, and says so, if there is no JDK or Maven, or if it cannot be
downloaded.
"""

import argparse
import collections
import itertools
import os
import re
import statistics
import subprocess
import time

from fair import redisson_version
from figures import Table, ratio_text
from mixed import MIXED_ACTS, measure_mixed, start_a_process
from redisson_peer import LEASE, WATCHDOG, Redisson, start_redisson
from server import Broken, Redis, recorded, wait_until

NAME = "lock-000000"  # while recording
CALLS = 20  # in a block
SIZES = (1, 10, 1000)
KINDS = {"plain": [], "fair": ["--fair", "--fair-wait", "1h"], "read": ["-s"], "write": ["-x"],
         "semaphore": ["--kind", "semaphore", "--permits", "3"]}
NESTED = ("take", "enter again", "release an inner hold", "renew", "release")

# What differs between runs: the name, and the first digits of an owner's UUID and of a latch.
DIFFERS = re.compile(f"{NAME}|(?<![0-9a-f])[0-9a-f]{{8}}(?=(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}"
                     "|[0-9a-f]{24}(?![0-9a-f]))".encode())

# act: what the scripts answer if it is done, rlock's and Redisson's. A type: any of that type.
ANSWERS = {"take": (1, None), "enter again": (1, None), "release an inner hold": (0, 0),
           "renew": (1, 1), "release": (1, 1), "ask for a busy lock": (0, int),
           "fair take": (1, None), "fair release": (1, 1), "read take": (1, None),
           "read release": (1, 1), "write take": (1, None), "write release": (1, 1),
           "semaphore take": (1, str), "semaphore release": (1, 1)}
GOALS = {"ask for a busy lock": "<= 1.5", "renew": "<= 1.5"}


def parse_scripts_options(argv):
    parser = argparse.ArgumentParser(prog="bench/run scripts")
    parser.add_argument("--quick", action="store_true", help="5 rounds")
    parser.add_argument("--rounds", type=int, help="blocks of each act (30; quick: 5)")
    parser.add_argument("rlock", nargs="?", metavar="RLOCK_BINARY")
    options = parser.parse_args(argv)
    options.rounds = max(options.rounds or (5 if options.quick else 30), 2)
    return options


# --- recording ---

class RlockRuns:
    """What runs of rlock send."""

    def __init__(self, bench, rlock):
        self.bench = bench
        self.redis = bench.redis
        self.command = [rlock, "exec", "-r", f"unix://{bench.socket}"]

    def start(self, kind, *words, **more):
        return self.bench.start([*self.command, *KINDS[kind], "--lease", "10m", NAME, "--", *words],
                                **more)

    def run(self, argv):
        subprocess.run(argv, env=self.bench.environment, stdin=subprocess.DEVNULL, check=True)

    def nested(self):
        """Returns the requests of NESTED."""
        short = [*self.command, "--lease", "3s", NAME, "--"]
        inner = " ".join(f"'{word}'" for word in short)
        return recorded(self.redis, lambda: self.run(
            [*short, "sh", "-c", f"{inner} true; sleep 1.5"]))

    def alone(self, kind):
        """Returns the requests of a take and a release."""
        return recorded(self.redis, lambda: self.run(
            [*self.command, *KINDS[kind], "--lease", "10m", NAME, "--", "true"]))

    def prepare_semaphore(self):
        return []

    def waiter(self, kind):
        """Returns the requests of one that comes while the lock is held, until it sleeps; and of its
        release, among others."""
        redis = self.redis
        holder = self.start(kind, "cat", stdin=subprocess.PIPE)
        wait_until("rlock holds", lambda: redis.command("EXISTS", NAME))
        waiters = []

        def join():
            waiters.append(self.start(kind, "true"))
            wait_until("rlock waits", lambda: redis.waiters(NAME) or queue_length(redis))
            time.sleep(0.1)

        def hand_over():
            holder.stdin.close()
            waiters[0].wait(10)
        joining, leaving = recorded(redis, join), recorded(redis, hand_over)
        self.bench.stop([holder, *waiters])
        return joining, leaving


class RedissonThreads(Redisson):
    """What Redisson sends: two threads of one client."""

    def nested(self):
        def act():
            for command in (("lock", "-1"), ("lock", "-1"), ("unlock",)):
                self.ask("a", command[0], "plain", NAME, *command[1:])
            time.sleep(1.4)
            self.ask("a", "unlock", "plain", NAME)
        return recorded(self.redis, act)

    def alone(self, kind):
        def act():
            self.ask("a", "lock", kind, NAME, LEASE.decode())
            self.ask("a", "unlock", kind, NAME)
        return recorded(self.redis, act)

    def prepare_semaphore(self):
        return recorded(self.redis, lambda: self.ask("a", "trySetPermits", "semaphore", NAME, "3"))

    def waiter(self, kind):
        lock = ("lock", kind, NAME, LEASE.decode())
        self.ask("a", *lock)
        waiting = []

        def join():
            waiting.append(self.send("b", *lock))
            wait_until("Redisson waits", lambda: self.ask("-", "asleep") == "1")
        joining = recorded(self.redis, join)
        self.ask("a", "unlock", kind, NAME)
        self.answer(waiting[0])
        return joining, recorded(self.redis, lambda: self.ask("b", "unlock", kind, NAME))


def queue_length(redis):
    return redis.command("LLEN", "redisson_lock_queue:{%s}" % NAME)


def acts_of(requests):
    """Returns the requests act by act: a script, and what the client sends for it besides."""
    acts = []
    for request in requests:
        if request[0] in (b"EVALSHA", b"SUBSCRIBE"):
            acts.append([request])
        elif request[0] in (b"DEL", b"GET", b"PUBLISH"):
            acts[-1].append(request)
        elif request[0] in (b"EVAL", b"SCRIPT"):
            raise Broken("the server does not have a script that it has run")
    return acts


def record(program):
    """Has a program do everything. Returns what it sent."""
    program.redis.command("FLUSHALL")
    return {"nested": program.nested(), "plain waiter": program.waiter("plain"),
            "fair waiter": program.waiter("fair"), "read": program.alone("read"),
            "write": program.alone("write"), "prepare semaphore": program.prepare_semaphore(),
            "semaphore": program.alone("semaphore")}


def find_acts(sent):
    """Returns act -> its requests."""
    def named(requests, *names):
        acts = acts_of(requests)
        if len(acts) != len(names):
            raise Broken(f"recorded {len(acts)} acts instead of {', '.join(names)}")
        return dict(zip(names, acts))
    acts = named(sent["nested"], *NESTED)
    for kind in ("read", "write", "semaphore"):
        acts.update(named(sent[kind], f"{kind} take", f"{kind} release"))
    acts["prepare semaphore"] = sum(acts_of(sent["prepare semaphore"]), [])
    joining = acts_of(sent["plain waiter"][0])
    acts["ask for a busy lock"] = joining[0]
    acts["listen"] = next(act for act in joining if act[0][0] == b"SUBSCRIBE")
    joining, leaving = map(acts_of, sent["fair waiter"])
    acts["join"] = sum(joining, [])
    acts["fair take"], acts["fair release"] = joining[-1], leaving[-1]
    return acts


# --- sending again ---

def filled(request, name, serial):
    """Returns the words of a recorded request, for another lock and another owner."""
    return [round(time.time() * 1000) + word if isinstance(word, int) else
            DIFFERS.sub(lambda match: name if match[0] == NAME.encode() else b"%08x" % serial,
                        LEASE if word == WATCHDOG else word) for word in request]


class Side:
    """Does the acts of rlock, or of Redisson, for locks and owners of its own."""

    serials = itertools.count(1)

    def __init__(self, number, acts, bench):
        self.number = number  # of its answers
        self.acts = acts
        self.redis = bench.redis
        self.listener = Redis(bench.socket)
        self.queues = {}  # how many wait -> lock, and owners: the holder and its queue

    def some(self, count=CALLS):
        """Returns locks that there have not been yet, each with an owner."""
        return [(b"lock-%06d" % serial, serial)
                for serial in itertools.islice(Side.serials, count)]

    def used(self, command):
        """Returns the microseconds that the server has taken for a command since it was started."""
        return self.redis.command_stats(command.decode().lower())["usec"]

    def send(self, request, name, serial):
        words = filled(request, name, serial)
        if words[0] in (b"SUBSCRIBE", b"UNSUBSCRIBE"):
            reply = self.listener.command(*words)
            while reply[0] != words[0].decode().lower():  # a message
                reply = self.listener.reply()
            return reply
        return self.redis.command(*words)

    def check(self, act, reply):
        expected = ANSWERS[act][self.number]
        got = reply[0] if isinstance(reply, list) else reply
        if got != expected and not (isinstance(expected, type) and isinstance(got, expected)):
            raise Broken(f"{('rlock', 'Redisson')[self.number]}: {act}: the server answered {reply}")

    def do(self, act, calls):
        for name, serial in calls:
            for request in self.acts[act]:
                self.send(request, name, serial)

    def measure(self, act, calls, between):
        """Does the act. Returns the microseconds of its script, and of all that is sent for it."""
        times = []
        for request in self.acts[act]:
            before = self.used(request[0])
            for name, serial in calls:
                between()
                reply = self.send(request, name, serial)
                if request[0] == b"EVALSHA":
                    self.check(act, reply)
            times.append((self.used(request[0]) - before) / len(calls))
        return times[0], sum(times)

    def listen_no_more(self, act, calls):
        for name, serial in calls:
            for request in self.acts[act]:
                if request[0] == b"SUBSCRIBE":
                    self.send([b"UNSUBSCRIBE", *request[1:]], name, serial)

    # Each of these does some acts, and returns act -> as measure.

    def plain(self, between):
        calls = self.some()
        return {act: self.measure(act, calls, between)
                for act in ("take", "ask for a busy lock", "renew", "release")}

    def nested(self, between):
        calls = self.some()
        self.do("take", calls)
        times = {act: self.measure(act, calls, between)
                 for act in ("enter again", "release an inner hold")}
        self.do("release", calls)
        return times

    def awaited(self, between):
        calls = self.some()
        self.do("take", calls)
        self.do("listen", calls)
        times = {"release, one waits": self.measure("release", calls, between)}
        self.listen_no_more("listen", calls)
        return times

    def alone(self, kind, between):
        calls = self.some()
        if kind == "semaphore":
            self.do("prepare semaphore", calls)
        return {act: self.measure(act, calls, between) for act in (f"{kind} take", f"{kind} release")}

    def queue(self, waiters, between):
        queues = self.queues.get(waiters)
        if not queues:
            queues = self.queues[waiters] = [(name, collections.deque([holder]))
                                             for name, holder in self.some()]
            self.do("fair take", [(name, owners[0]) for name, owners in queues])
            for _ in range(waiters):
                self.join(queues)
        times = {f"fair release, queue of {waiters:,}": self.measure(
            "fair release", [(name, owners.popleft()) for name, owners in queues], between)}
        heads = [(name, owners[0]) for name, owners in queues]
        times[f"fair take, queue of {waiters:,}"] = self.measure("fair take", heads, between)
        self.listen_no_more("join", heads)
        self.join(queues)
        return times

    def join(self, queues):
        for name, owners in queues:
            owners.append(next(Side.serials))
            self.do("join", [(name, owners[-1])])


class Results:
    def __init__(self, has_peer):
        self.times = collections.defaultdict(list)  # act, side, cold -> as Side.measure, of each block
        self.table = Table()
        self.table.rows = [("act", "rlock, us: hot, cold", f"{redisson_version()}, us: hot, cold",
                            "ratio hot", "ratio cold", "goal")]
        self.has_peer = has_peer

    def add(self, side, cold, times):
        for act, of_act in times.items():
            self.times[act, side, cold].append(of_act)

    def add_row(self, label, acts, goal="", only_scripts=False):
        def of(side, cold):
            blocks = zip(*(self.times[act, side, cold] for act in acts))
            return [sum(times[0 if only_scripts else 1] for times in block) for block in blocks]

        def text(side):
            return ", ".join(f"{statistics.median(of(side, cold)):.1f}" for cold in (False, True))
        row = [label, text(0), "", "", "", goal]
        if self.has_peer:
            row[2] = text(1)
            row[3:5] = (ratio_text(of(0, cold), of(1, cold)) for cold in (False, True))
        self.table.rows.append(tuple(row))

    def __str__(self):
        for act in ("take", "ask for a busy lock", "enter again", "release an inner hold", "renew",
                    "release", "release, one waits"):
            self.add_row(act, [act], GOALS.get(act, ""))
        self.add_row("take + release, the two scripts", ["take", "release"], "hot <= 2, cold <= 1.7",
                     True)
        for waiters in SIZES:
            acts = [f"fair {act}, queue of {waiters:,}" for act in ("take", "release")]
            for act in acts:
                self.add_row(act, [act])
            self.add_row(f"fair take + release, queue of {waiters:,}, the two scripts", acts,
                         "<= 1.5" if waiters == 10 else "", True)
        for act, goal in MIXED_ACTS if self.has_peer else ():
            self.add_row(act, [act], goal)
        for kind in ("read", "write", "semaphore"):
            for act in (f"{kind} take", f"{kind} release"):
                self.add_row(act, [act])
        return str(self.table)


def measure_scripts(bench, options):
    """Measures with `bench`, which has children and a server, and prints the table."""
    bench.options = options
    rlock = bench.build()
    server = bench.start_server()
    redisson, note = start_redisson(bench, RedissonThreads)
    sides = []
    for number, program in enumerate((RlockRuns(bench, rlock), redisson)):
        if program:
            record(program)  # now the server knows the scripts
            sides.append(Side(number, find_acts(record(program)), bench))
    if redisson:
        bench.stop([redisson.peer])
    bench.redis.command("FLUSHALL")
    blocks = [(Side.plain,), (Side.nested,), (Side.awaited,),
              *((Side.queue, waiters) for waiters in SIZES),
              *((Side.alone, kind) for kind in ("read", "write", "semaphore"))]
    for block, *which in blocks:  # warms up, and fills the queues
        for side in sides:
            block(side, *which, lambda: None)
    results = Results(redisson)
    for turn in range(options.rounds):
        for block, *which in blocks:
            for cold, between in ((False, lambda: None), (True, start_a_process)):
                for side in sides if turn % 2 == 0 else reversed(sides):
                    results.add(side.number, cold, block(side, *which, between))
    if redisson:
        measure_mixed(sides, options.rounds, results)
    print(f"rlock with {server}, {options.rounds} blocks of {CALLS} calls, {os.cpu_count()} CPUs, "
          f"load {os.getloadavg()[0]:.1f}\n")
    print(results)
    if note:
        print(f"\n{note}")
