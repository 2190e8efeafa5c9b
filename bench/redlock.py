"""bench/run redlock: what a lock on 3 or 5 independent servers costs, compared with one server.

    bench/run redlock [--quick] [--pairs N] [RLOCK_BINARY]

All servers run on this machine, on TCP. The peer is one of these servers. Both run in turns. A ratio is
the median of the ratios of such pairs, with their quartiles in brackets. Takes a quarter of a minute.

whole run  `rlock exec K -- true` with all servers named: the time from before its start until it has
           been reaped, its CPU time, and its memory (ru_maxrss).
cycle      a lock is taken and given back within one process, on open connections. This is the time that
           a run waits for the servers. It uses rlock's library: see quorum_cycle.cpp.
start-up   the same with new connections, and with the thread that each of several servers has.

The servers share this machine's processors: five servers on two processors work one after the other.
On machines of their own, the ratios are lower, and the slowest server of the majority counts.
"""

import argparse
import os
import statistics
import subprocess
import time

from figures import Table, mebibytes, milliseconds, ratio_text
from server import Broken, Redis, find_program, free_port, listens, wait_until

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(HERE)
SIZES = (3, 5)


def parse_redlock_options(argv):
    parser = argparse.ArgumentParser(prog="bench/run redlock")
    parser.add_argument("--quick", action="store_true", help="20 pairs of each")
    parser.add_argument("--pairs", type=int, help="paired runs of each comparison (300; quick: 20)")
    parser.add_argument("rlock", nargs="?", metavar="RLOCK_BINARY")
    options = parser.parse_args(argv)
    options.pairs = max(options.pairs or (20 if options.quick else 300), 2)
    return options


def start_servers(bench, number):
    program = find_program("redis-server", "valkey-server")
    urls = []
    for i in range(number):
        port, path = free_port(), bench.path(f"redis{i}.sock")
        bench.start([program, "--port", str(port), "--bind", "127.0.0.1", "--unixsocket", path,
                     "--save", "", "--appendonly", "no", "--dir", bench.directory, "--daemonize",
                     "no", "--logfile", bench.path(f"redis{i}.log")])
        wait_until("the server is up", lambda: listens(path))
        urls.append(f"redis://127.0.0.1:{port}")
    redis = Redis(path)
    info = redis.info("server")
    redis.close()
    return urls, f"{os.path.basename(program)} {info.get('valkey_version', info['redis_version'])}"


def run_cycles(bench, program, pairs, urls):
    """Returns kind -> (nanoseconds alone, nanoseconds together)."""
    done = subprocess.run([program, str(pairs), *urls], env=bench.environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)
    times = {"cycle": ([], []), "start": ([], [])}
    for line in done.stdout.splitlines():
        kind, alone, together = line.split()
        times[kind][0].append(int(alone))
        times[kind][1].append(int(together))
    return times


def measure_redlock(bench, options):
    """Measures with `bench`, which has children, and prints the table."""
    bench.options = options
    rlock = bench.build()
    for step in (["cmake", "--preset", "release"],
                 ["cmake", "--build", "--preset", "release", "--target", "quorum_cycle"]):
        subprocess.run(step, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    program = os.path.join(ROOT, "build", "release", "bench", "quorum_cycle")
    urls, server = start_servers(bench, max(SIZES))
    # One that has just started has no vote. What asks it, and waits 1 s, is what the default does.
    delay = ["--restart-delay", "1s"]
    time.sleep(3)
    table = Table("servers together", "one server")
    for size in SIZES:
        flags = [word for url in urls[:size] for word in ("-r", url)]
        columns = bench.measure_pairs(
            options.pairs, [rlock, "exec", *flags, *delay, "K", "--", "true"],
            [rlock, "exec", *flags[:2], "K", "--", "true"])
        wall, cpu, memory, _, peer_wall, peer_cpu, peer_memory, _ = columns
        cpu, peer_cpu = ([us * 1000 for us in side] for side in (cpu, peer_cpu))
        table.add(f"N = {size}: whole run, wall time", milliseconds(wall), milliseconds(peer_wall),
                  ratio_text(wall, peer_wall))
        table.add(f"N = {size}: whole run, CPU time", milliseconds(cpu), milliseconds(peer_cpu),
                  ratio_text(cpu, peer_cpu))
        table.add(f"N = {size}: whole run, peak memory", mebibytes(statistics.median(memory)),
                  mebibytes(statistics.median(peer_memory)), ratio_text(memory, peer_memory))
        times = run_cycles(bench, program, options.pairs, urls[:size])
        for kind, name in (("cycle", "cycle, connections open"), ("start", "start-up and cycle")):
            alone, together = times[kind]
            if len(together) != options.pairs:
                raise Broken("quorum_cycle did not do all pairs")
            table.add(f"N = {size}: {name}", milliseconds(together), milliseconds(alone),
                      ratio_text(together, alone))
    print(f"rlock with {server}, {options.pairs} pairs, {os.cpu_count()} CPUs, "
          f"load {os.getloadavg()[0]:.1f}\n")
    print(table)
