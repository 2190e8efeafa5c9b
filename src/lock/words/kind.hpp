// The kinds of lock.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rlock::lock {

// read and write are the two sides of one read/write lock.
enum class Kind { reentrant, fair, simple, read, write, semaphore };

// Returns the kind's name, as in the options, the environment and the JSON.
[[nodiscard]] std::string kind_name(Kind kind);

// Returns the names of all kinds.
[[nodiscard]] std::vector<std::string> kind_names();

// Returns the kind of this name, or nothing.
[[nodiscard]] std::optional<Kind> kind_of(std::string_view name);

}  // namespace rlock::lock
