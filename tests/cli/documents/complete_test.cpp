// What the shells offer of the locks on the server: in time, without a word, and quoted such that a
// name means itself, whatever is in it.
// Labels: unsanitized
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <doctest/doctest.h>

#include "support/contents.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

const std::string k_nowhere = "unix:///nonexistent/redis.sock";
const std::string k_owner = "11111111-2222-3333-4444-555555555555:7";  // its beginning is typed

// Each starts with two letters of its own. `touch pwned` would leave a file.
const Words k_names = {"k1 two  words",   "k2it's",
                       "k3 \"double\"",   "k4$(touch pwned)",
                       "k5`touch pwned`", "k6;touch pwned",
                       "k7&&x|y>z<(w)",   "k8*?[a]{b,c}",
                       "k9\\back\\",      "ka\xc3\xa9\xe2\x9c\x93",
                       "kb:c:d/e",        "kc=d@e",
                       "kd!!x#y",         "ke~$HOME%s^",
                       "kf new\nline",    "kg'$(touch pwned)'"};

Words split_at_nul(const std::string& text) {
  Words words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, '\0');) words.push_back(word);
  return words;
}

void take(const Server& server, const std::string& name) {
  const Result result = run(
      rlock_argv("-r", server.unix_url(), "acquire", "--no-watchdog", "--lease", "1h", "--", name));
  CAPTURE(result.err);
  REQUIRE(result.status == 0);
}

// A directory with a program `rlock` that writes its arguments down, except for __complete.
class Place {
 public:
  Place() {
    std::string path = "/tmp/rlock-shell-XXXXXX";
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    path_ = path;
    std::filesystem::create_directories(path_ + "/bin");
    write("bin/rlock", "#!/bin/sh\nif [ \"$1\" = __complete ]; then exec '" + rlock_program() +
                           "' \"$@\"; fi\nprintf '%s\\0' \"$@\" >'" + path_ + "/said.new'\nmv '" +
                           path_ + "/said.new' '" + path_ + "/said'\n");
    REQUIRE(::chmod((path_ + "/bin/rlock").c_str(), 0700) == 0);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name) << text;
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(path_ + "/" + name);
  }
  // What the program was called with, since the last time.
  std::optional<Words> said() const {
    if (!has("said")) return std::nullopt;
    const std::string text = contents(path_ + "/said");
    std::filesystem::remove(path_ + "/said");
    return split_at_nul(text);
  }
  [[nodiscard]] EnvChanges env(const std::string& url) const {
    return {{"PATH", path_ + "/bin:" + std::getenv("PATH")},
            {"HOME", path_},
            {"XDG_CONFIG_HOME", path_ + "/.config"},
            {"XDG_DATA_HOME", path_ + "/.local"},
            {"ZDOTDIR", path_},
            {"HISTFILE", std::nullopt},
            {"RLOCK_REDIS", url},
            {"LC_ALL", "C.UTF-8"}};
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// An interactive shell, with the completions.
class Shell {
 public:
  Shell(const std::string& name, const std::string& url) : name_(name) {
    const std::string completions = RLOCK_SOURCE_DIR "/completions";
    place_.write(
        "rc", "source " + completions + "/rlock.bash\nbind 'set bell-style none'\nPS1='READY>'\n");
    place_.write(".zshrc", "fpath=(" + completions +
                               " $fpath)\nautoload -Uz compinit\ncompinit -u -D\nunsetopt beep "
                               "flow_control\nPS1='READY>'\n");
    const Words argv = name == "bash"
                           ? Words{"bash", "--noprofile", "--rcfile", place_.path() + "/rc", "-i"}
                           : Words{"zsh", "-d", "-i"};
    pty_ = std::make_unique<Pty>(
        argv, PtyOptions{.env = place_.env(url), .cwd = place_.path(), .columns = 200});
    pty_->expect("READY>");
  }

  // Types a line, a tab and Enter. Returns what rlock was called with then; nothing if it was not,
  // as behind a quote that was left open.
  Words complete(const std::string& line) {
    pty_->type(line + "\t\r");
    std::optional<Words> said;
    const auto is_called = [&] {
      pty_->output();
      said = place_.said();
      return said.has_value();
    };
    const bool is_open = line.find_first_of("'\"") != std::string::npos;
    if (!wait_until(is_called, is_open ? 10s : 60s)) pty_->type("\x03");
    pty_->expect("READY>");
    return said.value_or(Words{});
  }

  // The same, until there was an offer: on a busy machine the time may not have been enough.
  void check(const std::string& line, const Words& expected) {
    Words found;
    wait_until([&] {
      found = complete(line);
      return found == expected || !(found.empty() || expected.back().starts_with(found.back()));
    });
    std::string shown;
    for (const std::string& word : found) shown += "<" + word + ">";
    CAPTURE(name_);
    CAPTURE(line);
    CAPTURE(shown);
    CHECK(found == expected);
    CHECK_FALSE(place_.has("pwned"));
  }

  [[nodiscard]] const Place& place() const { return place_; }

 private:
  std::string name_;
  Place place_;
  std::unique_ptr<Pty> pty_;
};

Words offers(const Words& words, const EnvChanges& env) {
  Words argv = rlock_argv("__complete", words);
  const Result result = run(argv, {.env = env}, 30s);
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  return split_at_nul(result.out);
}

}  // namespace

