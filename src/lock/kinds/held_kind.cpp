#include "lock/kinds/held_kind.hpp"

#include "lock/words/key_names.hpp"
#include "lock/words/kind.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {

Kind held_kind(Session& session, const std::string& name, const std::string& owner) {
  if (!session.nodes().empty()) return Kind::reentrant;  // several servers keep no others
  const KeyNames keys(name);
  const std::string kind =
      session.client()
          .run(lua::held_kind::Call{.lock = keys.lock, .owner = owner, .permits = keys.permits})
          .as_text();
  for (const Kind one : {Kind::read, Kind::write, Kind::semaphore}) {
    if (kind == kind_name(one)) return one;
  }
  return Kind::reentrant;
}

}  // namespace rlock::lock
