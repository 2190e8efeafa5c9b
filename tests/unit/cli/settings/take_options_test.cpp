#include "cli/settings/take_options.hpp"

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <doctest/doctest.h>

#include "cli/parsing/option_set.hpp"
#include "support/words.hpp"

using namespace rlock;
using rlock::cli::TakeOptions;
using test::has;

namespace {

// The words come from the back.
TakeOptions parse(std::vector<std::string> words) {
  CLI::App app;
  TakeOptions options;
  const rlock::cli::GivenOptions given(words);
  options.add_to(rlock::cli::OptionSet(app, given));
  app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  return options;
}

template <typename Function>
std::string complaint(Function function) {
  try {
    (void)function();
    return "";
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::usage);
    return error.what();
  }
}

}  // namespace

TEST_CASE("without options: wait forever, 30 s, renewed, 75") {
  const TakeOptions options = parse({});
  CHECK(options.wait_deadline() == TimePoint::max());
  CHECK(options.terms().lease == Milliseconds(30'000));
  CHECK_FALSE(options.no_watchdog);
  CHECK(options.terms().fencing == lock::Fencing::off);
  CHECK(parse({"--fence"}).terms().fencing == lock::Fencing::on);
  CHECK(options.conflict_exit_status() == ExitStatus::not_acquired);
  CHECK(options.kind == "reentrant");
}

TEST_CASE("a wait ends so long from now") {
  const TimePoint before = BootClock::now();
  const TimePoint deadline = parse({"--wait", "5m"}).wait_deadline();
  CHECK(deadline >= before + std::chrono::minutes(5));
  CHECK(deadline <= BootClock::now() + std::chrono::minutes(5));
  CHECK(parse({"-w", "1h"}).wait_deadline() > deadline);
}

TEST_CASE("no wait, and a wait of nothing, end now") {
  for (const auto& words :
       {std::vector<std::string>{"-n"}, {"--no-wait"}, {"-w", "0"}, {"-w0"}, {"--wait=0s"}}) {
    const TimePoint deadline = parse(words).wait_deadline();
    CHECK(deadline <= BootClock::now());
  }
}

TEST_CASE("the longest wait does not overflow") {
  const TimePoint deadline = parse({"-w", "876000h"}).wait_deadline();
  CHECK(deadline > BootClock::now() + std::chrono::hours(24 * 365 * 99));
}

TEST_CASE("a wait that is not a duration is refused with the option's name") {
  const TakeOptions options = parse({"--wait", "soon"});
  const std::string text = complaint([&] { return options.wait_deadline(); });
  CHECK(text.find("--wait: 'soon' is not a duration") == 0);
  CHECK(has(text, "500ms, 30s"));
}

TEST_CASE("a lease has 100 ms to 366 days") {
  CHECK(parse({"--lease", "100ms"}).terms().lease == Milliseconds(100));
  CHECK(parse({"--lease", "8784h"}).terms().lease == std::chrono::hours(8784));
  for (const char* lease : {"99ms", "0", "8784.1h", "876000h", "x", "", "-1s", "30 s", "\x1b[2J"}) {
    CAPTURE(lease);
    TakeOptions options;
    options.lease = lease;
    const std::string text = complaint([&] { return options.terms(); });
    CHECK(text.find("--lease: ") == 0);
    CHECK_FALSE(has(text, "\x1b"));
  }
  const TakeOptions options = parse({"--lease", "99ms"});
  CHECK(has(complaint([&] { return options.terms(); }), "expected 100ms to 8784h"));
}

TEST_CASE("of several servers, one that restarts is silent for as long as a lock may be kept") {
  const auto delay = [](const std::vector<std::string>& words, Milliseconds at_least,
                        std::size_t servers = 3) {
    const TakeOptions options = parse(words);
    lock::Terms terms = options.terms();
    lock::SessionOptions session;
    session.servers.resize(servers);
    options.fit_to_servers(session, terms, at_least);
    return terms.restart_delay;
  };
  CHECK_FALSE(delay({}, Milliseconds(60'000), 1));
  CHECK(delay({}, Milliseconds(0)) == Milliseconds(30'000));
  CHECK(delay({"--lease", "1s"}, Milliseconds(50)) == Milliseconds(30'000));
  CHECK(delay({"--lease", "5m"}, Milliseconds(60'000)) == std::chrono::minutes(5));
  CHECK(delay({"--lease", "1m"}, std::chrono::minutes(5)) == std::chrono::minutes(5));
  // What is given counts.
  CHECK(delay({"--restart-delay", "1s"}, std::chrono::minutes(5)) == Milliseconds(1'000));
}

TEST_CASE("the status for a conflict is 0 to 255") {
  CHECK(static_cast<int>(parse({"-E", "0"}).conflict_exit_status()) == 0);
  CHECK(static_cast<int>(parse({"-E255"}).conflict_exit_status()) == 255);
  CHECK(static_cast<int>(parse({"--conflict-exit-code", "1"}).conflict_exit_status()) == 1);
  for (const char* status : {"256", "-1", "+1", "", "x", "1x", " 1", "1.5", "99999999999"}) {
    CAPTURE(status);
    TakeOptions options;
    options.conflict_status = status;
    const std::string text = complaint([&] { return options.conflict_exit_status(); });
    CHECK(text.find("-E: ") == 0);
    CHECK(has(text, "expected a number from 0 to 255"));
  }
}

TEST_CASE("a kind that this version has not is refused") {
  for (const char* kind : {"fairest", "Fair", "", "shared"}) {
    CAPTURE(kind);
    CHECK_THROWS_AS(parse({"--kind", kind}), CLI::ParseError);
  }
}

TEST_CASE("a lock is fair by --fair or --kind fair, of which one is enough") {
  CHECK(parse({}).lock_kind() == lock::Kind::reentrant);
  CHECK(parse({"--kind", "reentrant"}).lock_kind() == lock::Kind::reentrant);
  CHECK(parse({"--kind=fair"}).lock_kind() == lock::Kind::fair);
  CHECK(parse({"--fair"}).lock_kind() == lock::Kind::fair);
  for (const char* kind : {"fair", "reentrant"}) {
    CHECK_THROWS_AS(parse({"--fair", "--kind", kind}), CLI::ParseError);
  }
}

TEST_CASE("a dead waiter may keep its place for 15 s to 1 h") {
  CHECK(parse({}).fair_wait_length() == Milliseconds(15'000));
  CHECK(parse({"--fair-wait", "15s"}).fair_wait_length() == Milliseconds(15'000));
  CHECK(parse({"--fair-wait", "1h"}).fair_wait_length() == std::chrono::hours(1));
  for (const char* wait : {"14999ms", "0", "3600001ms", "876000h", "x", "", "-1s", "\x1b[2J"}) {
    CAPTURE(wait);
    TakeOptions options;
    options.fair_wait = wait;
    const std::string text = complaint([&] { return options.fair_wait_length(); });
    CHECK(text.find("--fair-wait: ") == 0);
    CHECK_FALSE(has(text, "\x1b"));
  }
  const TakeOptions options = parse({"--fair-wait", "14s"});
  const std::string text = complaint([&] { return options.fair_wait_length(); });
  CHECK(has(text, "expected 15s to 1h"));
}

TEST_CASE("the kinds have names") {
  CHECK(parse({}).lock_kind() == lock::Kind::reentrant);
  CHECK(parse({"--fair"}).lock_kind() == lock::Kind::fair);
  CHECK(parse({"--kind", "fair"}).lock_kind() == lock::Kind::fair);
  CHECK(parse({"--kind", "simple"}).lock_kind() == lock::Kind::simple);
  CHECK_THROWS_AS(parse({"--kind", "simple", "--fair"}), CLI::ParseError);
  CHECK_THROWS_AS(parse({"--kind", "string"}), CLI::ParseError);
}

TEST_CASE("each owner is new") {
  const TakeOptions options = parse({});
  CHECK(options.owner() != options.owner());
}
