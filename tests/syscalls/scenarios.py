"""The runs whose calls fail, and what is true after each of them whatever has failed.

A scenario says what is run, what happens to it meanwhile, and with which statuses it may end. What all have in
common is in worker.py: no hang, one line of message, nothing left, and no command without its lock.
"""

import dataclasses
import os
import signal
import subprocess
import time
import typing

OWNER = "some:body"  # another holder
HERE = os.path.dirname(os.path.abspath(__file__))
NOT_AVAILABLE = 69
CONFIG = 78
NOT_EXECUTABLE = 126
AT_MOST = 124

GUARDIAN = ".process1"


@dataclasses.dataclass
class Scenario:
    name: str
    arguments: list
    servers: int = 1
    statuses: tuple = (0, NOT_AVAILABLE)
    names: tuple = ("job",)
    look: str = ""  # what the command does: see look.sh; "" means that there is none
    prepare: typing.Callable = lambda run: None
    act: typing.Callable = lambda run: None  # meanwhile, in a thread of its own
    check: typing.Callable = lambda run: None  # afterwards
    only: str = ""  # of the tasks, those whose names have this in them
    lasting: tuple = ()  # keys that stay forever, as rlock(1) says
    url: str = "unix"

    def argv(self, run):
        command, *rest = self.arguments
        argv = [run.program, command, "--timeout", "2s"]
        for server in run.servers[: self.servers]:
            argv += ["-r", server.url(self.url)]
        for argument in rest:
            argv.append(run.words.get(argument, argument))
        if self.look:
            argv += ["--", "/bin/sh", HERE + "/look.sh", self.look]
        return argv


# --- what happens before

def held_by_another(milliseconds):
    def prepare(run):
        for server in run.servers:
            server.ask("HSET", "job", OWNER, "1")
            server.ask("PEXPIRE", "job", str(milliseconds))
    return prepare


def held_by_us(run):
    """Somebody took it by hand."""
    argv = [run.program, "acquire", "--no-watchdog", "--lease", "30s", "-r", run.servers[0].url("unix"), "job"]
    run.words["OWNER"] = subprocess.run(argv, env=run.environment, stdout=subprocess.PIPE, check=True,
                                        text=True).stdout.strip()


def tokens_granted(run):
    run.servers[0].ask("SET", "redisson_lock_token:{job}", "5")


def with_sleeper(run):
    run.sleeper = subprocess.Popen(["sleep", "60"], env={})
    run.words["PID"] = str(run.sleeper.pid)


# --- what happens meanwhile

def signal_when_started(number):
    def act(run):
        if run.wait_until(lambda: run.notes()):
            run.signal(number)
    return act


def stand_still_when_started(run):
    if run.wait_until(lambda: run.notes()):
        run.traced.hold()
        # Its lease ends, and its command with it: so it never goes on.
        run.wait_until(lambda: not run.commands(), 20)
        run.signal(signal.SIGKILL)


def unlock_by_owner(run):
    if not run.wait_until(lambda: run.traced.status is not None) or run.traced.status != 0:
        return
    run.expect_held()
    argv = [run.program, "unlock", "-r", run.servers[0].url("unix"), "--owner", run.output().strip(), "job"]
    done = subprocess.run(argv, env=run.environment, stderr=subprocess.PIPE, check=False, text=True)
    if done.returncode != 0:
        run.fail(f"unlock says {done.returncode}: {done.stderr}")
    if run.servers[0].ask("EXISTS", "job"):
        run.fail("unlock has not released it")


def end_the_caller(run):
    if run.wait_until(lambda: run.traced.status is not None):
        if run.traced.status == 0:
            run.expect_held()
            time.sleep(1.5)  # a renewal
            run.expect_held()
        run.sleeper.kill()
        run.sleeper.wait()
        # It releases the lock, or has the lease end.
        if not run.wait_until(lambda: not run.servers[0].ask("EXISTS", "job"), 15):
            run.fail("the lock is still there long after its holder has ended")


# --- what is true afterwards

def has_run_to_its_end(run):
    if run.status == 0 and "end" not in [word for word, _ in run.notes()]:
        run.fail("status 0, and the command has not run to its end")
    if run.status == NOT_AVAILABLE and run.notes():
        run.fail("status 69, and the command has run")


def key_is_gone(run):
    if run.status == 0 and run.servers[0].ask("EXISTS", "job"):
        run.fail("status 0, and the lock is there")


def key_is_renewed(run):
    left = run.servers[0].ask("PTTL", "job")
    if not run.servers[0].ask("HEXISTS", "job", run.words["OWNER"]):
        run.fail("it is no longer held")
    if run.status == 0 and left < 40_000:
        run.fail(f"status 0, and its lease ends in {left} ms")


