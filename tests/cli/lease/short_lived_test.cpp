// Processes that live shorter than a look at all processes takes: one look does not see them.
#include <csignal>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <vector>

#include <doctest/doctest.h>

#include "support/fd.hpp"
#include "support/process.hpp"
#include "support/server.hpp"

using namespace rlock::test;
using Strings = std::vector<std::string>;

namespace {

// A daemon that goes on in a child for two seconds, over and over, and has a file locked as long as
// one of them lives. It has left its session and its environment.
const char* const k_hopper = R"(
import fcntl, os, sys, time
if len(sys.argv) == 2:
    if os.fork():
        time.sleep(60)
        os._exit(0)
    os.setsid()
    os.execve(sys.executable,
              [sys.executable, "-c", os.environ["HOPPER"], sys.argv[1], "on"], {})
lock = open(sys.argv[1])
fcntl.flock(lock, fcntl.LOCK_EX)
print("hops", flush=True)
end = time.monotonic() + 20
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
)";

Strings exec(const Server& server, const Strings& options, const std::string& file) {
  Strings argv = rlock_argv("exec", "-r", server.unix_url());
  argv.insert(argv.end(), options.begin(), options.end());
  argv.insert(argv.end(), {"job", "--", "python3", "-c", k_hopper, file});
  return argv;
}

bool is_locked(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(fd.get() >= 0);
  return ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0;
}

// An empty file.
std::string make_file(const Server& server) {
  const std::string path = server.directory() + "/hops";
  const UniqueFd fd(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  REQUIRE(fd.get() >= 0);
  return path;
}

}  // namespace

TEST_CASE("short-lived: --at-most ends a daemon whose processes end before they are seen") {
  Server server;
  const std::string file = make_file(server);
  Process holder(exec(server, {"--at-most", "8s", "--kill-after", "100ms"}, file),
                 {.env = {{"HOPPER", k_hopper}}});
  const Result result = holder.wait_exit();
  CHECK(result.status == 124);
  CHECK(result.out == "hops\n");
  CHECK(!is_locked(file));
  CHECK(server.keys().empty());
}

TEST_CASE("short-lived: so does a loss") {
  Server server;
  const std::string file = make_file(server);
  Process holder(exec(server, {"--lease", "6s", "--kill-after", "100ms"}, file),
                 {.env = {{"HOPPER", k_hopper}}});
  holder.wait_for_stdout("hops");
  server.command({"DEL", "job"});
  CHECK(holder.wait_exit().status == 79);
  CHECK(!is_locked(file));
}

// Returns whether the hopper has ended when the lock of a stopped rlock ends.
bool ends_with_lease() {
  Server server;
  const std::string file = make_file(server);
  Process holder(exec(server, {"--lease", "3s", "--kill-after", "100ms"}, file),
                 {.env = {{"HOPPER", k_hopper}}});
  holder.wait_for_stdout("hops");
  holder.signal(SIGSTOP);
  REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
  const bool has_ended = !is_locked(file);
  holder.signal(SIGCONT);
  CHECK(holder.wait_exit().status == 79);
  return has_ended;
}

TEST_CASE("short-lived: so does the guardian of an rlock that is stopped") {
  CHECK(one_succeeds(ends_with_lease));  // on a busy machine, what is killed takes its time to die
}
