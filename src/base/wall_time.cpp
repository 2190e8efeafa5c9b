#include "base/wall_time.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <time.h>

namespace rlock {

std::string utc_time(std::int64_t time_ms) {
  const time_t seconds = time_ms / 1000;
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> when{};
  ::strftime(when.data(), when.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(time_ms % 1000));
  return std::string(when.data()) + fraction.data();
}

std::int64_t local_time_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace rlock
