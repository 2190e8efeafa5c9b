// R4: a password shows nowhere.
// Labels: unsanitized
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <doctest/doctest.h>

#include "support/contents.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

const std::string k_secret = "s3cr3tHorse";

void check_hidden(const Result& result) {
  CAPTURE(result.out);
  CAPTURE(result.err);
  CHECK_FALSE(has(result.out, k_secret));
  CHECK_FALSE(has(result.err, k_secret));
}

std::string address(const Server& server) { return "127.0.0.1:" + std::to_string(server.port()); }

// A way to hand the password over.
struct Way {
  const char* what;
  Words argv;  // rlock and the options
  EnvChanges env{};
};

// A file with the password, gone at the end.
class PasswordFile {
 public:
  explicit PasswordFile(const std::string& text) {
    std::string path = "/tmp/rlock-password-XXXXXX";
    const UniqueFd fd(::mkstemp(path.data()));
    path_ = path;
    std::ofstream(path_) << text;
  }
  PasswordFile(const PasswordFile&) = delete;
  PasswordFile& operator=(const PasswordFile&) = delete;
  ~PasswordFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<Way> ways(const std::string& host, const std::string& file) {
  const std::string url = "redis://:" + k_secret + "@" + host;
  const std::string plain = "redis://" + host;
  return {{"URL in argv", rlock_argv("-r", url)},
          {"URL in the environment", rlock_argv(), {{"RLOCK_REDIS", url}}},
          {"RLOCK_PASSWORD", rlock_argv("-r", plain), {{"RLOCK_PASSWORD", k_secret}}},
          {"REDISCLI_AUTH", rlock_argv("-r", plain), {{"REDISCLI_AUTH", k_secret}}},
          {"file", rlock_argv("-r", plain, "--password-file", file)}};
}

Result invoke(const Way& way, const Words& words) {
  Words argv = way.argv;
  argv.insert(argv.end(), words.begin(), words.end());
  return run(argv, {.env = way.env});
}

}  // namespace

TEST_CASE("R4: a password, however it is given, shows neither in output nor in Redis nor in argv" *
          doctest::test_suite("R4")) {
  Server server({.args = {"--requirepass", k_secret}});
  const PasswordFile file(k_secret + "\n");
  for (const Way& way : ways(address(server), file.path())) {
    CAPTURE(way.what);
    const bool in_argv = way.env.empty() && way.argv.size() == 3;
    Words argv = way.argv;
    argv.insert(argv.end(), {"-v", "exec", "job", "--", "sh", "-c", "echo ready; cat > /dev/null"});
    Process job(argv, {.env = way.env, .hold_stdin = true});
    job.wait_for_stdout("ready");

    check_hidden(invoke(way, {"-v", "inspect-queue", "job"}));
    const Result json = invoke(way, {"--json", "inspect-queue", "job"});
    CHECK(json.status == 0);
    check_hidden(json);
    CHECK(has(json.out, "\"server\":\"redis://" + address(server) + "\""));
    check_hidden(invoke(way, {"-v", "exec", "-n", "job", "--", "true"}));
    check_hidden(invoke(way, {"--json", "acquire", "--no-watchdog", "-w", "10ms", "job"}));

    CHECK_FALSE(has(server.command({"CLIENT", "LIST"}), k_secret));
    for (const std::string& key : server.keys()) {
      CHECK_FALSE(has(key, k_secret));
      CHECK_FALSE(has(server.command({"HGETALL", key}), k_secret));
    }
    if (!in_argv) {
      for (const pid_t pid : processes_in_group(job.pid())) {
        CHECK_FALSE(has(contents("/proc/" + std::to_string(pid) + "/cmdline"), k_secret));
      }
      for (const pid_t pid : processes_with(k_mark_variable)) {
        CHECK_FALSE(has(contents("/proc/" + std::to_string(pid) + "/cmdline"), k_secret));
      }
    }
    job.close_stdin();
    const Result result = job.wait();
    CHECK(result.status == 0);
    check_hidden(result);
  }
}

TEST_CASE("R4: no error repeats a password" * doctest::test_suite("R4")) {
  const std::string port = std::to_string(free_port());
  Server other({.args = {"--requirepass", "different"}});
  const PasswordFile file(k_secret);
  for (const std::string& host :
       {"127.0.0.1:" + port, address(other), std::string("no-host.invalid"),
        std::string("127.0.0.1:99999"), std::string("127.0.0.1/x"), std::string("[::1"),
        std::string(":80"), std::string("h?x#y")}) {
    CAPTURE(host);
    for (const Way& way : ways(host, file.path())) {
      CAPTURE(way.what);
      for (const Words& words :
           {Words{"-v", "exec", "job", "--", "true"}, Words{"--json", "watch", "job"}}) {
        const Result result = invoke(way, words);
        CHECK(result.status != 0);
        check_hidden(result);
        CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
      }
    }
  }
}

