"""Which tests, and which runs of the explorer, judge the mutants of a file."""

import fnmatch
import glob
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

# Which kinds of locks the explorer (tests/explore) runs a script for: the first pattern that fits.
EXPLORED = [
    ("lua/plain/acquire.lua", "plain"),
    ("lua/fair/acquire_fair.lua", "fair"),
    ("lua/simple/acquire_simple.lua", "simple value"), ("lua/read_write/acquire_read.lua", "read-write"),
    ("lua/read_write/acquire_write.lua", "read-write"), ("lua/semaphore/acquire_semaphore.lua", "semaphore service"),
    ("lua/include/queue.lua", "fair"),
    ("lua/include/alone.lua", "fair"),
    ("lua/read_write/re*.lua", "read-write"), ("lua/semaphore/re*.lua", "semaphore service"),
    ("lua/semaphore/force_release_semaphore.lua", "semaphore"), ("lua/include/read_write.lua", "read-write"),
    ("lua/include/semaphore.lua", "semaphore service"), ("lua/inspection/repair.lua", ""),
    ("lua/plain/reenter.lua", "plain value"), ("lua/plain/renew.lua", "plain value"), ("lua/plain/release.lua", "plain fair value"),
    ("lua/inspection/force_release.lua", "plain fair"), ("lua/fair/evict.lua", "fair"),
    ("lua/include/*", "plain fair"),
]

