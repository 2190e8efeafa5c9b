#include "lock/make_lock.hpp"

#include "base/error.hpp"
#include "base/escape.hpp"
#include "lock/kinds/fair.hpp"
#include "lock/kinds/plain.hpp"
#include "lock/kinds/quorum.hpp"
#include "lock/kinds/read_write.hpp"
#include "lock/kinds/semaphore.hpp"
#include "lock/kinds/simple.hpp"
#include "lock/words/key_names.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

KindOperations operations_of(const Wish& wish) {
  switch (wish.kind) {
    case Kind::fair:
      return fair_operations(wish.name, wish.fair_wait);
    case Kind::simple:
      return simple_operations(wish.name);
    case Kind::read:
    case Kind::write:
      return read_write_operations(wish.name, wish.kind);
    case Kind::semaphore:
      return semaphore_operations(wish.name, wish.permits);
    case Kind::reentrant:
      break;
  }
  return plain_operations(wish.name);
}

const std::string& owner_of(const Wish& wish) { return wish.hold ? wish.hold->owner : wish.owner; }

// Throws Error (usage) for what several independent servers cannot keep.
void check_for_quorum(const Wish& wish) {
  const KindTraits& kind = traits_of(wish.kind);
  if (!kind.needs_one_server) return;
  throw Error(ExitStatus::usage,
              escape_for_terminal(wish.name) + ": several independent servers cannot keep a " +
                  kind.name + (wish.kind == Kind::semaphore ? "" : " lock") +
                  (wish.kind == Kind::fair ? ", because each has its own queue" : "") +
                  ": give one server (-r)");
}

std::unique_ptr<Lock> make_quorum(const Wish& wish, std::size_t servers) {
  check_for_quorum(wish);
  Terms terms = wish.terms;
  if (terms.fencing == Fencing::on) terms.fencing = Fencing::peek;
  if (!terms.restart_delay) terms.restart_delay = Milliseconds(0);  // who takes it gives one
  const auto make = [wish, terms](const std::string& owner) {
    return std::make_unique<SingleServerLock>(operations_of(wish), owner, wish.about, terms);
  };
  auto lock = std::make_unique<QuorumLock>(servers, make, owner_of(wish), wish.terms.fencing);
  if (wish.hold) lock->go_on_with(*wish.hold);
  return lock;
}

}  // namespace

std::unique_ptr<Lock> make_lock(const Wish& wish, const Session& session) {
  if (!session.nodes().empty()) return make_quorum(wish, session.nodes().size());
  auto lock = std::make_unique<SingleServerLock>(operations_of(wish), owner_of(wish), wish.about,
                                                 wish.terms);
  if (wish.hold) lock->go_on_with(*wish.hold);
  return lock;
}

Kind held_kind(Session& session, const std::string& name, const std::string& owner) {
  if (!session.nodes().empty()) return Kind::reentrant;  // several servers keep no such kinds
  const KeyNames keys(name);
  const auto answer = lua::held_kind::read(session.client().run(
      lua::held_kind::Call{.lock = keys.lock, .owner = owner, .permits = keys.permits}));
  if (std::holds_alternative<lua::held_kind::Read>(answer)) return Kind::read;
  if (std::holds_alternative<lua::held_kind::Write>(answer)) return Kind::write;
  if (std::holds_alternative<lua::held_kind::Semaphore>(answer)) return Kind::semaphore;
  return Kind::reentrant;
}

}  // namespace rlock::lock