def is_anothers(run):
    if not run.servers[0].ask("HEXISTS", "job", OWNER):
        run.fail("another's hold is gone")


def has_not_run_if_it_says_so(run):
    if run.status == NOT_AVAILABLE and run.notes():
        run.fail("status 69, and the command has run")


EXEC = ["exec", "-w", "10s"]
SHORT = {"look": "short", "check": has_run_to_its_end}
SCENARIOS = [
    Scenario("exec", EXEC + ["job"], **SHORT),
    Scenario("exec-tcp", EXEC + ["job"], url="tcp", **SHORT),
    Scenario("exec-waiting", EXEC + ["job"], prepare=held_by_another(300), **SHORT),
    Scenario("exec-fair", EXEC + ["--fair", "job"], **SHORT),
    Scenario("exec-fair-waiting", EXEC + ["--fair", "job"], prepare=held_by_another(300), **SHORT),
    Scenario("exec-names", EXEC + ["job", "other"], names=("job", "other"), **SHORT),
    Scenario("exec-fence", EXEC + ["--fence", "job"], lasting=("redisson_lock_token:{job}",), **SHORT),
    Scenario("exec-servers", EXEC + ["job"], servers=3, **SHORT),
    Scenario("exec-renewed", EXEC + ["--lease", "2s", "job"], look="long", check=has_run_to_its_end),
    Scenario("exec-at-most", EXEC + ["--at-most", "200ms", "job"], look="endless",
             statuses=(AT_MOST, NOT_AVAILABLE), check=has_not_run_if_it_says_so),
    Scenario("exec-at-most-kill", EXEC + ["--at-most", "200ms", "--kill-after", "200ms", "job"], look="stubborn",
             statuses=(AT_MOST, NOT_AVAILABLE), check=has_not_run_if_it_says_so),
    Scenario("exec-at-most-daemon", EXEC + ["--at-most", "200ms", "--kill-after", "200ms", "job"], look="daemon",
             statuses=(AT_MOST, NOT_AVAILABLE), check=has_not_run_if_it_says_so),
    Scenario("exec-term", EXEC + ["job"], look="endless", act=signal_when_started(signal.SIGTERM),
             statuses=(128 + signal.SIGTERM, NOT_AVAILABLE), check=has_not_run_if_it_says_so),
    Scenario("guardian-term", EXEC + ["--lease", "3s", "job"], look="endless",
             act=signal_when_started(signal.SIGKILL), statuses=(-signal.SIGKILL, NOT_AVAILABLE), only=GUARDIAN),
    Scenario("guardian-kill", EXEC + ["--lease", "3s", "--kill-after", "300ms", "job"], look="stubborn",
             act=signal_when_started(signal.SIGKILL), statuses=(-signal.SIGKILL, NOT_AVAILABLE), only=GUARDIAN),
    Scenario("guardian-daemon", EXEC + ["--lease", "3s", "--kill-after", "300ms", "job"], look="daemon",
             act=signal_when_started(signal.SIGKILL), statuses=(-signal.SIGKILL, NOT_AVAILABLE), only=GUARDIAN),
    Scenario("guardian-strikes", EXEC + ["--lease", "4s", "job"], look="stubborn",
             act=stand_still_when_started, statuses=(-signal.SIGKILL, NOT_AVAILABLE), only=GUARDIAN),
    Scenario("acquire", ["acquire", "--lease", "3s", "job"], act=unlock_by_owner),
    Scenario("acquire-waiting", ["acquire", "-w", "10s", "--lease", "3s", "job"], prepare=held_by_another(300),
             act=unlock_by_owner),
    Scenario("acquire-caller", ["acquire", "--lease", "3s", "--pid", "PID", "job"], prepare=with_sleeper,
             act=end_the_caller),
    Scenario("unlock", ["unlock", "--owner", "OWNER", "job"], prepare=held_by_us, check=key_is_gone),
    Scenario("unlock-another's", ["unlock", "--owner", "no:body", "job"], prepare=held_by_another(60_000),
             statuses=(1, NOT_AVAILABLE), check=is_anothers),
    Scenario("renew", ["renew", "--owner", "OWNER", "--lease", "50s", "job"], prepare=held_by_us,
             check=key_is_renewed),
    Scenario("fence", ["fence", "job", "5"], prepare=tokens_granted, lasting=("redisson_lock_token:{job}",)),
    Scenario("fence-stale", ["fence", "job", "4"], prepare=tokens_granted, lasting=("redisson_lock_token:{job}",),
             statuses=(1, NOT_AVAILABLE)),
]
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
