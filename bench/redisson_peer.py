"""The real Redisson, driven by tests/interop/peer."""

import itertools
import os
import subprocess
import time

from fair import ROOT, compile_java, redisson_version
from server import Broken

WATCHDOG, LEASE = b"3000", b"600000"  # ms; the first is of locks that are taken without a lease
FAIR_WAIT = "300000"  # ms, Redisson's default


class Redisson:
    """One client. Each thread of it is an owner of its own."""

    def __init__(self, bench, classpath):
        self.redis = bench.redis
        with open(bench.path("redisson.log"), "wb") as log:
            self.peer = bench.start(
                ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classpath, "Peer",
                 f"redis://127.0.0.1:{bench.port}", WATCHDOG.decode(), FAIR_WAIT], text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        if not self.peer.stdout.readline().startswith("ready"):
            raise Broken("the peer with Redisson does not start")
        self.serial = itertools.count()
        self.answers = {}

    def send(self, thread, *words):
        """Has a thread do something. Returns the number of the answer."""
        number = str(next(self.serial))
        self.peer.stdin.write(" ".join((number, thread, *words)) + "\n")
        self.peer.stdin.flush()
        return number

    def answer(self, number):
        while number not in self.answers:
            words = self.peer.stdout.readline().split()
            if len(words) < 2 or words[1] != "ok":
                raise Broken(f"Redisson: {' '.join(words)}")
            self.answers[words[0]] = words[2]
        return self.answers.pop(number)

    def ask(self, *words):
        answer = self.answer(self.send(*words))
        time.sleep(0.05)  # it removes the latch afterwards
        return answer


def start_redisson(bench, kind=Redisson):
    """Returns Redisson as that class, or None and why it is not there."""
    out = os.path.join(ROOT, "build", "bench", "peer")
    try:
        return kind(bench, compile_java(
            os.path.join(ROOT, "tests", "interop", "peer", "pom.xml"), out,
            f"-Dpeer.build={out}", f"-Dredisson.version={redisson_version().split()[1]}")), None
    except Broken as error:
        return None, f"Redisson was not measured: {error}"
