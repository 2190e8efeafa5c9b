// The words for what is wrong with a lock.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/output/problem_text.hpp"
#include "unit/problem_text_fixture.hpp"

using namespace rlock;
using namespace rlock::lock;
using test::AskedServer;

namespace {

constexpr Milliseconds k_left{90'000};

struct Told : AskedServer {
  // "DETAIL | HINT" of a problem of the lock "job", or of another.
  std::string operator()(const Problem& problem, const std::string& name = "job") {
    const cli::ProblemText text = cli::describe_problem(problem, name, remedies);
    CHECK(text.code == code_of(problem));
    return text.detail + " | " + text.hint.text;
  }
};

const std::string k_rlock = "rlock -r redis://db.example.org:7000/3 ";
const std::string k_redis_cli = "redis-cli -h db.example.org -p 7000 -n 3 ";

}  // namespace

TEST_CASE("a lock without an expiry, as what it may be") {
  Told told;
  using Of = NoExpiry::Of;
  const std::string never = " has no expiry and will never end by itself";
  const std::string semaphore = ", unless it is a semaphore of a service";
  const std::string advice =
      " | see what wrote it; only if it is a lock whose holder is gone: unlock --force --kind "
      "simple";
  CHECK(told(NoExpiry{Of::lock}) ==
        "the lock" + never + " | " + k_rlock + "unlock --force job  # if its holder is gone");
  CHECK(told(NoExpiry{Of::string}) == "the lock" + never + " | " + k_rlock +
                                          "unlock --force --kind simple job  # if its holder is "
                                          "gone");
  CHECK(told(NoExpiry{Of::number}) == "the lock" + never + semaphore + " | " + k_rlock +
                                          "unlock --force --kind simple job  # if its holder is "
                                          "gone");
  const std::string any = "a string; if it is a lock, it";
  CHECK(told(NoExpiry{Of::any_string}) == any + never + advice);
  CHECK(told(NoExpiry{Of::any_number}) == any + never + semaphore + advice);
}

TEST_CASE("a holder and waiters that are dead") {
  Told told;
  DeadHolder holder{"u:1", 42, std::nullopt, DeadHolder::Of::lock};
  const std::string dead =
      "the holder u:1, process 42 of this host, is dead; its command may run on until the lock "
      "ends";
  const std::string comment = "  # only if its command is gone, too";
  CHECK(told(holder) == dead + " | " + k_rlock + "unlock --force job" + comment);
  holder.left = k_left;
  holder.of = DeadHolder::Of::string;
  CHECK(told(holder) ==
        dead + " in 1m30s | " + k_rlock + "unlock --force --kind simple job" + comment);
  CHECK(told(DeadHead{"u:1"}) == "the first waiter, u:1, is dead | " + k_rlock + "evict job u:1");
  CHECK(told(DeadHead{"-u", k_left}, "my job") ==
        "the first waiter, -u, is dead; waiters of Redisson wait for it for another 1m30s | " +
            k_rlock + "evict -- 'my job' -u");
  CHECK(told(DeadReaders{{"u:1", 3}}) ==
        "all keys of a reader's holds have expired: u:1 and 2 more; it is dead | " + k_rlock +
            "unlock --force job  # if no reader lives; else it ends with them");
}

TEST_CASE("a queue and deadlines that do not fit") {
  Told told;
  CHECK(told(MembersWithoutScore{{"u:1", 2}}) ==
        "in the queue without a deadline: u:1 and 1 more; Redisson does not get past it at the "
        "head | " +
            k_rlock + "doctor --repair job");
  CHECK(told(ScoresWithoutMember{{"u:1", 1}}) ==
        "a deadline, but no place in the queue: u:1; if it lives, Redisson never lets it have its "
        "turn | " +
            k_rlock + "doctor --repair job");
  CHECK(told(DeadlinesFarAhead{{"u:1", 1}}) ==
        "a deadline that is too far ahead: u:1; the clock of its host may be wrong | " + k_rlock +
            "evict job u:1  # if it is dead; else set that clock");
}

TEST_CASE("keys of the wrong kind, and two kinds under one name") {
  Told told;
  const std::string advice = " | no lock keeps such a value there; see what wrote it";
  CHECK(told(WrongKind{"job", "list"}) == "job is a list" + advice);
  CHECK(told(WrongKind{"job", "hash"}) == "job is a hash that is not a lock" + advice);
  CHECK(told(WrongKind{"rlock_info:{job}", "hash"}) == "rlock_info:{job} is a hash" + advice);
  using Mix = MixedKinds::Mix;
  const std::string one =
      " | use one kind for this name everywhere: kinds do not wake each "
      "other's waiters, and can end each other's locks";
  const std::string queue = ", while others wait for it as a fair lock";
  CHECK(told(MixedKinds{Mix::read_write}) == "a read/write lock" + queue + one);
  CHECK(told(MixedKinds{Mix::string}) == "a string lock" + queue + one);
  CHECK(told(MixedKinds{Mix::reentrant, Several{"u:1", 1}}) ==
        "held as a reentrant lock by u:1" + queue + one);
  CHECK(told(MixedKinds{Mix::beside_writer, Several{"u:1", 2}}) ==
        "somebody writes, and yet the lock is held by u:1 and 1 more, as a lock of another kind" +
            one);
}

TEST_CASE("the counter of fencing tokens") {
  Told told;
  const std::string key = "redisson_lock_token:{job}";
  CHECK(told(BadToken{key}) ==
        key + " is not a number: the lock cannot be taken with a fencing token | " + k_redis_cli +
            "DEL '" + key + "'  # tokens then go on from the server's clock");
  CHECK(told(TokenExpires{key, k_left}) ==
        "the counter of fencing tokens ends in 1m30s: it should never end | " + k_redis_cli +
            "PERSIST '" + key + "'");
  CHECK(told(TokenBehind{7, "u:1", 9}) ==
        "the counter of fencing tokens, 7, is behind the token of the holder u:1, 9: an older one "
        "can pass for the highest | " +
            k_rlock + "fence job 9");
}

TEST_CASE("a semaphore") {
  Told told;
  CHECK(told(EndedPermits{2, k_left}) ==
        "2 permits ended, the first 1m30s ago, without being given back; the next request for a "
        "permit does that | " +
            k_rlock + "doctor --repair job");
  CHECK(told(PermitsDiffer{5, 4}) ==
        "there are 5 permits, and rlock was told 4: another client has changed their number | use "
        "one number everywhere; the next rlock sets its own");
}

TEST_CASE("leftovers, and waiters that sleep on") {
  Told told;
  CHECK(told(LeakedLatches{{"latch", 2}}) ==
        "remembers a request for ever, as it has no expiry: latch and 1 more | " + k_rlock +
            "doctor --repair job");
  CHECK(told(LastingInfo{"info"}) ==
        "tells who holds and waits for the lock for ever, as it has no expiry: info | " + k_rlock +
            "doctor --repair job");
  using Beside = SleepingWaiter::Beside;
  const std::string others =
      ", and yet somebody waits for it, unless that is rlock watch: a waiter that nobody has "
      "called, as after DEL, sleeps on | " +
      k_rlock;
  CHECK(told(SleepingWaiter{Beside::free_lock}) ==
        "the lock is free" + others + "unlock --force job  # wakes it");
  CHECK(told(SleepingWaiter{Beside::free_permit, 3}) ==
        "the semaphore has a permit available" + others +
            "exec --permits 3 job -- true  # wakes it");
  CHECK(told(SleepingWaiter{Beside::nothing}) ==
        "there is no semaphore" + others +
            "exec --permits N job -- true  # wakes it; N: how many permits there should be");
}

TEST_CASE("what a repair has done") {
  const auto fix = [](Garbage garbage) { return cli::describe_fix({garbage, {"u:1", 2}}); };
  CHECK(fix(Garbage::ended_permit) == "given back, as they have ended: u:1 and 1 more");
  CHECK(fix(Garbage::dead_waiter) == "taken out of the queue, as it is dead: u:1 and 1 more");
  CHECK(fix(Garbage::member_without_score) ==
        "taken out of the queue, where it had no deadline: u:1 and 1 more");
  CHECK(fix(Garbage::score_without_member) ==
        "deleted, a deadline that had no place in the queue: u:1 and 1 more");
  CHECK(fix(Garbage::leaked_latch) == "given an expiry: u:1 and 1 more");
  CHECK(fix(Garbage::lasting_info) == "given an expiry: u:1 and 1 more");
}
