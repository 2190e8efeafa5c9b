// The reentrant lock in Redisson's layout, kept by one server.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lock/kinds/one_server.hpp"
#include "lock/servers/question.hpp"
#include "lock/words/hold.hpp"
#include "lock/words/key_names.hpp"
#include "lock/words/terms.hpp"

namespace rlock::lock {

class ReentrantLock : public OneServerLock {
 public:
  using OneServerLock::try_acquire, OneServerLock::reenter, OneServerLock::renew,
      OneServerLock::ask, OneServerLock::has_ended, OneServerLock::release, OneServerLock::abandon,
      OneServerLock::give_up;

  ReentrantLock(const std::string& name, std::string owner, const About& about, const Terms& terms);

  [[nodiscard]] const std::string& name() const noexcept override { return keys_.lock; }
  [[nodiscard]] const std::string& owner() const noexcept override { return owner_; }
  [[nodiscard]] Milliseconds lease() const noexcept override { return terms_.lease; }
  [[nodiscard]] Kind kind() const noexcept override { return Kind::reentrant; }
  [[nodiscard]] const std::string& hold_id() const noexcept override { return hold_id_; }
  [[nodiscard]] std::string channel() const override { return keys_.channel; }
  [[nodiscard]] int marks() const noexcept override { return marks_; }

  [[nodiscard]] std::variant<Lease, Busy> try_acquire(redis::Client& client, Join join) override {
    return acquire(client, join, terms_);
  }
  [[nodiscard]] std::optional<Lease> reenter(redis::Client& client) override;
  [[nodiscard]] Renewal renew(redis::Client& client, TimePoint* deadline = nullptr) const override;
  [[nodiscard]] Renewal ask(redis::Client& client) const override;
  [[nodiscard]] bool has_ended(redis::Client& client) const override;
  // Where the lock is a string that was re-entered, it stays with the outer hold.
  Release release(redis::Client& client, Milliseconds keep = Milliseconds(0),
                  Wake wake = Wake::yes) override;
  void abandon(redis::Client& client, Milliseconds keep = Milliseconds(0)) noexcept override;

  // Calls this hold by another identifier. To be called before the first request.
  void set_hold_id(std::string id) { hold_id_ = std::move(id); }
  // From now on this object stands for a hold that there is already, and that others know, too.
  void go_on_with(const Hold& hold);

  // Takes the lock without further terms: for the owner that has a majority of servers, but lost it
  // on this one.
  [[nodiscard]] std::variant<Lease, Busy> restore(redis::Client& client);
  // Returns whether a request that changes something has got no answer.
  [[nodiscard]] bool is_in_doubt() const noexcept { return unanswered_ > 0; }

 protected:
  // Sends an acquire script. `more` follows the arguments that all of them have.
  [[nodiscard]] std::variant<Lease, Busy> request(redis::Client& client,
                                                  const redis::Script& script, const Terms& terms,
                                                  std::vector<std::string> more_keys,
                                                  const std::vector<std::string>& more);

  // What is asked of the server. Other layouts have scripts of their own with the same replies.
  using Question = lock::Question;
  [[nodiscard]] virtual Question reenter_question(const redis::Client& client) const;
  // A lease of 0 only asks whose the lock is.
  [[nodiscard]] virtual Question renew_question(Milliseconds lease) const;
  [[nodiscard]] virtual Question release_question(const redis::Client& client, Milliseconds keep,
                                                  Wake wake) const;

  [[nodiscard]] const Terms& terms() const noexcept { return terms_; }
  [[nodiscard]] std::string latch() const { return keys_.latch(hold_id_); }
  // What lua/include/releasing.lua is told of this hold.
  [[nodiscard]] std::string standing() const;
  [[nodiscard]] std::string shared() const { return is_known_ ? "1" : ""; }
  [[nodiscard]] const KeyNames& keys() const noexcept { return keys_; }

 private:
  [[nodiscard]] virtual std::variant<Lease, Busy> acquire(redis::Client& client, Join join,
                                                          const Terms& terms);
  // Returns what this owner adds to the deadlines of those who queue behind it.
  [[nodiscard]] virtual Milliseconds added_wait() const noexcept { return Milliseconds(0); }
  // Gives the lock back and throws Unavailable unless enough replicas know of it.
  void check_replicas(redis::Client& client, int needed);
  // Returns whether only the latch proves this hold: the owner may have the lock by another one.
  [[nodiscard]] virtual bool is_latched() const noexcept {
    return terms_.restart_delay.has_value();
  }
  // Returns whether somebody else may have the lock as the same owner.
  [[nodiscard]] virtual bool is_owner_shared() const noexcept { return false; }
  void take_back(redis::Client& client, Milliseconds keep, TimePoint last) noexcept;
  [[nodiscard]] redis::Reply run(redis::Client& client, const Question& question);

  KeyNames keys_;
  std::string owner_;
  std::string about_;  // as the side key is to tell it
  Terms terms_;
  std::string hold_id_;
  bool is_known_ = false;  // to other processes, which may give this hold back, too
  std::atomic<int> marks_ = 0;
  // The owner may have the lock, and yet this hold was never granted: only the latch tells.
  std::atomic<bool> is_unproven_ = false;
  bool is_reentered_ = false;        // the owner had the lock before this hold
  bool is_outer_ = false;            // this hold is a string that belongs to the outer one
  std::atomic<int> unanswered_ = 0;  // requests that changed something, or not
};

}  // namespace rlock::lock
