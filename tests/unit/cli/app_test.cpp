#include "cli/app.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "support/words.hpp"

using namespace rlock;
using rlock::test::has;

namespace {

// What the parser says against the words behind "rlock"; empty if it takes them.
std::string complaint(const std::vector<const char*>& words) {
  std::vector<const char*> argv{"rlock"};
  argv.insert(argv.end(), words.begin(), words.end());
  try {
    const auto action = cli::parse(static_cast<int>(argv.size()), argv.data());
    CHECK(action);
    return "";
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::usage);
    return error.what();
  }
}

}  // namespace

TEST_CASE("good command lines are understood") {
  CHECK(complaint({"exec", "job", "--", "true"}).empty());
  CHECK(complaint({"exec", "-n", "a", "b", "--", "watch", "-n1", "--help", "--", "date"}).empty());
  CHECK(complaint({"exec", "job", "-c", "echo hi"}).empty());
  CHECK(complaint({"acquire", "--no-watchdog", "job"}).empty());
  CHECK(complaint({"renew", "--owner", "x", "job"}).empty());
  CHECK(complaint({"unlock", "--force", "job"}).empty());
  CHECK(complaint({"unlock", "--owner", "x", "job"}).empty());
  CHECK(complaint({"inspect-queue", "job"}).empty());
  CHECK(complaint({"watch", "a", "b"}).empty());
  CHECK(complaint({"list"}).empty());
  CHECK(complaint({"list", "--stuck", "--simple", "lock:*", "[a-c]*"}).empty());
  CHECK(complaint({"--help"}).empty());
  CHECK(complaint({"--version"}).empty());
  CHECK(complaint({"exec", "--help"}).empty());
}

TEST_CASE("global options stand before or behind the command's name") {
  CHECK(complaint({"-r", "redis://h", "--json", "inspect-queue", "job"}).empty());
  CHECK(complaint({"inspect-queue", "job", "-r", "redis://h", "--json"}).empty());
  CHECK(complaint({"exec", "--timeout", "1s", "job", "-q", "--", "true"}).empty());
  CHECK(complaint({"exec", "-nqw5s", "job", "--", "true"}).empty());
  CHECK(complaint({"-r", "redis://a", "-r", "redis://b", "inspect-queue", "job"}).empty());
}

TEST_CASE("a name may look like an option, behind two dashes") {
  CHECK(complaint({"inspect-queue", "--", "-job"}).empty());
  CHECK(complaint({"unlock", "--force", "--", "--help"}).empty());
}

TEST_CASE("a lock and an owner may have the name of a command") {
  CHECK(complaint({"unlock", "--owner", "exec", "--", "job"}).empty());
  CHECK(complaint({"inspect-queue", "exec"}).empty());
  CHECK(complaint({"watch", "--", "exec", "-job"}).empty());
  CHECK(complaint({"exec", "exec", "watch", "--", "exec", "--", "x"}).empty());
}

TEST_CASE("a global option's value may be the name of a command") {
  CHECK(complaint({"--user", "list", "exec", "job", "--", "echo", "x", "--", "y"}).empty());
  CHECK(complaint({"--config", "exec", "exec", "exec", "--", "true"}).empty());
  CHECK(complaint({"-qr", "watch", "list"}).empty());
  CHECK(complaint({"--user=", "--password-file=", "exec", "-n", "job", "--", "true"}).empty());
}

TEST_CASE("bad command lines are refused with a hint") {
  CHECK(complaint({"--fair", "exec", "a", "--", "true"}) ==
        "'--fair' is an option of exec: put it after 'exec' (see rlock exec --help)");
  CHECK(complaint({"-n", "exec", "a", "--", "true"}) ==
        "'-n' is an option of exec: put it after 'exec' (see rlock exec --help)");

  CHECK(complaint({"-n", "job", "--", "true"}) ==
        "'-n' is an option of exec: put it after 'exec' (see rlock --help)");

  CHECK(has(complaint({"frobnicate"}), "(see rlock --help)"));
  CHECK(has(complaint({"inspect-queue"}), "NAME"));
  CHECK(has(complaint({"inspect-queue", "job", "--nonsense"}), "(see rlock inspect-queue"));
  CHECK(has(complaint({"exec", "--on-lost", "panic", "job", "--", "true"}), "--on-lost"));
  CHECK_FALSE(complaint({"unlock", "--yes", "--owner", "x", "job"}).empty());
  CHECK_FALSE(complaint({"--color", "pink", "inspect-queue", "job"}).empty());
}

TEST_CASE("words of other tools are told the command of rlock") {
  for (const auto& [words, meant] : std::vector<std::pair<std::vector<const char*>, std::string>>{
           {{"lock", "job"}, "'exec' or 'acquire'"},
           {{"ls"}, "'list'"},
           {{"status"}, "'inspect-queue' for one lock, or 'list' for all"},
           {{"inspect", "job"}, "'inspect-queue'"},
           {{"nightly", "--", "true"}, "'rlock exec nightly -- true'"},
           {{"nightly", "--", "list"}, "'rlock exec nightly -- list'"},
           {{"complete", "zsh"}, "'completion'"},
           {{"-q", "my job", "--", "a b", "c"}, "'rlock exec 'my job' -- 'a b' ...'"}}) {
    CAPTURE(words[0]);
    CHECK(has(complaint(words), "; did you mean " + meant + "? (see rlock --help)"));
  }
  CHECK(complaint({"nightly", "--"}) == "unknown command 'nightly' (see rlock --help)");
}

