// The fair lock in Redisson's layout: first come, first served.
#pragma once

#include "lock/kinds/plain/reentrant.hpp"

namespace rlock::lock {

inline constexpr Milliseconds k_default_fair_wait{15'000};
inline constexpr Milliseconds k_shortest_fair_wait{15'000};  // a waiter shows its life every 6 s

class FairLock final : public ReentrantLock {
 public:
  // `wait`: how long a waiter may keep its place after its death.
  FairLock(const std::string& name, std::string owner, const About& about, const Terms& terms,
           Milliseconds wait);
  using ReentrantLock::give_up;

  [[nodiscard]] Kind kind() const noexcept override { return Kind::fair; }
  [[nodiscard]] std::string channel() const override { return keys().waiter_channel(owner()); }
  // Takes four seconds at the most.
  void give_up(redis::Client& client) noexcept override;

 private:
  [[nodiscard]] std::variant<Lease, Busy> acquire(redis::Client& client, Join join,
                                                  const Terms& terms) override;
  [[nodiscard]] Milliseconds added_wait() const noexcept override { return wait_; }

  Milliseconds wait_;
  bool has_queued_ = false;
};

}  // namespace rlock::lock
