// A lock that one server keeps: what is asked through a session is asked of its only client.
#pragma once

#include <optional>
#include <variant>

#include "lock/kinds/lock.hpp"
#include "lock/servers/question.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// The requests as Lock has them, to a client of the server. Thread-safe, with a client of the
// thread's own.
class OneServerLock : public Lock {
 public:
  [[nodiscard]] virtual std::variant<Lease, Busy> try_acquire(redis::Client& client, Join join) = 0;
  [[nodiscard]] virtual std::optional<Lease> reenter(redis::Client& client) = 0;
  [[nodiscard]] virtual Renewal renew(redis::Client& client,
                                      TimePoint* deadline = nullptr) const = 0;
  [[nodiscard]] virtual Renewal ask(redis::Client& client) const = 0;
  [[nodiscard]] virtual bool has_ended(redis::Client& client) const = 0;
  virtual Release release(redis::Client& client, Milliseconds keep = Milliseconds(0),
                          Wake wake = Wake::yes) = 0;
  virtual void abandon(redis::Client& client, Milliseconds keep = Milliseconds(0)) noexcept = 0;
  virtual void give_up(redis::Client& client) noexcept { abandon(client); }

  [[nodiscard]] std::variant<Lease, Busy> try_acquire(Session& session, Join join) final {
    return try_acquire(session.client(), join);
  }
  [[nodiscard]] std::optional<Lease> reenter(Session& session) final {
    return reenter(session.client());
  }
  [[nodiscard]] Renewal renew(Session& session, TimePoint* deadline) const final {
    return renew(session.client(), deadline);
  }
  [[nodiscard]] Renewal ask(Session& session) const final { return ask(session.client()); }
  [[nodiscard]] bool has_ended(Session& session) const final { return has_ended(session.client()); }
  Release release(Session& session, Milliseconds keep) final {
    return release(session.client(), keep);
  }
  void abandon(Session& session) noexcept final { abandon(session.client()); }
  void give_up(Session& session) noexcept final { give_up(session.client()); }
};

}  // namespace rlock::lock
