// exec with few descriptors, threads or little memory, or a kernel that refuses some calls: it
// works or says no, and never hangs.
// Labels: long unsanitized
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <sys/syscall.h>
#include <vector>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "cli/beats.hpp"
#include "cli/limits_fixture.hpp"
#include "support/certificates.hpp"
#include "support/foreign_owner.hpp"
#include "support/quorum.hpp"
#include "support/sentinels.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::limits;

TEST_CASE("exec with few descriptors runs the command and ends, or refuses before it starts it") {
  const Server server;
  const Shells shells(server);
  for (const char* names : {"job", "a b c"}) {
    for (int count = 6; count <= 16; ++count) {
      CAPTURE(names);
      CAPTURE(count);
      const Result result =
          run(shells.argv(with_descriptors(
                  count, "exec \"$RLOCK\" exec " + std::string(names) + " -- echo ran")),
              shells.options());
      CAPTURE(result.err);
      if (result.status == 0) {
        CHECK(result.out == "ran\n");
        CHECK(result.err.empty());
      } else {
        CHECK(result.status == 69);
        CHECK(result.out.empty());
        CHECK(is_one_message(result.err));
        CHECK(count < 16);
      }
      CHECK(comes_to_be_empty(server));
    }
  }
}

TEST_CASE("W2: exec of several locks on several servers with few descriptors ends in any case" *
          doctest::test_suite("W2")) {
  Quorum servers(3);
  const Words exec = servers.rlock("exec", {"--lease", "3s", "a", "b", "--", "echo", "ran"});
  for (int count = 8; count <= 30; ++count) {
    CAPTURE(count);
    Words argv{"sh", "-c", with_descriptors(count, "exec \"$@\""), "sh"};
    argv.insert(argv.end(), exec.begin(), exec.end());
    // Who has no descriptor for a connection bears that for 60 s, as an outage of the servers.
    const Result result = run(argv, {}, std::chrono::minutes(2));
    CAPTURE(result.err);
    // The watchdog may find out only when the command runs already.
    CHECK((result.status == 79 || result.status == (result.out == "ran\n" ? 0 : 69)));
    CHECK((result.status == 0 || (count < 30 && has(result.err, "Too many open files"))));
    // It does not take, and fail to give back, the same locks again and again.
    CHECK(result.err.find("a: not released") == result.err.rfind("a: not released"));
  }
}

// Looking through /proc takes descriptors, too: without any, nobody was found, and the lock was
// given back.
TEST_CASE("S3: exec with few descriptors ends all of its command, or refuses before it starts it" *
          doctest::test_suite("S3")) {
  const Server server;
  const Shells shells(server);
  ProcessOptions options = shells.options();
  const std::string mark = "few-" + server.directory();
  options.env["MARK"] = mark;
  const std::string command =
      "ulimit -S -n 256; setsid sh -c \"trap : TERM; sleep 60; sleep 60; sleep 60\" >/dev/null "
      "2>&1 & wait";
  for (int count = 6; count <= 20; ++count) {
    CAPTURE(count);
    const Result result =
        run(shells.argv(with_descriptors(
                count, "exec \"$RLOCK\" exec --at-most 300ms --kill-after 100ms job -- sh -c '" +
                           command + "'")),
            options);
    CAPTURE(result.err);
    CHECK((result.status == 124 || (result.status == 69 && count < 20)));
    CHECK(wait_until([&] { return processes_with(mark).empty(); }, std::chrono::seconds(5)));
    for (const pid_t pid : processes_with(mark)) ::kill(pid, SIGKILL);
    CHECK(server.keys().empty());
  }
}

TEST_CASE("S3: exec without a descriptor for renewals says so when it ends the command" *
          doctest::test_suite("S3")) {
  const Server server;
  const Shells shells(server);
  int lost = 0;
  for (int count = 10; count <= 16; ++count) {
    CAPTURE(count);
    const Result result =
        run(shells.argv(with_descriptors(
                count, "exec \"$RLOCK\" exec --lease 900ms --at-most 3s job -- sleep 60")),
            shells.options());
    CAPTURE(result.err);
    if (result.status != 79) continue;
    ++lost;
    CHECK(has(result.err, "job: lock lost: it cannot be renewed: "));
    CHECK(has(result.err, "Too many open files"));
  }
  CHECK(lost > 0);
}

