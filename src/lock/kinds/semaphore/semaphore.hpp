// At most so many holders at once, in the layout of Redisson's RPermitExpirableSemaphore.
#pragma once

#include "lock/kinds/plain/reentrant.hpp"

namespace rlock::lock {

// The owner is the identifier of his permit. A nested run shares it; the last one gives it back.
class Semaphore final : public ReentrantLock {
 public:
  // `permits`: how many may have one at once. Throws Error (usage) if a fencing token is wished.
  Semaphore(const std::string& name, std::string owner, const About& about, const Terms& terms,
            int permits);

  [[nodiscard]] Kind kind() const noexcept override { return Kind::semaphore; }
  [[nodiscard]] std::string channel() const override { return keys().semaphore_channel; }

 private:
  [[nodiscard]] std::variant<Lease, Busy> acquire(redis::Client& client, Join join,
                                                  const Terms& terms) override;
  [[nodiscard]] Question reenter_question(const redis::Client& client) const override;
  [[nodiscard]] Question renew_question(Milliseconds lease) const override;
  [[nodiscard]] Question release_question(const redis::Client& client, Milliseconds keep,
                                          Wake wake) const override;

  int permits_;
};

}  // namespace rlock::lock