TEST_CASE("a name in the place of exec is told the command line with exec") {
  for (const auto& [words, meant] : std::vector<std::pair<std::vector<const char*>, std::string>>{
           {{"nightly", "weekly", "--", "x"}, "'rlock exec nightly weekly -- x'"},
           {{"nightly", "-w", "5", "--", "x", "y"}, "'rlock exec nightly -w 5 -- x ...'"},
           // With a command, what is only written or used like a name of a command counts as a
           // lock.
           {{"clock", "--", "job"}, "'rlock exec clock -- job'"},
           {{"fetch", "--", "job"}, "'rlock exec fetch -- job'"},
           {{"release", "--", "job"}, "'rlock exec release -- job'"},
           {{"redis", "--", "job"}, "'rlock exec redis -- job'"},
           {{"flock", "job", "--", "true"}, "'exec'"},
           {{"hold", "job", "--", "true"}, "'exec' or 'acquire'"},
           {{"exce", "job", "--", "true"}, "'exec'"},
           // Without `--`.
           {{"clock", "job"}, "'unlock'"},
           {{"flock", "job"}, "'exec'"},
           {{"nightly", "cmd"}, "'rlock exec nightly -- cmd'"},
           {{"nightly", "a b", "-x"}, "'rlock exec nightly -- 'a b' ...'"},
           {{"nightly", "-c", "a && b"}, "'rlock exec nightly -c 'a && b''"},
           {{"nightly", "bash", "-c", "a"}, "'rlock exec nightly -- bash ...'"},
           {{"", "it's"}, "'rlock exec '' -- 'it'\\''s''"},
           {{"\x1b[2J", "$x"}, "'rlock exec $'\\x1b[2J' -- '$x''"},
           {{"n", "redis://u:p@h"}, "'rlock exec n -- redis://h'"}}) {
    const std::string text = complaint(words);
    CAPTURE(text);
    CHECK(has(text, "; did you mean " + meant + "? (see rlock --help)"));
  }
  for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{
           {"nightly"}, {"nightly", "--"}, {"nightly", "-c"}, {"nightly", "-x", "cmd"}}) {
    CHECK(complaint(words) == "unknown command 'nightly' (see rlock --help)");
  }
}

TEST_CASE("a mistyped option is told the one that may be meant, also one that help does not show") {
  for (const char* option : {"--nonblok", "--nonbloc"}) {
    CHECK(has(complaint({"exec", option, "job", "--", "true"}), "did you mean '--nonblock'?"));
  }
  CHECK_FALSE(has(complaint({"exec", "--db", "2", "job", "--", "true"}), "did you mean"));
}

TEST_CASE("a flag that is given a value is told that it takes none") {
  for (const auto& [words, word] : std::vector<std::pair<std::vector<const char*>, std::string>>{
           {{"exec", "--fence=abc", "job", "--", "true"}, "--fence=abc"},
           {{"exec", "--timeout=5s", "--nonblock=x", "job", "--", "true"}, "--nonblock=x"},
           {{"exec", "job", "--no-watchdog=\n", "--", "--x=y"}, "--no-watchdog= "},
           {{"--json=abc", "list"}, "--json=abc"},
           {{"unlock", "--force=x", "job"}, "--force=x"},
           {{"list", "--stuck=x"}, "--stuck=x"},
           {{"--version=x"}, "--version=x"}}) {
    CHECK(has(complaint(words), "'" + word + "': this flag takes no value (see rlock "));
  }
  CHECK(complaint({"exec", "-n=abc", "job", "--", "true"}) ==
        "'=abc': a flag takes no value (see rlock exec --help)");
}

TEST_CASE("names that flock(1) has for -n mean the same, and help does not show them") {
  for (const char* name : {"--nb", "--nonblock", "--nonblocking"}) {
    CAPTURE(name);
    CHECK(complaint({"exec", name, "job", "--", "true"}).empty());
    CHECK(complaint({"acquire", name, "job"}).empty());
    CHECK_FALSE(complaint({"watch", name, "job"}).empty());
  }
}

TEST_CASE("options of flock(1) that rlock does not need are told why") {
  for (const char* command : {"exec", "acquire"}) {
    const bool has_command = std::string_view(command) == "exec";
    for (const char* option : {"-o", "--close", "-F", "--no-fork"}) {
      const std::string text = complaint({command, option, "job"});
      CAPTURE(text);
      CHECK(has(text, std::string(option) + "' is not "));
      CHECK(has(text, " CMD") == has_command);
    }
    CHECK(has(complaint({command, "-e", "job"}), "a lock without -s is exclusive"));
  }
  for (const char* option : {"--command", "--command=a && b"}) {
    CHECK(complaint({"exec", "job", option, "a && b"}) ==
          "exec: '--command' is called -c: give -c STRING instead of '-- CMD' (see rlock exec "
          "--help)");
    CHECK(has(complaint({"acquire", "job", option}), "unknown option '--command"));
  }
}

TEST_CASE("a refusal is one line without control characters") {
  for (const char* word : {"--\x1b[2J", "a\nb", "\xff\xfe", "--color=\x1b"}) {
    const std::string text = complaint({word});
    CAPTURE(text);
    CHECK_FALSE(text.empty());
    CHECK(text.find_first_of("\x1b\n\xff") == std::string::npos);
  }
}

TEST_CASE("even no argument at all, not even a name, is no crash") {
  CHECK(cli::parse(0, nullptr)() == 64);
}
