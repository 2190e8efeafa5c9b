"""What the benchmarks need to talk to a server, and to wait for one."""

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


class Redis:
    """A connection to the server, just able to do what is needed here."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def command(self, *words):
        request = b"*%d\r\n" % len(words)
        for word in words:
            data = str(word).encode()
            request += b"$%d\r\n%s\r\n" % (len(data), data)
        self.socket.sendall(request)
        return self.reply()

    def reply(self):
        line = self.file.readline()[:-2].decode()
        kind, rest = line[:1], line[1:]
        if kind == "-":
            raise Broken(f"redis: {rest}")
        if kind == ":":
            return int(rest)
        if kind == "$":
            return None if rest == "-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == "*":
            return [self.reply() for _ in range(int(rest))]
        return rest

    def close(self):
        self.file.close()
        self.socket.close()

    def info(self, section):
        lines = self.command("INFO", section).splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def waiters(self, name):
        return self.command("PUBSUB", "NUMSUB", CHANNEL % name)[1]