TEST_CASE("exec needs no system calls that only newer kernels have, or sandboxes deny") {
  const Server server;
  for (const unsigned error : {ENOSYS, EPERM}) {
    CAPTURE(error);
    const auto result = run_without(
        SYS_pidfd_open, SYS_pidfd_send_signal, error,
        rlock_argv("exec", "-r", server.unix_url(), "--lease", "1h", "job", "--", "echo", "ran"));
    if (!result) return;
    CHECK(result->status == 0);
    CHECK(result->out == "ran\n");
    CHECK(result->err.empty());
    CHECK(server.keys().empty());
  }
}

TEST_CASE("S3: exec that gets no thread to renew its lock ends the command in time, SIGTERM first" *
          doctest::test_suite("S3")) {
  const Server server;
  const auto result = run_without(
      SYS_clone3, SYS_clone3, EAGAIN,
      rlock_argv("exec", "-r", server.unix_url(), "--lease", "9s", "job", "--", "sh", "-c",
                 "exec 2>/dev/null; trap 'echo TERM; exit 0' TERM; echo started; while :; do sleep "
                 "0.02; done"));
  if (!result) return;
  CHECK(result->status == 79);
  CHECK(result->out == "started\nTERM\n");
  CAPTURE(result->err);
  CHECK(result->err.starts_with("rlock: job: lock lost: no thread can be started"));
  CHECK(is_one_message(result->err));
  CHECK(comes_free(server));
}

TEST_CASE("S3: exec that gets no thread does no harm to a command that ends before the lease does" *
          doctest::test_suite("S3")) {
  const Server server;
  const auto result = run_without(SYS_clone3, SYS_clone3, EAGAIN,
                                  rlock_argv("exec", "-r", server.unix_url(), "--lease", "9s",
                                             "job", "--", "sh", "-c", "sleep 1; exit 7"));
  if (!result) return;
  CHECK(result->status == 7);
  CHECK(result->err.empty());
  CHECK(server.keys().empty());
}

TEST_CASE("exec of several locks that gets no thread refuses before it starts the command") {
  const Server server;
  const auto result =
      run_without(SYS_clone3, SYS_clone3, EAGAIN,
                  rlock_argv("exec", "-r", server.unix_url(), "a", "b", "--", "echo", "started"));
  if (!result) return;
  CHECK(result->status == 69);
  CHECK(result->out.empty());
  CHECK(is_one_message(result->err));
  CHECK(server.keys().empty());
}

TEST_CASE("S3: a server that takes no more connections still has its lock renewed" *
          doctest::test_suite("S3")) {
  const Server server;
  const Shells shells(server);
  RespClient client = server.connect();
  const auto left = [&] { return std::stol(client.call({"PTTL", "job"})[0]); };
  std::string script;
  SUBCASE("by exec") { script = "rlock exec --lease 6s job -- sh -c 'echo held; read line'"; }
  SUBCASE("by acquire") {
    script = "rlock acquire --lease 6s job >/dev/null; echo held; read line";
  }

  Process shell(shells.argv(script), {.env = shells.options().env, .hold_stdin = true});
  shell.wait_for_stdout("held");
  client.call({"CONFIG", "SET", "maxclients", "1"});
  for (int i = 0; i < 2; ++i) {
    long before = left();
    REQUIRE(wait_until([&] {
      const long now = left();
      const bool grew = now > before;
      before = now;
      return grew;
    }));
  }
  shell.write_stdin("go on\n");
  CHECK(shell.wait().status == 0);
  CHECK(wait_until([&] { return client.call({"EXISTS", "job"})[0] == "0"; }));
}

TEST_CASE("rlock says no where it needs a thread and there is none to be had") {
  const Server server;
  Quorum servers(3);
  const std::string local = "redis://localhost:" + std::to_string(server.port());
  const std::vector<std::vector<std::string>> commands = {
      servers.rlock("exec", {"job", "--", "echo", "ran"}),
      servers.rlock("exec", {"--fence", "a", "b", "--", "echo", "ran"}),
      servers.rlock("acquire", {"--no-watchdog", "job"}),
      servers.rlock("unlock", {"--owner", k_foreign_owner, "job"}),
      servers.rlock("renew", {"--owner", k_foreign_owner, "job"}),
      servers.rlock("fence", {"job", "3"}),
      rlock_argv("exec", "-r", local, "job", "--", "echo", "ran"),
      rlock_argv("exec", "-r", Sentinels::url_of({server.port()}), "job", "--", "echo", "ran"),
      rlock_argv("watch", "-r", server.unix_url(), "job"),
  };
  for (const auto& argv : commands) {
    CAPTURE(argv[1]);
    const auto result = run_without(SYS_clone3, SYS_clone3, EAGAIN, argv);
    if (!result) return;
    CHECK(result->status == 69);
    CHECK(result->out.empty());
    CHECK(is_one_message(result->err));
    CHECK(has(result->err, "thread"));
    CHECK(server.keys().empty());
    for (int i = 0; i < servers.size(); ++i) CHECK(servers[i].keys().empty());
  }
}