TEST_CASE("bash and zsh insert each name quoted, so that it means itself and runs nothing") {
  Server server;
  for (const std::string& name : k_names) take(server, name);
  take(server, "-k");
  for (const char* shell_name : {"bash", "zsh"}) {
    Shell shell(shell_name, server.unix_url());
    for (const std::string& name : k_names) {
      shell.check("rlock unlock " + name.substr(0, 2), {"unlock", name});
    }
    // Begun in quotes, behind a word break, with what a shell would expand, behind `--`.
    shell.check("rlock watch 'k1 t", {"watch", "k1 two  words"});
    shell.check("rlock watch \"k4", {"watch", "k4$(touch pwned)"});
    shell.check("rlock watch k1\\ t", {"watch", "k1 two  words"});
    shell.check("rlock watch kb:c", {"watch", "kb:c:d/e"});
    shell.check("rlock watch k8\\*", {"watch", "k8*?[a]{b,c}"});
    shell.check("rlock watch k4\\$\\(", {"watch", "k4$(touch pwned)"});
    shell.check("rlock unlock -- -", {"unlock", "--", "-k"});
    shell.check("rlock -q exec kz kc", {"-q", "exec", "kz", "kc=d@e"});
    // zsh sees a variable before the command, which may name another server.
    if (shell_name == std::string("zsh")) {
      CHECK(shell.complete("RLOCK_REDIS=" + k_nowhere + " rlock unlock k1") ==
            Words{"unlock", "k1"});
    }
  }
}

