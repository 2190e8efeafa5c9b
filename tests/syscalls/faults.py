"""Which errors a system call may have, by what it is asked for. Numbers: x86-64.

Only EINTR, EAGAIN, EMFILE, ENFILE, ENOMEM, ENOSPC, ECONNRESET, EPIPE and EIO: what a machine that is
short of something, or a connection that breaks, does to a program that is right. An error that tells of
a wrong call (EBADF, EINVAL, EFAULT) is not there. Nor is brk: the kernel returns no error from it.
"""

# A new descriptor: the process has too many, the machine has too many, or no memory.
DESCRIPTOR = "EMFILE ENFILE ENOMEM"
# A path: the disk, or no memory for the inode. /proc reads no disk.
PATH = {"proc": "ENOMEM", "file": "EIO ENOMEM"}
OPEN = {"proc": "EINTR " + DESCRIPTOR, "file": "EINTR EIO " + DESCRIPTOR}
PROCESS = "EAGAIN ENOMEM"  # pids.max, RLIMIT_NPROC; no memory

# name: (number, errors), or errors by the kind of the descriptor or path (kind_of in tracer.py)
CALLS = {
    # A signal may interrupt what waits. Another thread may have read what was there. /proc makes its
    # text when it is read, and takes memory for it.
    "read": (0, {"proc": "EINTR ENOMEM", "file": "EINTR EIO ENOMEM", "socket": "EINTR EAGAIN ECONNRESET ENOMEM",
                 "pipe": "EINTR", "event": "EINTR EAGAIN", "out": "EINTR EIO"}),
    # A reader that has gone, a full disk, one that is broken, a terminal that is not read. EAGAIN of an
    # eventfd says that it is full, and so has been raised: nothing to be made up.
    "write": (1, {"out": "EINTR EAGAIN EPIPE ENOSPC EIO", "file": "EINTR ENOSPC EIO", "event": "EINTR",
                  "pipe": "EINTR EPIPE", "socket": "EINTR EPIPE ECONNRESET ENOMEM"}),
    "writev": (20, {"out": "EINTR EAGAIN EPIPE ENOSPC EIO"}),
    # What was written before fails to reach the disk; the descriptor is free all the same (close(2)).
    "close": (3, "EINTR EIO"),
    "close_range": (436, "ENOMEM"),  # a table of descriptors that is shared is copied
    "poll": (7, "EINTR EAGAIN ENOMEM"),
    "ppoll": (271, "EINTR ENOMEM"),
    "epoll_wait": (232, "EINTR"),
    "mmap": (9, "ENOMEM EAGAIN"),  # EAGAIN: RLIMIT_MEMLOCK after mlockall
    "mprotect": (10, "ENOMEM"),
    "munmap": (11, "ENOMEM"),  # a mapping that would be split, with max_map_count reached
    "ioctl": (16, "EINTR EIO"),  # a terminal that was hung up
    "access": (21, PATH),
    "madvise": (28, "EAGAIN ENOMEM EIO"),
    "dup2": (33, "EINTR EMFILE"),
    "nanosleep": (35, "EINTR"),
    "clock_nanosleep": (230, "EINTR"),
    "socket": (41, DESCRIPTOR),
    "socketpair": (53, DESCRIPTOR),
    "connect": (42, "EINTR EAGAIN ENOMEM"),  # EAGAIN: a full backlog (unix(7)), no free port
    "sendto": (44, "EINTR EAGAIN ENOMEM ECONNRESET EPIPE"),
    "sendmsg": (46, "EINTR EAGAIN ENOMEM ECONNRESET EPIPE"),
    "sendmmsg": (307, "EINTR EAGAIN ENOMEM"),
    "recvfrom": (45, "EINTR EAGAIN ENOMEM ECONNRESET"),
    "recvmsg": (47, "EINTR EAGAIN ENOMEM"),
    "bind": (49, "ENOMEM EAGAIN"),  # netlink(7), of the resolver
    "setsockopt": (54, "ENOMEM"),
    "clone": (56, PROCESS),
    "fork": (57, PROCESS),
    "vfork": (58, PROCESS),
    "clone3": (435, PROCESS),
    # RLIMIT_NPROC passed before; the new program's pages; files for an interpreter; its disk.
    "execve": (59, "EAGAIN ENOMEM EMFILE ENFILE EIO"),
    "wait4": (61, "EINTR"),
    "waitid": (247, "EINTR"),
    "fcntl": (72, ""),  # it waits for nothing here
    "chdir": (80, "EIO ENOMEM"),
    "readlink": (89, PATH),
    "stat": (4, PATH),
    "lstat": (6, PATH),
    "newfstatat": (262, PATH),
    "statx": (332, PATH),
    "openat": (257, OPEN),
    "getdents64": (217, {"proc": "ENOMEM", "file": "EIO ENOMEM"}),
    "rt_sigtimedwait": (128, "EAGAIN EINTR"),
    "futex": (202, "EINTR EAGAIN"),  # only where it waits: see may_fail in tracer.py
    "epoll_create1": (291, DESCRIPTOR),
    "epoll_ctl": (233, "ENOMEM ENOSPC"),  # ENOSPC: max_user_watches
    "pipe2": (293, DESCRIPTOR),
    "eventfd2": (290, DESCRIPTOR),
    "signalfd4": (289, DESCRIPTOR),
    "timerfd_create": (283, DESCRIPTOR),
    "pidfd_open": (434, DESCRIPTOR),
    "getrandom": (318, "EINTR EAGAIN"),  # EAGAIN: glibc asks with GRND_NONBLOCK
}
NAMES = {number: name for name, (number, _) in CALLS.items()}

# Done all the same, and the error is told: otherwise the descriptor would stay open.
DONE_ALL_THE_SAME = {"close"}


def errors_of(name, kind):
    errors = CALLS[name][1]
    return (errors if isinstance(errors, str) else errors.get(kind, "")).split()
