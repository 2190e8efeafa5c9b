"""A fleet of threads that take locks through redis-py's Lock, for the torture. Each hold writes a
history of its own, see ../redisson/Fleet.java. Ends when stdin does."""
import argparse
import collections
import itertools
import os
import random
import sys
import threading
import time

import redis

TRUSTED = 0.8  # so much of a lease is worked in
BEAT_S = 0.005
SLICE_S = 1  # of a wait, after which it may end
TIME_TO_END_S = 5


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def simple(text):
    kind, _, name = text.partition(":")
    if kind != "simple" or not name:
        raise argparse.ArgumentTypeError(f"{text}: expected simple:NAME")
    return name


parser = argparse.ArgumentParser(prog="redis-py")
parser.add_argument("--redis", required=True)
parser.add_argument("--history", required=True)
parser.add_argument("--host", required=True)
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--clock-offset", help="not needed: Python knows CLOCK_BOOTTIME")
parser.add_argument("locks", type=simple, nargs="+", metavar="simple:NAME")
options = parser.parse_args()

client = redis.Redis.from_url(options.redis, socket_timeout=3, socket_connect_timeout=3)
numbers = itertools.count(1)
counts = collections.Counter()
is_over = threading.Event()


class History:
    """Each line is one write: it is whole whenever this process is killed."""

    def __init__(self):
        path = os.path.join(options.history, f"{options.host}-{next(numbers)}.h")
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)

    def write(self, line):
        os.write(self.fd, (line + "\n").encode())

    def close(self):
        os.close(self.fd)


def take(lock, wait):
    """Redis-py polls. In slices, so that the end of the torture ends a wait, too."""
    end = time.monotonic() + wait
    while not is_over.is_set() and (left := end - time.monotonic()) > 0:
        if lock.acquire(blocking_timeout=min(left, SLICE_S)):
            return True
    return False


def extend(lock, lease):
    """Returns the new end of the work, or None if the lock could not be extended."""
    asked = now()
    try:
        lock.extend(lease, replace_ttl=True)
        return asked + int(lease * TRUSTED * 1e9)
    except redis.RedisError as error:
        counts[type(error).__name__] += 1
        return None


def work(history, lock, lease, begin, chance):
    """Returns when the work must have ended."""
    deadline = begin + int(lease * TRUSTED * 1e9)
    length = chance.uniform(0.3, 1.2) if chance.random() < 0.1 else chance.uniform(0.005, 0.06)
    extends_at = begin + int(length * 5e8) if chance.random() < 0.2 else None
    end = begin + int(length * 1e9)
    while (at := now()) < min(end, deadline) and not is_over.is_set():
        if at > begin:
            history.write(f"beat {at}")
        if extends_at and at >= extends_at:
            extends_at = None
            later = extend(lock, lease)
            if later is None:
                return at
            deadline = max(deadline, later)
        time.sleep(BEAT_S)
    return deadline


def hold(name, lock, lease, called, chance):
    begin = now()
    history = History()
    try:
        history.write(
            f"enter {begin} lock={name} kind=simple by=redis-py host={options.host} "
            f"owner={lock.local.token.decode()} called={called}")
        deadline = work(history, lock, lease, begin, chance)
        # After a stop, the work has ended when the lease allowed no more of it.
        history.write(f"leave {min(now(), deadline)}")
        try:
            lock.release()
            history.write(f"released {now()}")
        except redis.RedisError as error:
            counts[type(error).__name__] += 1
            text = " ".join(f"{type(error).__name__}: {error}".split())
            history.write(f"failed {now()} {text}")
    finally:
        history.close()


def turn(chance):
    name = chance.choice(options.locks)
    lease = chance.uniform(2, 5)
    lock = client.lock(name, timeout=lease)
    called = now()
    if take(lock, chance.uniform(5, 15)):
        counts["holds"] += 1
        hold(name, lock, lease, called, chance)
    else:
        counts["not granted"] += 1


def live(number):
    chance = random.Random(f"{options.host} {number}")
    while not is_over.is_set():
        try:
            turn(chance)
            time.sleep(chance.uniform(0, 0.03))
        except redis.RedisError as error:
            counts[type(error).__name__] += 1
            time.sleep(0.1)
        except OSError as error:
            print(f"redis-py {options.host}: {error}", file=sys.stderr)
            os._exit(70)


threads = [threading.Thread(target=live, args=(i,), daemon=True) for i in range(options.threads)]
for thread in threads:
    thread.start()
while sys.stdin.buffer.read(4096):
    pass
is_over.set()
until = time.monotonic() + TIME_TO_END_S
for thread in threads:
    thread.join(max(until - time.monotonic(), 0))
print(f"redis-py {options.host}: {dict(counts)}", file=sys.stderr, flush=True)
os._exit(0)
