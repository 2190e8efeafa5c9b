"""A client of redis-py's Lock for the tests of string locks. One command a line on stdin, one
answer a line on stdout; see string_peer.hpp."""
import sys

import redis
from redis.exceptions import LockError

client = redis.Redis.from_url(sys.argv[1])
locks = {}


def acquire(name, ttl, wait):
    """A TTL of 0 is none: what redis-py does by default."""
    lock = client.lock(name, timeout=int(ttl) / 1000 or None, sleep=0.05)
    if not lock.acquire(blocking=wait != "0", blocking_timeout=int(wait) / 1000 or None):
        return "no"
    locks[name] = lock
    return "yes " + lock.local.token.decode()


def answer(command, name, *numbers):
    try:
        if command == "acquire":
            return acquire(name, *numbers)
        if command == "extend":
            locks[name].extend(int(numbers[0]) / 1000, replace_ttl=True)
        elif command == "release":
            locks[name].release()
        else:
            return "unknown command"
        return "yes"
    except LockError as error:
        return "no " + type(error).__name__


print("ready", flush=True)
for line in sys.stdin:
    print(answer(*line.split()), flush=True)
