// The facts with which a request is refused.
#pragma once

#include <stdexcept>
#include <variant>

#include <doctest/doctest.h>

#include "lock/words/refused.hpp"

namespace rlock::test {

// Returns why `request` is refused. Throws if it is not, or not for such a reason.
template <typename Facts, typename Request>
Facts refusal_of(Request request) {
  try {
    static_cast<void>(request());
  } catch (const lock::Refused& refused) {
    CAPTURE(refused.what());
    REQUIRE(std::holds_alternative<Facts>(refused.why()));
    return std::get<Facts>(refused.why());
  }
  throw std::runtime_error("it is not refused");
}

}  // namespace rlock::test
