// The name of a key or a channel on a server: a text that is not taken for another one.
#pragma once

#include <string>
#include <utility>

namespace rlock {

struct Key : std::string {
  explicit Key(std::string name) : std::string(std::move(name)) {}
};

}  // namespace rlock
