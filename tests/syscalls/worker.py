"""Runs cases in a process namespace of its own, one after the other: a line of JSON in, a line out."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import scenarios
import tracer

LIMIT = 30  # seconds that a case may take, whatever fails
LONGEST_LEASE_MS = 100_000  # the latch of a release: three times 30 s, and a little


class Server:
    def __init__(self, folder, number):
        self.path = f"{folder}/{number}"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        # Three of them have a vote at once only if they forget nothing.
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--unixsocket", self.path, "--save", "",
             "--dir", folder, "--appendonly", "yes", "--appendfsync", "always", "--appenddirname", f"aof{number}"],
            stdout=subprocess.DEVNULL, env={})
        self.connection = None
        for _ in range(400):
            if self.try_connect():
                return
            time.sleep(0.05)
        sys.exit("redis-server does not start")

    def try_connect(self):
        self.connection = socket.socket(socket.AF_UNIX)
        try:
            self.connection.connect(self.path)
            self.reader = self.connection.makefile("rb")
            self.lock = threading.Lock()
            return self.ask("PING") == "PONG"
        except OSError:
            return False

    def url(self, how):
        return f"unix://{self.path}" if how == "unix" else f"redis://localhost:{self.port}"

    def ask(self, *words):
        request = f"*{len(words)}\r\n" + "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
        with self.lock:
            self.connection.sendall(request.encode())
            return self._answer()

    def _answer(self):
        line = self.reader.readline().decode().rstrip("\r\n")
        what, rest = line[0], line[1:]
        if what == "-":
            raise OSError(rest)
        if what == ":":
            return int(rest)
        if what == "$":
            return self.reader.read(int(rest) + 2)[:-2].decode() if int(rest) >= 0 else None
        return [self._answer() for _ in range(int(rest))] if what == "*" else rest


class Run:
    """One case, and what its scenario asks of it."""

    def __init__(self, scenario, program, servers, scratch, fault):
        self.scenario = scenario
        self.program = program
        self.servers = servers
        self.failures = []
        self.words = {}
        self.sleeper = None
        self.folder = tempfile.mkdtemp(dir=scratch)
        os.mkdir(self.folder + "/work")
        self.marker = f"FAULTS={self.folder}".encode()
        used = servers[: scenario.servers]
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": self.folder + "/work",
                            "TMPDIR": self.folder + "/work", "FAULTS": self.folder,
                            "FAULTS_SOCKETS": " ".join(server.path for server in used)}
        self.needed = len(used) // 2 + 1
        for server in servers:
            server.ask("FLUSHALL")
        scenario.prepare(self)
        self.fault = fault
        self.traced = None
        self.status = None
        self.is_over = threading.Event()

    def fail(self, text):
        if text not in self.failures:
            self.failures.append(text)

    def read(self, name):
        try:
            with open(f"{self.folder}/{name}", encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def output(self):
        return self.read("out")

    def notes(self):
        lines = self.read("notes").split("\n")[:-1]
        return [(word, int(count)) for word, count in (line.split(" ") for line in lines if line.count(" ") == 1)]

    def wait_until(self, condition, seconds=LIMIT):
        """Returns whether it is true, in time and before the run has ended."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end or self.is_over.is_set():
                return bool(condition())
            time.sleep(0.01)
        return True

    def expect_held(self):
        if self.servers[0].ask("HEXISTS", "job", self.output().strip()) != 1:
            self.fail(f"status 0, and the lock is not held by '{self.output().strip()}'")

    def signal(self, number):
        """Of rlock itself, which nobody has reaped unless its status is known."""
        try:
            if self.traced.status is None:
                os.kill(self.traced.pid, number)
        except ProcessLookupError:
            pass

    def processes(self):
        """Returns those of this run that live, and whether each is rlock."""
        found = {}
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if self.marker in file.read().split(b"\0"):
                        found[int(name)] = os.readlink(f"/proc/{name}/exe") == self.program
            except OSError:  # it has just ended
                pass
        return found

    def commands(self):
        return {pid for pid, is_rlock in self.processes().items() if not is_rlock}

    def is_lost(self):
        return any(
            sum(server.ask("EXISTS", name) for server in self.servers[: self.scenario.servers]) < self.needed
            for name in self.scenario.names)

    def watch(self):
        """Whoever lives before and after the lock was gone lives without it."""
        end = time.monotonic() + LIMIT
        while not self.is_over.is_set():
            before = self.commands() if self.scenario.look else set()
            if before and self.is_lost() and before & self.commands():
                self.fail("the command lives without its lock")
            if time.monotonic() > end:
                self.fail(f"it hangs: {sorted(self.processes())}")
                self.kill_all()
            time.sleep(0.03)

    def act(self):
        try:
            self.scenario.act(self)
        except Exception as error:  # pylint: disable=broad-except
            self.fail(f"the scenario: {error!r}")

    def kill_all(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def run(self):
        try:
            self.traced = tracer.Traced(self.scenario.argv(self), self.environment, self.folder, self.fault)
            threads = [threading.Thread(target=work) for work in (self.watch, self.act)]
            for thread in threads:
                thread.start()
            self.traced.run()
            # The command may outlive all of rlock for the moment that it takes to die.
            self.wait_until(lambda: not self.processes(), 15)
            self.is_over.set()
            for thread in threads:
                thread.join()
            self.status = self.traced.status
            self.check()
        finally:
            self.is_over.set()
            self.kill_all()
            if self.sleeper:
                self.sleeper.kill()
                self.sleeper.wait()
        if not self.failures:
            shutil.rmtree(self.folder)

    def is_true(self, message):
        """Returns whether a status that no scenario expects tells what has failed."""
        if not self.fault:
            return False
        if self.status == scenarios.CONFIG:
            return "cannot be read" in message and self.fault[0].kind in ("file", "")
        return self.status == scenarios.NOT_EXECUTABLE and self.fault[0].name == "execve"

    def check(self):
        message = self.read("err")
        if self.status not in self.scenario.statuses and not self.is_true(message):
            self.fail(f"status {self.status}")
        failed = self.fault[0] if self.fault else tracer.Call("", "", "", 0)
        is_told = not (failed.name == "writev" and failed.kind == "out")
        is_failure = self.status not in self.scenario.statuses or self.status == scenarios.NOT_AVAILABLE
        lines = message.splitlines()
        if is_failure and is_told and (len(lines) != 1 or not lines[0].startswith("rlock: ")):
            self.fail(f"status {self.status} without a message of one line")
        short = [count for _, count in self.notes() if count < self.needed]
        if short:
            self.fail("the command noted that it has no lock")
        if self.processes():
            self.fail(f"it leaves processes: {self.processes()}")
        if os.listdir(self.folder + "/work"):
            self.fail(f"it leaves files: {os.listdir(self.folder + '/work')}")
        for server in self.servers:
            for key in server.ask("KEYS", "*"):
                left = server.ask("PTTL", key)
                if key not in self.scenario.lasting and not 0 <= left + 2 <= LONGEST_LEASE_MS + 2:
                    self.fail(f"it leaves the key {key} for {left} ms")
                if left == -1 and key not in self.scenario.lasting:
                    self.fail(f"it leaves the key {key} without an expiry")
        self.scenario.check(self)
        if self.failures and message:
            self.failures.append("stderr: " + message.strip())


def main():
    program = sys.argv[1]
    scratch = sys.argv[2]
    servers = [Server(scratch, number) for number in (1, 2, 3)]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver's end closes our input
    print("ready", flush=True)
    for line in sys.stdin:
        case = json.loads(line)
        fault = (tracer.Call(*case["call"]), case["error"]) if case["call"] else None
        run = Run(scenarios.BY_NAME[case["scenario"]], program, servers, scratch, fault)
        start = time.monotonic()
        run.run()
        print(json.dumps({"failures": run.failures, "is_hit": run.traced.is_hit, "calls": run.traced.calls,
                          "status": run.status, "seconds": time.monotonic() - start,
                          "folder": run.folder if run.failures else ""}), flush=True)
    for server in servers:
        server.process.kill()


main()
