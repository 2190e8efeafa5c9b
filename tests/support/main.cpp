// The test program: runs doctest, keeps runs apart from their surroundings, and tells what the
// machine lacks.
#define DOCTEST_CONFIG_IMPLEMENT
#include <chrono>
#include <iostream>
#include <set>
#include <stdlib.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "processes.hpp"
#include "spawn.hpp"

namespace {

constexpr int k_skipped = 77;  // as tests/CMakeLists.txt says

// Which programs were not there, and whether a test case failed for any other reason.
struct Outcome {
  std::set<std::string> lacking;
  bool has_failed = false;
};
Outcome outcome;

// Before the run: takes the settings of rlock's user (RLOCK_*, REDISCLI_AUTH, NO_COLOR; not
// RLOCK_TEST_*) out of the environment and marks it. After each test case: kills what a test has
// left behind, such as background watchdogs and servers that rlock started, even when the test has
// failed.
class Janitor : public doctest::IReporter {
 public:
  explicit Janitor(const doctest::ContextOptions& /*options*/) {}

  void test_run_start() override {
    std::vector<std::string> names{"REDISCLI_AUTH", "NO_COLOR"};
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      if (text.starts_with("RLOCK_") && !text.starts_with("RLOCK_TEST_")) {
        names.emplace_back(text.substr(0, text.find('=')));
      }
    }
    for (const std::string& name : names) {
      ::unsetenv(name.c_str());
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    const std::string value = std::to_string(::getpid()) + "." + std::to_string(now);
    ::setenv(rlock::test::k_mark_variable, value.c_str(), 1);
    mark_ = std::string(rlock::test::k_mark_variable) + "=" + value;
  }
  void test_case_start(const doctest::TestCaseData& /*data*/) override {
    lacks_program_ = has_thrown_ = false;
  }
  void test_case_exception(const doctest::TestCaseException& exception) override {
    const std::string_view text = exception.error_string.c_str();
    if (text.starts_with("exception thrown in subcase")) return;  // its text comes later
    if (!text.starts_with(rlock::test::k_lacks)) {
      has_thrown_ = true;
      return;
    }
    lacks_program_ = true;
    outcome.lacking.emplace(text);
  }
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    const int expected = lacks_program_ && !has_thrown_ ? doctest::TestCaseFailureReason::Exception
                                                        : doctest::TestCaseFailureReason::None;
    outcome.has_failed = outcome.has_failed || stats.failure_flags != expected;
    rlock::test::kill_processes_with(mark_);
  }

  void report_query(const doctest::QueryData& /*data*/) override {}
  void test_run_end(const doctest::TestRunStats& /*stats*/) override {}
  void test_case_reenter(const doctest::TestCaseData& /*data*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*data*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*data*/) override {}
  void log_message(const doctest::MessageData& /*data*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*data*/) override {}

 private:
  std::string mark_;
  bool lacks_program_ = false;  // this test case
  bool has_thrown_ = false;     // for another reason
};

REGISTER_LISTENER("janitor", 1, Janitor);

}  // namespace

int main(int argc, char** argv) {
  const int status = doctest::Context(argc, argv).run();
  if (status == 0 || outcome.has_failed || outcome.lacking.empty()) return status;
  for (const std::string& text : outcome.lacking) std::cout << "skipped in part: " << text << '\n';
  return k_skipped;
}