TEST_CASE("the server is the one that the line names, and nothing on the line is run for it") {
  Server server({.args = {"--requirepass", "pa ss"}});
  server.command({"HSET", "job:1", k_owner, "1"});
  for (const char* shell_name : {"bash", "zsh"}) {
    Shell shell(shell_name, k_nowhere);
    shell.place().write("conf ig.toml", "redis = \"" + server.tcp_url() + "\"\n");
    shell.place().write("password", "pa ss\n");
    REQUIRE(::chmod((shell.place().path() + "/password").c_str(), 0600) == 0);
    const std::string url = server.tcp_url();
    const std::string full = "redis://:pa%20ss@" + url.substr(url.rfind('/') + 1);
    shell.check("rlock -r " + full + " unlock jo", {"-r", full, "unlock", "job:1"});
    shell.check("rlock unlock --redis=" + full + " jo", {"unlock", "--redis=" + full, "job:1"});
    // Also behind the cursor, and together with other letters.
    const std::string back(full.size() + 4, '\x02');  // Ctrl-B: a column to the left
    shell.check("rlock unlock jo -r " + full + back, {"unlock", "job:1", "-r", full});
    shell.check("rlock -qr " + full + " unlock jo", {"-qr", full, "unlock", "job:1"});
    // The variable beats the file.
    shell.check("rlock unlock --config conf\\ ig.toml --password-file ~/password -r " + url + " jo",
                {"unlock", "--config", "conf ig.toml", "--password-file",
                 shell.place().path() + "/password", "-r", url, "job:1"});
    shell.check("rlock -r " + full + " unlock job:1 --owner 1",
                {"-r", full, "unlock", "job:1", "--owner", k_owner});
    shell.check("rlock -r " + full + " unlock job:1 --owner=" + k_owner.substr(0, 37),
                {"-r", full, "unlock", "job:1", "--owner=" + k_owner});
    shell.check("rlock -r " + full + " unlock --owner 1",
                {"-r", full, "unlock", "--owner", k_owner});
  }
  // Completion alone, without Enter: what the line would run is not run.
  Place place;
  const Result result =
      run({"bash", "--norc", "-c",
           "source \"$0/completions/rlock.bash\"; COMP_LINE='rlock -r $(touch pwned) unlock j' "
           "COMP_WORDS=(rlock -r '$(touch pwned)' unlock j) COMP_CWORD=4; _rlock; echo "
           "\"${COMPREPLY[*]}\"",
           RLOCK_SOURCE_DIR},
          {.env = place.env(server.unix_url()), .cwd = place.path()});
  CHECK(result.out == "\n");
  CHECK_FALSE(place.has("pwned"));
}

TEST_CASE("fish inserts each name quoted, knows the line's server, and owners") {
  if (run({"sh", "-c", "command -v fish"}).status != 0) return;
  Server server;
  for (const std::string& name : k_names) take(server, name);
  take(server, "-k");
  server.command({"HSET", "job", k_owner, "1"});
  Place place;
  const auto check = [&](const std::string& line, const Words& expected, const std::string& url) {
    CAPTURE(line);
    Words found;
    std::string err;
    wait_until([&] {
      // What fish would insert for the last word, taken for what was typed.
      const Result result = run(
          {"fish", "-c",
           "source $argv[1]/completions/rlock.fish; set -l offers (complete -C --escape $argv[2]); "
           "test (count $offers) -eq 1; and eval (string replace -r -- '[^ =]*$' '' $argv[2] | "
           "string collect)(string split -m1 -f1 \\t -- $offers[1] | string replace -r -- "
           "'^--owner=' '' | string collect); true",
           RLOCK_SOURCE_DIR, line},
          {.env = place.env(url), .cwd = place.path()});
      err = result.err;
      const auto said = place.said();
      if (said) found = *said;
      return said.has_value();
    });
    CAPTURE(err);
    CHECK(found == expected);
    CHECK_FALSE(place.has("pwned"));
  };
  for (const std::string& name : k_names) {
    check("rlock unlock " + name.substr(0, 2), {"unlock", name}, server.unix_url());
  }
  check("rlock unlock -- -", {"unlock", "--", "-k"}, server.unix_url());
  check("rlock -r " + server.tcp_url() + " unlock job --owner 1",
        {"-r", server.tcp_url(), "unlock", "job", "--owner", k_owner}, k_nowhere);
  check("rlock -qvr " + server.tcp_url() + " unlock job --owner 1",
        {"-qvr", server.tcp_url(), "unlock", "job", "--owner", k_owner}, k_nowhere);
  check("rlock unlock --owner=11111111-2222", {"unlock", "--owner=" + k_owner}, server.unix_url());
}

