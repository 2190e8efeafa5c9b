// A holder that has missed its renewals is told of, whatever the kind of lock; no other is.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/fair_lock.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

// Makes the lock look as if it had `left` ms left.
void set_left(const Server& server, long long left) {
  if (server.command({"EXISTS", "{job}:timeout"}) == "1") {
    const std::string permit = server.command({"ZRANGE", "{job}:timeout", "0", "0"});
    server.command({"ZADD", "{job}:timeout", std::to_string(server_time(server) + left), permit});
  } else {
    server.command({"PEXPIRE", "job", std::to_string(left)});
  }
}

std::string inspect(const Server& server) {
  const Result result = run(rlock_argv("inspect-queue", "-r", server.unix_url(), "job"));
  CHECK(result.status == 0);
  return result.out;
}

Words hold_argv(const Server& server, const Words& options, const char* command) {
  return rlock_argv("exec", "-r", server.unix_url(), "--lease", "10m", options, "job", "--", "sh",
                    "-c", command);
}

}  // namespace

TEST_CASE("renewal_overdue: a renewal that is long due is a problem of every kind of lock") {
  const std::vector<Words> kinds = {{},     {"--fair"}, {"--kind", "simple"}, {"--permits", "2"},
                                    {"-s"}, {"-x"}};
  for (const Words& kind : kinds) {
    CAPTURE(kind);
    Server server;
    Process holder(hold_argv(server, kind, "echo held; cat"), {.hold_stdin = true});
    holder.wait_for_stdout("held");
    CHECK_FALSE(has(inspect(server), "problem"));
    set_left(server, 360'000);  // renewed 4 min ago: it may be busy
    CHECK_FALSE(has(inspect(server), "problem"));
    set_left(server, 330'000);
    const std::string told = inspect(server);
    CAPTURE(told);
    CHECK(has(told, "1 problem\n  renewal_overdue: not renewed for 4m3"));
    CHECK(has(told, ", due every 3m20s: the holder "));
    CHECK(has(told, "; the lock ends by itself in 5m"));
    CHECK(has(told, kind == Words{"-s"} || kind == Words{"--permits", "2"} ? " unlock --owner "
                                                                           : " unlock --force "));
    const Result doctor = run(rlock_argv("doctor", "-r", server.unix_url(), "job"));
    CHECK(doctor.status == 1);
    CHECK(has(doctor.out, "job: problem: renewal_overdue\n"));
    const Result list =
        run(rlock_argv("list", "--stuck", "--simple", "job", "-r", server.unix_url()));
    CHECK(has(list.out, "renewal_overdue\n"));
    holder.close_stdin();
    CHECK(holder.wait().status == 0);
  }
}

TEST_CASE("renewal_overdue: what is not renewed, or not known to be, is no problem") {
  Server server;
  const Words argv = hold_argv(server, {"--no-watchdog"}, "echo held; cat");
  SUBCASE("exec with a fixed lease") {
    Process holder(argv, {.hold_stdin = true});
    holder.wait_for_stdout("held");
    set_left(server, 1'000);
    CHECK_FALSE(has(inspect(server), "problem"));
  }
  SUBCASE("acquire with a fixed lease") {
    const Result taken = run(
        rlock_argv("acquire", "--no-watchdog", "--lease", "10m", "-r", server.unix_url(), "job"));
    REQUIRE(taken.status == 0);
    set_left(server, 1'000);
    CHECK_FALSE(has(inspect(server), "problem"));
  }
  SUBCASE("what --at-least keeps") {
    const Result result = run(rlock_argv("exec", "--lease", "10m", "--at-least", "1m", "-r",
                                         server.unix_url(), "job", "--", "true"));
    REQUIRE(result.status == 0);
    CHECK_FALSE(has(inspect(server), "problem"));
  }
  SUBCASE("a holder of an older version, or of Redisson") {
    hold_by_other(server, std::chrono::milliseconds(1000));
    server.command({"HSET", k_info, "other:1", R"({"host":"a","pid":1,"since":1,"seen":1})"});
    CHECK_FALSE(has(inspect(server), "problem"));
  }
  SUBCASE("a hold that a longer one extends") {
    server.command({"HSET", "job", "other:1", "1"});
    server.command({"PEXPIRE", "job", "3600000"});
    server.command({"HSET", k_info, "other:1", R"({"lease":30000,"renews":1,"since":1,"seen":1})"});
    CHECK_FALSE(has(inspect(server), "problem"));
  }
}

TEST_CASE("renewal_overdue: a renewal might not have reached a replica") {
  Server master;
  master.command({"HSET", "job", "other:1", "1"});
  master.command({"HSET", k_info, "other:1", R"({"lease":600000,"renews":1,"since":1,"seen":1})"});
  Server replica{{.args = {"--replicaof", "127.0.0.1 " + std::to_string(master.port())}}};
  const auto set = [&](const std::string& left) {
    set_left(master, std::stoll(left));
    master.command({"SET", "mark", left});
    REQUIRE(wait_until([&] { return replica.command({"GET", "mark"}) == left; }));
  };
  set("320000");  // the last renewal was 280 s ago
  CHECK(has(inspect(master), "renewal_overdue"));
  CHECK_FALSE(has(inspect(replica), "renewal_overdue"));
  set("280000");
  CHECK(has(inspect(replica), "renewal_overdue"));
  master.stop();
  REQUIRE(wait_until([&] {
    return has(replica.command({"INFO", "replication"}), "master_link_status:down");
  }));
  CHECK_FALSE(has(inspect(replica), "renewal_overdue"));
}
