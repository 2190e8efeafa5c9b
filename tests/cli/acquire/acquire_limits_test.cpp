// acquire with few descriptors, or a kernel that refuses some calls: it keeps the lock, or says no.
// Labels: long unsanitized
#include <cerrno>
#include <csignal>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "cli/beats.hpp"
#include "cli/limits_fixture.hpp"
#include "support/foreign_owner.hpp"
#include "support/quorum.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::limits;

TEST_CASE("acquire says no where it could not follow a process") {
  const Server server;
  for (const unsigned error : {ENOSYS, EPERM}) {
    CAPTURE(error);
    const auto result =
        run_without(SYS_pidfd_open, SYS_pidfd_open, error,
                    rlock_argv("acquire", "-r", server.unix_url(), "--pid", "1", "job"));
    if (!result) return;
    CHECK(result->status == 69);
    CHECK(result->out.empty());
    CHECK(is_one_message(result->err));
    CHECK(server.keys().empty());
  }
}

TEST_CASE("acquire needs no other system calls that sandboxes deny, and holds nobody's pipe") {
  const Server server;
  const std::string own = std::to_string(::getpid());
  for (const unsigned call : {SYS_pidfd_send_signal, SYS_close_range}) {
    CAPTURE(call);
    const std::string name = "job" + std::to_string(call);
    const std::string arguments = " acquire -r " + server.unix_url() + " --pid " + own + " " + name;
    const auto result = run_without(call, call, EPERM,
                                    {"sh", "-c", "exec " + rlock_program() + arguments + " 5>&1"});
    if (!result) return;
    CAPTURE(result->err);
    CHECK(result->status == 0);
    CHECK(server.command({"EXISTS", name}) == "1");
  }
}

TEST_CASE("acquire with few descriptors keeps the lock, or gives it back and refuses") {
  const Server server;
  const Shells shells(server);
  for (int count = 6; count <= 28; ++count) {
    CAPTURE(count);
    Process script(
        shells.argv(with_descriptors(count,
                                     "owner=$(\"$RLOCK\" acquire --lease 3s job)\n"
                                     "status=$?; echo \"$status;\"; [ $status = 0 ] && await go")),
        shells.options());
    script.wait_for_stdout(";\n");
    if (script.out() == "0;\n") {
      const std::string owner = server.command({"HKEYS", "job"});
      wait_for_renewal(server);
      CHECK(server.command({"HKEYS", "job"}) == owner);
      script.signal(SIGKILL);
      CHECK(script.wait().err.empty());
    } else {
      const Result refused = script.wait();
      CHECK(refused.out == "69;\n");
      CHECK(is_one_message(refused.err));
      CHECK(count < 28);
    }
    CHECK(comes_free(server));
    CHECK(shells.watchdogs_end());
  }
}

TEST_CASE("acquire whose background process fails it neither hangs nor keeps the lock") {
  const Server server;
  const Shells shells(server);
  std::string lease = "1h";
  enum { killed_before, killed, continued, left_alone } what{};
  SUBCASE("it is killed before the lock is taken") { what = killed_before; }
  SUBCASE("it is killed when the lock is taken") { what = killed; }
  SUBCASE("it only takes its time") { what = continued; }
  SUBCASE("it takes longer than anybody waits") {
    what = left_alone;
    lease = "3s";  // acquire may die before it has told it anything
  }
  server.command({"HSET", "job", k_foreign_owner, "1"});
  Process script(
      shells.argv("owner=$(rlock acquire -q --lease " + lease + " job); echo \"$?\"; await go"),
      shells.options());
  REQUIRE(comes_to_wait(server));
  REQUIRE(shells.watchdogs().size() == 1);
  const pid_t watchdog = shells.watchdogs().front();
  ::kill(watchdog, SIGSTOP);
  REQUIRE(wait_until([&] { return stopped(watchdog); }));
  if (what == killed_before) {
    ::kill(watchdog, SIGKILL);
    REQUIRE(shells.watchdogs_end());
  }
  server.command({"DEL", "job"});
  server.command({"PUBLISH", "redisson_lock__channel:{job}", "0"});
  if (what != killed_before) {
    REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "1"; }));
  }
  if (what == killed) ::kill(watchdog, SIGKILL);
  if (what == left_alone) script.signal_group(SIGKILL);
  if (what == continued || what == left_alone) ::kill(watchdog, SIGCONT);
  if (what == killed_before || what == killed) {
    shells.go("go");
    const Result refused = script.wait();
    CHECK(refused.out == "69\n");
    CHECK(is_one_message(refused.err));
  }
  if (what == continued) {
    script.wait_for_stdout("0\n");
    CHECK(shells.watchdogs().size() == 1);
    shells.go("go");
  }
  CHECK(comes_free(server));
  CHECK(shells.watchdogs_end());
}
