// Where settings come from: flags beat the environment, that beats the user's file.
// Labels: quick
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <doctest/doctest.h>

#include "support/net.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_secret = "s3cr3tHorse";
const std::string k_nowhere = "unix:///nonexistent/redis.sock";

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
    ::chmod((path_ + "/" + name).c_str(), 0600);
    return path_ + "/" + name;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result invoke(const Words& words, const EnvChanges& env) {
  return run(rlock_argv(words), {.env = env});
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

TEST_CASE("without XDG_CONFIG_HOME, or if it is relative, the file is in ~/.config") {
  Server server;
  const Home home;
  home.write(".config/rlock.toml", setting(server.unix_url()));
  const auto status = [&](const std::optional<std::string>& directory) {
    const EnvChanges env{{"HOME", home.path()}, {"XDG_CONFIG_HOME", directory}};
    return invoke({"inspect-queue", "job"}, env).status;
  };
  CHECK(status(std::nullopt) == 0);
  CHECK(status(".") == 0);
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
  CHECK(invoke({"--config", bad_time, "inspect-queue", "job"}, {}).status == 78);
  CHECK(
      invoke({"--config", bad_time, "--timeout", "1s", "-r", k_nowhere, "inspect-queue", "job"}, {})
          .status == 69);
}

TEST_CASE("a file that cannot be used is told by status 78 and one line, and no lock is left") {
  Server server;
  const Home home;
  const std::string shown = home.write("shown.toml", "redis = \"redis://:" + k_secret + "@h\"\n");
  const std::string password = home.write("password", k_secret + "\n");
  for (const std::string& file : {shown, password}) REQUIRE(::chmod(file.c_str(), 0644) == 0);
  for (const std::string& file :
       {home.path() + "/missing.toml", home.path(), shown, std::string("/dev/zero"),
        home.write("unknown.toml", "lease = \"1h\"\n"),
        home.write("twice.toml", "user='a'\nuser='b'"),
        home.write("section.toml", "[server]\nredis = \"x\"\n"),
        home.write("type.toml", "timeout = [1,2]\n"), home.write("url.toml", setting("http://h")),
        home.write("rubbish.toml",
                   "\x7f"
                   "ELF\x02\x01\n\n")}) {
    CAPTURE(file);
    for (const Words& words : {Words{"exec", "job", "--", "true"}, Words{"config"}}) {
      Words all{"--config", file};
      if (words[0] == "exec" && !has(file, "url")) {
        all.insert(all.end(), {"-r", server.unix_url()});
      }
      all.insert(all.end(), words.begin(), words.end());
      const Result result = invoke(all, {});
      CAPTURE(result.err);
      CHECK(result.status == 78);
      CHECK(result.out.empty());
      CHECK(is_one_message(result.err));
      CHECK(has(result.err, file));
      CHECK_FALSE(has(result.err, k_secret));
    }
  }
  const Result exposed = invoke(
      {"-r", server.unix_url(), "--password-file", password, "exec", "job", "--", "true"}, {});
  CHECK(exposed.status == 78);
  CHECK(is_one_message(exposed.err));
  CHECK(has(exposed.err, "chmod 600 " + password));
  CHECK(server.keys().empty());
}

TEST_CASE("a file that names a server is refused if others may write it") {
  Server server;
  const Home home;
  const std::string named = home.write("rlock.toml", setting(server.unix_url()));
  const std::string other = home.write("other.toml", "timeout = 5\n");
  for (const mode_t mode : {0660, 0606, 0666, 0620}) {
    for (const std::string& file : {named, other}) REQUIRE(::chmod(file.c_str(), mode) == 0);
    for (const EnvChanges& env :
         {EnvChanges{{"RLOCK_CONFIG", named}}, EnvChanges{{"XDG_CONFIG_HOME", home.path()}}}) {
      const Result result = invoke({"exec", "job", "--", "true"}, env);
      CAPTURE(result.err);
      CHECK(result.status == 78);
      CHECK(is_one_message(result.err));
      CHECK(has(result.err, "chmod go-w " + named));
    }
    CHECK(invoke({"--config", other, "-r", server.unix_url(), "exec", "job", "--", "true"}, {})
              .status == 0);
  }
  REQUIRE(::chmod(named.c_str(), 0644) == 0);
  CHECK(invoke({"--config", named, "exec", "job", "--", "true"}, {}).status == 0);
}

TEST_CASE("a password and settings may come out of a pipe") {
  Server server({.args = {"--requirepass", k_secret}});
  const std::string line = "exec \"$0\" --config <(echo 'redis = \"" + server.tcp_url() +
                           "\"') --password-file <(echo " + k_secret + ") ";
  for (const std::string command : {"inspect-queue job", "list", "watch --until free job"}) {
    const Result result = run({"bash", "-c", line + command, rlock_program()});
    CAPTURE(result.err);
    CHECK(result.status == 0);
  }
}

TEST_CASE("config shows each setting and where it comes from, asks no server and tells no secret") {
  const Home home;
  const std::string file =
      home.write("rlock.toml", "redis = [\"redis://joe:" + k_secret + "@a\", 'unix:///b']\n" +
                                   "timeout = 5\nuser = 'say \"hi\"'\ntls-ca = '/ca.pem'\n");
  const EnvChanges env{{"XDG_CONFIG_HOME", home.path()},
                       {"RLOCK_PASSWORD", k_secret},
                       {"RLOCK_TLS_CERT", "/cert"},
                       {"NO_COLOR", "1"}};
  const Result text = invoke({"config", "--tls-key", "/key"}, env);
  CAPTURE(text.err);
  CHECK(text.status == 0);
  CHECK(text.err.empty());
  const std::string from_file = "  # " + file + "\n";
  CHECK(text.out.ends_with(
      "\nredis = [\"redis://joe:***@a:6379\", \"unix:///b\"]" + from_file + "timeout = \"5\"" +
      from_file + "wait-server = \"0s\"  # default\nuser = 'say \"hi\"'" + from_file +
      "# password = \"***\"  # RLOCK_PASSWORD\n" + "tls-ca = \"/ca.pem\"" + from_file +
      "tls-cert = \"/cert\"  # RLOCK_TLS_CERT\n"
      "tls-key = \"/key\"  # flag\n"
      "color = \"never\"  # NO_COLOR\n"));
  CHECK(has(text.out, "# read: " + file + "\n"));
  CHECK_FALSE(has(text.out, k_secret));

  const Result json = invoke({"config", "--json", "--tls-key", "/key"}, env);
  CHECK(json.status == 0);
  CHECK(
      json.out.starts_with("{\"name\":\"redis\",\"value\":\"redis://joe:***@a:6379 "
                           "unix:///b\",\"source\":\"" +
                           file + "\"}\n{\"name\":\"timeout\",\"value\":\"5\","));
  CHECK(has(json.out, "{\"name\":\"password\",\"value\":\"***\",\"source\":\"RLOCK_PASSWORD\"}\n"));
  CHECK(std::count(json.out.begin(), json.out.end(), '\n') == 9);
  CHECK_FALSE(has(json.out, k_secret));
}

TEST_CASE("what config prints is a configuration file that means the same") {
  const Home home;
  const std::string file =
      home.write("a.toml",
                 "redis = 'redis-sentinel://s1,s2#main'\nuser = \"it's \\\"\\u00e9\\\"\"\n"
                 "tls-ca = \"/a\\tb\\u202e\\u007f\"\ncolor = 'always'\n");
  const auto lines = [](std::string text) {  // without sources
    std::string kept;
    while (!text.empty()) {
      const std::string line = text.substr(0, text.find('\n'));
      if (!line.starts_with("# ")) kept += line.substr(0, line.rfind("  # ")) + "\n";
      text.erase(0, line.size() + 1);
    }
    return kept;
  };
  const Result first = invoke({"config", "--config", file}, {});
  REQUIRE(first.status == 0);
  CHECK(lines(first.out) ==
        "redis = \"redis-sentinel://s1:26379,s2:26379#main\"\ntimeout = \"3s\"\nwait-server = "
        "\"0s\"\n"
        "user = \"it's \\\"\xc3\xa9\\\"\"\n"
        "tls-ca = \"/a\\u0009b\\u202e\\u007f\"\ncolor = \"always\"\n");
  const Result second = invoke({"config", "--config", home.write("b.toml", first.out)}, {});
  CHECK(second.status == 0);
  CHECK(lines(second.out) == lines(first.out));
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
    CHECK(has(line, name));
    CHECK(has(line, " db=" + db + " "));
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

TEST_CASE("a command that looks at one server says so, wherever several are named") {
  const Home home;
  const std::string a = k_nowhere;
  const std::string b = "unix:///nonexistent/other.sock";
  const std::string file = home.write("two.toml", "redis = [\"" + a + "\", \"" + b + "\"]\n");
  for (const Words& command :
       {Words{"list"}, Words{"doctor"}, Words{"watch", "job"}, Words{"evict", "job", "o:1"}}) {
    CAPTURE(command[0]);
    const auto check = [&](const Words& options, const EnvChanges& env, const std::string& source) {
      Words words = command;
      words.insert(words.end(), options.begin(), options.end());
      const Result result = invoke(words, env);
      CHECK(result.status == 64);
      CHECK(result.out.empty());
      CHECK(result.err == "rlock: " + command[0] +
                              ": looks at one server; use -r to choose one of the 2 (" + source +
                              ")\n");
    };
    check({"-r", a, "-r", b}, {}, "--redis");
    check({}, {{"RLOCK_REDIS", a + " " + b}}, "RLOCK_REDIS");
    check({}, {{"RLOCK_CONFIG", file}}, file + ": line 1: redis");
    // The one that is chosen is asked.
    Words chosen = command;
    chosen.insert(chosen.end(), {"-r", a});
    CHECK(invoke(chosen, {{"RLOCK_REDIS", a + " " + b}}).status == 69);
  }
}
