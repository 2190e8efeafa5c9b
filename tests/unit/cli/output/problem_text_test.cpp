// The words for what is wrong with a lock.
#include "cli/output/problem_text.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "unit/cli/output/problem_text_fixture.hpp"

using namespace rlock;
using namespace rlock::lock;
using test::AskedServer;

namespace {

constexpr Milliseconds k_left{90'000};

struct Told : AskedServer {
  std::optional<Replication::Address> master;  // if the server is a replica

  // "DETAIL | HINT" of a problem of the lock "job", or of another.
  std::string operator()(const Problem& problem, const std::string& name = "job") {
    Snapshot of;
    of.name = name;
    if (master) of.replication.emplace().master = *master;
    const cli::ProblemText text = cli::describe_problem(problem, of, remedies);
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
  const std::string semaphore = ", unless it is a semaphore of another client";
  const std::string advice =
      " | find out what wrote it; if it is a lock, and its holder is gone: unlock --force --kind "
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
      "the holder u:1, process 42 of this host, is dead; its command may go on until the lock "
      "ends";
  const std::string comment = "  # only if its command is gone, too";
  CHECK(told(holder) == dead + " | " + k_rlock + "unlock --force job" + comment);
  holder.left = k_left;
  holder.of = DeadHolder::Of::string;
  CHECK(told(holder) ==
        dead + " in 1m30s | " + k_rlock + "unlock --force --kind simple job" + comment);
  CHECK(told(DeadHead{"u:1"}) ==
        "the first waiter, u:1, is dead: nobody listens on its channel | " + k_rlock +
            "evict job u:1");
  CHECK(told(DeadHead{"-u", k_left}, "my job") ==
        "the first waiter, -u, is dead: nobody listens on its channel; waiters of Redisson wait "
        "for it for another 1m30s | " +
            k_rlock + "evict -- 'my job' -u");
  const std::string readers =
      "a reader is dead, because all keys of its holds have expired, or it has the lock as another "
      "kind: u:1 and 2 more | ";
  CHECK(told(DeadReaders{{"u:1", 3}, true}) ==
        readers + k_rlock + "unlock --force job  # only if none of them is alive");
  CHECK(told(DeadReaders{{"u:1", 3}, false}) ==
        readers + "the lock ends when its last living reader releases it");
}

TEST_CASE("of a replica, the commands that change something name its master") {
  Told told;
  told.master = {"10.0.0.7", 7001};
  const std::string there = "rlock -r redis://10.0.0.7:7001/3 ";
  CHECK(told(DeadHead{"u:1"}).ends_with(" | " + there + "evict job u:1"));
  CHECK(told(NoExpiry{}).ends_with(" | " + there + "unlock --force job  # if its holder is gone"));
  CHECK(told(LastingInfo{"info"}).ends_with(" | " + there + "doctor --repair job"));
  CHECK(told(TokenExpires{"key", k_left})
            .ends_with(" | redis-cli -h 10.0.0.7 -p 7001 -n 3 PERSIST key"));
}

TEST_CASE("a queue and deadlines that do not fit") {
  Told told;
  CHECK(told(MembersWithoutScore{{"u:1", 2}}) ==
        "in the queue without a deadline: u:1 and 1 more; Redisson does not get past it at the "
        "head | " +
            k_rlock + "doctor --repair job");
  CHECK(told(ScoresWithoutMember{{"u:1", 1}}) ==
        "a deadline of a waiter that is not in the queue: u:1; if it is alive, Redisson never "
        "grants it the lock | " +
            k_rlock + "doctor --repair job");
  CHECK(told(DeadlinesFarAhead{{"u:1", 1}}) ==
        "a deadline that is too far ahead: u:1; the clock of its host may be wrong | " + k_rlock +
            "evict job u:1  # if it is dead; otherwise set that clock");
}

TEST_CASE("keys of the wrong kind, and two kinds under one name") {
  Told told;
  const std::string advice = " | no lock keeps such a value there; find out what wrote it";
  CHECK(told(WrongKind{"job", "list"}) == "job is a list" + advice);
  CHECK(told(WrongKind{"job", "hash"}) == "job is a hash that is not a lock" + advice);
  CHECK(told(WrongKind{"rlock_info:{job}", "hash"}) == "rlock_info:{job} is a hash" + advice);
  using Mix = MixedKinds::Mix;
  const std::string one =
      " | use one kind for this name everywhere: locks of two kinds do not wake each other's "
      "waiters, and can release each other";
  const std::string queue = ", while others wait for it as a fair lock";
  CHECK(told(MixedKinds{Mix::read_write}) == "a read/write lock" + queue + one);
  CHECK(told(MixedKinds{Mix::string}) == "a string lock" + queue + one);
  CHECK(told(MixedKinds{Mix::reentrant, Several{"u:1", 1}}) ==
        "held as a reentrant lock by u:1" + queue +
            " | use --fair everywhere for this name, or nowhere: the runs exclude each other, but "
            "only those with --fair queue");
  CHECK(told(MixedKinds{Mix::beside_writer, Several{"u:1", 2}}) ==
        "a writer has the lock, but it is also held by u:1 and 1 more, as a lock of another kind" +
            one);
}

TEST_CASE("the counter of fencing tokens") {
  Told told;
  const std::string key = "redisson_lock_token:{job}";
  const std::string repair =
      " | " + k_rlock +
      "doctor --repair job  # tokens then go on from the server's clock; a resource must forget a "
      "higher one";
  CHECK(told(BadToken{key}) ==
        key + " is not a number: the lock cannot be taken with a fencing token" + repair);
  CHECK(told(TokenTooHigh{9'223'372'036'854'775'807}) ==
        "the counter of fencing tokens is 9223372036854775807, which no run can have drawn: the "
        "next tokens, if any are left, are as high" +
            repair);
  CHECK(told(TokenExpires{key, k_left}) ==
        "the counter of fencing tokens expires in 1m30s, and should never expire | " + k_redis_cli +
            "PERSIST '" + key + "'");
  CHECK(told(TokenBehind{7, "u:1", 9}) ==
        "the counter of fencing tokens (7) is behind the token of the holder u:1 (9): an older "
        "token would be accepted | " +
            k_rlock + "doctor --repair job");
}

TEST_CASE("a semaphore") {
  Told told;
  CHECK(told(EndedPermits{2, k_left}) ==
        "2 permits ended without a release, the first 1m30s ago; the next request for a permit "
        "gives them back | " +
            k_rlock + "doctor --repair job");
  CHECK(told(PermitsDiffer{5, 4}) ==
        "there are 5 permits, but rlock set 4: another client has changed the number | use the "
        "same number everywhere; the next run of rlock sets its own");
  CHECK(
      told(LoneNumber{k_left}) ==
      "a number that ends in 1m30s, and no other key beside it: a string lock, or a semaphore that "
      "has lost its permits and its side key | " +
          k_redis_cli + "DEL job  # only if it is a semaphore, and no run has a permit");
}

TEST_CASE("leftovers, and waiters that sleep on") {
  Told told;
  CHECK(told(LeakedLatches{{"latch", 2}}) ==
        "remembers a request forever, because it has no expiry: latch and 1 more | " + k_rlock +
            "doctor --repair job");
  CHECK(told(LastingInfo{"info"}) ==
        "describes holders and waiters forever, because it has no expiry: info | " + k_rlock +
            "doctor --repair job");
  using Beside = SleepingWaiter::Beside;
  const std::string others =
      ", but a client listens for its release: rlock watch, or a waiter that missed its call "
      "(after DEL, for example) and sleeps on | " +
      k_rlock;
  CHECK(told(SleepingWaiter{Beside::free_lock}) ==
        "the lock is free" + others + "unlock --force job  # wakes the waiter");
  CHECK(told(SleepingWaiter{Beside::free_permit, 3}) ==
        "the semaphore has a permit available" + others +
            "exec --permits 3 job -- true  # wakes the waiter");
  CHECK(
      told(SleepingWaiter{Beside::nothing}) ==
      "there is no semaphore" + others +
          "exec --permits N job -- true  # wakes the waiter; N: how many permits there should be");
}

TEST_CASE("what a repair has done") {
  const auto fix = [](const char* code) { return cli::describe_fix({code, {"u:1", 2}}); };
  CHECK(fix(EndedPermits::k_code) == "given back, because ended: u:1 and 1 more");
  CHECK(fix(Fix::k_dead_waiter) == "removed from the queue, because dead: u:1 and 1 more");
  CHECK(fix(MembersWithoutScore::k_code) ==
        "removed from the queue, because without a deadline: u:1 and 1 more");
  CHECK(fix(ScoresWithoutMember::k_code) ==
        "deleted, a deadline whose waiter is not in the queue: u:1 and 1 more");
  CHECK(fix(LeakedLatches::k_code) == "given an expiry: u:1 and 1 more");
  CHECK(fix(LastingInfo::k_code) == "given an expiry: u:1 and 1 more");
}
