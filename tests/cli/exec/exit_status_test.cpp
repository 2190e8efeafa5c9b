// The exit statuses of rlock exec, and what it prints (nothing, on success).
// Labels: unsanitized server rights-plain quick
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/server.hpp"

using namespace rlock::test;
using Strings = std::vector<std::string>;

namespace {

Strings exec(const Server& server, const Strings& arguments) {
  Strings argv = rlock_argv("exec", "-r", server.unix_url());
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

void hold(const Server& server) {
  server.command({"HSET", "job", "another:1", "1"});
  server.command({"PEXPIRE", "job", "600000"});
}

}  // namespace

TEST_CASE("exec returns the command's own status, whatever it is, and prints nothing") {
  Server server;
  for (const int status : {0,  1,   2,   63,  64,  69,  70,  75,  76,  77,  78,
                           79, 124, 125, 126, 127, 128, 130, 143, 200, 254, 255}) {
    const Result result =
        run(exec(server, {"job", "--", "sh", "-c", "exit " + std::to_string(status)}));
    CHECK(result.status == status);
    CHECK_FALSE(result.signaled);
    CHECK(result.out.empty());
    CHECK(result.err.empty());
  }
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("exec returns 128+N when signal N ended the command") {
  Server server;
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGKILL, SIGSEGV, SIGPIPE, SIGTERM}) {
    const Result result = run(exec(
        server, {"job", "--", "sh", "-c", "ulimit -c 0; kill -" + std::to_string(number) + " $$"}));
    CHECK(result.status == 128 + number);
    CHECK(result.signaled == (number == SIGINT));  // of that it dies itself, as shells expect
    CHECK(result.err.empty());
  }
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("exec returns 127 for a command that is not there, 126 for one that cannot be run") {
  Server server;
  const std::string text = server.directory() + "/text";
  std::ofstream(text) << "no program\n";
  const auto status = [&](const std::string& command) {
    const Result result = run(exec(server, {"job", "--", command}));
    CHECK(is_one_message(result.err));
    CHECK(result.out.empty());
    // A lock that was taken for it is free again.
    CHECK(comes_to_be_empty(server));
    return result.status;
  };
  CHECK(status("no-such-program-at-all") == 127);
  CHECK(status("/no/such/program") == 127);
  CHECK(status(text + "/below") == 126);
  CHECK(status(text) == 126);
  CHECK(status(server.directory()) == 126);
  CHECK(status("") == 127);
}

TEST_CASE("exec returns 75, or what -E says, when the lock was not acquired in time") {
  Server server;
  hold(server);
  const Strings command{"job", "--", "touch", server.directory() + "/started"};
  const auto with = [&](Strings options) {
    options.insert(options.end(), command.begin(), command.end());
    return run(exec(server, options));
  };
  for (const Strings& options :
       {Strings{"-n"}, {"--no-wait"}, {"--wait", "0"}, {"-w", "20ms"}, {"--wait=0.02"}}) {
    const Result result = with(options);
    CHECK(result.status == 75);
    CHECK(is_one_message(result.err));
    CHECK(result.out.empty());
  }
  CHECK(with({"-n", "-E", "0"}).status == 0);
  CHECK(with({"-n", "-E", "0"}).err.empty());  // the user has said that it is fine
  CHECK(is_one_message(with({"-v", "-n", "-E", "0"}).err));
  CHECK(with({"-n", "-E", "1"}).status == 1);
  CHECK(with({"-n", "--conflict-exit-code", "255"}).status == 255);
  CHECK(with({"-n", "-q"}).err.empty());
  for (const char* wrong : {"256", "-1", "x", "", "1x", "600"}) {
    const Result result = with({"-n", "-E", wrong});
    CHECK(result.status == 64);
    CHECK(is_one_message(result.err));
  }
  CHECK_FALSE(std::filesystem::exists(server.directory() + "/started"));
  CHECK(server.command({"HGETALL", "job"}) == "another:1\n1");
  CHECK(server.keys() == Strings{"job"});
}

TEST_CASE("exec returns 64 for a command line that makes no sense, before it asks any server") {
  for (const Strings& arguments : {
           Strings{},
           {"job"},
           {"job", "--"},
           {"--", "true"},
           {"job", "true"},
           {"", "--", "true"},
           {std::string(1025, 'x'), "--", "true"},
           {"-c", "true", "job", "--", "true"},
           {"-c", "true"},
           {"--no-such-option", "job", "--", "true"},
           {"--lease", "x", "job", "--", "true"},
           {"--lease", "0", "job", "--", "true"},
           {"--lease", "-5s", "job", "--", "true"},
           {"--wait", "", "job", "--", "true"},
           {"--wait", "1y", "job", "--", "true"},
           {"--lease", "3s", "--kill-after", "2s", "job", "--", "true"},
           {"--on-lost", "sing", "job", "--", "true"},
           {"--kind", "strange", "job", "--", "true"},
           {"--at-most", "soon", "job", "--", "true"},
           {"--at-least", "soon", "job", "--", "true"},
       }) {
    Strings argv = rlock_argv("exec", "-r", "unix:///no/such/socket");
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const Result result = run(argv);
    INFO(result.err);
    CHECK(result.status == 64);
    CHECK(is_one_message(result.err));
    CHECK(result.out.empty());
  }
}

TEST_CASE("exec returns 69 without a server, 76 for another kind of key, 77 without permission") {
  const Result nobody =
      run(rlock_argv("exec", "-r", "unix:///no/such/socket", "job", "--", "echo", "ran"));
  CHECK(nobody.status == 69);
  CHECK(is_one_message(nobody.err));
  CHECK(nobody.out.empty());

  Server server({.args = {"--requirepass", "pass word"}});
  const Result stranger = run(exec(server, {"job", "--", "echo", "ran"}));
  CHECK(stranger.status == 77);
  CHECK(is_one_message(stranger.err));
  CHECK(stranger.out.empty());

  server.command({"SET", "job", "x"});
  const Result kind =
      run(exec(server, {"job", "--", "echo", "ran"}), {.env = {{"RLOCK_PASSWORD", "pass word"}}});
  CHECK(kind.status == 76);
  CHECK(is_one_message(kind.err));
  CHECK(kind.out.empty());
  CHECK(server.command({"GET", "job"}) == "x");
}

TEST_CASE("exec -c runs a shell command") {
  Server server;
  const Result result = run(exec(server, {"job", "-c", "echo $0 \"$RLOCK_NAME\" | cat; exit 4"}));
  CHECK(result.out == "/bin/sh job\n");
  CHECK(result.err.empty());
  CHECK(result.status == 4);
}
