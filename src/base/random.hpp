// Random identifiers from the operating system's generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rlock {

// Returns `bytes` random bytes as lower-case hexadecimal digits.
[[nodiscard]] std::string random_hex(std::size_t bytes);

// Returns a random (version 4) UUID, 36 characters.
[[nodiscard]] std::string random_uuid();

// Returns a random number in [0, limit), to spread retries.
[[nodiscard]] std::uint32_t random_below(std::uint32_t limit);

}  // namespace rlock
