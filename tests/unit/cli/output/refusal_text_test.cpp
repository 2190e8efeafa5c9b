#include "cli/output/refusal_text.hpp"

#include <exception>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "lock/servers/failed.hpp"
#include "unit/cli/output/problem_text_fixture.hpp"

using namespace rlock;
using lock::BadName;
using lock::Failed;
using lock::Kind;
using lock::Purpose;
using lock::Refused;

namespace {

// Returns the sentence and the advice.
std::string told(const std::string& subject, const Refused::Why& why,
                 ExitStatus status = ExitStatus::usage) {
  const Refused refused(subject, why);
  CHECK(refused.status() == status);
  const auto [sentence, advice] = cli::describe_refused(refused);
  CHECK(cli::sentence_of(refused) == sentence);
  return sentence + (advice.empty() ? "" : ": " + advice);
}

std::string told_of_kind(const std::string& kind) {
  return told("a\nb", lock::InUse{kind}, ExitStatus::wrong_kind);
}

std::string told(const std::string& subject, const Failed::Why& why) {
  return cli::sentence_of(Failed(subject, why));
}

template <typename Exception>
std::exception_ptr pointer(const Exception& error) {
  return std::make_exception_ptr(error);
}

}  // namespace

TEST_CASE("a name that no lock can have is told with what is wrong with it") {
  CHECK(told("", BadName{BadName::Because::length}) ==
        "bad lock name: it has 0 bytes; expected 1 to 1024");
  CHECK(told("rlock_info:\n", BadName{BadName::Because::prefix, "rlock_info:"}) ==
        "bad lock name: 'rlock_info:\\n' begins with 'rlock_info:', as the keys of other locks do; "
        "choose another name");
  CHECK(told("{a}:b:rwlock_timeout:1", BadName{BadName::Because::reader}) ==
        "bad lock name: '{a}:b:rwlock_timeout:1' is the key of another lock's reader; choose "
        "another name");
}

TEST_CASE("a name that is in use is told with the option that takes it") {
  CHECK(told_of_kind("plain or fair lock") ==
        "a\\nb: in use as a plain or fair lock: leave out -s or -x, which take a read/write lock");
  CHECK(told_of_kind("read-write lock") ==
        "a\\nb: in use as a read/write lock: take it with -s or -x");
  CHECK(told_of_kind("string") ==
        "a\\nb: a string, not a lock of this kind: if it is a lock, take it with --kind simple; if "
        "it is a semaphore, with --permits");
  CHECK(told_of_kind("list") == "a\\nb: a list, not a lock");
  CHECK(told_of_kind("hash") == "a\\nb: a hash: a lock of another kind, or no lock");
  CHECK(told_of_kind("hash that is no lock") == "a\\nb: a hash that is not a lock");
  CHECK(told_of_kind("zset in place of its queue") ==
        "a\\nb: the name is in use by another kind of lock (zset in place of its queue)");
}

TEST_CASE("what is not a lock, or not a counter, is told as what it is") {
  const std::string text = "job: the name is in use by something else (string)";
  CHECK(told("job", lock::NotALock{"string"}, ExitStatus::wrong_kind) == text);
  CHECK(told("job", lock::NotALock{"string", lock::NotALock::If::simple}, ExitStatus::wrong_kind) ==
        text + ": if it is a lock, and no semaphore that nobody holds, --kind simple breaks it");
  CHECK(told("job", lock::NoCounter{"it is\na list"}, ExitStatus::wrong_kind) ==
        "job: no fencing token from redisson_lock_token:{job}: it is\\na list");
}

TEST_CASE("a lock that cannot be had in this way is told with the option to change") {
  CHECK(told("job", lock::NoTokens{Kind::read}) ==
        "job: a reader has no fencing token: the next reader's token would outdate it while both "
        "hold the lock: leave out --fence");
  CHECK(told("job", lock::NoTokens{Kind::semaphore}) ==
        "job: a semaphore has no fencing tokens: the newest one would shut out the other holders: "
        "leave out --fence");
  CHECK(told("job", lock::NoOuterToken{}) ==
        "job: the outer run has no valid fencing token (it drew none, or there is a higher one), "
        "and several servers cannot draw one for a nested run: give --fence to the outer run, too");
  CHECK(told("job", lock::ReaderAbove{}) ==
        "job: a process above this one reads: a reader cannot become the writer (take the write "
        "lock first)");
  const std::string several = "job: several independent servers ";
  CHECK(told("job", lock::NeedsOneServer{Kind::fair}) ==
        several + "cannot keep a fair lock, because each has its own queue: give one server (-r)");
  CHECK(told("job", lock::NeedsOneServer{Kind::read}) ==
        several + "cannot keep a read lock: give one server (-r)");
  CHECK(told("job", lock::NeedsOneServer{Kind::semaphore}) ==
        several + "cannot keep a semaphore: give one server (-r)");
  CHECK(told("redis://a redis://b", lock::Twins{0, 1}) ==
        "server 1 and server 2 are one and the same (redis://a redis://b): name each server once "
        "(-r)");
}