# The tests that judge a file: of all patterns that fit, the quickest first.
TESTS = [
    ("lua/*", "redis.sent_again redis.acquire redis.release"),
    ("lua/*/acquire*", "redis.fence cli.stampede"), ("lua/include/crowd.lua", "cli.stampede"),
    ("lua/plain/acquire.lua", "redis.waiting redis.snapshot redis.fence cli.twin_names cli.handover cli.fence cli.fair_mixed"),
    ("lua/fair/*", "redis.fair redis.fair_arithmetic redis.fair_bound redis.fair_disorder redis.fair_rights"),
    ("lua/include/queue.lua", "redis.fair redis.fair_arithmetic redis.fair_bound redis.fair_disorder redis.fair_rights "
                              "redis.evict"),
    ("lua/*read*", "redis.read_write redis.read_write_lasting redis.read_write_names redis.read_write_sent_again "
                   "cli.read_write cli.read_write_lost"),
    ("lua/*write*", "redis.read_write redis.read_write_lasting redis.read_write_names redis.read_write_sent_again "
                    "cli.read_write cli.read_write_lost"),
    ("lua/*semaphore*", "redis.semaphore redis.semaphore_nested redis.semaphore_kept redis.semaphore_service "
                        "cli.semaphore cli.semaphore_nested cli.semaphore_seen"),
    ("lua/simple/*", "redis.simple cli.simple cli.simple_seen cli.simple_lost"),
    ("lua/simple/acquire_simple.lua", "cli.rights_taken"),
    ("lua/include/string_lock.lua", "redis.simple cli.simple"),
    ("lua/*token*", "redis.fence redis.check_token cli.fence cli.redlock_fence"),
    ("lua/include/fence.lua", "redis.fence redis.check_token cli.fence cli.redlock_fence"),
    ("lua/fair/evict.lua", "redis.evict cli.evict cli.remedies"),
    ("lua/*/find_*", "redis.lock_scan cli.list cli.list_faults cli.doctor cli.doctor_repair cli.semaphore_seen"),
    ("lua/*/force_release*", "redis.force_release cli.unlock_force cli.remedies"),
    ("lua/*/reenter*", "redis.reenter redis.fence redis.check_token redis.simple redis.read_write "
                       "redis.read_write_lasting redis.read_write_names redis.read_write_sent_again cli.reentry"),
    ("lua/*/release*", "redis.reenter redis.simple cli.kept cli.reentry cli.twin_names"),
    ("lua/include/releasing.lua", "redis.reenter redis.simple cli.kept cli.reentry"),
    ("lua/*/renew*", "redis.renew redis.simple cli.lease_kept cli.lease_stolen"),
    ("lua/plain/renew.lua", "cli.redlock_holds"),
    ("lua/inspection/repair.lua", "redis.repair cli.doctor cli.doctor_repair cli.remedies"),
    ("lua/inspection/rights.lua", "cli.rights cli.rights_taken"),
    ("lua/inspection/snapshot.lua", "redis.snapshot cli.inspect_queue cli.owner_info cli.doctor cli.doctor_repair "
                                    "cli.semaphore_seen"),
    ("lua/inspection/held_kind.lua", "redis.read_write_names redis.force_release cli.commands cli.simple cli.semaphore"),
    ("lua/include/*", "redis.reenter redis.renew redis.fence redis.snapshot cli.reentry cli.owner_info"),
    ("lua/include/twin.lua", "cli.twin_names"),
    ("lua/include/semaphore.lua", "cli.twin_names"),
    ("lua/include/taking.lua", "redis.fair_disorder redis.fair_rights"), ("lua/plain/release.lua", "redis.fair"),
    ("lua/include/restart.lua", "cli.redlock_faults cli.redlock_hangs"),
    ("lua/include/info.lua", "redis.fair redis.simple redis.evict cli.kept cli.acquire_nested cli.any_string"),
    ("lua/*", "cli.sent_again cli.acquire cli.rights"),
    ("src/lock/words/lease.cpp", "unit.lock_words_lease redis.watchdog cli.lease_lost cli.lease_away cli.guardian"),
    ("src/lock/holding/watchdog.cpp", "redis.watchdog cli.lease_lost cli.lease_stolen cli.lease_kept cli.lease_away "
                              "cli.stopped"),
    ("src/lock/words/held.cpp", "unit.lock_words_held"),
    ("src/lock/words/hold.cpp", "unit.lock_words_hold"),
    ("src/lock/words/owner.cpp", "unit.lock_words_owner"),
    ("src/lock/kinds/*", "redis.acquire redis.release redis.renew redis.reenter redis.sent_again cli.reentry "
                         "cli.kept cli.sent_again"),
    ("src/lock/kinds/quorum.*", "cli.redlock cli.redlock_holds cli.redlock_fence cli.redlock_faults cli.redlock_hangs "
                                "cli.redlock_servers"),
    ("src/lock/servers/tally.cpp", "unit.lock_servers_tally cli.redlock cli.redlock_holds cli.redlock_faults "
                                   "cli.redlock_hangs cli.redlock_servers"),
    ("src/lock/servers/node.cpp", "cli.redlock cli.redlock_faults cli.redlock_hangs cli.redlock_servers"),
    ("src/process/guardian.cpp", "cli.guardian cli.child cli.killed cli.stalled_start cli.killed_nested cli.lease_away "
                                 "cli.stopped cli.limits cli.acquire_limits cli.reused_numbers"),
    ("src/process/supervisor.cpp", "cli.child cli.signals cli.time_limits cli.lease_lost cli.job_control cli.terminal "
                                   "cli.stopped cli.killed_nested cli.guardian cli.lease_stolen"),
    ("src/process/search.cpp", "cli.guardian cli.killed cli.killed_nested cli.lease_lost cli.local_server "
                               "cli.short_lived cli.limits cli.acquire_limits cli.acquire_ends"),
    ("src/process/descendants.cpp", "unit.process_descendants cli.guardian cli.killed cli.killed_nested cli.lease_lost "
                                    "cli.time_limits cli.short_lived"),
    ("src/process/child.cpp", "cli.child cli.exit_status cli.stalled_start cli.job_control cli.terminal"),
    ("src/process/background.cpp", "cli.acquire cli.acquire_ends cli.acquire_holds cli.limits cli.acquire_limits"),
    ("src/process/detach.cpp", "cli.guardian cli.acquire cli.acquire_ends"),
    ("src/cli/taking/held_locks.cpp", "cli.lease_lost cli.lease_stolen cli.several_locks cli.lease_kept cli.kept "
                                      "cli.acquire_ends cli.stopped cli.limits cli.acquire_limits"),
    ("src/cli/commands/exec.cpp", "cli.child cli.signals cli.time_limits cli.lease_lost cli.kept cli.stopped"),
    ("src/cli/taking/background_watchdog.cpp", "cli.acquire cli.acquire_holds cli.acquire_ends cli.semaphore"),
]


def file_of(test):
    """The file of a test, below tests/. Names of tests are made of it in tests/CMakeLists.txt."""
    group, name = test.split(".")
    for path in glob.glob(f"{group}/**/*_test.cpp", root_dir=ROOT + "/tests", recursive=True):
        folder, file = os.path.split(path.removesuffix("_test.cpp").removeprefix(group + "/"))
        if name == (f"{folder}/{file}".lstrip("/").replace("/", "_") if group == "unit" else file):
            return path
    sys.exit(f"{test} has no file")


def tests_of(path):
    found = []
    for pattern, tests in TESTS:
        if fnmatch.fnmatch(path, pattern):
            found += [test for test in tests.split() if test not in found]
    return found


def kinds_of(path):
    for pattern, kinds in EXPLORED:
        if fnmatch.fnmatch(path, pattern):
            return kinds.split()
    return []