TEST_CASE("names, holders and waiters are offered, those that begin as the word does") {
  Server server;
  const EnvChanges env{{"RLOCK_REDIS", server.unix_url()}};
  const auto becomes = [&](const Words& words, const Words& expected) {
    Words found;
    wait_until([&] { return (found = offers(words, env)) == expected; });
    CHECK(found == expected);
  };
  Process holder(rlock_argv("-r", server.unix_url(), "exec", "--fair", "job", "--", "cat"),
                 {.hold_stdin = true});
  REQUIRE(wait_until([&] { return server.command({"HLEN", "job"}) == "1"; }));
  Process waiter(rlock_argv("-r", server.unix_url(), "exec", "--fair", "job", "--", "true"));
  const std::string queue = "redisson_lock_queue:{job}";
  REQUIRE(wait_until([&] { return server.command({"LLEN", queue}) == "1"; }));
  take(server, "job*");
  take(server, "other");
  const std::string owner = server.command({"HKEYS", "job"});
  const std::string next = server.command({"LINDEX", queue, "0"});
  becomes({"names", "--", ""}, {"job", "job*", "other"});
  becomes({"names", "--", "job*"}, {"job*"});
  becomes({"names", "--", "x"}, {});
  becomes({"holders", "--", "", "job"}, {owner});
  becomes({"holders", "--", owner.substr(0, 9), "job"}, {owner});
  becomes({"waiters", "--", "", "job"}, {next});
  becomes({"waiters", "--", "-", "job"}, {});
  CHECK(wait_until([&] { return offers({"holders", "--", ""}, env).size() == 3; }));
  server.command(
      {"EVAL", "for i = 1, 1500 do redis.call('hset', 'many' .. i, ARGV[1], 1) end", "0", k_owner});
  // Never more, however many there are; how many within the time, the machine decides.
  std::size_t count = 0;
  CHECK(wait_until([&] { return (count = offers({"names", "--", "many"}, env).size()) > 0; }));
  CHECK(count <= 1000);
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  CHECK(waiter.wait().status == 0);
}

TEST_CASE("a server that is away, hangs or refuses gives no offer, no message and no wait") {
  Server server({.args = {"--requirepass", "secret"}});
  const EnvChanges patient{{"RLOCK_TIMEOUT", "1h"}};  // its own bound is what ends it
  const auto nothing = [&](const Words& options, const EnvChanges& env = {}) {
    CAPTURE(options.back());
    for (const Words& what : {Words{"names", "--", ""}, Words{"holders", "--", "", "job"}}) {
      Words words = options;
      words.insert(words.end(), what.begin(), what.end());
      EnvChanges all = patient;
      all.insert(env.begin(), env.end());
      CHECK(offers(words, all).empty());
    }
  };
  Place place;
  const std::string pipe = place.path() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  nothing({"-r", k_nowhere});
  nothing({"-r", server.tcp_url()});
  nothing({"-r", server.tcp_url(), "--password-file", pipe});  // it is for the command to come
  nothing({"-r", "nonsense"});
  nothing({"--config", "/nonexistent"});
  nothing({"-r", "local:" + place.path() + "/none"});
  CHECK_FALSE(place.has("none"));
  server.pause();
  nothing({"-r", server.tcp_url()}, {{"RLOCK_PASSWORD", "secret"}});
  nothing({"-r", server.unix_url()}, {{"RLOCK_PASSWORD", "secret"}});
  // Of two, the one that answers is heard.
  Server other;
  other.command({"HSET", "job", k_owner, "1"});
  CHECK(wait_until([&] {
    return offers({"-r", server.unix_url(), "-r", other.unix_url(), "names", "--", ""}, patient) ==
           Words{"job"};
  }));
  for (const char* shell_name : {"bash", "zsh"}) {
    Shell shell(shell_name, server.unix_url());
    CHECK(shell.complete("rlock unlock jo") == Words{"unlock", "jo"});
  }
  server.resume();
}
