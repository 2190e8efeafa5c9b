#include "base/shell_quote.hpp"

#include <array>
#include <cstdio>
#include <string>

#include <doctest/doctest.h>

#include "base/escape.hpp"

using rlock::shell_quote;

TEST_CASE("a plain word needs no quotes") {
  CHECK(shell_quote("deploy/web-1.2_x:a@b") == "deploy/web-1.2_x:a@b");
}

TEST_CASE("a word for every shell stands in plain quotes") {
  CHECK(rlock::posix_quote("=ls") == "'=ls'");
  CHECK(rlock::posix_quote("it's\n") == "'it'\\''s\n'");
}

TEST_CASE("other words are quoted") {
  CHECK(shell_quote("") == "''");
  CHECK(shell_quote("two words") == "'two words'");
  CHECK(shell_quote("$(id)") == "'$(id)'");
  CHECK(shell_quote("Zürich") == "'Zürich'");
  CHECK(shell_quote("it's") == "'it'\\''s'");
  CHECK(shell_quote("a\x1b[2Jb") == "$'a\\x1b[2Jb'");
  CHECK(shell_quote(std::string_view("a b\0c", 5)) == std::string(1, '\0'));
  CHECK(shell_quote(std::string(1'000'000, '\0')) == std::string(1, '\0'));
  CHECK(shell_quote("a\\\xff") == "$'a\\\\\\xff'");
  CHECK(shell_quote("a\nb") == "$'a\\nb'");
}

TEST_CASE("operands that look like options stand behind two dashes") {
  using rlock::shell_operands;
  CHECK(shell_operands({"job"}) == "job");
  CHECK(shell_operands({"a b", "u:1"}) == "'a b' u:1");
  CHECK(shell_operands({"job", "-y"}) == "-- job -y");
  CHECK(shell_operands({"-a b", "u:1"}) == "-- '-a b' u:1");
}

TEST_CASE("a shell reads a quoted word as it was, and a terminal takes no harm") {
  for (const std::string word : {"a b", "it's $HOME `id` \\ \"x\" !", "a\x1b[2J\x07\x7f",
                                 "\\x41'\n", "\xff\xfe '", "~", "#x", "*", "a;b|c&d>e<f(g)"}) {
    const std::string quoted = shell_quote(word);
    CAPTURE(quoted);
    CHECK(rlock::escape_for_terminal(quoted) == quoted);
    // Through a file, since the word holds quotes itself.
    const std::string command = "bash -c 'printf %s " + [&] {
      std::string text;
      for (const char c : quoted) {
        text += c == '\'' ? "'\\''" : std::string(1, c);
      }
      return text;
    }() + "'";
    FILE* pipe = ::popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::array<char, 256> buffer{};
    const std::size_t length = std::fread(buffer.data(), 1, buffer.size(), pipe);
    REQUIRE(::pclose(pipe) == 0);
    CHECK(std::string(buffer.data(), length) == word);
  }
}
