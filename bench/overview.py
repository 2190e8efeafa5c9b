"""What bench/run measures without a further word: rlock beside the tools that it replaces."""

import os
import random
import shutil
import statistics
import subprocess
import time

from counting_proxy import CountingProxy
from figures import Table, mebibytes, milliseconds, ratio_text
from server import CHANNEL, Broken, Redis, find_program, free_port, listens, script_arrivals, wait_until

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(HERE)

SCRIPT_PEER = r"""#!/bin/sh
# The lock that people write by hand: script 'ARGUMENTS OF redis-cli' PAUSE NAME COMMAND...
# PAUSE: seconds between two attempts, or - for one attempt only.
server=$1 pause=$2 name=$3
shift 3
read -r token </proc/sys/kernel/random/uuid
until [ "$(redis-cli $server SET "$name" "$token" NX PX 30000)" = OK ]; do
    [ "$pause" != - ] || exit 75
    sleep "$pause"
done
"$@"
status=$?
redis-cli $server EVAL 'if redis.call("get", KEYS[1]) == ARGV[1] then
    return redis.call("del", KEYS[1]) end return 0' 1 "$name" "$token" >/dev/null
exit $status
"""


class Bench:
    def __init__(self, options, directory):
        self.options = options
        self.directory = directory
        self.children = []
        self.table = Table()
        self.notes = []
        # As in a crontab. With LANG, flock loads a locale, which rlock does not need; without LOGNAME, rlock looks its
        # user up.
        self.environment = {"PATH": "/usr/bin:/bin"}

    # --- programs and servers ---

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, argv, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("env", self.environment)
        child = subprocess.Popen(argv, **more)
        self.children.append(child)
        return child

    def stop(self, children):
        for child in children:
            if child.poll() is None:
                child.terminate()
        for child in children:
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            self.children.remove(child)

    def stop_all(self):
        # The youngest first: servers were started before their clients.
        for child in reversed(self.children[:]):
            self.stop([child])

    def build(self):
        """Builds the helpers, and rlock if it is missing; returns the path of a copy of rlock."""
        out = os.path.join(ROOT, "build", "bench")
        os.makedirs(out, exist_ok=True)
        flags = ["-std=c++20", "-O2", "-Wall", "-Wextra"]
        for name, libraries in (("pairs", ["-static"]), ("stamp", ["-static"]),
                                ("handover", ["-lhiredis"])):
            source, target = os.path.join(HERE, name + ".cpp"), os.path.join(out, name)
            if not os.path.exists(target) or os.path.getmtime(target) < os.path.getmtime(source):
                subprocess.run([os.environ.get("CXX", "g++"), *flags, "-o", target, source,
                                *libraries], check=True)
        self.pairs_program, self.stamp, self.handover = (
            os.path.join(out, name) for name in ("pairs", "stamp", "handover"))
        if self.options.rlock:
            rlock = os.path.realpath(self.options.rlock)
        else:
            rlock = os.path.join(ROOT, "build", "release", "rlock")
            if not os.path.exists(rlock):
                for step in (["cmake", "--preset", "release"],
                             ["cmake", "--build", "--preset", "release"]):
                    subprocess.run(step, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        if not os.access(rlock, os.X_OK):
            raise Broken(f"{rlock} is no program")
        # As an installation does. The cache keeps a file that a linker wrote piece by piece in small pages, so that
        # it starts more slowly than it will for users.
        return shutil.copy(rlock, self.directory)

    def start_server(self):
        self.socket, self.port = self.path("redis.sock"), free_port()
        server = find_program("redis-server", "valkey-server")
        self.start([server, "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket",
                    self.socket, "--save", "", "--appendonly", "no", "--dir", self.directory,
                    "--daemonize", "no", "--logfile", self.path("redis.log")])
        wait_until("the server is up", lambda: listens(self.socket))
        self.redis = Redis(self.socket)
        self.cli = find_program("redis-cli", "valkey-cli")
        if os.path.basename(self.cli) != "redis-cli":
            os.symlink(self.cli, self.path("redis-cli"))
            self.environment["PATH"] = self.directory + ":" + self.environment["PATH"]
        self.script = self.path("script")
        with open(self.script, "w", encoding="ascii") as file:
            file.write(SCRIPT_PEER)
        info = self.redis.info("server")
        return f"{os.path.basename(server)} {info.get('valkey_version', info['redis_version'])}"

    def script_peer(self, pause, name, *command, server=None):
        return ["sh", self.script, server or f"-s {self.socket}", pause, name, *command]

    def start_etcd(self):
        """Returns etcd's address, or None where it is not installed."""
        if not shutil.which("etcd") or not shutil.which("etcdctl"):
            return None
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        with open(self.path("etcd.log"), "wb") as log:
            self.start(["etcd", "--name", "bench", "--data-dir", self.path("etcd"),
                        "--listen-client-urls", client, "--advertise-client-urls", client,
                        "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                        "--initial-cluster", f"bench={peer}"], stdout=log, stderr=log)
        self.environment["ETCDCTL_API"] = "3"

        def is_up():
            return subprocess.run(["etcdctl", "--endpoints", client, "endpoint", "health"],
                                  env=self.environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, check=False).returncode == 0
        wait_until("etcd is up", is_up, 20)
        return client

    # --- a whole run against its peers ---

    def use_server(self, url):
        self.environment["RLOCK_REDIS"] = url

    def measure_pairs(self, pairs, own, peer):
        """Returns eight lists: wall, CPU, memory and page faults of rlock and of its peer."""
        report = self.path("report")
        done = subprocess.run([self.pairs_program, report, str(pairs), "::", *own, "::", *peer],
                              env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            raise Broken(f"measuring against {peer[0]} failed")
        with open(report, encoding="ascii") as file:
            return [list(column) for column in zip(*(map(int, line.split()) for line in file))]

    def whole_runs(self, where, peer_name, pairs, peer, target=False):
        wall, cpu, memory, faults, peer_wall, peer_cpu, peer_memory, peer_faults = self.measure_pairs(
            pairs, [self.rlock, "exec", "K", "--", "true"], peer)
        note = f"{where}, against {peer_name}"
        self.table.add(f"wall time, {note}", milliseconds(wall), milliseconds(peer_wall),
                       ratio_text(wall, peer_wall), "<= 1.4 x" if target else "")
        cpu, peer_cpu = ([us * 1000 for us in side] for side in (cpu, peer_cpu))
        self.table.add(f"CPU time, {note}", milliseconds(cpu), milliseconds(peer_cpu),
                       ratio_text(cpu, peer_cpu))
        self.table.add(f"peak memory, {note}", mebibytes(statistics.median(memory)),
                       mebibytes(statistics.median(peer_memory)), ratio_text(memory, peer_memory))
        self.table.add(f"page faults, {note}", f"{statistics.median(faults):g}",
                       f"{statistics.median(peer_faults):g}", ratio_text(faults, peer_faults))

    def measure_whole_runs(self):
        pairs = self.options.pairs
        for where, url, server in (
                ("Unix socket", f"unix://{self.socket}", f"-s {self.socket}"),
                ("TCP loopback", f"redis://127.0.0.1:{self.port}", f"-p {self.port}")):
            self.use_server(url)
            self.whole_runs(where, "flock", pairs, ["flock", self.path("lockfile"), "true"], True)
            self.whole_runs(where, "shell script", pairs,
                            self.script_peer("-", "K-script", "true", server=server))
        etcd = self.start_etcd()
        if etcd is None:
            self.notes.append("etcd and etcdctl are not installed: not compared")
            return
        self.whole_runs("TCP loopback", "etcdctl lock", max(pairs // 4, 5),
                        ["etcdctl", "--endpoints", etcd, "lock", "K", "true"])
        self.stop(self.children[-1:])

    # --- round trips ---

    def measure_round_trips(self):
        runs = 3 if self.options.quick else 20
        proxy_path = self.path("proxy.sock")
        proxy = CountingProxy(proxy_path, self.socket)
        self.use_server(f"unix://{proxy_path}")
        counts = []
        for name, argv in (("rlock", [self.rlock, "exec", "K", "--", "true"]),
                           ("the shell script", self.script_peer("-", "K-script", "true",
                                                                 server=f"-s {proxy_path}"))):
            self.redis.command("CONFIG", "RESETSTAT")
            proxy.requests.clear()
            proxy.round_trips = 0
            for _ in range(runs):
                subprocess.run(argv, env=self.environment, stdin=subprocess.DEVNULL, check=True)
            connections = int(self.redis.info("stats")["total_connections_received"])
            requests = proxy.requests.copy()
            counts.append([count / runs for count in (connections, proxy.round_trips,
                                                      sum(requests.values()))])
            self.notes.append(f"requests of one uncontended run of {name}: " + ", ".join(
                f"{request} {number / runs:g}" for request, number in sorted(requests.items())))
        for i, (figure, target) in enumerate((("connections", "1"), ("round trips", "2"),
                                              ("requests", ""))):
            self.table.add(f"{figure} of an uncontended run, against shell script",
                           f"{counts[0][i]:g}", f"{counts[1][i]:g}", "", target)

    # --- handover ---

    def line_of(self, child):
        line = child.stdout.readline().strip()
        if not line:
            raise Broken(f"{child.args[0]} said nothing")
        return line

    def start_waiter(self, name, *command):
        waiter = self.start(command or [self.rlock, "exec", name, "--", self.stamp], stdout=subprocess.PIPE)
        wait_until("it waits", lambda: self.redis.waiters(name) == 1)
        time.sleep(0.03)  # it asks once more, then it sleeps
        return waiter

    def finish(self, *children):
        for child in children:
            child.stdout.close()
            if child.wait(10) != 0:
                raise Broken(f"{child.args[0]}: status {child.returncode}")
            self.children.remove(child)

    def release_and_finish(self, releaser, waiter):
        """Ends the releaser's stdin; returns the time from its time to that of the waiter."""
        releaser.stdin.close()
        start, end = int(self.line_of(releaser)), int(self.line_of(waiter))
        self.finish(releaser, waiter)
        return end - start

    def start_releaser(self, name):
        releaser = self.start([self.handover, "release", self.socket, name, CHANNEL % name],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.line_of(releaser)
        return releaser

    def handover_from_release(self):
        self.redis.command("HSET", "H", "00000000-0000-4000-8000-000000000000:1", 1)
        self.redis.command("PEXPIRE", "H", 30000)
        waiter = self.start_waiter("H")
        return self.release_and_finish(self.start_releaser("H"), waiter)

    def handover_from_command(self):
        holder = self.start([self.rlock, "exec", "H", "--", self.stamp, "wait"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        wait_until("rlock holds", lambda: self.redis.command("EXISTS", "H") == 1)
        waiter = self.start_waiter("H")
        return self.release_and_finish(holder, waiter)

    def handover_of_polling(self):
        self.redis.command("SET", "H-script", "somebody", "PX", 30000)
        waiter = self.start(self.script_peer("0.1", "H-script", self.stamp),
                            stdout=subprocess.PIPE)
        releaser = self.start_releaser("H-script")
        time.sleep(0.1 + random.random() / 10)
        return self.release_and_finish(releaser, waiter)

    def handover_of_bare_waiter(self, *command):
        self.redis.command("SET", "H-bare", "somebody", "PX", 30000)
        waiter = self.start_waiter("H-bare", self.handover, "wait", self.socket, "H-bare",
                                   CHANNEL % "H-bare", *command)
        return self.release_and_finish(self.start_releaser("H-bare"), waiter)

    def seen_by_server(self, handover):
        """Does a handover; returns the time between release and take as the server received them."""
        monitor = Redis(self.socket)
        monitor.command("MONITOR")
        handover()
        self.redis.command("ECHO", "bench:end")
        released = None
        for now, line in script_arrivals(monitor):
            if "publish" in line:
                released = now
            elif released is not None:
                monitor.close()
                return now - released
        raise Broken("the server saw no handover")

    def measure_handover(self):
        self.use_server(f"unix://{self.socket}")
        measured = {"sent": self.handover_from_release, "ends": self.handover_from_command,
                    "bare": self.handover_of_bare_waiter,
                    "spawn": lambda: self.handover_of_bare_waiter(self.stamp),
                    "poll": self.handover_of_polling,
                    "server": lambda: self.seen_by_server(self.handover_from_release),
                    "bare server": lambda: self.seen_by_server(self.handover_of_bare_waiter)}
        results = {name: [] for name in measured}
        for number in range(5 if self.options.quick else max(self.options.pairs // 5, 5)):
            order = list(measured)
            for name in order if number % 2 == 0 else reversed(order):
                results[name].append(measured[name]())
        self.table.add("handover, release to take at the server, against bare waiter",
                       milliseconds(results["server"]), milliseconds(results["bare server"]),
                       ratio_text(results["server"], results["bare server"]), "<= 1.5 x")
        for figure, own, target in (("release sent", "sent", "<= 1.5 x"),
                                    ("command ends", "ends", "")):
            for peer_name, peer, target in (("bare waiter", "bare", ""),
                                            ("bare waiter + spawn", "spawn", target),
                                            ("shell polling every 100 ms", "poll", "far ahead")):
                self.table.add(f"handover, {figure}, against {peer_name}",
                               milliseconds(results[own]), milliseconds(results[peer]),
                               ratio_text(results[own], results[peer]), target)

    # --- idle waiters ---

    def resident(self, pid):
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))

    def guardian_of(self, pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            for child in file.read().split():
                with open(f"/proc/{child}/comm", encoding="utf-8") as comm:
                    if "guardian" in comm.read():
                        return int(child)
        return None

    def measure_waiters(self):
        number, seconds = (15, 5.5) if self.options.quick else (50, 20.0)
        self.use_server(f"unix://{self.socket}")
        # So long a lease is not renewed meanwhile: what is counted comes from waiters.
        holder = self.start([self.rlock, "exec", "--lease", "10m", "W", "--", "sleep", "600"])
        wait_until("rlock holds", lambda: self.redis.command("EXISTS", "W") == 1)
        waiters = [self.start([self.rlock, "exec", "W", "--", "true"]) for _ in range(number)]
        wait_until("all wait", lambda: self.redis.waiters("W") == number, 30)
        time.sleep(0.5)
        with open(self.path("monitor"), "wb") as log:
            monitor = self.start([self.cli, "-s", self.socket, "MONITOR"], stdout=log)
        time.sleep(seconds)
        self.stop([monitor])
        with open(self.path("monitor"), "rb") as log:
            lines = [line for line in log if line[:1].isdigit() and b" lua] " not in line]
        rate = len(lines) / seconds
        self.table.add(f"commands of {number} idle waiters", f"{rate:.2f} /s", "", "",
                       f"<= {number / 5:g} /s")
        self.table.add("commands of one idle waiter", f"{rate / number:.3f} /s", "", "",
                       "<= 0.2 /s")
        resident = max(self.resident(waiter.pid) for waiter in waiters)
        self.table.add("resident memory, waiter (largest)", mebibytes(resident), "", "", "<= 8 MiB")
        self.stop(waiters)
        self.stop([holder])

        holder = self.start([self.rlock, "exec", "--lease", "1500ms", "W", "--", "sleep", "600"])
        wait_until("rlock holds", lambda: self.redis.command("EXISTS", "W") == 1)
        time.sleep(1.2)  # renewed twice
        self.table.add("resident memory, holder", mebibytes(self.resident(holder.pid)), "", "",
                       "<= 8 MiB")
        guardian = self.guardian_of(holder.pid)
        if guardian is not None:
            self.table.add("resident memory, guardian of the holder",
                           mebibytes(self.resident(guardian)), "", "", "<= 8 MiB")
        self.stop([holder])

    def run(self):
        self.rlock = self.build()
        server = self.start_server()
        self.measure_whole_runs()
        self.measure_round_trips()
        self.measure_handover()
        self.measure_waiters()
        print(f"rlock with {server}, {self.options.pairs} pairs, {os.cpu_count()} CPUs, "
              f"load {os.getloadavg()[0]:.1f}\n")
        print(self.table)
        for note in self.notes:
            print(f"\n{note}")