TEST_CASE("of a majority that did not answer, each reason is told once") {
  const std::vector<std::exception_ptr> failures = {
      pointer(lock::Restarted("redis://b",
                              lock::JustStarted{Milliseconds(2000), Milliseconds(30'000)})),
      pointer(redis::Unavailable("redis://a: away")),
      pointer(redis::Unavailable("redis://a: away")), pointer(redis::Interrupted()),
      pointer(Refused("job", lock::InUse{"list"}))};
  const std::string reasons =
      ": job: a list, not a lock; redis://a: away; redis://b: may have started within the last "
      "30s and may have forgotten a lock: no vote yet";
  CHECK(told("", lock::TooFew{5, 3, Purpose::renew, failures, 0}) ==
        "too few of the 5 servers answered, 3 are needed to renew the lock" + reasons);
  CHECK(told("", lock::TooFew{5, 3, Purpose::listen, {}, 2}) ==
        "too few of the 5 servers answered, 3 are needed to listen; 2 did not answer in time");
  CHECK(told("", lock::NoOwner{5, failures}) ==
        "no owner is known to have a majority of the 5 servers, and some of them fail" + reasons +
            "; try again in 28s");
}

TEST_CASE("servers that have just started are told once, and when enough of them have a vote") {
  const auto started = [](const char* url, int up) {
    return pointer(lock::Restarted(url, lock::JustStarted{Milliseconds(up), Milliseconds(30'000)}));
  };
  const std::vector<std::exception_ptr> all = {started("redis://a", 2000),
                                               started("redis://b", 5000), started("redis://c", 0)};
  const std::string text =
      ": redis://a, redis://b, redis://c: may have started within the last 30s and may have "
      "forgotten a lock: no vote yet; try again in 28s";
  CHECK(told("", lock::TooFew{3, 2, Purpose::take, all, 0}) ==
        "too few of the 3 servers answered, 2 are needed to take the lock" + text);
}

TEST_CASE("other failures are told with the server, or with the lock") {
  const std::string url = "redis://a";
  CHECK(told("", lock::LostCounters{2}) == "2 without a counter, which may have been lost");
  CHECK(told("a\nb", lock::LateToken{3, 2}) ==
        "a\\nb: too late: the lease ended, or the lock was deleted, before 2 of the 3 servers knew "
        "its fencing token");
  CHECK(
      told(url, lock::JustStarted{Milliseconds(999), Milliseconds(30'000)}) ==
      "redis://a: may have started within the last 30s and may have forgotten a lock: no vote for "
      "another 29s");
  CHECK(told(url, lock::TooFewReplicas{1, 2}) ==
        "redis://a: the lock is on 1 replica, and must be on 2: given back");
  CHECK(told(url, lock::SlowAnswers{Milliseconds(1000)}) ==
        "redis://a: answers take longer than the lease of 1s");
  CHECK(told(url, lock::CutOff{}) == "redis://a: restarted while it was searched");
  CHECK(told(url, lock::NoThread{"no memory"}) ==
        "cannot start a thread to ask redis://a: no memory");
}

TEST_CASE("an exception that nobody puts into words says at least what it is about") {
  CHECK(std::string(Refused("a\nb", lock::ReaderAbove{}).what()) == "a\\nb: reader_above");
  CHECK(std::string(Failed("", lock::LostCounters{2}).what()) == "lost_counters");
  CHECK(cli::sentence_of(pointer(Error(ExitStatus::lost, "job: lost"))) == "job: lost");
}

TEST_CASE("servers that take no part are told once, with their URLs, and with -q not at all") {
  const auto note = [](cli::Globals& globals, std::size_t server, const Error& error) {
    try {
      throw error;
    } catch (const Error&) {
      (void)globals.absentees->note_failure(server);
    }
  };
  test::SparseSettings sparse;
  cli::Globals& globals = sparse.globals;
  globals.absentees->set_name(0, "redis://a");
  globals.absentees->set_name(1, "redis://b");
  note(globals, 0, redis::Unavailable("redis://a: away"));
  note(globals, 1, Error(ExitStatus::permission, "no right"));
  globals.absentees->note_run(2, "run");
  globals.absentees->note_run(3, "run");
  globals.quiet = true;
  CHECK(cli::news_of_absentees(globals).empty());
  globals.quiet = false;
  CHECK(cli::news_of_absentees(globals) ==
        std::vector<std::string>{"server 2 (redis://b) takes no part: no right",
                                 "server 3 and server 4 are one and the same"});
  globals.verbose = true;
  CHECK(cli::news_of_absentees(globals) ==
        std::vector<std::string>{"server 1 takes no part: redis://a: away"});
}
