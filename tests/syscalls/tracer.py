"""Runs a program and has one system call of one of its processes or threads fail, as strace --inject does.

strace counts for each process and thread, and all fail: it cannot have the guardian's third read fail and leave
rlock's own alone. This tells them apart: a task has a name by who made it, such as rlock.process1.thread2.
A program that one of them executes is left alone from then on.
"""

import collections
import ctypes
import errno
import os
import signal
import struct
import time

import faults

TRACEME, CONT, KILL, DETACH, POKEUSER, SYSCALL = 0, 7, 8, 17, 6, 24
SETOPTIONS, GETEVENTMSG, GET_SYSCALL_INFO = 0x4200, 0x4201, 0x420E
# TRACESYSGOOD, TRACEFORK, TRACEVFORK, TRACECLONE, TRACEEXEC, EXITKILL
OPTIONS = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x100000
EVENTS = {1: "process", 2: "command", 3: "thread"}
EVENT_EXEC = 4
WALL = 0x40000000
ORIG_RAX, RAX = 15 * 8, 10 * 8
ENTRY, EXIT = 1, 2
F_GETFD = 1
LASTING = 0.7  # seconds
OUTPUTS = ("out", "err")
FUTEX_WAITS = (0, 6, 9, 11, 13)

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long

Call = collections.namedtuple("Call", "task name kind n")


def ptrace(request, pid, address=0, data=0):
    ctypes.set_errno(0)
    result = libc.ptrace(request, pid, address, data)
    if result == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def text_at(pid, address):
    try:
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            memory.seek(address)
            return memory.read(64).split(b"\0")[0].decode(errors="replace")
    except (OSError, ValueError):
        return ""


def kind_of_descriptor(pid, fd):
    try:
        target = os.readlink(f"/proc/{pid}/fd/{fd}")
    except OSError:
        return "file"
    if os.path.basename(target) in OUTPUTS:
        return "out"
    if target.startswith("/proc"):
        return "proc"
    for start, kind in ("socket:", "socket"), ("pipe:", "pipe"), ("anon_inode:", "event"):
        if target.startswith(start):
            return kind
    return "file"


def kind_of(pid, name, args):
    """What the call is about: this decides which errors it may have."""
    if name in ("read", "write", "writev", "getdents64"):
        return kind_of_descriptor(pid, args[0])
    if name in ("openat", "newfstatat", "statx"):
        path = text_at(pid, args[1])
        if not path.startswith("/") and args[0] < 1 << 20:
            return kind_of_descriptor(pid, args[0])
        return "proc" if path.startswith("/proc") else "file"
    if name in ("access", "readlink", "stat", "lstat"):
        return "proc" if text_at(pid, args[0]).startswith("/proc") else "file"
    return ""


def may_fail(name, args):
    return name != "futex" or args[1] & 127 in FUTEX_WAITS


class Traced:
    """One run. `fault` is (Call, name of the error), or None. Of an error with a plus, such as ENFILE+, the same calls
    that follow within LASTING have it, too."""

    def __init__(self, argv, environment, folder, fault=None):
        self.fault = fault
        self.is_hit = False
        self._ends = 0.0
        self.calls = []  # in order, of all tasks
        self.status = None  # of the program itself; as subprocess has it
        self.held = False  # rlock itself goes on no further than to its next call
        self._counts = collections.Counter()
        self._started = set()
        self._entered = {}  # task: the error with which its call is to return
        self._early = set()  # tasks that have stopped before anybody said whose they are
        self._waiting = {}  # tasks that are held
        self.pid = os.fork()
        if self.pid == 0:
            self._become(argv, environment, folder)
        self._tasks = {self.pid: "rlock"}
        self._new = set()
        self._children = collections.Counter()
        os.waitpid(self.pid, 0)
        ptrace(SETOPTIONS, self.pid, 0, OPTIONS)
        self._go_on(self.pid)

    @staticmethod
    def _become(argv, environment, folder):
        try:
            os.chdir(folder + "/work")
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            for fd, name in enumerate(OUTPUTS, 1):
                os.dup2(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), fd)
            os.closerange(3, 256)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            ptrace(TRACEME, 0)
            os.execve(argv[0], argv, environment)
        finally:
            os._exit(99)

    def run(self):
        """Until the last task has ended. To be called by the thread that made it."""
        while self._tasks or self._early:
            try:
                pid, status = os.waitpid(-1, WALL)
            except ChildProcessError:
                break
            try:
                self._take(pid, status)
            except ProcessLookupError:  # killed meanwhile: its end is told next
                pass

    def _go_on(self, pid, signal_number=0):
        ptrace(SYSCALL, pid, 0, signal_number)

    def hold(self):
        self.held = True

    def _take(self, pid, status):
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            self._early.discard(pid)
            if pid == self.pid:
                self.status = os.waitstatus_to_exitcode(status)
            self._tasks.pop(pid, None)
            return
        if pid not in self._tasks:
            self._early.add(pid)
            return
        number = os.WSTOPSIG(status)
        event = status >> 16
        if event in EVENTS:
            self._adopt(pid, EVENTS[event])
        elif event == EVENT_EXEC:
            del self._tasks[pid]
            return ptrace(DETACH, pid)
        elif number == signal.SIGTRAP | 0x80:
            self._look(pid)
        elif pid in self._new:
            self._new.remove(pid)  # its first stop
        elif not event:
            return self._go_on(pid, number)
        if self.held and ".process" not in self._tasks[pid]:
            return None  # until somebody kills it
        return self._go_on(pid)

    def _adopt(self, parent, how):
        message = ctypes.c_ulong()
        ptrace(GETEVENTMSG, parent, 0, ctypes.addressof(message))
        child = message.value
        task = self._tasks[parent]
        self._children[task, how] += 1
        self._tasks[child] = f"{task}.{how}{self._children[task, how]}"
        self._started.add(self._tasks[child])
        if child in self._early:
            self._early.remove(child)
            self._go_on(child)
        else:
            self._new.add(child)

    def _is_to_fail(self, call):
        first, error = self.fault
        if call == first:
            self._ends = time.monotonic() + LASTING
        return call == first or (self.is_hit and error.endswith("+") and call[:3] == first[:3] and
                                 time.monotonic() < self._ends)

    def _look(self, pid):
        info = ctypes.create_string_buffer(88)
        ptrace(GET_SYSCALL_INFO, pid, len(info), ctypes.addressof(info))
        if info.raw[0] == EXIT:
            error = self._entered.pop(pid, None)
            if error:
                ptrace(POKEUSER, pid, RAX, ctypes.c_ulong(-getattr(errno, error) & (1 << 64) - 1).value)
            return
        number, *args = struct.unpack_from("7Q", info.raw, 24)
        name = faults.NAMES.get(number)
        task = self._tasks[pid]
        # What comes before is the system's: it loads the program.
        if name == "fcntl" and args[1] == F_GETFD:
            self._started.add(task)
        if name is None or task not in self._started or not may_fail(name, args):
            return
        kind = kind_of(pid, name, args)
        self._counts[task, name, kind] += 1
        call = Call(task, name, kind, self._counts[task, name, kind])
        self.calls.append(call)
        if self.fault and self._is_to_fail(call):
            self.is_hit = True
            self._entered[pid] = self.fault[1].rstrip("+")
            if name not in faults.DONE_ALL_THE_SAME:
                ptrace(POKEUSER, pid, ORIG_RAX, (1 << 64) - 1)
