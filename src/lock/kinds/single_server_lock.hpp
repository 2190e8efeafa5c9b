// A lock that one server keeps: the requests, which are the same for every kind.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "lock/kinds/layout.hpp"
#include "lock/kinds/lock.hpp"
#include "lock/words/hold.hpp"
#include "lock/words/owner.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

// What is asked through a session is asked of its only client. Thread-safe, with a client or a
// session of the thread's own.
class SingleServerLock final : public Lock {
 public:
  // Throws Error (usage) for a name that cannot be, and for a token that the kind cannot draw.
  SingleServerLock(Layout layout, std::string owner, const About& about, const Terms& terms);

  [[nodiscard]] const std::string& name() const noexcept override { return layout_.keys.lock; }
  [[nodiscard]] const std::string& owner() const noexcept override { return owner_; }
  [[nodiscard]] Milliseconds lease() const noexcept override { return terms_.lease; }
  [[nodiscard]] Milliseconds renewal_interval() const noexcept override;
  [[nodiscard]] Kind kind() const noexcept override { return layout_.kind; }
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
  // Takes four seconds at the most.
  void give_up(Session& session) noexcept override { give_up(session.client()); }

  // The same, of a client of the server.
  [[nodiscard]] std::variant<Hold, Busy> try_acquire(redis::Client& client, Join join);
  [[nodiscard]] std::optional<Hold> reenter(redis::Client& client);
  [[nodiscard]] Renewal renew(redis::Client& client, TimePoint* deadline = nullptr) const;
  [[nodiscard]] Renewal ask(redis::Client& client) const;
  [[nodiscard]] bool has_ended(redis::Client& client) const;
  // Where the lock is a string that was re-entered, it stays with the outer hold.
  Release release(redis::Client& client, Milliseconds keep = Milliseconds(0),
                  Wake wake = Wake::yes);
  void abandon(redis::Client& client) noexcept;
  void give_up(redis::Client& client) noexcept;

  // Sends the release behind all that is under way, and waits for its answer for a quarter of a
  // second at the most. Does nothing after `last`: then the server may have forgotten that it has
  // carried the release out before.
  void take_back(redis::Client& client, Milliseconds keep,
                 TimePoint last = TimePoint::max()) noexcept;

  // Takes the lock without further terms: for the owner that has a majority of servers, but lost it
  // on this one.
  [[nodiscard]] std::variant<Hold, Busy> restore(redis::Client& client);
  // Returns whether the server that has answered is still the master.
  [[nodiscard]] bool is_of_master(redis::Client& client) const;
  // Returns whether a request that changes something has got no answer.
  [[nodiscard]] bool is_in_doubt() const noexcept { return unanswered_ > 0; }

  // Returns the identifier of this hold. It is another one for each attempt.
  [[nodiscard]] const std::string& hold_id() const noexcept { return hold_id_; }
  // Calls this hold by another identifier. To be called before the first request.
  void set_hold_id(std::string id) { hold_id_ = std::move(id); }
  // Shares the hold `outer` of the same value, see Hold. To be called before the first request.
  void share(std::string outer) { outer_id_ = std::move(outer); }
  // From now on this object stands for a hold that there is already, and that others know, too.
  void go_on_with(const Hold& hold);

 private:
  [[nodiscard]] std::variant<Hold, Busy> request(redis::Client& client, Join join,
                                                 const Terms& terms);
  [[nodiscard]] Busy explain(const lua::taking::Busy& reply) const;
  // Gives the lock back and throws Unavailable unless enough replicas know of it.
  void check_replicas(redis::Client& client, int needed);
  [[nodiscard]] redis::Reply run(redis::Client& client, const redis::ScriptCall& call);
  [[nodiscard]] Asker asker(const Terms& terms) const;
  [[nodiscard]] Asker asker() const { return asker(terms_); }
  [[nodiscard]] Key latch() const { return layout_.keys.latch(hold_id_); }
  [[nodiscard]] Hold hold(Milliseconds lease, TimePoint asked, std::int64_t count,
                          const std::string& token) const;
  [[nodiscard]] bool is_latched() const noexcept;

  Layout layout_;
  std::string owner_;
  std::string about_;  // as the side key is to tell it
  Terms terms_;
  std::string hold_id_;
  std::string outer_id_;  // of the hold of a value that this one shares
  std::atomic<Hold::Standing> standing_ = Hold::Standing::granted;
  std::atomic<bool> is_unproven_ = false;  // as in Asker
  bool is_known_ = false;                  // as in Asker
  std::atomic<int> marks_ = 0;
  bool has_queued_ = false;
  std::atomic<int> unanswered_ = 0;  // requests that changed something, or not
};

}  // namespace rlock::lock