TEST_CASE("R4: a URL in the wrong place or of an unknown kind is not repeated either" *
          doctest::test_suite("R4")) {
  const std::string url = "redis://joe:" + k_secret + "@127.0.0.1:1";
  for (const Words& words :
       {Words{url, "exec", "job", "--", "true"}, Words{"inspect-queue", "job", url},
        Words{"--redi", url, "inspect-queue", "job"},
        Words{"--redi=" + url, "inspect-queue", "job"}, Words{"unlock", "--owner", "x", "job", url},
        Words{"exec", "--timeout", url, "job", "--", "true"},
        Words{"exec", "-w", url, "job", "--", "true"},
        Words{"exec", "-E", url, "job", "--", "true"},
        Words{"exec", "--kind", url, "job", "--", "true"}, Words{"fence", "job", url},
        Words{"--color", url, "inspect-queue", "job"},
        Words{"-r", "rediss://joe:" + k_secret + "@h/x", "inspect-queue", "job"},
        Words{"-r", "redis-cluster://joe:" + k_secret + "@h/1", "inspect-queue", "job"},
        Words{"-r", "redis-sentinel://joe:" + k_secret + "@h", "inspect-queue", "job"},
        Words{"-r", "http://joe:" + k_secret + "@h", "inspect-queue", "job"},
        Words{"-r", "redis://joe:%zz" + k_secret + "@h", "inspect-queue", "job"},
        Words{"acquire", "--pid", url, "job"},
        Words{"-r", url, "-r", url, "-r", "redis:/" + k_secret, "inspect-queue", "job"}}) {
    CAPTURE(words[0]);
    Words argv = rlock_argv(words);
    const Result result = run(argv);
    CHECK(result.status == 64);
    check_hidden(result);
  }
  const Server server;
  const Result failed = run(rlock_argv("exec", "-r", server.unix_url(), "job", "--", url));
  CHECK(failed.status == 127);
  check_hidden(failed);
  for (const char* option : {"--config", "--password-file"}) {
    const Result result = run(rlock_argv(option, url, "inspect-queue", "job"));
    CHECK(result.status == 78);
    check_hidden(result);
  }
}

TEST_CASE("R4: arguments of the command are not stored, only its name" *
          doctest::test_suite("R4")) {
  Server server;
  Process job(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "/bin/sh", "-c",
                         "echo ready; cat > /dev/null", k_secret),
              {.hold_stdin = true});
  job.wait_for_stdout("ready");
  const std::string info = server.command({"HGETALL", "rlock_info:{job}"});
  CHECK(has(info, "\"sh\""));
  CHECK_FALSE(has(info, k_secret));
  job.close_stdin();
  job.wait();
}

TEST_CASE("credentials: the URL wins over options, options over the environment") {
  Server server({.args = {"--requirepass", "right"}});
  server.command({"ACL", "SETUSER", "joe", "on", ">joes", "~*", "&*", "+@all"});
  const PasswordFile right("right\n");
  const PasswordFile wrong("wrong\r\nright\n");
  const PasswordFile joes("joes\r\n");
  const PasswordFile empty("");
  const std::string host = address(server);
  const auto status = [&](const Words& words, const EnvChanges& env = {}) {
    return run(rlock_argv(words, "inspect-queue", "job"), {.env = env}).status;
  };
  CHECK(status({"-r", "redis://:right@" + host, "--password-file", wrong.path()}) == 0);
  CHECK(status({"-r", "redis://:right@" + host}, {{"RLOCK_PASSWORD", "wrong"}}) == 0);
  CHECK(status({"-r", "redis://:wrong@" + host, "--password-file", right.path()}) == 77);
  CHECK(status({"-r", "redis://joe:joes@" + host, "--user", "nobody"}) == 0);
  CHECK(status({"-r", "redis://joe:joes@" + host}, {{"RLOCK_USER", "nobody"}}) == 0);
  CHECK(status({"-r", "redis://" + host, "--password-file", right.path()},
               {{"RLOCK_PASSWORD", "wrong"}, {"REDISCLI_AUTH", "wrong"}}) == 0);
  CHECK(status({"-r", "redis://" + host},
               {{"RLOCK_PASSWORD", "right"}, {"REDISCLI_AUTH", "wrong"}}) == 0);
  CHECK(status({"-r", "redis://" + host}, {{"REDISCLI_AUTH", "right"}}) == 0);
  CHECK(status({"-r", "redis://" + host, "--user", "joe", "--password-file", joes.path()}) == 0);
  CHECK(status({"-r", "redis://" + host, "--user", "joe"},
               {{"RLOCK_USER", "nobody"}, {"RLOCK_PASSWORD", "joes"}}) == 0);
  CHECK(status({"-r", "redis://joe@" + host, "--password-file", joes.path()}) == 0);
  CHECK(status({"-r", "redis://" + host, "--password-file", empty.path()}) == 78);
  CHECK(status({"-r", "redis://" + host, "--password-file", "/nonexistent"}) == 78);
  CHECK(status({"-r", "redis://" + host}) == 77);
}

TEST_CASE("a password may hold any byte") {
  const std::string strange = "p@ss:w/or d?#%&\xc3\xa9\xff";
  Server server({.args = {"--requirepass", strange}});
  const std::string url = "redis://:p%40ss%3Aw%2For%20d%3F%23%25%26%C3%A9%FF@" + address(server);
  CHECK(run(rlock_argv("-r", url, "exec", "job", "--", "true")).status == 0);
  CHECK(run(rlock_argv("-r", "redis://" + address(server), "exec", "job", "--", "true"),
            {.env = {{"RLOCK_PASSWORD", strange}}})
            .status == 0);
}

TEST_CASE("R4: a server that repeats the words of AUTH does not make rlock show the password" *
          doctest::test_suite("R4")) {
  const Server server({.args = {"--rename-command", "AUTH", ""}});
  const PasswordFile file(k_secret);
  for (const Words& words : {Words{"list"}, {"exec", "job", "--", "true"}, {"doctor"}}) {
    const Result result = run(rlock_argv("-r", server.unix_url(), "--user", "ann",
                                         "--password-file", file.path(), words));
    check_hidden(result);
    CHECK(result.status == 76);
    CHECK(has(result.err, "unknown command"));
  }
}
