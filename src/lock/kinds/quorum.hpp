// A lock on several independent servers (Redlock): the owner with the votes of a majority holds it.
// No server replicates another.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lock/kinds/single_server_lock.hpp"
#include "lock/servers/tally.hpp"

namespace rlock::lock {

class QuorumLock final : public Lock {
 public:
  // Makes the lock of one server for an owner.
  using Make = std::function<std::unique_ptr<SingleServerLock>(const std::string& owner)>;

  // `servers`: how many servers there are. Each session must have as many. `fencing`: on, if each
  // grant needs a token. Then the locks that `make` makes must have Fencing::peek.
  QuorumLock(std::size_t servers, Make make, const std::string& owner, Fencing fencing);

  [[nodiscard]] const std::string& name() const noexcept override { return front().name(); }
  // Each attempt to take the lock has a new owner. So a late request of an earlier attempt is not
  // mistaken for a request of this one.
  [[nodiscard]] const std::string& owner() const noexcept override { return front().owner(); }
  [[nodiscard]] Milliseconds lease() const noexcept override { return front().lease(); }
  // Short enough that if servers forget the lock one after another, each has it back before the
  // next forgets. At first much shorter, if a server may lack the lock: another attempt may have
  // held its vote.
  [[nodiscard]] Milliseconds renewal_interval() const noexcept override;
  [[nodiscard]] Kind kind() const noexcept override { return front().kind(); }
  [[nodiscard]] Channel channel() const override { return {front().channel().name}; }
  [[nodiscard]] int marks() const noexcept override;

  // Tries a few times if several owners that came at once have some votes each. Throws Unavailable
  // if no majority answers, and Error (usage) if two of the servers are twins.
  [[nodiscard]] std::variant<Hold, Busy> try_acquire(Session& session, Join join) override;
  [[nodiscard]] std::optional<Hold> reenter(Session& session) override;

  // A majority must confirm the renewal in time. With `deadline`, servers that have lost the lock
  // get it again, as long as the lease lasts. Without `deadline`, throws Error (usage) if two of
  // the servers are twins.
  [[nodiscard]] Renewal renew(Session& session, TimePoint* deadline) const override;
  [[nodiscard]] Renewal ask(Session& session) const override;

  // The answer of a majority counts.
  [[nodiscard]] bool has_ended(Session& session) const override;

  // Releases the lock on every server. A server that does not answer releases it later or never.
  Release release(Session& session, Milliseconds keep) override;
  void abandon(Session& session) noexcept override;
  void stop_waiting(Session& session) noexcept override { abandon(session); }

  // As SingleServerLock::go_on_with.
  void go_on_with(const Hold& hold);

 private:
  // The lock of one server. Jobs of its node may outlive the QuorumLock.
  struct Member {
    std::unique_ptr<SingleServerLock> lock;
    std::atomic<bool> may_hold{true};  // false: no request of ours has left a vote on the server
    std::atomic<bool> is_over{false};  // the attempt is over: do not ask for the vote any more
    std::atomic<int> without{1};  // 0: the server confirmed the lock; else grows with each renewal

    [[nodiscard]] std::variant<Hold, Busy> take(redis::Client& client);
    [[nodiscard]] Renewal renew(redis::Client& client, TimePoint bound);
    Release release(redis::Client& client, Milliseconds keep, Wake wake);
    // Takes the lock again on a server that has lost it. Does nothing after `until`.
    void restore(redis::Client& client, TimePoint until,
                 std::optional<std::int64_t> token) noexcept;
  };
  using Members = std::vector<std::shared_ptr<Member>>;

  [[nodiscard]] const SingleServerLock& front() const noexcept { return *members_.front()->lock; }
  [[nodiscard]] Hold hold(TimePoint asked, Hold::Standing standing) const;
  [[nodiscard]] Members make_members(const std::string& owner) const;
  [[nodiscard]] std::variant<Hold, Refusal> attempt(Session& session);
  void raise_token(Session& session, std::int64_t token, TimePoint deadline);
  void abandon_votes(Session& session);
  void end_attempt() noexcept;

  Majority majority_;
  Make make_;
  Fencing fencing_;
  Members members_;
  std::optional<std::int64_t> token_;
  bool is_fresh_ = true;        // the members have sent no request yet
  bool is_taken_here_ = false;  // this process asked for the lock, so its nodes are connected
  int splits_ = 0;              // split votes in a row
};

}  // namespace rlock::lock
