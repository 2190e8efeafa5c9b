#include "cli/parsing/given_options.hpp"

#include <optional>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <doctest/doctest.h>

#include "base/words.hpp"
#include "cli/parsing/option_set.hpp"
#include "cli/settings/take_options.hpp"
#include "support/words.hpp"

using namespace rlock;
using cli::GivenOptions;
using cli::OptionSet;
using test::Words;

namespace {

// Returns all that was understood, or nothing if the words are no command line.
std::optional<Words> parse(const Words& words, const GivenOptions& given) {
  CLI::App app;
  cli::TakeOptions options;
  bool is_sure = false;
  Words texts;
  try {
    OptionSet set(app, given);
    set.add_argument("NAME", &texts, "", OptionSet::Need::optional);
    options.add_to(set);
    set.add_flag("-y,--yes", is_sure, "");
    set.require("--yes", "--wait-server");
    app.parse(Words(words.rbegin(), words.rend()));  // from the back
  } catch (const CLI::ParseError&) {
    return std::nullopt;
  }
  for (const auto* text : {&options.wait, &options.wait_server, &options.restart_delay}) {
    texts.push_back(text->value_or("none"));
  }
  texts.insert(texts.end(), {options.conflict_status, options.lease, options.note, options.kind});
  for (const bool flag : {options.no_wait, options.no_watchdog, options.fence, options.no_info,
                          options.fair, options.shared, options.exclusive, is_sure}) {
    texts.emplace_back(flag ? "yes" : "no");
  }
  return texts;
}

}  // namespace

TEST_CASE("words that are understood with the given options mean the same with all options") {
  const auto known = split(
      "-w 5s -w5s --wait=5s --wait -n -nx -nE -E0 -E 0 --lease -s --lease=9s --fair "
      "--kind write - --note --note= --wait-server -- --no-info --fence job --fenc -q "
      "--wait-server=-w -sn -x -wn --no-watchdog -y --yes --exclusive -n-wait -yn -5 "
      "--restart-delay=1s",
      ' ');
  std::mt19937 random(7);  // NOLINT: the same each time
  int understood = 0;
  for (int i = 0; i < 5'000; ++i) {
    Words words(1 + random() % 5);
    for (std::string& word : words) word = known[random() % known.size()];
    const auto some = parse(words, GivenOptions(words));
    if (!some) continue;  // then rlock tries all
    ++understood;
    INFO(words);
    CHECK(some == parse(words, GivenOptions()));
  }
  CHECK(understood > 1000);
}

TEST_CASE("an option that needs another one is refused without it") {
  CHECK_FALSE(parse({"-y", "job"}, GivenOptions({"-y", "job"})));
  CHECK_FALSE(parse({"-y", "job"}, GivenOptions()));
  CHECK(parse({"-y", "--wait-server=t", "job"}, GivenOptions({"-y", "--wait-server=t", "job"})));
}