TEST_CASE("a small stack is enough") {
  const Server server;
  Quorum servers(3);
  const Shells shells(server);
  const std::string local = "redis://localhost:" + std::to_string(server.port());
  std::optional<TlsServer> secured;
  std::vector<std::vector<std::string>> commands = {
      rlock_argv("exec", "-r", server.unix_url(), "--fair", "--fence", "a", "b", "--", "true"),
      rlock_argv("exec", "-r", local, "--lease", "6s", "job", "--", "sleep", "1"),
      rlock_argv("acquire", "-r", local, "--no-watchdog", "--lease", "1h", "job"),
      rlock_argv("inspect-queue", "-r", local, "job"),
      rlock_argv("list", "-r", local),
      rlock_argv("watch", "-r", local, "--until", "held", "job"),
      rlock_argv("unlock", "-r", local, "--force", "-y", "job"),
      servers.rlock("exec", {"--fence", "a", "b", "--", "true"}),
  };
  if (can_use_tls()) {
    secured.emplace();
    commands.push_back(rlock_argv("exec", "-r", secured->url(), "--tls-ca",
                                  certificate_file("ca.pem"), "job", "--", "true"));
  }
  for (const auto& argv : commands) {
    CAPTURE(argv[1]);
    // 32 KiB, and up to 8 by which the system lowers the stack at random.
    std::vector<std::string> limited = {"sh", "-c", "ulimit -s 40; exec \"$0\" \"$@\""};
    limited.insert(limited.end(), argv.begin(), argv.end());
    const Result result = run(limited, {.env = {{"RLOCK_REDIS", std::nullopt}}});
    CAPTURE(result.err);
    CHECK(result.status == 0);
  }
  CHECK(server.command({"EXISTS", "a", "b", "job"}) == "0");
}

TEST_CASE("without memory nothing is run, and nothing is left behind") {
  const Server server;
  Quorum servers(3);
  const auto limited = [](int kib, const std::vector<std::string>& rlock) {
    std::vector<std::string> argv = {
        "sh", "-c", "ulimit -c 0; ulimit -v " + std::to_string(kib) + "; exec \"$0\" \"$@\""};
    argv.insert(argv.end(), rlock.begin(), rlock.end());
    return run(argv);
  };
  const auto says_no_or_runs = [&](const Result& result) {
    CAPTURE(result.err);
    if (result.status == 0) {
      CHECK(result.out == "ran\n");
    } else {
      CHECK(result.status == 69);
      CHECK(result.out.empty());
      CHECK(is_one_message(result.err));
    }
  };
  // The least with which the system can load the program: it then says something itself.
  int least = 2000;
  while (least < 40'000 && !limited(least, rlock_argv("--version")).err.starts_with("rlock:")) {
    least += 20;
  }
  REQUIRE(least < 40'000);
  std::optional<TlsServer> secured;
  if (can_use_tls()) secured.emplace();
  bool has_said_no = false;
  for (int kib = least; kib <= least + 1200; kib += 60) {
    CAPTURE(kib);
    const Result one =
        limited(kib, rlock_argv("exec", "-r", server.unix_url(), "job", "--", "echo", "ran"));
    says_no_or_runs(one);
    if (secured) {
      // Its libraries need five times as much.
      says_no_or_runs(limited(least + 5 * (kib - least),
                              rlock_argv("exec", "-r", secured->url("127.0.0.1"), "--tls-ca",
                                         certificate_file("ca.pem"), "job", "--", "echo", "ran")));
    }
    says_no_or_runs(limited(kib, servers.rlock("exec", {"job", "--", "echo", "ran"})));
    CHECK(comes_to_be_empty(server));
    CHECK(servers.becomes_free_of("job"));
    has_said_no = has_said_no || one.status == 69;
  }
  CHECK(has_said_no);
}
