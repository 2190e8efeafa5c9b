// S1 and S2: what happens to the command when its lease cannot be renewed.
// Labels: watchdog quick
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "cli/lease/family.hpp"
#include "support/proxy.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

TEST_CASE("S1: the deadline counts from before the request: slow replies do not make it later" *
          doctest::test_suite("S1")) {
  Server server;
  Proxy proxy(server.port());
  proxy.set_delay(700ms);  // longer than what lies between SIGKILL and the lease's end
  Family family(server, proxy.url(), {"--lease", "6s", "--kill-after", "50ms"});
  wait_for_renewal(server);
  const double lease_end = cut_off(server, 6, [&] { proxy.set_mode(Mode::blackhole); });
  const Result result = family.rlock().wait_exit();
  CHECK(family.alive().empty());
  CHECK(result.status == 79);
  CHECK(family.last_beat() < lease_end);
}

TEST_CASE("S1: a command is not started when replies take longer than the lease" *
          doctest::test_suite("S1")) {
  Server server;
  Proxy proxy(server.port());
  proxy.set_delay(500ms);
  const Result result = run(rlock_argv("exec", "-r", proxy.url(), "--lease", "300ms", "job", "--",
                                       "touch", go_file(server)));
  CHECK(result.status == 69);
  CAPTURE(result.err);
  CHECK(has(result.err, "longer than the lease"));
  CHECK_FALSE(std::filesystem::exists(go_file(server)));
  CHECK(released(server));
}

TEST_CASE("S2: a command is not started on a grant that has ended while rlock was stopped" *
          doctest::test_suite("S2")) {
  Server server;
  // The server knows the script from now on: the first long reply is the grant.
  REQUIRE(run(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "true")).status == 0);
  Proxy proxy(server.port());
  proxy.set_delay(500ms);
  Process rlock(rlock_argv("exec", "-n", "-r", proxy.url(), "--timeout", "30s", "--lease", "1s",
                           "job", "--", "touch", go_file(server)));
  REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "1"; }));
  proxy.set_mode(Mode::blackhole);
  // Where this process was too slow to keep the grant back, the command runs rightly.
  if (proxy.bytes_to_client() > k_name_reply) return;
  rlock.signal(SIGSTOP);
  REQUIRE(wait_until([&] { return stopped(rlock.pid()); }));
  proxy.set_mode(Mode::pass);
  REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
  steal(server);
  rlock.signal(SIGCONT);
  const Result result = rlock.wait();
  CHECK((result.status == 75 || result.status == 79));
  CHECK_FALSE(std::filesystem::exists(go_file(server)));
  CHECK(only_the_thief_is_left(server));
}
