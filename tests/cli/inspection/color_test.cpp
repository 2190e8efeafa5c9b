// --color: what list, doctor and watch print in colour, and where there must be none.
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/foreign_owner.hpp"
#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/terminal_model.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_red = "\x1b[31m";
const std::string k_green = "\x1b[32m";
const std::string k_yellow = "\x1b[33m";
const std::string k_end = "\x1b[0m";

// What is left without the colours.
std::string plain(std::string text) {
  for (const std::string& sequence : {k_red, k_green, k_yellow, k_end}) {
    for (std::size_t at = 0; (at = text.find(sequence, at)) != std::string::npos;) {
      text.erase(at, sequence.size());
    }
  }
  return text;
}

// A lock with a problem, one without, and one that is free and has a waiter.
void make_locks(const Server& server) {
  server.command({"HSET", "bad", k_foreign_owner, "1"});
  server.command({"HSET", "good", k_foreign_owner, "1"});
  server.command({"PEXPIRE", "good", "3600000"});
}

}  // namespace

TEST_CASE("--color: list paints state and problems, and stays aligned") {
  const Server server;
  make_locks(server);
  const std::string out = run(argv_for(server, {"list", "--color", "always"})).out;
  CHECK(has(out, "  " + k_yellow + "held" + k_end + "   "));
  CHECK(has(out, "  " + k_red + "no_expiry" + k_end + "\n"));
  const std::string never = run(argv_for(server, {"list", "--color=never"})).out;
  CHECK_FALSE(has(never, "\x1b"));
  CHECK(has(never, "no_expiry\n"));
  // The TTL goes down meanwhile.
  CHECK(plain(out).substr(0, out.find('\n')) == never.substr(0, never.find('\n')));
  CHECK(plain(out).size() == never.size());
  CHECK(plain(out).find("no_expiry") == never.find("no_expiry"));
}

TEST_CASE("--color: without an option only on a terminal that can show it, and never in JSON") {
  const Server server;
  make_locks(server);
  const std::string file = server.directory() + "/rlock.toml";
  std::ofstream(file) << "color = \"always\"\n";
  const EnvChanges no_color{{"NO_COLOR", "1"}};
  const EnvChanges settings{{"RLOCK_CONFIG", file}};
  const EnvChanges both{{"NO_COLOR", "1"}, {"RLOCK_CONFIG", file}};
  for (Words command :
       {Words{"list"}, Words{"doctor"}, Words{"watch", "--for", "0", "bad", "good"}}) {
    CAPTURE(command[0]);
    const auto piped = [&](const Words& options, const EnvChanges& env = {}) {
      Words words = command;
      words.insert(words.end(), options.begin(), options.end());
      return has(run(argv_for(server, words), {.env = env}).out, "\x1b[3");
    };
    CHECK_FALSE(piped({}));
    CHECK(piped({"--color", "always"}));
    CHECK_FALSE(piped({"--color", "always", "--json"}));
    CHECK_FALSE(piped({"--color", "auto"}, settings));
    CHECK(piped({}, settings));
    CHECK_FALSE(piped({}, both));
    CHECK(piped({"--color", "always"}, no_color));
    // The screen is shown only if there is time for it.
    if (command[0] == "watch") command[2] = "3";
    const auto on_terminal = [&](const Words& options, const EnvChanges& env = {}) {
      Words words = command;
      words.insert(words.end(), options.begin(), options.end());
      return has(Pty(argv_for(server, words), {.env = env}).wait().out, "\x1b[3");
    };
    CHECK(on_terminal({}));
    CHECK_FALSE(on_terminal({"--color", "never"}));
    CHECK_FALSE(on_terminal({"--json"}));
    CHECK_FALSE(on_terminal({}, no_color));
    CHECK(on_terminal({"--color", "auto"}, no_color));
    CHECK_FALSE(on_terminal({}, {{"TERM", "dumb"}}));
  }
}

TEST_CASE("--color: doctor paints what is wrong, and that nothing is") {
  const Server server({.args = {"--appendonly", "yes", "--appendfsync", "always"}});
  std::string out = run(argv_for(server, {"doctor", "--color", "always"})).out;
  CHECK(has(out, ": " + k_green + "healthy" + k_end));
  make_locks(server);
  out = run(argv_for(server, {"doctor", "--color", "always"})).out;
  CHECK(has(out, "bad: " + k_red + "problem: no_expiry" + k_end + "\n"));
  CHECK(has(out, "1 problem"));
  CHECK(has(out, "    hint: rlock "));
}

TEST_CASE("--color: the lines of watch, and its screen at any width") {
  const Server server;
  make_locks(server);
  const std::string out =
      run(argv_for(server, {"watch", "--color", "always", "--for", "0", "good", "none"})).out;
  CHECK(has(out, " good " + k_yellow + "is held by "));
  CHECK(has(out, " none " + k_green + "is free" + k_end + "\n"));
  for (const auto columns : std::vector<unsigned short>{200, 80, 20, 5}) {
    CAPTURE(columns);
    Pty pty(argv_for(server, {"watch", "--for", "3", "bad", "good", "none"}), {.columns = columns});
    const Result result = pty.wait();
    TerminalModel model(columns, 24);
    model.feed(result.out.substr(0, result.out.rfind("\x1b[?1049l")));
    CHECK(model.faults().empty());
    if (columns >= 20) {
      for (const std::string& color : {k_red, k_green, k_yellow}) CHECK(has(result.out, color));
    }
    if (columns >= 80) {
      CHECK(has(result.out, "good  " + k_yellow + "held (reentrant), expires in "));
      CHECK(has(result.out, "none  " + k_green + "free" + k_end));
      CHECK(has(model.text(), "  problem   no_expiry: "));
    }
  }
}
