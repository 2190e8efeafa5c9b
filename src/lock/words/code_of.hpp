// The code of facts that are a variant, such as a problem or a refusal.
#pragma once

#include <string>
#include <variant>

#include "base/escape.hpp"

namespace rlock::lock {

// Returns the `k_code` of the facts.
template <typename... Facts>
[[nodiscard]] std::string code_of(const std::variant<Facts...>& facts) {
  return std::visit([](const auto& one) { return one.k_code; }, facts);
}

// Returns "SUBJECT: CODE", which an exception says where nobody puts its facts into words. Harmless
// for a terminal.
template <typename Variant>
[[nodiscard]] std::string label_of(const std::string& subject, const Variant& facts) {
  return (subject.empty() ? "" : escape_for_terminal(subject) + ": ") + code_of(facts);
}

}  // namespace rlock::lock
