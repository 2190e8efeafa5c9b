"""bench/run snapshot: what `rlock inspect-queue` of a long queue costs, compared with redis-cli.

    bench/run snapshot [--quick] [--pairs N] [--waiters N] [RLOCK_BINARY]

wall time   of a whole run, from before its start until it has been reaped, with its output to /dev/null.
            The peer is one redis-cli that makes the same reads, but not in one atomic step: HGETALL of
            the lock, LRANGE of the queue, ZRANGE WITHSCORES of the deadlines and HGETALL of rlock's side
            key. Both run in turns. A ratio is the median of the ratios of such pairs, with their
            quartiles.
memory      the largest resident set of rlock (ru_maxrss).

Each rlock waiter has an entry in the side key, as lua/fair/acquire_fair.lua writes it. Redisson waiters
have none. Takes half a minute.
"""

import argparse
import os
import statistics
import subprocess
import time

from figures import Table, mebibytes, milliseconds, ratio_text

FILL = """
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
math.randomseed(tonumber(ARGV[2]))
local function uuid()
  return (string.gsub('xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx', 'x', function()
    return string.format('%x', math.random(0, 15)) end))
end
redis.call('hset', KEYS[1], uuid() .. ':1', 1)
redis.call('pexpire', KEYS[1], 3600000)
for i = 1, tonumber(ARGV[1]) do
  local owner = uuid() .. ':' .. i
  redis.call('rpush', KEYS[2], owner)
  redis.call('zadd', KEYS[3], now + 30000 + 15000 * i, owner)
  if ARGV[3] == 'ours' then
    redis.call('hset', KEYS[4], owner, cjson.encode({
      host = 'web' .. i % 100 .. '.example.org', pid = i, user = 'deploy', command = 'backup.sh',
      process = '6d4e2b0a-1c3f-4a5b-8d7e-9f0a1b2c3d4e/pid:[4026531836]/' .. i, kind = 'fair',
      since = now - i, seen = now, came = string.format('%.0f', now * 1000 + i),
      due = now + 3600000}))
  end
end
"""
KEYS = ("{name}", "redisson_lock_queue:{{{name}}}", "redisson_lock_timeout:{{{name}}}",
        "rlock_info:{{{name}}}")


def parse_snapshot_options(argv):
    parser = argparse.ArgumentParser(prog="bench/run snapshot")
    parser.add_argument("--quick", action="store_true", help="3 pairs of each")
    parser.add_argument("--pairs", type=int, help="paired runs of each comparison (15; quick: 3)")
    parser.add_argument("--waiters", type=int, default=100000, help="in the queue (100000)")
    parser.add_argument("rlock", nargs="?", metavar="RLOCK_BINARY")
    options = parser.parse_args(argv)
    options.pairs = max(options.pairs or (3 if options.quick else 15), 2)
    return options


def run_once(bench, argv, text=b""):
    """Returns nanoseconds and KiB of a run."""
    with open(bench.path("stdin"), "wb") as file:
        file.write(text)
    with open(bench.path("stdin"), "rb") as stdin:
        start = time.monotonic_ns()
        child = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.DEVNULL,
                                 env=bench.environment)
        _, status, usage = os.wait4(child.pid, 0)
        took = time.monotonic_ns() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise subprocess.CalledProcessError(child.returncode, argv)
    return took, usage.ru_maxrss


def measure_snapshot(bench, options):
    """Measures with `bench`, which has children and a server, and prints the table."""
    bench.options = options
    rlock = bench.build()
    server = bench.start_server()
    table = Table()
    for number, whose in enumerate(("ours", "Redisson's")):
        keys = [key.format(name=f"queue{number}") for key in KEYS]
        bench.redis.command("EVAL", FILL, len(keys), *keys, options.waiters, number + 1, whose)
        reads = (f"HGETALL {keys[0]}\nLRANGE {keys[1]} 0 -1\nZRANGE {keys[2]} 0 -1 WITHSCORES\n"
                 f"HGETALL {keys[3]}\n").encode()
        for form in ("--json", "table"):
            argv = [rlock, "inspect-queue", "-r", f"unix://{bench.socket}", keys[0]]
            argv += [form] if form == "--json" else []
            own, peer = [], []
            for pair in range(options.pairs + 1):
                runs = [lambda: own.append(run_once(bench, argv)),
                        lambda: peer.append(run_once(bench, [bench.cli, "-s", bench.socket],
                                                     reads))]
                for run in runs if pair % 2 else reversed(runs):
                    run()
            del own[0], peer[0]  # warming up
            times, peer_times = ([took for took, _ in runs] for runs in (own, peer))
            table.add(f"{options.waiters:,} waiters, {whose}, {form}", milliseconds(times),
                      milliseconds(peer_times), ratio_text(times, peer_times), "<= 2")
            table.add("    memory", mebibytes(statistics.median(kib for _, kib in own)))
    print(f"rlock with {server}, {options.pairs} pairs, {os.cpu_count()} CPUs, "
          f"load {os.getloadavg()[0]:.1f}\n")
    print(table)
