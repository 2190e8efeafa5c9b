#include "lock/words/kind.hpp"

namespace rlock::lock {

std::string kind_name(Kind kind) {
  switch (kind) {
    case Kind::fair:
      return "fair";
    case Kind::simple:
      return "simple";
    case Kind::read:
      return "read";
    case Kind::write:
      return "write";
    case Kind::semaphore:
      return "semaphore";
    case Kind::reentrant:
      break;
  }
  return "reentrant";
}

}  // namespace rlock::lock
