"""What the benchmarks need to talk to a server, and to wait for one."""

import ast
import re
import shutil
import socket
import time

CHANNEL = "redisson_lock__channel:{%s}"


class Broken(Exception):
    pass


def find_program(*names):
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise Broken(f"there is no {names[0]} here")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(what, condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Broken(f"waited for {seconds:.0f} s in vain until {what}")
        time.sleep(0.002)


def listens(path):
    """Returns whether a server listens on a socket, whose file is there a little before."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


def packed(words):
    """Returns a request as it is sent. The words are bytes."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class Redis:
    """A connection to the server, just able to do what is needed here."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def command(self, *words):
        self.socket.sendall(packed([word if isinstance(word, bytes) else str(word).encode()
                                    for word in words]))
        return self.reply()

    def reply(self):
        line = self.file.readline()[:-2].decode()
        kind, rest = line[:1], line[1:]
        if kind == "-":
            raise Broken(f"redis: {rest}")
        if kind == ":":
            return int(rest)
        if kind == "$":
            return None if rest == "-1" else self.file.read(int(rest) + 2)[:-2].decode(
                errors="replace")
        if kind == "*":
            return [self.reply() for _ in range(int(rest))]
        return rest

    def close(self):
        self.file.close()
        self.socket.close()

    def info(self, section):
        lines = self.command("INFO", section).splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def command_stats(self, command):
        """Returns what the server counts of a command since it was asked to reset that: calls, usec..."""
        stats = self.info("commandstats").get(f"cmdstat_{command}", "calls=0,usec=0,usec_per_call=0")
        return {name: float(value) for name, value in (part.split("=") for part in stats.split(","))}

    def waiters(self, name):
        return self.command("PUBSUB", "NUMSUB", CHANNEL % name)[1]


def script_arrivals(monitor):
    """Yields when (ns) each script's request arrives, and its line, as MONITOR tells. Ends where a client says
    ECHO bench:end."""
    while "bench:end" not in (line := monitor.reply()):
        words = line.split(" ", 4)  # time, [db, client], "COMMAND", the rest
        if words[2] != "lua]" and words[3].lower().startswith('"eval'):
            seconds, microseconds = map(int, words[0].split("."))
            yield (seconds * 10**6 + microseconds) * 1000, line


def recorded(redis, act):
    """Does something; returns what clients sent to the server meanwhile, without what scripts called: a
    list of the words of each request, as bytes. A time (ms since 1970, within a day) is an int: how much
    later than the request it is."""
    monitor = Redis(redis.path)
    monitor.command("MONITOR")
    act()
    time.sleep(0.05)  # what nobody waits for comes, too
    redis.command("ECHO", "bench:end")
    requests = []
    while "bench:end" not in (line := monitor.reply()):
        when, words = line.split(" ", 1)
        if " lua] " in words.split('"', 1)[0]:
            continue
        now, day = round(float(when) * 1000), 86400000
        requests.append([
            int(word) - now if re.fullmatch(b"[0-9]{13}", word) and abs(int(word) - now) < day else word
            for word in (ast.literal_eval("b" + text) for text in re.findall(r'"(?:[^"\\]|\\.)*"', words))])
    monitor.close()
    return requests
