// The message with which a request is refused.
#pragma once

#include <stdexcept>
#include <string>

#include "base/error.hpp"

namespace rlock::test {

// Returns why `request` is refused. Throws if it is not.
template <typename Request>
std::string refusal_of(Request request) {
  try {
    static_cast<void>(request());
  } catch (const Error& refused) {
    return refused.what();
  }
  throw std::runtime_error("it is not refused");
}

}  // namespace rlock::test
