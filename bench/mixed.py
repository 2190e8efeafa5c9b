"""For scripts.py: fair locks whose queues have waiters of rlock and of Redisson in turns."""

import collections
import os

SIZES = (10, 1000, 10000)
MIXED_ACTS = [(f"fair {act}, mixed queue of {waiters:,}", "< 1,000 us" if waiters == SIZES[-1] else "")
              for waiters in SIZES for act in ("take", "release")]


class MixedQueues:
    """Queues of this many waiters, of rlock and of Redisson in turns."""

    def __init__(self, sides, waiters):
        self.sides, self.waiters = sides, waiters
        self.queues = [(name, collections.deque([holder]))
                       for name, holder in sides[0].some(20 if waiters <= 1000 else 2)]
        sides[0].do("fair take", [(name, owners[0]) for name, owners in self.queues])
        for turn in range(waiters):
            self.sides[(turn + 1) % 2].join(self.queues)

    def measure(self, between):
        """Each side's holder releases, and the other side's head takes. Yields side, act -> as Side.measure."""
        for turn, side in enumerate(self.sides):
            other = self.sides[1 - turn]
            yield side, {f"fair release, mixed queue of {self.waiters:,}": side.measure(
                "fair release", [(name, owners.popleft()) for name, owners in self.queues], between)}
            heads = [(name, owners[0]) for name, owners in self.queues]
            yield other, {f"fair take, mixed queue of {self.waiters:,}": other.measure(
                "fair take", heads, between)}
            other.listen_no_more("join", heads)
            self.sides[(turn + self.waiters + 1) % 2].join(self.queues)


def start_a_process():
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)


def measure_mixed(sides, rounds, results):
    """Each side's times are of its own holders and heads."""
    for waiters in SIZES:
        queues = MixedQueues(sides, waiters)
        for _ in range(rounds):
            for cold, between in ((False, lambda: None), (True, start_a_process)):
                for side, times in queues.measure(between):
                    results.add(side.number, cold, times)
