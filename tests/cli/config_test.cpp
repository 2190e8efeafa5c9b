// Where settings come from: flags beat the environment, that beats the user's file.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/net.hpp"
#include "support/process.hpp"
#include "support/server.hpp"

using namespace rlock::test;

namespace {

using Words = std::vector<std::string>;

const std::string k_nowhere = "unix:///nonexistent/redis.sock";

bool is_one_message(const std::string& text) {
  return text.starts_with("rlock: ") && text.ends_with('\n') &&
         std::count(text.begin(), text.end(), '\n') == 1;
}

// A directory with settings, gone at the end.
class Home {
 public:
  Home() {
    std::string path = "/tmp/rlock-home-XXXXXX";
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  ~Home() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(
        (path_ + "/" + name).substr(0, (path_ + "/" + name).rfind('/')));
    std::ofstream(path_ + "/" + name) << text;
    return path_ + "/" + name;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result invoke(const Words& words, const EnvChanges& env) {
  Words argv = rlock_argv();
  argv.insert(argv.end(), words.begin(), words.end());
  return run(argv, {.env = env});
}

std::string setting(const std::string& url) { return "redis = \"" + url + "\"\n"; }

}  // namespace

TEST_CASE("flags beat the environment, the environment beats files") {
  Server server;
  const Home home;
  home.write("rlock.toml", setting(server.unix_url()));
  const std::string bad = home.write("bad.toml", setting(k_nowhere));
  const Words inspect{"inspect-queue", "job"};
  const auto status = [&](Words words, EnvChanges env) {
    words.insert(words.end(), inspect.begin(), inspect.end());
    return invoke(words, env).status;
  };
  CHECK(status({}, {{"XDG_CONFIG_HOME", home.path()}}) == 0);
  CHECK(status({}, {{"XDG_CONFIG_HOME", home.path()}, {"RLOCK_REDIS", k_nowhere}}) == 69);
  CHECK(status({"-r", server.unix_url()},
               {{"XDG_CONFIG_HOME", home.path()}, {"RLOCK_REDIS", k_nowhere}}) == 0);
  CHECK(status({"-r", k_nowhere}, {{"XDG_CONFIG_HOME", home.path()}}) == 69);
  CHECK(status({"--config", bad}, {{"XDG_CONFIG_HOME", home.path()}}) == 69);
  CHECK(status({}, {{"XDG_CONFIG_HOME", home.path()}, {"RLOCK_CONFIG", bad}}) == 69);
  CHECK(status({"--config", home.path() + "/rlock.toml"}, {{"RLOCK_CONFIG", bad}}) == 0);
  CHECK(status({"--config", bad}, {{"RLOCK_REDIS", server.unix_url()}}) == 0);
  CHECK(status({}, {{"XDG_CONFIG_HOME", home.path()}, {"RLOCK_REDIS", ""}}) == 0);
}

TEST_CASE("without XDG_CONFIG_HOME the file is in ~/.config") {
  Server server;
  const Home home;
  home.write(".config/rlock.toml", setting(server.unix_url()));
  CHECK(invoke({"inspect-queue", "job"}, {{"HOME", home.path()}, {"XDG_CONFIG_HOME", std::nullopt}})
            .status == 0);
}

TEST_CASE("a file may hold the other settings, too") {
  Server server({.args = {"--requirepass", "right"}});
  const Home home;
  const std::string password = home.write("password", "right\n");
  const std::string file =
      home.write("all.toml", "# comment\n" + setting(server.tcp_url()) +
                                 "timeout = \"2s\"\nuser = \"default\"\n" + "password-file = \"" +
                                 password + "\"\ncolor = \"never\"\n");
  CHECK(invoke({"--config", file, "inspect-queue", "job"}, {}).status == 0);
  // The environment's password comes first.
  CHECK(invoke({"--config", file, "inspect-queue", "job"}, {{"RLOCK_PASSWORD", "wrong"}}).status ==
        77);
  const std::string bad_time = home.write("time.toml", "timeout = \"soon\"\n");
  CHECK(invoke({"--config", bad_time, "inspect-queue", "job"}, {}).status == 64);
  CHECK(
      invoke({"--config", bad_time, "--timeout", "1s", "-r", k_nowhere, "inspect-queue", "job"}, {})
          .status == 69);
}

TEST_CASE("a file that cannot be used is told by status 78 and one line") {
  const Home home;
  for (const std::string& file :
       {home.path() + "/missing.toml", home.write("unknown.toml", "lease = \"1h\"\n"),
        home.write("section.toml", "[server]\nredis = \"x\"\n")}) {
    CAPTURE(file);
    const Result result = invoke({"--config", file, "inspect-queue", "job"}, {});
    CAPTURE(result.err);
    CHECK(result.status == 78);
    CHECK(is_one_message(result.err));
    CHECK(result.err.find(file) != std::string::npos);
  }
}

TEST_CASE("the database, IPv6, several addresses and the client's name") {
  Server server;
  const std::string port = std::to_string(server.port());
  const auto holds = [&](const std::string& url, const std::string& db) {
    CAPTURE(url);
    Process job(
        rlock_argv("exec", "-r", url, "job", "--", "sh", "-c", "echo ready; cat > /dev/null"),
        {.hold_stdin = true});
    job.wait_for_stdout("ready");
    const std::string clients = server.command({"CLIENT", "LIST"});
    const std::string name = ":" + std::to_string(job.pid()) + " ";
    const std::size_t at = clients.find("name=rlock:");
    REQUIRE(at != std::string::npos);
    const std::string line = clients.substr(at, clients.find('\n', at) - at);
    CHECK(line.find(name) != std::string::npos);
    CHECK(line.find(" db=" + db + " ") != std::string::npos);
    CHECK(server.keys().empty() == (db != "0"));
    job.close_stdin();
    CHECK(job.wait().status == 0);
  };
  holds("redis://localhost:" + port, "0");
  holds("redis://127.0.0.1:" + port + "/3", "3");
  holds("REDIS://127.0.0.1:" + port + "/", "0");
  holds(server.unix_url() + "?db=7", "7");
  if (has_ipv6()) holds("redis://[::1]:" + port + "/2", "2");
  const Result result =
      run(rlock_argv("exec", "-r", "redis://127.0.0.1:" + port + "/9999", "job", "--", "true"));
  CHECK(result.status == 78);
  CHECK(is_one_message(result.err));
}
