// A lock that one server keeps: the requests. They are the same for every kind.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "lock/kinds/kind_operations.hpp"
#include "lock/kinds/lock.hpp"
#include "lock/words/hold.hpp"
#include "lock/words/owner.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// A request through a session goes to the session's only client. Thread-safe, if each thread has
// its own client or session.
class SingleServerLock final : public Lock {
 public:
  // Throws Error (usage) if the name is not valid, or a token is wanted and the kind has none.
  SingleServerLock(KindOperations operations, std::string owner, const About& about,
                   const Terms& terms);

  [[nodiscard]] const std::string& name() const noexcept override { return operations_.keys.lock; }
  [[nodiscard]] const std::string& owner() const noexcept override { return owner_; }
  [[nodiscard]] Milliseconds lease() const noexcept override { return terms_.lease; }
  [[nodiscard]] Milliseconds renewal_interval() const noexcept override;
  [[nodiscard]] Kind kind() const noexcept override { return operations_.kind; }
  [[nodiscard]] Channel channel() const override;
  [[nodiscard]] int marks() const noexcept override { return marks_; }

  [[nodiscard]] std::variant<Hold, Busy> try_acquire(Session& session, Join join) override {
    return try_acquire(session.client(), join);
  }
  [[nodiscard]] std::optional<Hold> reenter(Session& session) override {
    return reenter(session.client());
  }
  [[nodiscard]] Renewal renew(Session& session, TimePoint* deadline) const override {
    return renew(session.client(), deadline);
  }
  [[nodiscard]] Renewal ask(Session& session) const override { return ask(session.client()); }
  [[nodiscard]] bool has_ended(Session& session) const override {
    return has_ended(session.client());
  }
  Release release(Session& session, Milliseconds keep) override {
    return release(session.client(), keep);
  }
  void abandon(Session& session) noexcept override { abandon(session.client()); }
  // Takes four seconds at most.
  void stop_waiting(Session& session) noexcept override { stop_waiting(session.client()); }

  // The same, through a client of the server.
  [[nodiscard]] std::variant<Hold, Busy> try_acquire(redis::Client& client, Join join);
  [[nodiscard]] std::optional<Hold> reenter(redis::Client& client);
  [[nodiscard]] Renewal renew(redis::Client& client, TimePoint* deadline = nullptr) const;
  [[nodiscard]] Renewal ask(redis::Client& client) const;
  [[nodiscard]] bool has_ended(redis::Client& client) const;
  // A re-entered string lock stays with the outer hold.
  Release release(redis::Client& client, Milliseconds keep = Milliseconds(0),
                  Wake wake = Wake::yes);
  void abandon(redis::Client& client) noexcept;
  void stop_waiting(redis::Client& client) noexcept;

  // Sends the release after all requests that are under way. Waits for its answer for a quarter of
  // a second at most. Does nothing after `last`: by then, the server may have forgotten that it has
  // already run this release.
  void send_release(redis::Client& client, Milliseconds keep,
                    TimePoint last = TimePoint::max()) noexcept;

  // Takes the lock without a restart delay, replicas or a token. For an owner that has a majority
  // of the servers, but lost the lock on this one.
  [[nodiscard]] std::variant<Hold, Busy> restore(redis::Client& client);
  // Returns whether the server that answered is still the master. True if nobody can tell.
  [[nodiscard]] bool is_of_master(redis::Client& client) const;
  // Returns whether a request that changes something is without an answer.
  [[nodiscard]] bool is_in_doubt() const noexcept { return unanswered_ > 0; }

  // Returns the identifier of this hold. A new attempt may have a new one.
  [[nodiscard]] const std::string& hold_id() const noexcept { return hold_id_; }
  // Sets the identifier of this hold. Call it before the first request.
  void set_hold_id(std::string id) { hold_id_ = std::move(id); }
  // From now on, this object stands for an existing hold that other processes know, too.
  void go_on_with(const Hold& hold);

 private:
  [[nodiscard]] std::variant<Hold, Busy> request(redis::Client& client, Join join,
                                                 const Terms& terms);
  [[nodiscard]] Busy explain(const lua::taking::Busy& reply) const;
  // Unless enough replicas have the lock: releases it, and throws Unavailable.
  void check_replicas(redis::Client& client, int needed);
  [[nodiscard]] redis::Reply run(redis::Client& client, const redis::ScriptCall& call);
  [[nodiscard]] RequestContext context(const Terms& terms) const;
  [[nodiscard]] RequestContext context() const { return context(terms_); }
  [[nodiscard]] Key latch() const { return operations_.keys.latch(hold_id_); }
  [[nodiscard]] Hold hold(Milliseconds lease, TimePoint asked, std::int64_t count,
                          const std::string& token) const;
  [[nodiscard]] const KindTraits& traits() const { return traits_of(operations_.kind); }
  [[nodiscard]] bool is_string() const { return traits().shape == Shape::string; }
  [[nodiscard]] bool is_latched() const noexcept;

  KindOperations operations_;
  std::string owner_;
  std::string about_;  // as in RequestContext
  Terms terms_;
  std::string hold_id_;
  std::atomic<Hold::Standing> standing_ = Hold::Standing::granted;
  std::atomic<bool> is_unproven_ = false;  // as in RequestContext
  bool is_known_ = false;                  // as in RequestContext
  std::atomic<int> marks_ = 0;
  bool has_queued_ = false;
  std::atomic<int> unanswered_ = 0;  // requests that may have changed something
};

}  // namespace rlock::lock
