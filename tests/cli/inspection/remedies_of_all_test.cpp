// Every problem that rlock can tell of: its hint is pasted, and acts on the server that was looked
// at. A code that src knows, and that nobody tries here, fails.
#include <csignal>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "cli/inspection/remedies_fixture.hpp"
#include "cli/inspection/remedies_of_server.hpp"
#include "cli/inspection/remedies_ward.hpp"
#include "support/contents.hpp"
#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::remedies;

namespace {

void try_no_expiry() {
  Ward ward;
  ward.command({"HSET", "job", k_foreign_owner, "1"});
  ward.mend("no_expiry");
  ward.command({"SET", "job", k_foreign_client});
  ward.mend("no_expiry");
  for (const char* value : {"anything", "4"}) {
    ward.command({"SET", "job", value});
    ward.advise("no_expiry");
  }
  ward.command({"DEL", "job"});
  ward.command({"HSET", "job", "mode", "read", k_foreign_owner, "1", k_thief, "1"});
  CHECK(has(ward.hint("no_expiry"), "only if all its holders are gone"));
  ward.mend("no_expiry");
  // Of several permits only those that never end, whoever took them.
  ward.make_semaphore("1", "4");
  ward.command({"ZADD", k_permits, "922337203685477", k_foreign_permit, "99999999999999", "living",
                "922337203685477", k_foreign_owner});
  ward.paste_hint("no_expiry");
  CHECK(has(ward.hint("no_expiry"), k_foreign_permit_shown));
  ward.mend("no_expiry");
  CHECK(ward.command({"ZRANGE", k_permits, "0", "-1"}) == "living");
  CHECK(ward.command({"GET", "job"}) == "3");
}

void try_dead_holder() {
  Ward ward;
  for (const char* kind : {"reentrant", "simple"}) {
    Process holder(rlock_argv("exec", "--kind", kind, "--lease", "10m", ward.options, "job", "--",
                              "sh", "-c", "echo held; exec sleep 600"),
                   {.env = ward.password});
    holder.wait_for_stdout("held");
    holder.signal(SIGKILL);
    holder.wait();
    ward.mend("dead_holder");
    CHECK(ward.command({"EXISTS", "job"}) == "0");
  }
  // It takes nothing from those who hold the lock beside him.
  for (const char* kind : {"-s", "--permits=2"}) {
    const auto hold = [&] {
      return std::make_unique<Process>(
          rlock_argv("exec", kind, "--lease", "10m", ward.options, "job", "--", "sh", "-c",
                     "echo held; exec sleep 600"),
          ProcessOptions{.env = ward.password});
    };
    const auto dead = hold();
    const auto living = hold();
    dead->wait_for_stdout("held");
    living->wait_for_stdout("held");
    dead->signal(SIGKILL);
    dead->wait();
    ward.mend("dead_holder");
    CHECK(ward.command({"EXISTS", "job"}) == "1");
    CHECK(living->running());
    living->signal(SIGTERM);
    living->wait();
    CHECK(wait_until([&] { return ward.command({"EXISTS", "job"}) == "0"; }));
  }
}

void try_wrong_kind() {
  Ward ward;
  ward.hold();
  ward.command({"SET", k_queue, "x"});
  ward.advise("wrong_kind");
}

void try_mixed_kinds() {
  Ward ward;
  ward.command({"SET", "job", k_foreign_client, "PX", "600000"});
  ward.command({"RPUSH", k_queue, "a:1"});
  ward.advise("mixed_kinds");
  // Redisson's readers do not look whether somebody holds the lock as a plain one.
  Ward other;
  Process holder(rlock_argv("exec", other.options, "job", "--", "sh", "-c", "echo held; cat"),
                 {.env = other.password, .hold_stdin = true});
  holder.wait_for_stdout("held");
  other.command({"HSET", "job", "mode", "read", "a:1", "1"});
  other.command({"SET", "{job}:a:1:rwlock_timeout:1", "1", "PX", "600000"});
  other.advise("mixed_kinds");
  CHECK_FALSE(other.tells("dead_reader"));
  holder.close_stdin();
  holder.wait();
}

void try_dead_head() {
  Ward ward;
  ward.hold();
  ward.command({"RPUSH", k_queue, "a:1"});
  ward.command({"ZADD", k_scores, "1000", "a:1"});
  ward.mend("dead_head");
  ward.command({"RPUSH", k_queue, "a:1", "b:1"});
  ward.command({"ZADD", k_scores, "1000", "a:1", "2000", "b:1"});
  CHECK(has(ward.hint("dead_head"), " evict --dead job"));
  ward.mend("dead_head");
}

void try_renewal_overdue() {
  Ward ward;
  const std::string told = R"({"host":"web1","pid":7,"lease":600000,"renews":1})";
  ward.command({"HSET", "job", k_foreign_owner, "1"});
  ward.command({"HSET", k_info, k_foreign_owner, told, "value", told});
  ward.command({"PEXPIRE", "job", "300000"});
  CHECK(has(ward.hint("renewal_overdue"), "look at web1 first"));
  ward.mend("renewal_overdue");
  CHECK(ward.command({"EXISTS", "job"}) == "0");
  ward.command({"SET", "job", "value", "PX", "300000"});
  ward.mend("renewal_overdue");
}

void try_dead_reader() {
  Ward ward;
  ward.command({"HSET", "job", "mode", "read", k_foreign_owner, "1", k_thief, "1"});
  ward.command({"PEXPIRE", "job", "600000"});
  const std::string living = "{job}:" + k_thief + ":rwlock_timeout:1";
  ward.command({"SET", living, "1", "PX", "600000"});
  ward.advise("dead_reader");
  ward.command({"DEL", living});
  ward.mend("dead_reader");
}

void try_member_without_score() {
  Ward ward;
  ward.hold();
  ward.command({"RPUSH", k_queue, "a:1"});
  ward.mend("member_without_score");
}

void try_score_without_member() {
  Ward ward;
  ward.hold();
  ward.command({"ZADD", k_scores, "99999999999999", "a:1"});
  ward.mend("score_without_member");
}

void try_deadline_far_ahead() {
  Ward ward;
  ward.hold();
  ward.command({"RPUSH", k_queue, "a:1"});
  ward.command({"ZADD", k_scores, "99999999999999", "a:1"});
  ward.mend("deadline_far_ahead");
}

void try_bad_token() {
  Ward ward;
  ward.command({"SET", k_token, "nonsense"});
  ward.mend("bad_token");
}

void try_token_too_high() {
  Ward ward;
  ward.command({"SET", k_token, "9223372036854775807"});
  ward.mend("token_too_high");
  CHECK(ward.command({"GET", k_token}).size() == 16);  // microseconds
}

void try_token_expires() {
  Ward ward;
  ward.command({"SET", k_token, "7", "PX", "600000"});
  ward.mend("token_expires");
  CHECK(ward.command({"GET", k_token}) == "7");
}

void try_token_behind() {
  Ward ward;
  ward.hold();
  ward.command({"HSET", k_info, k_foreign_owner, R"({"token":"77"})"});
  ward.command({"PEXPIRE", k_info, "600000"});
  ward.mend("token_behind");
  CHECK(ward.command({"GET", k_token}) == "77");
}

void try_ended_permit() {
  Ward ward;
  ward.make_semaphore("4", "5");
  ward.command({"ZADD", k_permits, "1000", "0123456789abcdef"});
  ward.mend("ended_permit");
}

void try_permits_differ() {
  Ward ward;
  ward.make_semaphore("4", "5");
  ward.advise("permits_differ");
}

void try_leaked_latch() {
  Ward ward;
  ward.command({"SET", "redisson_unlock_latch:{job}:0123456789abcdef", "1"});
  ward.mend("leaked_latch");
}

void try_lasting_info() {
  Ward ward;
  ward.hold();
  ward.command({"HSET", k_info, k_foreign_owner, "{}"});
  ward.mend("lasting_info");
}

void try_lone_number() {
  Ward ward;
  ward.command({"SET", "job", "1", "PX", "3600000"});
  CHECK_FALSE(ward.tells("lone_number"));  // a string lock may last as long
  ward.command({"SET", "job", "1", "PX", "86400000"});
  ward.mend("lone_number");
  CHECK(ward.command({"EXISTS", "job"}) == "0");
}

void try_sleeping_waiter() {
  Ward ward;
  Sleeper of_lock(ward, "redisson_lock__channel:{job}");
  paste(ward.hint("sleeping_waiter"), ward.password, 1);  // 1: it was free
  CHECK(of_lock.is_woken());
  for (const bool is_there : {false, true}) {
    Ward other;
    if (is_there) other.make_semaphore("3", "3");
    Sleeper of_semaphore(other, "redisson_sc:{job}");
    const std::string hint = other.hint("sleeping_waiter");
    paste(is_there ? hint : replaced(hint, "--permits N", "--permits 2"), other.password);
    CHECK(of_semaphore.is_woken());
  }
}

const std::map<std::string, void (*)()> k_trials = {
    {"no_expiry", try_no_expiry},
    {"dead_holder", try_dead_holder},
    {"wrong_kind", try_wrong_kind},
    {"mixed_kinds", try_mixed_kinds},
    {"dead_head", try_dead_head},
    {"renewal_overdue", try_renewal_overdue},
    {"dead_reader", try_dead_reader},
    {"member_without_score", try_member_without_score},
    {"score_without_member", try_score_without_member},
    {"deadline_far_ahead", try_deadline_far_ahead},
    {"bad_token", try_bad_token},
    {"token_too_high", try_token_too_high},
    {"token_expires", try_token_expires},
    {"token_behind", try_token_behind},
    {"ended_permit", try_ended_permit},
    {"permits_differ", try_permits_differ},
    {"leaked_latch", try_leaked_latch},
    {"lasting_info", try_lasting_info},
    {"lone_number", try_lone_number},
    {"sleeping_waiter", try_sleeping_waiter},
    {"old_version", try_old_version},
    {"replica", try_replica},
    {"failover", try_replica},
    {"unknown_waiters", try_unknown_waiters},
    {"empty_database", try_empty_database},
    {"out_of_memory", try_out_of_memory},
    {"eviction", try_eviction},
    {"persistence_fails", try_persistence_fails},
    {"no_persistence", try_no_persistence},
    {"fresh_restart", try_fresh_restart},
    {"cluster_down", try_cluster_down},
    {"cluster", try_cluster},
    {"clock_differs", try_clock_differs},
    {"rights", try_rights},
    {"not_permitted", try_not_permitted}};

// The codes of all problems and findings, as the source has them.
std::set<std::string> codes_in_source() {
  std::set<std::string> codes;
  const std::string directory = std::string(RLOCK_SOURCE_DIR) + "/src/lock/inspection";
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    if (file.path().extension() != ".hpp") continue;
    for (const std::string& rest : commands_in(contents(file.path()), "k_code = \"")) {
      codes.insert(rest.substr(0, rest.find('"')));
    }
  }
  return codes;
}

}  // namespace

TEST_CASE("remedies: each problem that the source knows is tried") {
  std::set<std::string> tried;
  for (const auto& [code, trial] : k_trials) tried.insert(code);
  CHECK(tried == codes_in_source());
}

TEST_CASE("remedies: each hint, pasted where another server is the default, mends what it is of") {
  for (const auto& [code, trial] : k_trials) {
    CAPTURE(code);
    trial();
  }
}
