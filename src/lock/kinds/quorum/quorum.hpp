// A lock that several independent servers keep, none of which replicates another: who has the votes
// of a majority of them has it (Redlock).
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

  // A lock of `owner` on `servers` servers, as many as each session has that it is asked through.
  // `fencing`: on, if each grant is to have a token; then those that `make` makes peek.
  QuorumLock(std::size_t servers, Make make, const std::string& owner, Fencing fencing);

  [[nodiscard]] const std::string& name() const noexcept override { return front().name(); }
  // Each attempt to take the lock is made by a new owner: what is left on its way from one must not
  // be mistaken for another's.
  [[nodiscard]] const std::string& owner() const noexcept override { return front().owner(); }
  [[nodiscard]] Milliseconds lease() const noexcept override { return front().lease(); }
  // Often enough that of servers that forget it, one after the other, each has it again in time. At
  // first much sooner, if a server is not known to have it: somebody who tried at the same moment
  // may have had its vote.
  [[nodiscard]] Milliseconds renewal_interval() const noexcept override;
  [[nodiscard]] Kind kind() const noexcept override { return front().kind(); }
  [[nodiscard]] Channel channel() const override { return {front().channel().name}; }
  [[nodiscard]] int marks() const noexcept override;

  // Tries a few times where several who came at once have some votes each. Throws Unavailable where
  // no majority answers, and Error (usage) if two of the servers are one.
  [[nodiscard]] std::variant<Hold, Busy> try_acquire(Session& session, Join join) override;
  [[nodiscard]] std::optional<Hold> reenter(Session& session) override;

  // A majority must confirm it in time. With `deadline`, those who have lost the lock are given it
  // again as long as the lease lasts; without, it throws Error (usage) if two servers are one.
  [[nodiscard]] Renewal renew(Session& session, TimePoint* deadline) const override;
  [[nodiscard]] Renewal ask(Session& session) const override;

  // A majority decides.
  [[nodiscard]] bool has_ended(Session& session) const override;

  // Releases it on every server. Those that do not answer do it later or not at all.
  Release release(Session& session, Milliseconds keep) override;
  void abandon(Session& session) noexcept override;
  void give_up(Session& session) noexcept override { abandon(session); }

  // As SingleServerLock::go_on_with.
  void go_on_with(const Hold& hold);

 private:
  // The lock of one server. Jobs of its node may outlive the QuorumLock.
  struct Member {
    std::unique_ptr<SingleServerLock> lock;
    std::atomic<bool> may_hold{true};  // false: no request of ours can have left anything there
    std::atomic<bool> is_over{false};  // nobody wants the vote any more that was not asked for yet
    std::atomic<int> without{1};  // 0: it said that the lock is ours; else grows with each renewal

    [[nodiscard]] std::variant<Hold, Busy> take(redis::Client& client);
    [[nodiscard]] Renewal renew(redis::Client& client, TimePoint bound);
    Release give_back(redis::Client& client, Milliseconds keep, Wake wake);
    // Gives a server that has lost the lock its vote back, if the lease lasts `until` after now.
    void restore(redis::Client& client, TimePoint until,
                 std::optional<std::int64_t> token) noexcept;
  };
  using Members = std::vector<std::shared_ptr<Member>>;

  [[nodiscard]] const SingleServerLock& front() const noexcept { return *members_.front()->lock; }
  [[nodiscard]] Hold hold(TimePoint asked, Hold::Standing standing) const;
  [[nodiscard]] Members make_members(const std::string& owner) const;
  [[nodiscard]] std::variant<Hold, Refusal> attempt(Session& session);
  void raise_token(Session& session, std::int64_t token, TimePoint deadline);
  void take_back(Session& session);
  void end_attempt() noexcept;

  Majority majority_;
  Make make_;
  Fencing fencing_;
  Members members_;
  std::optional<std::int64_t> token_;
  bool is_fresh_ = true;        // nothing was asked for the members yet
  bool is_taken_here_ = false;  // if it is taken: through a session of this process
  int splits_ = 0;              // one after the other
};

}  // namespace rlock::lock
