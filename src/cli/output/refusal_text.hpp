// Refused and failed requests about locks, in words.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "cli/settings/globals.hpp"
#include "lock/words/refused.hpp"

namespace rlock::cli {

struct RefusalText {
  std::string sentence;
  std::string advice{};  // what to do, if anything; it names options
};

// Returns what to say of a lock that is refused, harmless for a terminal.
[[nodiscard]] RefusalText describe_refused(const lock::Refused& refused);

// Returns the message of an exception without advice. Where lock tells only facts (lock::Refused,
// lock::Failed), it makes the sentence.
[[nodiscard]] std::string sentence_of(const std::exception& error);
// The same. `error` must not be null.
[[nodiscard]] std::string sentence_of(const std::exception_ptr& error);

// Returns the messages about servers of a quorum that take no part in it, one line each. Returns no
// message twice. With -q, returns nothing. Only with -v, also reports servers that are down.
[[nodiscard]] std::vector<std::string> news_of_absentees(const Globals& globals);

}  // namespace rlock::cli
