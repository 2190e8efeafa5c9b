#include "lock/kinds/held_kind.hpp"

#include "lock/words/key_names.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {

Kind held_kind(Session& session, const std::string& name, const std::string& owner) {
  if (!session.nodes().empty()) return Kind::reentrant;  // several servers keep no others
  const KeyNames keys(name);
  const auto answer = lua::held_kind::read(session.client().run(
      lua::held_kind::Call{.lock = keys.lock, .owner = owner, .permits = keys.permits}));
  if (std::holds_alternative<lua::held_kind::Read>(answer)) return Kind::read;
  if (std::holds_alternative<lua::held_kind::Write>(answer)) return Kind::write;
  if (std::holds_alternative<lua::held_kind::Semaphore>(answer)) return Kind::semaphore;
  return Kind::reentrant;
}

}  // namespace rlock::lock
